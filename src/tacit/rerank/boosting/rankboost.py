"""RankBoost: a weighted sum of decision stumps, fitted to pairs by boosting.

F(d) = sum_t theta_t [x_f(d) > threshold_t], where f is the feature of stump t and theta_t its weight. After each stump
D *= exp(-theta (h(better) - h(worse))), normalised (Freund, Iyer, Schapire and Singer 2003; `stumps` has the choice of
h and theta). Any prefix of the rounds is a ranker. A missing value (NaN) fires no stump.

For repeated fits on the same rows, `prepare` bins the features once, and `fit_prepared` fits with further columns and
weights of pairs.

AdaCost is RankBoost with a cost for each pair: important pairs gain weight fast and lose it slowly. theta and the
stump are chosen as in RankBoost, but D *= exp(-c theta (h(better) - h(worse))) with

    c = 0.5 + 0.5 w~ where this stump orders the pair wrongly, 0.5 - 0.5 w~ where it does not,

w~ = (w - min w) / (max w - min w), and 0 if all are equal (Duh and Kirchhoff 2011 after Fan and others 1999; the
footnote there swaps the two cases, unlike the text and AdaCost; `swap_costs=True` is this variant).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from tacit.core import StoreError, TacitError, check_number, check_numbers, count_threads, cut
from tacit.metrics import evaluate_rows, is_loss, parse_measure
from tacit.rerank.base import ListRanker
from tacit.rerank.boosting.stumps import (
    BinnedFeatures,
    CostlyDistribution,
    GradedDistribution,
    PairDistribution,
    PairwiseDistribution,
    Stumps,
    boost,
    used_rows,
)
from tacit.rerank.list_columns import check_list_scale, scale_within_lists
from tacit.rerank.rows import Pairs, Rows

# Number of scores of validation rows that are measured together.
SCORES_AT_ONCE = 200_000


class StumpReason(NamedTuple):
    """A stump that fires for only one of two rows, and its contribution to the difference of their scores."""

    feature: int
    threshold: float
    value: float


@dataclass(frozen=True)
class Prepared:
    """Rows prepared for many fits: the numbers of the rows in pairs, and their binned features."""

    rows: Rows
    used: np.ndarray
    binned: BinnedFeatures


class RankBoostRanker(ListRanker):
    """RankBoost on grades, preferences and weights of pairs.

    Parameters
    ----------
    n_rounds : int, default=300
        Maximum number of stumps.
    n_bins : int, default=128
        Number of bins of about equal size from which thresholds of a feature come; None uses every value.
    measure : str, default="AP"
        Measure for the choice of the number of rounds on validation lists (see `measure_both_ways`); without these all
        rounds are kept.
    threads : int, default=None
        Number of threads; None uses all cores. The scores are the same for any number.
    shrinkage : float, default=1.0
        Step size: fraction, above 0 and at most 1, of its weight that each stump gets.
    scale : {"zscore", "minmax"} or None, default=None
        Scale features within each list, in training and test lists. Thresholds then mean "far above the other documents
        of this list", and scores depend on all rows of a list.

    Attributes
    ----------
    stump_features_ : ndarray of shape (n_rounds,), int64
        Feature of each stump.
    stump_thresholds_ : ndarray of shape (n_rounds,), float64
        Threshold of each stump.
    stump_weights_ : ndarray of shape (n_rounds,), float64
        Weight of each stump.

    Examples
    --------
    >>> X, y = np.array([[3, 0], [1, 5], [2, 5.0]]), [2, 0, 1]
    >>> ranker = RankBoostRanker(n_rounds=20).fit(X, y)
    >>> np.argsort(-ranker.predict(X)).tolist()
    [0, 2, 1]
    """

    _fitted: ClassVar[dict[str, str]] = {
        "stump_features_": "rounds",
        "stump_thresholds_": "rounds",
        "stump_weights_": "rounds",
    }
    _allow_nan: ClassVar[bool] = True
    _any_size: ClassVar[bool] = True
    weight_level: ClassVar[str] = "pair"  # level of the weights of `fit_prepared`

    def __init__(
        self,
        n_rounds: int = 300,
        n_bins: int | None = 128,
        measure: str = "AP",
        threads: int | None = None,
        shrinkage: float = 1.0,
        scale: str | None = None,
    ) -> None:
        self.n_rounds, self.n_bins, self.measure, self.threads = n_rounds, n_bins, measure, threads
        self.shrinkage, self.scale = shrinkage, scale

    @property
    def stumps_(self) -> Stumps:
        """The fitted stumps."""
        return Stumps(self.stump_features_, self.stump_thresholds_, self.stump_weights_)

    def prepare(self, rows: Rows) -> Prepared:
        """Bin the features of all rows in pairs, for `fit_prepared`."""
        self._check_params()
        used = used_rows(rows)
        if not len(used):
            rows.check_has_pairs()
        return Prepared(rows, used, self._bin(rows.X[used]))

    def fit_prepared(
        self,
        prepared: Prepared,
        extra: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        validation: Rows | None = None,
    ) -> Self:
        """Fit on prepared rows, with further columns and other weights of their pairs, as `fit` does on such a table.

        extra: float64 (n_rows, n_extra), columns after the rows' features; weights: float64, one for each of
        `rows.pairs`; validation: with all columns. Prepared rows can be reused.
        """
        self._check_params()
        binned = prepared.binned
        if extra is not None:
            binned = binned.join(self._bin(extra[prepared.used]))
        distribution = self._distribution(prepared, weights)
        stumps = boost(binned, distribution, self.n_rounds, self.threads, self.shrinkage)
        if validation is not None and len(stumps.features):
            stumps = stumps.take(slice(best_prefix(stumps, validation, self.measure)))
        self.stump_features_, self.stump_thresholds_, self.stump_weights_ = stumps
        self.n_features_in_ = len(binned.codes)
        return self

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        self.fit_prepared(self.prepare(rows), validation=validation)

    def _read_table(self, table: np.ndarray, lists: np.ndarray) -> np.ndarray:
        check_list_scale(self.scale)
        return scale_within_lists(super()._read_table(table, lists), lists, self.scale)

    def needs_lists(self) -> bool:
        """Return whether features are scaled within their list."""
        return self.scale is not None

    def _one_list(self, X: Any) -> np.ndarray:
        """Return checked features of the rows of one list."""
        self._check_fitted()
        table = self._checked(X, reset=False)
        return self._read_table(table, np.zeros(len(table), np.int64))

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        return self.stumps_.score(X)

    def staged_scores(self, X: np.ndarray) -> np.ndarray:
        """Return scores of checked rows after each round, (n_rounds, n_rows); one row of zeros if there is no stump."""
        added = self.stumps_.outputs(X)
        return np.cumsum(added, axis=0) if len(added) else np.zeros((1, len(X)))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Return scores of the rows of one list after each round; the last are equal to `predict`."""
        table = self._one_list(X)
        scores = np.zeros(len(table))
        for added in self.stumps_.outputs(table):
            scores += added
            yield scores.copy()

    def explain(self, X: Any, a: int, b: int) -> list[StumpReason]:
        """Explain why row a of X ranks above row b: contributions of stumps to score(a) - score(b), largest first.

        Rounds with the same stump are combined.

        >>> X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
        >>> ranker = RankBoostRanker(n_rounds=2).fit(X, [2, 1, 0])
        >>> [(reason.feature, reason.threshold, round(reason.value, 3)) for reason in ranker.explain(X, 0, 1)]
        [(0, 0.5, 0.805)]
        """
        table = self._one_list(X)
        for row in (a, b):
            check_number("row", row, low=0, high=len(table) - 1, whole=True)
        first, second = self.stumps_.outputs(table[[a, b]]).T
        values: dict[tuple[int, float], float] = {}
        for feature, threshold, value in zip(
            self.stump_features_.tolist(), self.stump_thresholds_.tolist(), (first - second).tolist(), strict=True
        ):
            if value:
                values[feature, threshold] = values.get((feature, threshold), 0.0) + value
        reasons = [StumpReason(*stump, value) for stump, value in values.items()]
        return sorted(reasons, key=lambda reason: (-abs(reason.value), reason.feature, reason.threshold))

    def _check_loaded(self) -> None:
        features, thresholds, weights = self.stumps_
        kinds = features.dtype, thresholds.dtype, weights.dtype
        if kinds != (np.int64, np.float64, np.float64):
            raise StoreError(f"stumps are {', '.join(map(str, kinds))}, want int64, float64, float64")
        if len(features) and not 0 <= features.min() <= features.max() < self.n_features_in_:
            raise StoreError(f"a stump has feature {features.max()}, want 0 to {self.n_features_in_ - 1}")

    def _distribution(self, prepared: Prepared, weights: np.ndarray | None) -> PairDistribution:
        if weights is None and not len(prepared.rows.given):
            return GradedDistribution(prepared.rows, prepared.used)
        return PairwiseDistribution(weighted_pairs(prepared.rows, weights), prepared.used)

    def _bin(self, X: np.ndarray) -> BinnedFeatures:
        return BinnedFeatures.of(X, self.n_bins, self.threads)

    def _check_params(self) -> None:
        check_number("n_rounds", self.n_rounds, low=1, whole=True)
        check_numbers(self, "n_bins", optional=True, low=2, whole=True)
        check_number("shrinkage", self.shrinkage, low=0, high=1, open_low=True)
        check_list_scale(self.scale)
        parse_measure(self.measure)
        count_threads(self.threads)


