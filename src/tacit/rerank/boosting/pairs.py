"""The distribution D over pairs of rows that boosting works against, in three forms with one face.

A distribution speaks of the used rows alone, those that stand in a pair, by their place among them. `potentials()`
gives pi (see `kernels.boosting`) for the D of this moment, `step(fires, weight)` changes D after a stump.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tacit.kernels import boosting
from tacit.rerank.rows import Pairs, Rows

# Shares are brought back to a sum of 1 when it leaves this range.
SMALLEST_SUM, LARGEST_SUM = 1e-50, 1e50


class PairDistribution(Protocol):
    """What boosting asks of D."""

    def potentials(self) -> np.ndarray:
        """pi of each used row, float64 (n_used,)."""

    def step(self, fires: np.ndarray, weight: float) -> None:
        """Take in a stump: where it fires, bool (n_used,), and its weight theta."""


class GradedDistribution:
    """All pairs of different grades of a list, alike at the start: D factors, so a round never looks at a pair.

    rows and the used ones as `used_rows` gives them.

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
    """Any pairs, with shares of D in proportion to their weights at the start."""

    def __init__(self, pairs: Pairs, used: np.ndarray) -> None:
        place = np.empty(int(used.max()) + 1, np.int32)
        place[used] = np.arange(len(used))
        self._better, self._worse = place[pairs.better], place[pairs.worse]
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
    """AdaCost: all pairs alike at the start; their weights say how fast each gains and how slowly it loses."""

    def __init__(self, pairs: Pairs, used: np.ndarray) -> None:
        self._importance = scale_weights(pairs.weight)
        super().__init__(Pairs(pairs.better, pairs.worse, np.ones(len(pairs))), used)

    def _take_step(self, fires: np.ndarray, weight: float) -> float:
        arrays = self._importance, fires, weight, self._shares, self._potentials
        return float(boosting.step_costly_pairs(self._better, self._worse, *arrays))


def used_rows(rows: Rows) -> np.ndarray:
    """Numbers of the rows that stand in a pair; without given preferences by list and best grade first.

    Other rows, unjudged or in lists of one grade, can teach a stump nothing.
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
    """Weights from 0 (the smallest) to 1 (the largest); all 0 where they are equal.

    >>> scale_weights(np.array([1.0, 3.0, 2.0])).tolist()
    [0.0, 1.0, 0.5]
    """
    low, high = weights.min(), weights.max()
    return (weights - low) / (high - low) if high > low else np.zeros(len(weights))


def _changes(values: np.ndarray) -> np.ndarray:
    """Whether each value differs from the one before; the first does."""
    changes = np.ones(len(values), bool)
    changes[1:] = values[1:] != values[:-1]
    return changes
