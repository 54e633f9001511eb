"""Pairwise losses and regularizers with their gradients dLoss/ds, one number for each row.

    Bradley-Terry   mean over pairs of c log(1 + exp(-(s_better - s_worse)))
    swap-weighted   the same with c times |change of a measure when the two are swapped|: the gradients of LambdaRank

where c is the weight of a pair and s a score. Losses are means, so the learning rate and the weights of regularizers do
not depend on the number of pairs; with `mean=False` they are sums, as printed in PREF (equations 7 and 14). Positions,
and the swap weights computed from them, are computed at each call and held fixed in the gradient; the loss is
discontinuous where positions change. For nDCG, positions are in the full list or among the judged rows: the change
depends on the gains and discounts of the two rows only. AP and RR depend on the grades of all rows in between, so
positions are among the judged rows. A given preference has no grades; its weight is |R(position_i) - R(position_j)|,
where R is the discount of the measure in the full list.

A regularizer over pairs of neighbours is a term of the gradient, in addition to the loss:

    preference  -(beta / 2) mean of q_ij log(P_ij (1 - P_ij)):  linear in large differences of scores
    quadratic    (beta / 8) mean of q_ij (s_i - s_j)^2:         equation 3 of PREF

where q_ij is the strength of the pair and P_ij the model's probability that i is better. Both are means over unordered
pairs of neighbours, normalised by the sum of q; with `mean=False` they are sums, whose gradient for s_i is PREF's
equation 17. The rank-sensitive form multiplies q_ij by |R(position_i) - R(position_j)|, with R the discount and
positions in the full list, computed at each call and held fixed in the gradient.
"""

from __future__ import annotations

import numpy as np

from tacit.core import TacitError, UsageError, check_choice, check_number
from tacit.kernels.lambdas import (
    add_pair_curvatures,
    add_pair_gradients,
    add_preference_gradients,
    add_quadratic_gradients,
    fill_positions,
    scale_by_discounts,
    swap_average_precision,
    swap_ndcg,
    swap_reciprocal_rank,
)
from tacit.metrics import Measure, parse_measure
from tacit.rerank.gradient.neighbours import NeighbourPairs
from tacit.rerank.rows import Pairs, Rows, graded_pairs

GAIN_MEASURES = ("nDCG", "nDCG-exp", "nDCG-letor")
SWAP_MEASURES = (*GAIN_MEASURES, "AP", "RR")
POSITIONS = ("judged", "list")
PENALTIES = {"preference": add_preference_gradients, "quadratic": add_quadratic_gradients}


class PairLoss:
    """The Bradley-Terry likelihood of the known pairs."""

    def __init__(self, pairs: Pairs, *, mean: bool = True) -> None:
        self.pairs = pairs
        self.weight = pairs.weight / pairs.weight.sum() if mean else pairs.weight

    def add(self, scores: np.ndarray, gradient: np.ndarray) -> float:
        """Add dLoss/ds to the gradient, and return the loss."""
        return float(add_pair_gradients(scores, self.pairs.better, self.pairs.worse, self.weight, gradient))

    def add_curvature(self, scores: np.ndarray, curvature: np.ndarray) -> None:
        """Add the diagonal of d2Loss/ds2 to the curvature."""
        add_pair_curvatures(scores, self.pairs.better, self.pairs.worse, self.weight, curvature)


class SwapLoss:
    """Pairs weighted by the change of a measure when they are swapped, at their current positions."""

    def __init__(self, rows: Rows, measure: str, *, mean: bool = True, positions: str = "list") -> None:
        self.measure = parse_swap_measure(measure)
        self.in_list = check_choice("positions", positions, POSITIONS) == "list" and self.measure.name in GAIN_MEASURES
        self.rows = rows
        self.graded = graded_pairs(rows.y, rows.starts)  # list by list
        self.judged = ~np.isnan(rows.y)
        grade = np.where(self.judged, rows.y, 0.0)
        self.relevant = grade >= 1
        gains = grade if self.measure.name == "nDCG" else np.exp2(grade) - 1
        if not np.isfinite(gains).all():
            raise TacitError(f"{self.measure.name} has gain 2^grade - 1: grade is {grade.max():g}, want less than 1024")
        self.discounts = discount_table(self.measure, int(np.diff(rows.starts).max()))
        list_of_pair = rows.list_of[self.graded.better]
        self.first_pair = np.searchsorted(list_of_pair, np.arange(rows.n_lists + 1))
        self.gain = (gains[self.graded.better] - gains[self.graded.worse]) / self._best_gains(gains)[list_of_pair]
        # A measure is a mean over lists; lists without a pair do not contribute.
        self.n_lists = len(np.unique(rows.list_of[rows.pairs.better])) if mean else 1

    def _best_gains(self, gains: np.ndarray) -> np.ndarray:
        """Return DCG of the ideal order of each list's judged rows; 1 where it is 0."""
        order = np.lexsort((-gains, self.rows.list_of))
        position = np.arange(len(gains)) - self.rows.starts[self.rows.list_of]
        best = np.bincount(self.rows.list_of, gains[order] * self.discounts[position], self.rows.n_lists)
        return np.where(best > 0, best, 1.0)

    def weights(self, scores: np.ndarray) -> np.ndarray:
        """Return the weight of each pair at these scores: first graded pairs, then given ones."""
        given = np.empty(len(self.rows.given))
        if len(given):
            positions = list_positions(scores, self.rows.starts)
            columns = (self.rows.given.better, self.rows.given.worse, self.rows.given.weight)
            scale_by_discounts(*columns, positions, self.discounts, given)
        return np.concatenate([self._changes(scores) * self.graded.weight, given]) / self.n_lists

    def _changes(self, scores: np.ndarray) -> np.ndarray:
        better, worse, change = self.graded.better, self.graded.worse, np.empty(len(self.graded))
        positions = list_positions(scores, self.rows.starts, None if self.in_list else self.judged)
        if self.measure.name in GAIN_MEASURES:
            swap_ndcg(better, worse, positions, self.gain, self.discounts, change)
        else:
            swap = swap_average_precision if self.measure.name == "AP" else swap_reciprocal_rank
            swap(self.rows.starts, better, worse, positions, self.relevant, self.first_pair, change)
        return change

    def add(self, scores: np.ndarray, gradient: np.ndarray) -> float:
        """Add dLoss/ds, with positions held fixed, and return the loss."""
        pairs = self.rows.pairs
        return float(add_pair_gradients(scores, pairs.better, pairs.worse, self.weights(scores), gradient))

    def add_curvature(self, scores: np.ndarray, curvature: np.ndarray) -> None:
        """Add the diagonal of d2Loss/ds2, with positions held fixed."""
        pairs = self.rows.pairs
        add_pair_curvatures(scores, pairs.better, pairs.worse, self.weights(scores), curvature)


