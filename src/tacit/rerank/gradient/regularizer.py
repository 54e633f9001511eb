"""Regularizers over pairs of neighbours: a term of the gradient, in addition to the loss.

    preference  -(beta / 2) mean of q_ij log(P_ij (1 - P_ij)):  linear in large differences of scores
    quadratic    (beta / 8) mean of q_ij (s_i - s_j)^2:         equation 3 of PREF

where q_ij is the strength of the pair and P_ij the model's probability that i is better. Both are means over unordered
pairs of neighbours, normalised by the sum of q; with `mean=False` they are sums, whose gradient for s_i is PREF's
equation 17. The rank-sensitive form multiplies q_ij by |R(position_i) - R(position_j)|, with R the discount and
positions in the full list, computed at each call and held fixed in the gradient.
"""

from __future__ import annotations

import numpy as np

from tacit.core import check_choice, check_number
from tacit.kernels.lambdas import (
    add_pair_curvatures,
    add_preference_gradients,
    add_quadratic_gradients,
    scale_by_discounts,
)
from tacit.rerank.gradient.losses import list_positions
from tacit.rerank.gradient.neighbours import NeighbourPairs

PENALTIES = {"preference": add_preference_gradients, "quadratic": add_quadratic_gradients}


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
