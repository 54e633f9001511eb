"""`manifold`: relevance spreads from the positive rows of a list to their neighbours (Zhou et al., 2004).

Rows of a list are connected to their k nearest neighbours (in either direction). W_ij = exp(-d^2 / (2 sigma^2)) for
connected rows and 0 otherwise, where d is their distance and sigma the median distance of connected rows.
S = D^-1/2 W D^-1/2, where D is the diagonal of the row sums of W. From y = 1 for positive rows and 0 for all others,

    f <- alpha S f + (1 - alpha) y,     which converges to  (1 - alpha) (I - alpha S)^-1 y

All terms are >= 0, so small scores are as exact as large ones. f is not a function of features: rows that were not in
`fit` have no score.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError, check_number
from tacit.features.knn import knn_graph
from tacit.features.scaling import spreads
from tacit.rerank.base import ListRanker
from tacit.rerank.rows import Rows


class ManifoldRanker(ListRanker):
    """Ranks only the rows of `fit`, by relevance that spreads on a graph of neighbours.

    Parameters
    ----------
    relevant : float, default=1.0
        Rows of this grade or more are positive.
    k : int, default=5
        Neighbours of each row.
    alpha : float, default=0.99
        How far relevance spreads, from 0 to 1.
    scale : bool, default=True
        Divide features by their standard deviation in the list.

    Attributes
    ----------
    rows_ : ndarray of shape (n_rows, n_features), float64
        The rows of `fit`.
    scores_ : ndarray of shape (n_rows,), float64
        Their scores.

    Examples
    --------
    >>> X, y = [[0.0], [0.1], [5.0], [5.1]], [1, -1, -1, 0]
    >>> ManifoldRanker(k=1).fit(X, y).predict(X).round(3).tolist()
    [0.503, 0.497, 0.0, 0.0]
    """

    _fitted: ClassVar[dict[str, str]] = {"rows_": "rows features", "scores_": "rows"}

    def __init__(self, relevant: float = 1.0, k: int = 5, alpha: float = 0.99, scale: bool = True) -> None:
        self.relevant, self.k, self.alpha, self.scale = relevant, k, alpha, scale

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        check_number("relevant", self.relevant, low=0, open_low=True)
        check_number("k", self.k, low=1, whole=True)
        check_number("alpha", self.alpha, low=0, high=1 - 1e-6)
        seeds = (rows.y >= self.relevant).astype(np.float64)
        if not seeds.any():
            raise TacitError(
                f"no row (of {len(rows.y)}; unjudged: {int(np.isnan(rows.y).sum())}) has a grade >= {self.relevant:g}; "
                "want at least one positive row, from which relevance spreads"
            )
        scores = np.zeros(len(rows.y))
        for start, stop in zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
            if seeds[start:stop].any():
                graph = smooth_graph(rows.X[start:stop], self.k, scale=self.scale)
                scores[start:stop] = propagate(graph, seeds[start:stop], self.alpha)
        self.rows_, self.scores_ = np.empty_like(rows.X), np.empty(len(scores))
        self.rows_[rows.order], self.scores_[rows.order] = rows.X, scores

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        if np.array_equal(X, self.rows_):
            return self.scores_.copy()
        return np.array([self._score_of(number, row.tobytes()) for number, row in enumerate(X)], np.float64)

    def _score_of(self, number: int, row: bytes) -> float:
        """Return the score of a row by its features; the mean score if several rows of `fit` have these features."""
        same = self._by_features().get(row)
        if same is None:
            raise TacitError(
                f"row {number} was not among the {len(self.rows_)} rows of fit: {type(self).__name__} has no inductive "
                "form, it scores only rows that it was fitted on; fit it on the list that is to be ranked"
            )
        return float(np.mean(self.scores_[same]))

    def _by_features(self) -> dict[bytes, list[int]]:
        table: dict[bytes, list[int]] = {}
        for number, row in enumerate(self.rows_):
            table.setdefault(row.tobytes(), []).append(number)
        return table


def smooth_graph(X: Features, k: int, *, scale: bool = False) -> sp.csr_array:
    """Return S of the rows, CSR (n, n); `scale` divides dense features by their spread; k rows or fewer: all connected.

    >>> smooth_graph(np.array([[0.0], [1.0], [3.0]]), k=1).toarray().round(3)
    array([[0.   , 0.813, 0.   ],
           [0.813, 0.   , 0.582],
           [0.   , 0.582, 0.   ]])
    """
    n_rows = X.shape[0]
    if n_rows < 2:
        return sp.csr_array((n_rows, n_rows))
    distances = knn_graph(X / spreads(X, 0.0) if scale else X, min(k, n_rows - 1), threads=1)
    sigma = np.median(distances.data) or 1.0  # all rows are equal: every distance is 0
    W = distances.copy()
    W.data = np.exp(-(distances.data**2) / (2 * sigma**2))
    degree = np.asarray(W.sum(axis=1)).ravel()
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)
    return sp.csr_array(sp.diags_array(root) @ W @ sp.diags_array(root))


def propagate(graph: sp.csr_array, y: np.ndarray, alpha: float = 0.99, tolerance: float = 1e-10) -> np.ndarray:
    """Return the limit of f <- alpha S f + (1 - alpha) y, float64 (n_rows,), up to tolerance times the largest of y."""
    f = term = (1 - alpha) * y
    # f is the sum of the terms (alpha S)^t (1 - alpha) y. No eigenvalue of S exceeds 1, so the remainder of the sum is
    # at most alpha / (1 - alpha) times the norm of the last term.
    while alpha * np.linalg.norm(term) > (1 - alpha) * tolerance * np.abs(y).max(initial=0.0):
        term = alpha * (graph @ term)
        f = f + term
    return f
