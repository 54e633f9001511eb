"""How likely a query is about items that the training pairs name.

The member `residual` knows the items that pairs name, and ranks them above items that are new to it, whatever the
query is about. Which of the two a query is about shows in its scores. Among the first items by BM25, the best named
item leads the best other item by

    lead = max(0, score of the best named item) - max(0, score of the best other item)

P(named | lead) is a logistic function, fitted to queries of both kinds that the member had not learned from; both
kinds count alike. Where every candidate is named there is no lead, and P is 1; such queries have no part in the fit,
but make the others of their kind count less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import expit

RIDGE = 0.01  # holds the slope, for leads of standard deviation 1, where the two kinds do not overlap
STEEPEST = 10.0  # log odds of a lead of 0, at most


def leads(scores: np.ndarray, named: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The lead of each query, float64; infinity where every candidate is named.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_candidates)
        Scores of the member.
    named : ndarray of the same shape, bool
        Whether pairs name the candidate.
    known : ndarray of the same shape, bool
        Whether there is a candidate.

    Examples
    --------
    >>> scores, known = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, -0.1]]), np.ones((2, 3), bool)
    >>> leads(scores, np.array([[True, False, False], [True, False, True]]), known).round(2).tolist()
    [0.5, -0.1]
    """
    scores = np.maximum(scores.astype(np.float64), 0)
    best = [np.where(kind, scores, 0).max(axis=1, initial=0) for kind in (known & named, known & ~named)]
    return np.where((known & ~named).any(axis=1), best[0] - best[1], math.inf)


def fit_gate(named: Sequence[float], unseen: Sequence[float]) -> np.ndarray:
    """Slope and log odds at 0 of P(named | lead), float32, from the leads of queries of the two kinds.

    >>> gate = fit_gate([0.9, 0.8, 0.7, 0.2], [0.1, -0.1, 0.0, 0.3])
    >>> probability(np.array([-0.2, 0.2, 1.0, np.inf]), gate).round(1).tolist()
    [0.0, 0.3, 1.0, 1.0]
    """
    from scipy.optimize import minimize

    sides = [(1.0, np.asarray(named, np.float64)), (-1.0, np.asarray(unseen, np.float64))]
    parts = [(sign, leads[np.isfinite(leads)], len(leads)) for sign, leads in sides]
    unit = float(np.concatenate([leads for _, leads, _ in parts]).std()) if any(len(part[1]) for part in parts) else 1.0
    unit = unit or 1.0

    def loss(gate: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = RIDGE * gate[0] ** 2, np.array([2 * RIDGE * gate[0], 0.0])
        for sign, leads, n_all in parts:
            odds = sign * (gate[0] * leads / unit + gate[1])
            value += float(np.logaddexp(0, -odds).sum()) / max(1, n_all)
            wrong = -sign * expit(-odds) / max(1, n_all)
            slope += (wrong * leads).sum() / unit, wrong.sum()
        return value, slope

    bounds = [(0, None), (-STEEPEST, STEEPEST)]
    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.array([found.x[0] / unit, found.x[1]], np.float32)


def probability(leads: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """P(named | lead), float64; 1 for an infinite lead."""
    certain = np.isinf(leads)
    odds = np.float64(gate[0]) * np.where(certain, 0, leads) + np.float64(gate[1])
    return np.where(certain, 1.0, expit(odds))
