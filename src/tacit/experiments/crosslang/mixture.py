"""Mixtures of two rankers whatever their features: alpha a(q, d) + (1 - alpha) b(q, d), alpha by validation.

Scores of different methods have different scales, so each is divided by the standard deviation of its scores
over the validation queries first; alpha then means the same for every two methods.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core import Features
from tacit.retrieve.latent.lsi import ALPHAS
from tacit.retrieve.validation import HeldOut, ScoreRows, choose_mixture


@dataclass(frozen=True)
class Mixture:
    """Weighted sum of the scores of two methods.

    Parameters
    ----------
    first, second : callable
        Query rows to scores of all items.
    scales : tuple of two floats
        Standard deviations that the scores are divided by.
    alpha : float
        Weight of the first, from 0 to 1.
    """

    first: ScoreRows
    second: ScoreRows
    scales: tuple[float, float]
    alpha: float

    def __call__(self, queries: Features) -> np.ndarray:
        """Scores of all items for some queries, float32 (n_queries, n_items)."""
        weights = self.alpha / self.scales[0], (1 - self.alpha) / self.scales[1]
        return np.float32(weights[0]) * self.first(queries) + np.float32(weights[1]) * self.second(queries)


def mix(first: ScoreRows, second: ScoreRows, held: HeldOut) -> Mixture:
    """The mixture with the best mean average precision over the held-out queries."""
    scales = _scale(first, held), _scale(second, held)
    odds = choose_mixture(first, second, held, [(1 - alpha) / alpha * scales[0] / scales[1] for alpha in ALPHAS])
    ratio = odds * scales[1] / scales[0]
    return Mixture(first, second, scales, round(1 / (1 + ratio), 2))


def _scale(score: ScoreRows, held: HeldOut) -> float:
    """Standard deviation of all scores of the held-out queries; 1 where they are all equal."""
    n, total, squares = 0, 0.0, 0.0
    for block in held.blocks():
        scores = score(block.queries).astype(np.float64)
        n, total, squares = n + scores.size, total + float(scores.sum()), squares + float((scores**2).sum())
    variance = squares / n - (total / n) ** 2
    return float(np.sqrt(variance)) if variance > 0 else 1.0