def list_positions(scores: np.ndarray, starts: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
    """Return the position, from 0, of each row among the counted rows of its list, best first; -1 if not counted.

    >>> list_positions(np.array([0.1, 0.9, 0.5]), np.array([0, 3]), np.array([True, True, False])).tolist()
    [1, 0, -1]
    """
    positions = np.empty(len(scores), np.int64)
    fill_positions(scores, starts, np.ones(len(scores), bool) if counted is None else counted, positions)
    return positions


def parse_swap_measure(name: str) -> Measure:
    """Return the measure, if the change by a swap is known for it.

    >>> parse_swap_measure("MAP").name, parse_swap_measure("nDCG@5").cutoff
    ('AP', 5)
    """
    measure = parse_measure(name)
    plain = measure.rel == 1 and not measure.judged_only and (measure.cutoff is None or measure.name.startswith("nDCG"))
    if measure.name not in SWAP_MEASURES or not plain:
        raise UsageError(f"measure is {name!r}, want nDCG, nDCG-exp or nDCG-letor (with @k or without), MAP or RR")
    return measure


def discount_table(measure: Measure, n_positions: int) -> np.ndarray:
    """Return R(position), position from 0: 0 from the cutoff on; 1 / position for MAP and RR."""
    position = np.arange(1.0, n_positions + 1)
    if measure.name == "nDCG-letor":
        table = 1 / np.maximum(np.log2(position), 1)
    elif measure.name in GAIN_MEASURES:
        table = 1 / np.log2(position + 1)
    else:
        table = 1 / position
    if measure.cutoff is not None:
        table[measure.cutoff :] = 0
    return table


class NeighbourRegularizer:
    """Penalty on score differences of neighbours; rank-sensitive with `discounts` (R by position)."""

    def __init__(
        self,
        pairs: NeighbourPairs,
        starts: np.ndarray,
        beta: float,
        *,
        penalty: str = "preference",
        discounts: np.ndarray | None = None,
        mean: bool = True,
    ) -> None:
        self.beta = float(check_number("beta", beta, low=0))
        self._penalty = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
        self.left, self.right, self.starts, self.discounts = pairs.left, pairs.right, starts, discounts
        total = pairs.strength.sum()
        self.strength = pairs.strength / total if mean and total > 0 else pairs.strength

    def strengths(self, scores: np.ndarray) -> np.ndarray:
        """Return strength of each pair at these scores."""
        if self.discounts is None:
            return self.strength
        scaled = np.empty_like(self.strength)
        positions = list_positions(scores, self.starts)
        scale_by_discounts(self.left, self.right, self.strength, positions, self.discounts, scaled)
        return scaled

    def add(self, scores: np.ndarray, gradient: np.ndarray) -> float:
        """Add dLoss/ds to the gradient, and return the loss, which is 0 if all neighbours tie."""
        if self.beta == 0 or not len(self.left):
            return 0.0
        return float(self._penalty(scores, self.left, self.right, self.strengths(scores), self.beta, gradient))

    def add_curvature(self, scores: np.ndarray, curvature: np.ndarray) -> None:
        """Add the diagonal of d2Loss/ds2 to the curvature; of the quadratic form at a tie, where both are equal."""
        if self.beta == 0 or not len(self.left):
            return
        at = np.zeros_like(scores) if self._penalty is add_quadratic_gradients else scores
        add_pair_curvatures(at, self.left, self.right, self.beta * self.strengths(scores), curvature)
