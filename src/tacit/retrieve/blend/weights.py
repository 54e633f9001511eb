"""Weights of members from preferences: one convex problem with a Gaussian prior.

Row k of `differences` is what the better of two items has more of each member's score than the worse, and c_k its
importance. The weights are

    argmin over w >= 0 of  sum_k c_k ln(1 + exp(-w . x_k)) + (w - w0)' P (w - w0) / 2
    P = strength (I - u u') + SCALE_STRENGTH u u',  u = w0 / |w0|

The prior is centred at the weights w0 that are used without labels. Across w0, `strength` counts as so many queries.
Along it the prior is weaker: a longer w is the same ranking and only says how decided the labels are. It is not free,
because random labels would take w to 0, where chance decides the direction.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.core import one_blas_thread

SCALE_STRENGTH = 3.0


def fit_weights(differences: np.ndarray, importance: np.ndarray, prior: np.ndarray, strength: float) -> np.ndarray:
    """The weights, scaled so that they sum up to as much as those of the prior.

    Parameters
    ----------
    differences : ndarray of shape (n_pairs, n_members), float64
        Scores of the better item less those of the worse.
    importance : ndarray of shape (n_pairs,)
        Weights of the pairs; those of a query sum to 1.
    prior : ndarray of shape (n_members,)
        Weights without labels, not all of them 0.
    strength : float
        Strength of the prior, in queries; infinity keeps the prior.

    Examples
    --------
    >>> good_and_noise = np.array([[1.0, 1.0], [1.0, -1.0]] * 20)
    >>> fit_weights(good_and_noise, np.full(40, 1.0), np.ones(2), 3.0).round(2)
    array([1.66, 0.34])
    """
    if math.isinf(strength):
        return prior.copy()
    from scipy.optimize import minimize

    start = prior / max(prior.sum(), 1e-12)
    with one_blas_thread():  # a few members: threads would only wait for each other
        found = minimize(
            objective, start, (differences, importance, prior, strength), jac=True, method="L-BFGS-B",
            bounds=[(0, None)] * len(prior), options={"maxiter": 200, "ftol": 1e-9, "gtol": 1e-6},
        )  # fmt: skip
    total = found.x.sum()
    weights: np.ndarray = found.x * (prior.sum() / total) if total > 0 else prior.copy()
    return weights


def objective(
    weights: np.ndarray, differences: np.ndarray, importance: np.ndarray, prior: np.ndarray, strength: float
) -> tuple[float, np.ndarray]:
    """Value and gradient of the problem."""
    margins = differences @ weights
    unit = prior / np.linalg.norm(prior)
    away = weights - prior
    along = unit @ away
    pull = strength * away + (SCALE_STRENGTH - strength) * along * unit
    small = np.exp(-np.abs(margins))  # one exponential for value and gradient, without overflow
    value = importance @ (np.log1p(small) + np.maximum(-margins, 0)) + away @ pull / 2
    slope = -importance * np.where(margins > 0, small, 1) / (1 + small)
    return float(value), differences.T @ slope + pull
