"""Gradients that draw the scores of neighbours together: the preference regularizer and the quadratic one.

With d = s_i - s_j and P = 1 / (1 + exp(-d)), over unordered pairs of neighbours (i, j) with strength q:

    preference   -(beta / 2) q log(P (1 - P)),    gradient for s_i:  beta q (P - 1/2)
    quadratic     (beta / 8) q d^2,               gradient for s_i:  beta q d / 4

Both are losses. The second has the curvature of the first at d = 0, so that beta means the same in both; far from 0
the first grows like |d| only. Arrays in, arrays changed in place; no checks.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_preference_gradients(scores, left, right, strength, beta, gradient):
    """gradient += dLoss/ds of the preference regularizer; return the loss, which is 0 where all scores are equal."""
    loss = 0.0
    for t in range(len(left)):
        i, j = left[t], right[t]
        gap = scores[i] - scores[j]
        # -log(P (1 - P)) = |d| + 2 log(1 + exp(-|d|)); less 2 log 2, its value at a tie.
        size = abs(gap)
        small = np.exp(-size)
        loss += 0.5 * beta * strength[t] * (size + 2 * np.log1p(small) - 2 * np.log(2.0))
        pull = beta * strength[t] * (1 / (1 + small) - 0.5)
        if gap < 0:
            pull = -pull
        gradient[i] += pull
        gradient[j] -= pull
    return loss


@njit(cache=True, nogil=True)
def add_quadratic_gradients(scores, left, right, strength, beta, gradient):
    """gradient += dLoss/ds of the quadratic regularizer; return the loss."""
    loss = 0.0
    for t in range(len(left)):
        i, j = left[t], right[t]
        gap = scores[i] - scores[j]
        loss += 0.125 * beta * strength[t] * gap * gap
        pull = 0.25 * beta * strength[t] * gap
        gradient[i] += pull
        gradient[j] -= pull
    return loss


@njit(cache=True, nogil=True)
def scale_by_discounts(left, right, strength, positions, discounts, scaled):
    """scaled[t] = strength |R(position_i) - R(position_j)|: how much it matters which of two neighbours comes first."""
    for t in range(len(left)):
        scaled[t] = strength[t] * abs(discounts[positions[left[t]]] - discounts[positions[right[t]]])