def best_prefix(stumps: Stumps, validation: Rows, measure: str, scores_at_once: int = SCORES_AT_ONCE) -> int:
    """Return the smallest number of rounds with the best mean of the measure over validation lists."""
    n_rows, n_lists = len(validation.y), validation.n_lists
    scores, means = np.zeros(n_rows), []
    for block in cut(len(stumps.features), max(1, scores_at_once // n_rows)):
        staged = scores + np.cumsum(stumps.take(block).outputs(validation.X), axis=0)
        n_rounds, scores = len(staged), staged[-1]
        lists = np.arange(n_rounds)[:, None] * n_lists + validation.list_of
        grades = np.broadcast_to(validation.y, staged.shape)
        values = measure_both_ways(grades.ravel(), staged.ravel(), lists.ravel(), measure)
        means.append(values.reshape(n_rounds, n_lists).mean(axis=1))
    found = np.concatenate(means)
    return int(np.argmin(found) if is_loss(str(parse_measure(measure))) else np.argmax(found)) + 1


def measure_both_ways(grades: np.ndarray, scores: np.ndarray, lists: np.ndarray, measure: str) -> np.ndarray:
    """Return values of a measure by list, in the order of np.unique(lists), averaged over both orders of ties.

    Few stumps leave many ties. If rows of a file are sorted by grade, ranking ties in file order would make a ranker
    of one stump look good.

    >>> measure_both_ways(np.array([1, 0]), np.zeros(2), np.zeros(2), "RR")
    array([0.75])
    """
    wanted = parse_measure(measure)
    ways = [evaluate_rows(grades[::way], scores[::way], lists[::way], wanted).values[str(wanted)] for way in (1, -1)]
    return (ways[0] + ways[1]) / 2


def weighted_pairs(rows: Rows, weights: np.ndarray | None) -> Pairs:
    """Return the pairs of the rows, with these weights if given."""
    if weights is None:
        return rows.pairs
    counted = np.asarray(weights, np.float64)
    if counted.shape != (len(rows.pairs),) or not (np.isfinite(counted) & (counted >= 0)).all() or not counted.any():
        raise TacitError(f"weights wants {len(rows.pairs)} finite numbers >= 0, one for each pair, and one above 0")
    return Pairs(rows.pairs.better, rows.pairs.worse, counted)


class AdaCostRanker(RankBoostRanker):
    """RankBoost in which the weights of pairs are misclassification costs.

    All pairs start with the same share.

    Parameters
    ----------
    n_rounds : int, default=300
        Maximum number of stumps.
    swap_costs : bool, default=False
        Use costs as in footnote 7 of Duh and Kirchhoff: important pairs gain weight slowly and lose it fast.
    **params
        Further parameters of `RankBoostRanker`.

    Examples
    --------
    >>> X, pairs = np.tile([[1.0, 0.0], [0.0, 1.0]], (3, 1)), [[0, 1], [3, 2], [5, 4]]
    >>> ranker = AdaCostRanker(n_rounds=2).fit(X, [-1] * 6, pairs=pairs, pair_weights=[3.0, 1.0, 1.0])
    >>> ranker.stump_weights_.round(3).tolist()
    [-0.347, -0.087]
    """

    _renamed: ClassVar = {"footnote": "swap_costs"}

    def __init__(self, n_rounds: int = 300, *, swap_costs: bool = False, **params: Any) -> None:
        super().__init__(n_rounds, **params)
        self.swap_costs = swap_costs

    def _distribution(self, prepared: Prepared, weights: np.ndarray | None) -> PairDistribution:
        return CostlyDistribution(weighted_pairs(prepared.rows, weights), prepared.used, self.swap_costs)
