"""Semi-supervised RankBoost (Amini, Truong and Goutte 2008): unjudged rows take the grade of the nearest judged row.

Each unjudged row takes the grade of the nearest judged row of its list (features scaled over all rows). The initial
distribution of RankBoost gives the pairs of judged rows total weight 1, and the pairs of inferred grades total weight
`unjudged`. The original method works on a single list; here lists without a judged row have no inferred grades, and the
stumps rank new lists as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from tacit.core import check_number
from tacit.rerank.boosting.rankboost import RankBoostRanker
from tacit.rerank.gradient.ranker import Choice, center_and_spread, values_of
from tacit.rerank.gradient.training import ValidationPairs
from tacit.rerank.rows import Pairs, Rows


class SemiRankBoostRanker(RankBoostRanker):
    """RankBoost on judged pairs and on pairs of guessed grades.

    Parameters
    ----------
    unjudged : float or sequence of float, default=(0.5, 0.1, 1.0)
        Weight of the pairs of guessed grades; of several values, the best on validation lists is used.
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

    def __init__(self, unjudged: Choice = (0.5, 0.1, 1.0), n_bins: int | None = 256, **params: Any) -> None:
        super().__init__(n_bins=n_bins, **params)
        self.unjudged = unjudged

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        shares = values_of("unjudged", self.unjudged, low=0)
        check_number("n_rounds", self.n_rounds, low=1, whole=True)
        rows.check_has_pairs()
        judged = ~np.isnan(rows.y)
        guessed = replace(rows, y=np.where(judged, rows.y, guess_grades(rows)))
        prepared = self.prepare(guessed)
        held_out = None if validation is None else ValidationPairs.of(validation.X, validation, unjudged=True)
        best, kept = -np.inf, None
        for share in shares if held_out is not None else shares[:1]:
            weights = _pair_weights(guessed.pairs, judged, len(rows.given), share)
            self.fit_prepared(prepared, weights=weights, validation=validation)
            value = 0.0 if held_out is None else held_out.value(self.stumps_.score(held_out.X))
            if value > best:
                best, kept, self.unjudged_ = value, self.stumps_, share
        assert kept is not None  # there is always a share
        self.stump_features_, self.stump_thresholds_, self.stump_weights_ = kept


def guess_grades(rows: Rows) -> np.ndarray:
    """Grade of the nearest judged row of the list, float64 (n_rows,); NaN where a list has no judged row.

    >>> rows = Rows(np.array([[0.0], [1], [9]]), np.array([0, np.nan, 2]), np.array([0, 3]), np.arange(3))
    >>> guess_grades(rows).tolist()
    [0.0, 0.0, 2.0]
    """
    table = np.nan_to_num(rows.X)  # RankBoost takes missing values, distances do not
    X, guesses = table / center_and_spread(table)[1], np.full(len(rows.y), np.nan)
    for start, stop in zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
        judged = np.flatnonzero(~np.isnan(rows.y[start:stop])) + start
        judged = judged[np.lexsort((rows.y[judged], *X[judged].T))]  # equally near: the same row for any order
        if len(judged):
            nearest = cdist(X[start:stop], X[judged], "sqeuclidean").argmin(axis=1)
            guesses[start:stop] = rows.y[judged[nearest]]
    return guesses


def _pair_weights(pairs: Pairs, judged: np.ndarray, n_given: int, share: float) -> np.ndarray:
    """Judged pairs (and given ones) sum to 1, guessed ones to share; a judged row against a guess counts nothing."""
    known = judged[pairs.better] & judged[pairs.worse]
    known[len(pairs) - n_given :] = True
    guesses = ~judged[pairs.better] & ~judged[pairs.worse] & ~known
    weights = np.where(known, pairs.weight, 0.0)
    weights /= weights.sum()
    return weights + share * guesses / max(1, guesses.sum())
