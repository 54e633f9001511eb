"""Support vector machines: a ranking SVM and a transductive SVM, both linear.

**Ranking SVM**: a linear classifier of differences of rows, x_better - x_worse (Joachims 2002),

    min over w of |w|^2 / 2 + C mean over pairs of max(0, 1 - w . (x_better - x_worse))^2

by liblinear's trust-region Newton method in the primal: a few passes over the pairs, regardless of their number.

**Transductive SVM**: relevant or not, with the labels of unjudged rows as unknowns (Joachims 1999). The objective is
|w|^2 / 2 + C mean loss of judged rows + C' mean loss of unjudged rows under their inferred labels. These labels start
from the SVM of the judged rows, with the same share of relevant rows as among the judged rows. While C' grows to
`weight` C, a relevant and an irrelevant label are switched if that lowers both losses, all such pairs together
(Sindhwani and Keerthi 2006), so the number of relevant labels is constant. It is one classifier for all lists, trained
on features scaled within each list; it is linear, so it ranks new lists too.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tacit.core import TacitError, check_number
from tacit.rerank.base import ListRanker
from tacit.rerank.gradient.ranker import Choice, center_and_spread, values_of
from tacit.rerank.gradient.scorer_training import ValidationPairs
from tacit.rerank.input_checks import check_memory
from tacit.rerank.list_columns import scale_lists
from tacit.rerank.rows import Rows

STAGES = (1e-3, 1e-2, 1e-1, 1.0)  # factors of the growing weight of unjudged rows
MOST_SWITCHES = 20  # rounds of switching per stage; each lowers the loss, so few are needed


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


class TransductiveSvmRanker(ListRanker):
    """Linear transductive SVM.

    A row is relevant if its grade is at least 1; both kinds must be among the judged rows. Preferences are not used.

    Parameters
    ----------
    C : float, default=1.0
        Misclassification cost.
    weight : float, default=0.5
        Weight of unjudged rows relative to judged ones.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        Weights of the features.
    n_switched_ : int
        Number of inferred labels that were switched.

    Examples
    --------
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, -1, -1, 1]
    >>> TransductiveSvmRanker().fit(X, y).predict(X).argsort().tolist()
    [0, 1, 2, 3]
    """

    _fitted: ClassVar[dict[str, str]] = {"coef_": "features", "n_switched_": ""}
    _scores_by_list: ClassVar[bool] = True

    def __init__(self, C: float = 1.0, weight: float = 0.5) -> None:
        self.C = C
        self.weight = weight

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        check_number("C", self.C, low=0, open_low=True)
        check_number("weight", self.weight, low=0)
        judged = ~np.isnan(rows.y)
        sign = np.where(rows.y >= 1, 1.0, -1.0)
        if len(np.unique(sign[judged])) < 2:
            raise TacitError(f"the {int(judged.sum())} judged rows are all of one kind, want relevant and others")
        X = scale_lists(rows.X, rows.list_of)
        self.n_switched_ = 0
        svm = self._train(X, sign, judged, 0.0)
        if judged.all() or not self.weight:
            self.coef_ = svm.coef_[0]
            return
        self._guess(svm.decision_function(X), sign, judged)
        for stage in STAGES:
            svm = self._train(X, sign, judged, stage * self.weight)
            for _ in range(MOST_SWITCHES):
                if not self._switch(svm.decision_function(X), sign, judged):
                    break
                svm = self._train(X, sign, judged, stage * self.weight)
        self.coef_ = svm.coef_[0]

    def _train(self, X: np.ndarray, sign: np.ndarray, judged: np.ndarray, share: float) -> Any:
        from sklearn.svm import LinearSVC

        used = judged if share == 0 else np.ones(len(sign), bool)
        weight = np.where(judged, 1 / judged.sum(), share / max(1, (~judged).sum()))
        return LinearSVC(C=100 * self.C, dual=False, max_iter=5000).fit(X[used], sign[used], weight[used])

    def _guess(self, outputs: np.ndarray, sign: np.ndarray, judged: np.ndarray) -> None:
        """Label the best unjudged rows as relevant, with the same share as among the judged rows."""
        unjudged = np.flatnonzero(~judged)
        n_relevant = round(float(np.mean(sign[judged] > 0)) * len(unjudged))
        sign[unjudged] = -1.0
        sign[unjudged[np.argsort(-outputs[unjudged], kind="stable")[:n_relevant]]] = 1.0

    def _switch(self, outputs: np.ndarray, sign: np.ndarray, judged: np.ndarray) -> bool:
        """Switch labels pair by pair, the worst relevant one with the best irrelevant one, while both losses fall."""
        relevant, other = np.flatnonzero(~judged & (sign > 0)), np.flatnonzero(~judged & (sign < 0))
        relevant = relevant[np.argsort(outputs[relevant], kind="stable")]
        other = other[np.argsort(-outputs[other], kind="stable")]
        n = min(len(relevant), len(other))
        gains = outputs[relevant[:n]] < outputs[other[:n]] - 1e-9
        sign[relevant[:n][gains]], sign[other[:n][gains]] = -1.0, 1.0
        self.n_switched_ += int(gains.sum())
        return bool(gains.any())

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        return scale_lists(X, qid) @ self.coef_
