"""Experiment `content`: match a page to short texts of another kind (SSI, section 4.4 and table 11).

The paper matches web pages to clicked advertisements. Here the query is the body of a page, a target is the title and
first sentence of a page, and the targets of linked pages are relevant. Bodies and targets share a dictionary, but each
side has its own document frequencies. All other targets are negatives.

**Cost.** A further table has the time to score one query against 100,000 targets. Low rank multiplies two stored
vectors of length N; hash kernels look up each of the |q||d| pairs of words. Counted in products, low rank is faster by
|q||d| / N. In time the difference is larger, because a look-up costs more than a product: it needs a division for the
hash, the bucket is rarely in the processor's cache, and the loop is not vectorized. Targets are repeated to reach the
number; each time is the median over several queries, on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Features, UsageError
from tacit.experiments.collections.link_task import CORPORA, LinkedCorpus, LinkTask, read_linked_corpus, split_links
from tacit.experiments.collections.links import SENTENCE_END, Cell, check_systems, make_cell, run_cells, with_printed
from tacit.experiments.report import Report, Section
from tacit.experiments.request import Request
from tacit.features import TextVectorizer
from tacit.features.text.weighting import best_words, inverse_document_frequency
from tacit.kernels.scoring import score_hashed_pairs
from tacit.retrieve.factors import DenseFactors, SparseFactors
from tacit.retrieve.margin.wordpair_sgd import PRIME

SYSTEMS = ("tfidf", "hash-1m", "hash-10m", "ssi-uv")
DICTIONARIES = (30_000, 20_000, 10_000)
DIM = 50  # as in the paper
MOST_WORDS = 24  # maximum length of a first sentence
MOST_QUERY_WORDS = 100  # a page of the paper has 87 on average


@dataclass(frozen=True)
class ContentTexts:
    """Bodies and targets of the same pages over one dictionary; tf-idf with the document frequencies of each side."""

    bodies: sp.csr_array
    targets: sp.csr_array

    @property
    def features(self) -> tuple[Mapping[str, Features], Mapping[str, Features]]:
        """Items and queries by kind, as `LinkTask` reads them."""
        items, queries = (dict.fromkeys(("tfidf", "pairs"), rows) for rows in (self.targets, self.bodies))
        return items, queries


def run(request: Request) -> Report:
    """Measure the systems with dictionaries of 10,000 to 30,000 words, and the cost of scoring 100,000 targets."""
    if request.words is None:
        raise UsageError("content has dictionaries of 10,000, 20,000 and 30,000 words; leave out --words")
    request = replace(request, split="queries")
    check_systems(request, request.systems_of(SYSTEMS))
    corpus = read_linked_corpus(request.corpus_folder("linked", CORPORA), max(DICTIONARIES))

    @lru_cache(maxsize=1)  # cells of one dictionary are consecutive
    def texts(words: int) -> ContentTexts:
        return content_texts(corpus, words)

    @lru_cache(maxsize=1)
    def task(words: int, seed: int) -> LinkTask:
        parts = split_links(corpus.links, "queries", seed)
        items, queries = texts(words).features
        return LinkTask(items, queries, parts, parts.test_queries(request.n_queries, seed), request.threads)

    report = run_cells(
        "content", request, corpus, plan_content(request), lambda cell: task(cell["words"], cell["seed"])
    )
    largest = texts(DICTIONARIES[-1] if request.quick else DICTIONARIES[0])
    notes = [*report.notes, *_notes(largest)]
    return replace(report, notes=notes, sections=[cost_section(largest.bodies, largest.targets, DIM, request.seed)])


def plan_content(request: Request) -> list[Cell]:
    """Return cells for every dictionary and system; quick: only the smallest dictionary and one size of kernels."""
    systems = request.systems_of(SYSTEMS)
    cells = [
        make_cell(request, "content", system, seed, words=words, dim=DIM if system.startswith("ssi") else None)
        for words in (DICTIONARIES[-1:] if request.quick else DICTIONARIES)
        for seed in request.seeds
        for system in systems
        if not (request.quick and system == "hash-10m")
    ]
    return with_printed(request, cells)


def content_texts(corpus: LinkedCorpus, words: int) -> ContentTexts:
    """Bodies and targets over the most frequent words of the pages."""
    vocabulary = corpus.vectorizer.vocabulary_[:words]
    documents = corpus.documents
    bodies = _rows(documents.texts, vocabulary)
    return ContentTexts(best_words(bodies, MOST_QUERY_WORDS), _rows(short_texts(documents), vocabulary))


def short_texts(documents: Collection) -> list[str]:
    """Return title and first sentence of each page.

    >>> short_texts(Collection(["a"], ["Array"], ["Holds elements. In a row."]))
    ['Array\\nHolds elements.']
    """
    return [f"{title}\n{first_sentence(text)}" for title, text in zip(documents.titles, documents.texts, strict=True)]


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop before whitespace, at most MOST_WORDS words.

    >>> first_sentence("Since version 2.0 it works! See below.")
    'Since version 2.0 it works!'
    """
    sentence = SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    return " ".join(sentence.split()[:MOST_WORDS])


