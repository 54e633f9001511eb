"""Pseudo relevance feedback by retraining: the best unjudged rows of a first ranker are labels for a second one.

The n_top best unjudged rows of each list by the first ranker are assumed relevant (grade 1), and the ranker is trained
again on these and the judged rows; with `negatives` the other unjudged rows are assumed irrelevant (grade 0). This is
the self-training described in PREF (section 2.1). The first ranker is one feature, or the same kind of ranker trained
on the judged rows. A list with labels of only one kind adds no pair.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from tacit.core import check_number
from tacit.rerank.base import ListRanker, check_nested
from tacit.rerank.gradient.ranker import BradleyTerryRanker
from tacit.rerank.rows import Rows


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
