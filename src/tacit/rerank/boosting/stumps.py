"""Rounds of boosting: in each, the best stump for the current distribution over pairs.

**Bins.** Features are divided into bins once for many rounds and, column by column, for many fits. A feature's
thresholds t_0 < t_1 < ... are halfway between consecutive values. The code of a value is the number of thresholds below
it, so that "value > t_k" is "code > k". A missing value (NaN) has code 0, so no stump fires. If some values are
missing, a first threshold below all others separates known values from missing ones.

**Distributions** D are over pairs of rows: graded pairs, weighted pairs, and pairs with costs (AdaCost). All have the
same two methods. `potentials()` returns pi (see `kernels.boosting`) for the current D, and `step(fires, weight)`
updates D after a stump. Arrays are indexed by position among the used rows, which are the rows that occur in at least
one pair.

**Rounds.** A round takes the stump h with the largest |r| and gives it the weight theta:

    r = sum over pairs of D (h(better) - h(worse)),   theta = 0.5 s ln((1 + r) / (1 - r)),   which may be negative.

where D is the weight of the pair and s the shrinkage: 1 in RankBoost; smaller steps need more rounds and fit less
closely.

Rounds end early if a stump orders every pair correctly (it would be chosen in all further rounds) or if r is 0 for all
stumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.core import cut, map_blocks
from tacit.kernels import boosting
from tacit.rerank.rows import Pairs, Rows

COLUMNS_AT_ONCE = 8
# Shares are scaled back to a sum of 1 when the sum leaves this range.
SMALLEST_SUM, LARGEST_SUM = 1e-50, 1e50
# |r| = 1 would give an infinite weight; with this one the stump outvotes all others.
LARGEST_MARGIN = 1 - 1e-9

# A smaller margin is rounding error: no stump is better than chance.
LEAST_MARGIN = 1e-13

# Number of codes per thread from which a further thread is worth starting.
CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class BinnedFeatures:
    """Codes of the rows of a feature table, feature by feature.

    codes: uint8, uint16 or uint32 (n_features, n_rows), C order; thresholds[f]: float64, ascending.

    >>> known = BinnedFeatures.of(np.array([[0.0], [2.0], [2.0], [4.0]]))
    >>> known.codes.tolist(), known.thresholds[0].tolist()
    ([[0, 1, 1, 2]], [1.0, 3.0])
    >>> known.join(BinnedFeatures.of(np.array([[7.0], [np.nan], [9.0], [9.0]]))).codes[1].tolist()
    [1, 0, 2, 2]
    """

    codes: np.ndarray
    thresholds: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, X: np.ndarray, n_bins: int | None = 128, threads: int | None = 1) -> BinnedFeatures:
        """Bin the columns of X (n_rows, n_features): into n_bins of about equal size, or one per value if None."""
        blocks = cut(X.shape[1], COLUMNS_AT_ONCE)
        binned = [
            pair for block in map_blocks(lambda b: _bin_columns(X[:, b], n_bins), blocks, threads) for pair in block
        ]
        codes = np.zeros((X.shape[1], len(X)), np.result_type(np.uint8, *{column.dtype for column, _ in binned}))
        for feature, (column, _) in enumerate(binned):
            codes[feature] = column
        return cls(codes, tuple(thresholds for _, thresholds in binned))

    def join(self, other: BinnedFeatures) -> BinnedFeatures:
        """Join these features with another table's, of the same rows, without sorting again."""
        return BinnedFeatures(np.concatenate([self.codes, other.codes]), self.thresholds + other.thresholds)

    @property
    def n_cuts(self) -> np.ndarray:
        """Number of thresholds of each feature, int64."""
        return np.array([len(thresholds) for thresholds in self.thresholds], np.int64)


