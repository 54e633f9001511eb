"""Experiment `keywords`: like `links`, but the query is k random words of the document (SSI, tables 5 and 6).

Training queries are reduced to k words like test queries. The source document of the words is not a candidate.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from tacit.experiments.collections.link_task import CORPORA, SPLITS, LinkTask, read_linked_corpus, split_links
from tacit.experiments.collections.links import check_systems, make_cell, run_cells, with_printed
from tacit.experiments.report import Report
from tacit.experiments.request import Request

SYSTEMS = ("tfidf", "qe", "lsi+tfidf", "ssi-uu", "ssi-uv", "cfh-1gram", "htr-residual")
LENGTHS = (5, 10, 20)


def run(request: Request) -> Report:
    """Measure the systems for queries of 5, 10 and 20 words; `quick` takes 10 only."""
    systems, split = request.systems_of(SYSTEMS), request.split or SPLITS[0]
    check_systems(request, systems)
    corpus = read_linked_corpus(request.corpus_folder("linked", CORPORA), request.words)

    @lru_cache(maxsize=1)
    def task(k: int, seed: int) -> LinkTask:
        parts = split_links(corpus.links, split, seed)
        counts = keep_words(corpus.features["counts"], k, seed)
        tfidf = corpus.vectorizer.tfidf(counts)
        queries = {"counts": counts, "tfidf": tfidf, "pairs": tfidf}
        rows = parts.test_queries(request.n_queries, seed)
        return LinkTask(corpus.features, queries, parts, rows, request.threads)

    cells = [
        make_cell(request, "keywords", system, seed, k=k)
        for k in ((10,) if request.quick else LENGTHS)
        for seed in request.seeds
        for system in systems
    ]
    cells = with_printed(request, cells)
    return run_cells("keywords", request, corpus, cells, lambda cell: task(cell["k"], cell["seed"]))


def keep_words(counts: sp.csr_array, k: int, seed: int) -> sp.csr_array:
    """Return k different words of each row, drawn at random and counted once; all of them if there are fewer.

    >>> rows = keep_words(sp.csr_array(np.ones((3, 9), np.float32)), k=4, seed=0)
    >>> rows.sum(axis=1).tolist()
    [4.0, 4.0, 4.0]
    """
    rng = np.random.default_rng([seed, k])
    # A random number for each word of each row; the k smallest of a row are a uniform sample.
    row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    order = np.lexsort((rng.random(counts.nnz), row_of))
    place = np.arange(counts.nnz) - counts.indptr[row_of[order]]
    kept = np.sort(order[place < k])
    ones = np.ones(len(kept), np.float32)
    return sp.csr_array((ones, (row_of[kept], counts.indices[kept])), shape=counts.shape)
