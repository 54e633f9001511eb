"""Semi-supervised RankBoost (Amini, Truong and Goutte 2008): unjudged rows get the grade of the nearest judged row.

In each list, the k unjudged rows nearest to a judged row get its grade (features scaled over all rows); the others stay
unjudged. In the initial distribution of RankBoost, the pairs of judged rows have total weight 1, and the pairs of
inferred grades total weight `unjudged`. The original method works on a single list; here lists without a judged row
have no inferred grades, and the stumps rank new lists as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from tacit.core import check_number, check_numbers
from tacit.rerank.boosting.rankboost import RankBoostRanker
from tacit.rerank.gradient.ranker import Choice, center_and_spread, values_of
from tacit.rerank.gradient.scorer_training import ValidationPairs
from tacit.rerank.rows import Pairs, Rows


class SemiRankBoostRanker(RankBoostRanker):
    """RankBoost on judged pairs and on pairs of inferred grades.

    Parameters
    ----------
    unjudged : float or sequence of float, default=(0.5, 0.1, 1.0)
        Weight of the pairs of inferred grades; of several values, the best on validation lists is used.
    k : int, default=10
        Number of unjudged rows of each list whose grades are inferred; None infers all.
    n_bins : int, default=256
        Number of bins of about equal size from which thresholds of a feature come; None uses every value.
    **params
        Parameters of `RankBoostRanker`.

    Examples
    --------
    >>> X, y = np.array([[0.0], [0.1], [0.9], [1.0]]), [0, -1, -1, 1]
    >>> SemiRankBoostRanker(n_rounds=20).fit(X, y).predict(X).argsort(kind="stable").tolist()
    [0, 1, 2, 3]
    """

    _any_size: ClassVar[bool] = False

    def __init__(
        self, unjudged: Choice = (0.5, 0.1, 1.0), k: int | None = 10, n_bins: int | None = 256, **params: Any
    ) -> None:
        super().__init__(n_bins=n_bins, **params)
        self.unjudged, self.k = unjudged, k

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        shares = values_of("unjudged", self.unjudged, low=0)
        check_number("n_rounds", self.n_rounds, low=1, whole=True)
        check_numbers(self, "k", optional=True, low=1, whole=True)
        rows.check_has_pairs()
        judged = ~np.isnan(rows.y)
        guessed = replace(rows, y=guess_grades(rows, self.k))
        prepared = self.prepare(guessed)
        held_out = None if validation is None else ValidationPairs.of(validation.X, validation, unjudged=True)
        best, kept = -np.inf, None
        for share in shares if held_out is not None else shares[:1]:
            weights = _pair_weights(guessed.pairs, judged, len(rows.given), share)
            self.fit_prepared(prepared, weights=weights, validation=validation)
            value = 0.0 if held_out is None else held_out.value(self.stumps_.score(held_out.X))
            if value > best:
                best, kept, self.unjudged_ = value, self.stumps_, share
        assert kept is not None  # there is always at least one share
        self.stump_features_, self.stump_thresholds_, self.stump_weights_ = kept


def guess_grades(rows: Rows, k: int | None = None) -> np.ndarray:
    """Return grades of all rows: the k unjudged rows of a list nearest to a judged row get its grade.

    Shape (n_rows,), float64. The other unjudged rows are NaN, also in lists without a judged row.

    >>> rows = Rows(np.array([[0.0], [1], [9], [6]]), np.array([0, np.nan, 2, np.nan]), np.array([0, 4]), np.arange(4))
    >>> guess_grades(rows).tolist(), guess_grades(rows, k=1).tolist()
    ([0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, nan])
    """
    table = np.nan_to_num(rows.X)  # RankBoost accepts missing values, distances do not
    X, grades = table / center_and_spread(table)[1], rows.y.copy()
    for span in rows.spans:
        unjudged = np.isnan(rows.y[span])
        judged, others = np.flatnonzero(~unjudged) + span.start, np.flatnonzero(unjudged) + span.start
        if len(judged) and len(others):
            judged = judged[np.lexsort((rows.y[judged], *X[judged].T))]  # ties in distance: the same row for any order
            distances = cdist(X[others], X[judged], "sqeuclidean")
            near = np.lexsort((*X[others].T, distances.min(axis=1)))[:k]
            grades[others[near]] = rows.y[judged[distances.argmin(axis=1)[near]]]
    return grades


def _pair_weights(pairs: Pairs, judged: np.ndarray, n_given: int, share: float) -> np.ndarray:
    """Return weights: judged and given pairs sum to 1, inferred pairs to share; judged against inferred weighs 0."""
    known = judged[pairs.better] & judged[pairs.worse]
    known[len(pairs) - n_given :] = True
    guesses = ~judged[pairs.better] & ~judged[pairs.worse] & ~known
    weights = np.where(known, pairs.weight, 0.0)
    weights /= weights.sum()
    return weights + share * guesses / max(1, guesses.sum())