def _bin_columns(X: np.ndarray, n_bins: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
    return [_bin_column(X[:, feature], n_bins) for feature in range(X.shape[1])]


def _bin_column(values: np.ndarray, n_bins: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and thresholds of one feature."""
    order = np.argsort(values, kind="stable")  # NaN comes last
    n_known = len(values) - int(np.isnan(values).sum())
    ordered = values[order[:n_known]]
    ends = np.flatnonzero(ordered[1:] > ordered[:-1])  # last position of each distinct value except the largest
    if n_bins is not None and len(ends) >= n_bins:
        wanted = np.arange(1, n_bins) * n_known / n_bins  # target number of rows below the cut
        ends = np.unique(ends[np.minimum(np.searchsorted(ends + 1, wanted), len(ends) - 1)])
    low, high = ordered[ends], ordered[ends + 1]
    middle = low + (high - low) / 2
    thresholds = np.where(middle < high, middle, low)  # there is no value between neighbouring floats
    codes_by_place = np.zeros(len(values), np.int64)
    codes_by_place[ends + 1] = 1
    np.cumsum(codes_by_place, out=codes_by_place)
    if 0 < n_known < len(values):
        thresholds = np.concatenate([[np.nextafter(ordered[0], -np.inf)], thresholds])
        codes_by_place += 1
    codes_by_place[n_known:] = 0
    codes = np.empty(len(values), np.min_scalar_type(len(thresholds)))
    codes[order] = codes_by_place
    return codes, thresholds


class GradedDistribution:
    """All pairs of different grades within lists, with equal initial weights.

    D is a product of factors of the two rows, so a round takes time linear in the rows, not in the pairs.

    Parameters
    ----------
    rows : Rows
        Training rows.
    used : ndarray of shape (n_used,), int64
        Rows that occur in a pair, as `used_rows` returns them.

    Examples
    --------
    >>> rows = Rows(np.zeros((3, 1)), np.array([0, 2, 1.0]), np.array([0, 3]), np.arange(3))
    >>> used = used_rows(rows)
    >>> used.tolist(), GradedDistribution(rows, used).potentials().round(3).tolist()
    ([1, 2, 0], [0.667, 0.0, -0.667])
    """

    def __init__(self, rows: Rows, used: np.ndarray) -> None:
        new_list = _changes(rows.list_of[used])
        new_level = new_list | _changes(rows.y[used])
        self._level_starts = np.append(np.flatnonzero(new_level), len(used))
        self._list_levels = np.append(np.flatnonzero(new_list[new_level]), np.count_nonzero(new_level))
        self._scores = np.zeros(len(used))

    def potentials(self) -> np.ndarray:
        """pi of each used row."""
        found = np.empty(len(self._scores))
        boosting.graded_potentials(self._scores, self._level_starts, self._list_levels, found)
        return found

    def step(self, fires: np.ndarray, weight: float) -> None:
        """D *= exp(-weight (h(better) - h(worse)))."""
        self._scores += weight * fires


class PairwiseDistribution:
    """Any pairs; the initial D is proportional to their weights."""

    def __init__(self, pairs: Pairs, used: np.ndarray) -> None:
        position = np.empty(int(used.max()) + 1, np.int32)
        position[used] = np.arange(len(used))
        self._better, self._worse = position[pairs.better], position[pairs.worse]
        self._shares = pairs.weight / pairs.weight.max()
        self._potentials = np.empty(len(used))
        self.step(np.zeros(len(used), bool), 0.0)

    def potentials(self) -> np.ndarray:
        """pi of each used row."""
        return self._potentials

    def step(self, fires: np.ndarray, weight: float) -> None:
        """D *= exp(-weight (h(better) - h(worse)))."""
        total = self._take_step(fires.view(np.int8), weight)
        if not SMALLEST_SUM < total < LARGEST_SUM:
            self._shares /= total

    def _take_step(self, fires: np.ndarray, weight: float) -> float:
        arrays = self._shares, self._potentials
        return float(boosting.step_pairs(self._better, self._worse, fires, weight, *arrays))


class CostlyDistribution(PairwiseDistribution):
    """AdaCost: equal initial weights; the weight of a pair scales its updates (see `adacost`)."""

    def __init__(self, pairs: Pairs, used: np.ndarray, swap_costs: bool = False) -> None:
        self._importance = scale_weights(pairs.weight) * (-1 if swap_costs else 1)  # the two cases of c swapped
        super().__init__(Pairs(pairs.better, pairs.worse, np.ones(len(pairs))), used)

    def _take_step(self, fires: np.ndarray, weight: float) -> float:
        arrays = self._importance, fires, weight, self._shares, self._potentials
        return float(boosting.step_costly_pairs(self._better, self._worse, *arrays))


PairDistribution = GradedDistribution | PairwiseDistribution


def used_rows(rows: Rows) -> np.ndarray:
    """Return the rows in pairs; without given preferences ordered by list, then by grade, highest first.

    Rows that are unjudged or in lists with one grade are in no pair, unless a preference names them.
    """
    if len(rows.given):
        return np.unique(np.concatenate([rows.pairs.better, rows.pairs.worse]))
    judged = np.flatnonzero(~np.isnan(rows.y))
    order = judged[np.lexsort((-rows.y[judged], rows.list_of[judged]))]
    starts = np.flatnonzero(_changes(rows.list_of[order]))
    lengths = np.diff(np.append(starts, len(order)))
    grades = rows.y[order]
    return order[np.repeat(grades[starts] > grades[starts + lengths - 1], lengths)]


def scale_weights(weights: np.ndarray) -> np.ndarray:
    """Return weights scaled to the range 0 to 1; all 0 if they are equal.

    >>> scale_weights(np.array([1.0, 3.0, 2.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    low, high = weights.min(), weights.max()
    return (weights - low) / (high - low) if high > low else np.zeros(len(weights))


def _changes(values: np.ndarray) -> np.ndarray:
    """Return whether each value differs from the one before it; True for the first."""
    changes = np.ones(len(values), bool)
    changes[1:] = values[1:] != values[:-1]
    return changes


class Stumps(NamedTuple):
    """Stump t adds `weights[t]` to rows with X[row, features[t]] > thresholds[t]; int64, float64, float64.

    >>> stumps = Stumps(np.array([0, 1]), np.array([1.0, 0.5]), np.array([0.25, -1.0]))
    >>> stumps.score(np.array([[2.0, 0.0], [2.0, 1.0], [np.nan, 1.0]])).tolist()
    [0.25, -0.75, -1.0]
    """

    features: np.ndarray
    thresholds: np.ndarray
    weights: np.ndarray

    def score(self, X: np.ndarray) -> np.ndarray:
        """Return scores of rows, float64 (n_rows,)."""
        scores = np.zeros(len(X))
        boosting.add_stumps(X, self.features, self.thresholds, self.weights, scores)
        return scores

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """Return the output of each stump for each row, float64 (n_stumps, n_rows)."""
        fires = X.T[self.features] > self.thresholds[:, None]
        return np.where(fires, self.weights[:, None], 0.0)

    def take(self, rounds: slice) -> Stumps:
        """Return the stumps of some rounds."""
        return Stumps(*(column[rounds] for column in self))


def boost(
    binned: BinnedFeatures,
    distribution: PairDistribution,
    n_rounds: int,
    threads: int | None = 1,
    shrinkage: float = 1.0,
) -> Stumps:
    """Return the stumps of at most n_rounds rounds; binned are the features of the used rows; D is changed."""
    chosen: list[tuple[int, float, float]] = []
    search = _Search(binned, threads)
    while len(chosen) < n_rounds:
        feature, place, margin = search.best(distribution.potentials())
        if abs(margin) < LEAST_MARGIN:
            break
        margin = min(max(margin, -LARGEST_MARGIN), LARGEST_MARGIN)
        weight = 0.5 * shrinkage * float(np.log((1 + margin) / (1 - margin)))
        chosen.append((feature, float(binned.thresholds[feature][place]), weight))
        if abs(margin) == LARGEST_MARGIN:
            break
        distribution.step(binned.codes[feature] > place, weight)
    features, thresholds, weights = zip(*chosen, strict=True) if chosen else ((), (), ())
    return Stumps(np.array(features, np.int64), np.array(thresholds, np.float64), np.array(weights, np.float64))


class _Search:
    """Finds the best stump repeatedly, in blocks of features that do not depend on the number of threads."""

    def __init__(self, binned: BinnedFeatures, threads: int | None) -> None:
        self.features = np.flatnonzero(binned.n_cuts)  # a constant feature has no stump
        self.codes, self.n_cuts = binned.codes[self.features], binned.n_cuts[self.features]
        n_features, n_rows = self.codes.shape
        self.blocks = cut(n_features, 4 * max(1, CELLS_AT_ONCE // 4 // max(1, n_rows)))
        self.threads = threads
        self.sums = np.empty((n_features, 1 + int(self.n_cuts.max(initial=0))))
        self.cuts, self.margins = np.zeros(n_features, np.int64), np.zeros(n_features)

    def best(self, potentials: np.ndarray) -> tuple[int, int, float]:
        """Return feature, threshold number and margin r of the stump with the largest |r|; r is 0 if there is none."""
        if not len(self.features):
            return 0, 0, 0.0
        results = self.sums, self.cuts, self.margins

        def search(block: slice) -> None:
            boosting.best_cuts(self.codes, self.n_cuts, potentials, block.start, block.stop, *results)

        map_blocks(search, self.blocks, self.threads)
        strength = np.abs(self.margins)
        best = int(np.argmax(strength >= strength.max() * (1 - boosting.TIE)))  # ties go to the first
        return int(self.features[best]), int(self.cuts[best]), float(self.margins[best])