def _rows(texts: Sequence[str], vocabulary: list[str]) -> sp.csr_array:
    """Return tf-idf over the vocabulary, with document frequencies of these texts; unseen words have weight 0."""
    ones = np.ones(len(vocabulary), np.float32)
    counts = TextVectorizer.from_vocabulary(vocabulary, ones, len(texts)).counts(texts)
    frequency = np.maximum(np.bincount(counts.indices, minlength=len(vocabulary)), 1)
    idf = inverse_document_frequency(frequency, len(texts))
    return TextVectorizer.from_vocabulary(vocabulary, idf, len(texts)).tfidf(counts)


def _notes(texts: ContentTexts) -> list[str]:
    lengths = [rows.nnz / rows.shape[0] for rows in (texts.bodies, texts.targets)]
    return [
        f"query: the {MOST_QUERY_WORDS} best words of a page's body ({lengths[0]:.0f} on average); "
        f"target: title and first sentence ({lengths[1]:.0f} different words on average)",
        f"ssi-uv has vectors of {DIM} numbers, as in the paper",
    ]


def cost_section(
    bodies: Features,
    targets: Features,
    dim: int,
    seed: int,
    *,
    n_targets: int = 100_000,
    n_places: int = 10_000_000,
    n_queries: int = 9,
) -> Section:
    """Make a table of milliseconds per query; weights are random, because time does not depend on them."""
    rng = np.random.default_rng(seed)
    queries = sp.csr_array(bodies)[rng.choice(bodies.shape[0], n_queries, replace=False)]
    many = sp.csr_array(targets)[np.arange(n_targets) % targets.shape[0]]
    n_pairs = float(np.diff(queries.indptr).mean() * np.diff(many.indptr).mean())
    costs = {
        "ssi-uv, kept vectors": (float(dim), _low_rank(rng, dim, n_queries, n_targets)),
        "hash-10m, pair by pair": (n_pairs, _hashed(rng.random(n_places, np.float32), queries, many)),
        "tfidf, inverted lists": (_n_shared(queries, many), _inverted(queries, many)),
    }
    times = {name: _milliseconds(score, n_queries) for name, (_, score) in costs.items()}
    base = times["ssi-uv, kept vectors"]
    rows = [
        [name, f"{n_products:.3g}", f"{times[name]:.3g}", f"{times[name] / base:.2g}"]
        for name, (n_products, _) in costs.items()
    ]
    ratio = f"|q||d| / N = {n_pairs / dim:.1f}"
    title = f"Cost of scoring one query against {n_targets:,} targets ({ratio})"
    return Section(title, ["system", "products for a target", "milliseconds", "times low rank"], rows)


def _n_shared(queries: sp.csr_array, many: sp.csr_array) -> float:
    """Return the mean number of words that a query and a target share."""
    asked, frequency = queries.indices, np.bincount(many.indices, minlength=many.shape[1])
    return float(frequency[asked].sum() / (queries.shape[0] * many.shape[0]))


Score = Callable[[int], object]


def _low_rank(rng: np.random.Generator, dim: int, n_queries: int, n_targets: int) -> Score:
    part = DenseFactors(rng.random((n_targets, dim), np.float32))
    vectors, out = rng.random((n_queries, dim), np.float32), np.zeros((1, n_targets), np.float32)
    return lambda query: part.add_scores(vectors[query : query + 1], out)


def _hashed(places: np.ndarray, queries: sp.csr_array, many: sp.csr_array) -> Score:
    out, items = np.zeros(many.shape[0], np.float32), (many.indptr, many.indices, many.data)

    def score(query: int) -> None:
        row = slice(queries.indptr[query], queries.indptr[query + 1])
        words = queries.indices[row].astype(np.int64)
        score_hashed_pairs(words, queries.data[row], *items, places, PRIME, out)

    return score


def _inverted(queries: sp.csr_array, many: sp.csr_array) -> Score:
    part, out = SparseFactors(many.tocsc()), np.zeros((1, many.shape[0]), np.float32)
    return lambda query: part.add_scores(queries[[query]], out)


def _milliseconds(score: Score, n_queries: int) -> float:
    """Return the median time over the queries, after one call for compilation."""
    score(0)
    times = []
    for query in range(n_queries):
        start = time.perf_counter()
        score(query)
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))
