"""Distributions D over pairs of rows for RankBoost: graded pairs, weighted pairs, and pairs with costs (AdaCost).

All have the same two methods. `potentials()` returns pi (see `kernels.boosting`) for the current D, and
`step(fires, weight)` updates D after a stump. Arrays are indexed by position among the used rows, which are the rows
that occur in at least one pair.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tacit.kernels import boosting
from tacit.rerank.rows import Pairs, Rows

# Shares are scaled back to a sum of 1 when the sum leaves this range.
SMALLEST_SUM, LARGEST_SUM = 1e-50, 1e50


class PairDistribution(Protocol):
    """Interface of a distribution over pairs."""

    def potentials(self) -> np.ndarray:
        """pi of each used row, float64 (n_used,)."""

    def step(self, fires: np.ndarray, weight: float) -> None:
        """Update D after a stump that fires on some rows, bool (n_used,), with weight theta."""


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
