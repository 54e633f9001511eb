"""The best rows and scores for each query, as returned by a ranker of collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core.judgments import Run


@dataclass(frozen=True)
class Ranking:
    """Item rows and scores for each query, best first.

    Parameters
    ----------
    items : ndarray of shape (n_queries, k), int64
        Item rows; -1 at the end where a query has fewer than k candidates.
    scores : ndarray of shape (n_queries, k), float32
        Scores; 0 where `items` is -1.

    Examples
    --------
    >>> ranking = Ranking(np.array([[3, 1], [2, -1]]), np.array([[0.9, 0.5], [0.1, 0.0]], np.float32))
    >>> ranking.of(1)
    (array([2]), array([0.1], dtype=float32))
    """

    items: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.items)

    def of(self, query: int) -> tuple[np.ndarray, np.ndarray]:
        """Return items and scores of one query without padding."""
        found = self.items[query] >= 0
        return self.items[query][found], self.scores[query][found]

    def to_run(self, query_ids: Sequence[str], doc_ids: Sequence[str], name: str = "tacit") -> Run:
        """Return the ranking as a run with external ids."""
        query, place = np.nonzero(self.items >= 0)
        scores = self.scores[query, place].astype(np.float64)
        return Run(query_ids, doc_ids, query, self.items[query, place], scores, name)
