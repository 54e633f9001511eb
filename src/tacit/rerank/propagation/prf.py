"""Pseudo relevance feedback: the best rows of a list by a first ranker are assumed relevant, and the list re-ranked.

Let x be scaled within the list, m+ the mean of the n_top best rows and m- the mean of the rest:

    prf       feedback(x) = cosine of x and m+            positive feedback only
    prf-neg   feedback(x) = cosine of x and m+ - m-       the rest is assumed irrelevant (Rocchio)

score = (1 - mix) first + mix feedback, both with mean 0 and standard deviation 1 in the list. The first ranker is one
feature, or the linear Bradley-Terry model of the judged rows. Each list is re-ranked separately, so `predict` needs
complete lists with their `qid`.

By retraining, the best unjudged rows of a first ranker are labels for a second one. The n_top best unjudged rows of
each list by the first ranker are assumed relevant (grade 1), and the ranker is trained again on these and the judged
rows; with `negatives` the other unjudged rows are assumed irrelevant (grade 0). This is the self-training described in
PREF (section 2.1). The first ranker is one feature, or the same kind of ranker trained on the judged rows. A list with
labels of only one kind adds no pair.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from tacit.core import check_number
from tacit.rerank.base import ListRanker, check_nested
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


class PseudoLabelRanker(ListRanker):
    """A ranker trained on judged rows and on the best unjudged rows of a first ranker.

    Parameters
    ----------
    base : ListRanker, default=None
        Ranker to train; None is a linear Bradley-Terry model.
    feature : int, default=None
        Number, from 0, of the feature that ranks first; None trains the base on the judged rows.
    n_top : int, default=10
        Number of unjudged rows of each list assumed relevant, at most half of them.
    negatives : bool, default=False
        Treat the other unjudged rows as irrelevant.

    Attributes
    ----------
    ranker_ : ListRanker
        The final ranker.

    Examples
    --------
    >>> X, y = np.array([[4.0, 1.0], [3.0, 1.0], [2.0, 0.0], [1.0, 0.0]]), [-1, -1, -1, -1]
    >>> PseudoLabelRanker(feature=0, n_top=2, negatives=True).fit(X, y).predict(X).argsort()[::-1].tolist()
    [0, 1, 2, 3]
    """

    _fitted: ClassVar[dict[str, str]] = {"ranker_": "estimator"}

    def __init__(self, base: Any = None, feature: int | None = None, n_top: int = 10, negatives: bool = False) -> None:
        self.base, self.feature, self.n_top, self.negatives = base, feature, n_top, negatives

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        check_number("n_top", self.n_top, low=1, whole=True)
        if self.feature is None:
            first = self._train(rows, validation)._predict(rows.X, rows.list_of)
        else:
            first = rows.X[:, int(check_number("feature", self.feature, low=0, high=rows.X.shape[1] - 1, whole=True))]
        guessed = replace(rows, y=pseudo_labels(rows, first, self.n_top, self.negatives))
        self.ranker_ = self._train(guessed, validation)

    def _train(self, rows: Rows, validation: Rows | None) -> Any:
        ranker = BradleyTerryRanker(n_hidden=0) if self.base is None else clone(self.base)
        return ranker._fit_rows(rows, validation)

    def _check_loaded(self) -> None:
        check_nested(self, [self.ranker_])

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        return self.ranker_._predict(X, qid)

    def needs_lists(self) -> bool:
        """Return whether the inner ranker depends on all rows of a list."""
        return bool(self.ranker_.needs_lists())


def pseudo_labels(rows: Rows, scores: np.ndarray, n_top: int, negatives: bool) -> np.ndarray:
    """Return grades of judged rows, 1 for the best unjudged rows of each list, and 0 (or NaN) for the others.

    >>> rows = Rows(np.zeros((4, 1)), np.array([2, np.nan, np.nan, np.nan]), np.array([0, 4]), np.arange(4))
    >>> pseudo_labels(rows, np.array([9.0, 1.0, 3.0, 2.0]), n_top=1, negatives=True).tolist()
    [2.0, 0.0, 1.0, 0.0]
    """
    y = rows.y.copy()
    for span in rows.spans:
        unjudged = np.flatnonzero(np.isnan(rows.y[span])) + span.start
        order = unjudged[np.argsort(-scores[unjudged], kind="stable")]
        n = min(n_top, max(1, len(order) // 2))
        y[order[:n]] = 1.0
        if negatives:
            y[order[n:]] = 0.0
    return y
