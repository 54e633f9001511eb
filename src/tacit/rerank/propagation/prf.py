"""Pseudo relevance feedback: the best rows of a list by a first ranker are assumed relevant, and the list re-ranked.

Let x be scaled within the list, m+ the mean of the n_top best rows and m- the mean of the rest:

    prf       feedback(x) = cosine of x and m+            positive feedback only
    prf-neg   feedback(x) = cosine of x and m+ - m-       the rest is assumed irrelevant (Rocchio)

score = (1 - mix) first + mix feedback, both with mean 0 and standard deviation 1 in the list. The first ranker is one
feature, or the linear Bradley-Terry model of the judged rows. Each list is re-ranked separately, so `predict` needs
complete lists with their `qid`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tacit.core import check_number
from tacit.rerank.base import ListRanker
from tacit.rerank.gradient.ranker import BradleyTerryRanker
from tacit.rerank.list_columns import scale_lists
from tacit.rerank.rows import Rows


class FeedbackRanker(ListRanker):
    """Pseudo-relevance feedback on top of a linear ranker or of one feature.

    Parameters
    ----------
    feature : int, default=None
        Number, from 0, of the feature that ranks first; None fits a linear ranker.
    n_top : int, default=10
        Number of rows assumed relevant, at most half of a list.
    mix : float, default=0.3
        Weight of the feedback, from 0 to 1.
    negatives : bool, default=False
        Treat the rest of the list as irrelevant.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        Weights of the first ranker.

    Examples
    --------
    >>> X = np.array([[3.0, 1.0], [2.0, 1.0], [0.9, -1.0], [0.8, 1.0]])
    >>> FeedbackRanker(feature=0, n_top=2, mix=0.9).fit(X, [-1, -1, -1, -1]).predict(X).argsort()[::-1].tolist()
    [0, 1, 3, 2]
    """

    _fitted: ClassVar[dict[str, str]] = {"coef_": "features"}
    _scores_by_list: ClassVar[bool] = True

    def __init__(self, feature: int | None = None, n_top: int = 10, mix: float = 0.3, negatives: bool = False) -> None:
        self.feature, self.n_top, self.mix, self.negatives = feature, n_top, mix, negatives

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        self._check_loaded()
        n_features = rows.X.shape[1]
        if self.feature is not None:
            check_number("feature", self.feature, low=0, high=n_features - 1, whole=True)
            self.coef_ = np.eye(n_features)[self.feature]
            return
        first = BradleyTerryRanker(n_hidden=0)._fit_rows(rows, validation)
        self.coef_ = first.theta_ / first.spread_

    def _check_loaded(self) -> None:
        check_number("n_top", self.n_top, low=1, whole=True)
        check_number("mix", self.mix, low=0, high=1)

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        first = scale_lists((X @ self.coef_)[:, None], qid)[:, 0]
        table, feedback = scale_lists(X, qid), np.zeros(len(X))
        for name in np.unique(qid):
            rows = np.flatnonzero(qid == name)
            feedback[rows] = self._feedback(table[rows], first[rows])
        return (1 - self.mix) * first + self.mix * scale_lists(feedback[:, None], qid)[:, 0]

    def _feedback(self, X: np.ndarray, first: np.ndarray) -> np.ndarray:
        n_top = min(self.n_top, max(1, len(X) // 2))
        order = np.argsort(-first, kind="stable")
        wanted = X[order[:n_top]].mean(axis=0)
        if self.negatives and n_top < len(X):
            wanted = wanted - X[order[n_top:]].mean(axis=0)
        size = np.linalg.norm(X, axis=1) * np.linalg.norm(wanted)
        return np.divide(X @ wanted, size, out=np.zeros(len(X)), where=size > 0)
