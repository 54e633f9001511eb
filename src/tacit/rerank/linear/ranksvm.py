"""Ranking SVM: a linear classifier of differences of rows, x_better - x_worse (Joachims 2002).

min over w of |w|^2 / 2 + C mean over pairs of max(0, 1 - w . (x_better - x_worse))^2, by liblinear's trust-region
Newton method in the primal: a few passes over the pairs, regardless of their number.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tacit.rerank.base import ListRanker
from tacit.rerank.gradient.ranker import Choice, center_and_spread, values_of
from tacit.rerank.gradient.scorer_training import ValidationPairs
from tacit.rerank.input_checks import check_memory
from tacit.rerank.rows import Rows


class RankSvmRanker(ListRanker):
    """Linear ranking SVM.

    Parameters
    ----------
    C : float or sequence of float, default=(1.0, 0.1, 10.0, 100.0)
        Misclassification cost; of several values, the best on validation lists.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        Weights of the features.
    C_ : float
        The cost used.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, -1, 1, 2]
    >>> RankSvmRanker().fit(X, y).predict(X).argsort().tolist()
    [0, 1, 2, 3]
    """

    _fitted: ClassVar[dict[str, str]] = {"coef_": "features", "C_": ""}

    def __init__(self, C: Choice = (1.0, 0.1, 10.0, 100.0)) -> None:
        self.C = C

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        costs = values_of("C", self.C, low=0, open_low=True)
        rows.check_has_pairs()
        _, spread = center_and_spread(rows.X)  # scores need no centring, because only differences count
        held_out = None if validation is None else ValidationPairs.of(validation.X, validation)
        best = -np.inf
        for cost in costs if held_out is not None else costs[:1]:
            coef = _solve(rows, spread, cost) / spread
            value = 0.0 if held_out is None else held_out.value(held_out.X @ coef)
            if value > best:
                best, self.coef_, self.C_ = value, coef, cost

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        return X @ self.coef_


def _solve(rows: Rows, spread: np.ndarray, cost: float) -> np.ndarray:
    from sklearn.svm import LinearSVC

    pairs = rows.pairs
    check_memory(f"differences of {len(pairs)} pairs", 4 * 8 * len(pairs) * rows.X.shape[1])
    # liblinear needs two classes, so every other pair is reversed.
    side = np.where(np.arange(len(pairs)) % 2, -1.0, 1.0)
    table = (rows.X[pairs.better] - rows.X[pairs.worse]) / spread * side[:, None]
    if len(pairs) == 1:
        table, side = np.concatenate([table, -table]), np.array([1.0, -1.0])
    weight = np.resize(pairs.weight, len(side))
    svm = LinearSVC(C=cost, dual=False, fit_intercept=False, max_iter=5000)
    return svm.fit(table, side, sample_weight=weight / weight.sum()).coef_[0]
