"""Reuters-21578 as a retrieval task: test stories are queries, training stories are items (ModApte split).

The similarity of two stories is the Jaccard index of their topic sets; stories without topics are left out. Topics are
used for measuring only; words and idf come from the training stories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tacit.core import DataError, Features, cut, map_blocks, track
from tacit.data import read_collection
from tacit.features import TextVectorizer
from tacit.metrics import evaluate_rows, full_ranking_measures
from tacit.retrieve import CollectionRanker

RELEVANT_FROM = 0.5  # Jaccard index
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class TopicTask:
    """Rows of items and queries, and their topics as 0/1 rows over all topics."""

    items: Features
    queries: Features
    item_topics: sp.csr_array
    query_topics: sp.csr_array
    threads: int | None = None

    @property
    def summary(self) -> str:
        """Return sizes in one line."""
        n_items, n_words = self.items.shape
        return f"{n_items:,} training stories ranked for {self.queries.shape[0]:,} test stories; {n_words:,} words"

    def first_queries(self, n_queries: int, seed: int) -> TopicTask:
        """Return the same for a seeded sample of the queries."""
        n_all = self.queries.shape[0]
        chosen = np.sort(np.random.default_rng(seed).permutation(n_all)[:n_queries])
        return TopicTask(self.items, self.queries[chosen], self.item_topics, self.query_topics[chosen], self.threads)

    def measure(self, ranker: CollectionRanker) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return MAP, nDCG@10 and P@10 of each query, and mean precision at RANKS."""
        blocks = cut(self.queries.shape[0], 50)
        pieces = map_blocks(lambda block: self._measure_block(ranker, block), blocks, self.threads)
        values = {name: np.concatenate([piece[0][name] for piece in pieces]) for name in pieces[0][0]}
        return values, np.concatenate([piece[1] for piece in pieces]).mean(axis=0)

    def _measure_block(self, ranker: CollectionRanker, block: slice) -> tuple[dict[str, np.ndarray], np.ndarray]:
        scores = ranker.scores(self.queries[block])
        similar = jaccard(self.query_topics[block], self.item_topics)
        relevant = similar >= RELEVANT_FROM
        found = {"MAP": np.zeros(len(scores)), "P@10": np.zeros(len(scores))}
        some = relevant.any(axis=1)  # a query without a relevant story counts 0
        if some.any():
            full = full_ranking_measures(scores[some], sp.csr_array(relevant[some]))
            found["MAP"][some], found["P@10"][some] = full["AP"], full["P@10"]
        number = np.repeat(np.arange(len(scores)), scores.shape[1])
        graded = evaluate_rows(similar.ravel(), scores.ravel(), number, "nDCG@10")
        return {**found, "nDCG@10": graded.values["nDCG@10"]}, precision_at(scores, relevant)


def jaccard(first: sp.csr_array, second: sp.csr_array) -> np.ndarray:
    """Return the Jaccard index of each pair of 0/1 rows: float64 (n_first, n_second).

    >>> jaccard(sp.csr_array([[1, 1, 0]]), sp.csr_array([[1, 0, 0], [0, 1, 1], [1, 1, 0]])).round(2)
    array([[0.5 , 0.33, 1.  ]])
    """
    shared = (first @ second.T).toarray().astype(np.float64)
    sizes = (np.asarray(rows.sum(axis=1), np.float64).ravel() for rows in (first, second))
    every = next(sizes)[:, None] + next(sizes)[None, :] - shared
    return shared / np.maximum(every, 1)


def precision_at(scores: np.ndarray, relevant: np.ndarray, ranks: Sequence[int] = RANKS) -> np.ndarray:
    """Return precision at several ranks, for each query: (n_queries, n_ranks).

    >>> precision_at(np.array([[3.0, 2.0, 1.0]]), np.array([[True, False, True]]), (1, 2))
    array([[1. , 0.5]])
    """
    order = np.argsort(-scores, axis=1, kind="stable")[:, : ranks[-1]]
    so_far = np.cumsum(np.take_along_axis(relevant, order, axis=1), axis=1)
    return so_far[:, np.minimum(ranks, so_far.shape[1]) - 1] / np.asarray(ranks, np.float64)


def read_reuters(data: Path, words: int | None = 30_000, threads: int | None = None) -> TopicTask:
    """Read stories with topics of the ModApte split; words are counted on the training stories."""
    path = data / "text" / "reuters21578"
    documents = read_collection(path, extras=("topics", "modapte"), name="reuters21578")
    topics, parts = documents.extras["topics"], documents.extras["modapte"]
    train, test = (
        [row for row, part in enumerate(parts) if part == name and topics[row]] for name in ("train", "test")
    )
    if not train or not test:
        raise DataError(f"{len(train)} training and {len(test)} test stories have topics, want some of both", path=path)
    vectorizer = TextVectorizer(words=words)
    texts = (documents.full_text(row) for row in track(train, "reading words"))
    items = vectorizer.fit_transform(texts)
    queries = vectorizer.transform(documents.full_text(row) for row in test)
    names = sorted({topic for row in [*train, *test] for topic in topics[row]})
    column = {topic: number for number, topic in enumerate(names)}
    item_topics, query_topics = (_indicators([topics[row] for row in rows], column) for rows in (train, test))
    return TopicTask(items, queries, item_topics, query_topics, threads)


def _indicators(topics: Sequence[Sequence[str]], column: dict[str, int]) -> sp.csr_array:
    """Return 0/1 rows, one column for each topic."""
    sets = [sorted({column[topic] for topic in names}) for names in topics]
    indptr = np.concatenate([[0], np.cumsum([len(chosen) for chosen in sets])])
    indices = np.array([place for chosen in sets for place in chosen], np.int64)
    return sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(sets), len(column)))
