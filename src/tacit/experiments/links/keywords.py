"""Experiment `keywords`: as `links`, but the query is k random words of the document (SSI, tables 5 and 6).

Training queries are cut to k words like test queries. The document that the words were taken from is no
candidate for them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from tacit.experiments.links.experiment import run_cells
from tacit.experiments.links.plan import link_options
from tacit.experiments.links.splits import split_links
from tacit.experiments.links.task import LinkTask, read_linked_corpus
from tacit.experiments.report import Report
from tacit.experiments.request import Request

SYSTEMS = ("tfidf", "qe", "lsi+tfidf", "ssi-uu", "ssi-uv", "cfh-1gram", "htr-residual")
LENGTHS = (5, 10, 20)


def run(request: Request) -> Report:
    """Measure the systems for queries of 5, 10 and 20 words; `quick` takes 10 only."""
    options = link_options(request, SYSTEMS)
    corpus = read_linked_corpus(options.data, options.corpus, options.words)

    @lru_cache(maxsize=1)
    def task(k: int, seed: int) -> LinkTask:
        parts = split_links(corpus.links, options.split, seed)
        counts = keep_words(corpus.features["counts"], k, seed)
        tfidf = corpus.vectorizer.tfidf(counts)
        queries = {"counts": counts, "tfidf": tfidf, "pairs": tfidf}
        rows = parts.test_queries(options.n_queries, seed)
        return LinkTask(corpus.features, queries, parts, rows, options.threads)

    lengths = (10,) if options.quick else LENGTHS
    cells = [
        options.cell("keywords", system, seed, split=options.split, k=k)
        for k in lengths
        for seed in options.seeds
        for system in options.systems
    ]
    return run_cells("keywords", options, corpus, cells, lambda cell: task(cell["k"], cell["seed"]))


def keep_words(counts: sp.csr_array, k: int, seed: int) -> sp.csr_array:
    """k different words of each row, drawn at random and counted once; all of them where there are fewer.

    >>> rows = keep_words(sp.csr_array(np.ones((3, 9), np.float32)), k=4, seed=0)
    >>> rows.sum(axis=1).tolist()
    [4.0, 4.0, 4.0]
    """
    rng = np.random.default_rng([seed, k])
    # A random number for each word of each row: the k smallest of a row are a fair draw.
    row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    order = np.lexsort((rng.random(counts.nnz), row_of))
    place = np.arange(counts.nnz) - counts.indptr[row_of[order]]
    kept = np.sort(order[place < k])
    ones = np.ones(len(kept), np.float32)
    return sp.csr_array((ones, (row_of[kept], counts.indices[kept])), shape=counts.shape)
