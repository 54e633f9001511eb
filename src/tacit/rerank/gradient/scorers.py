"""Scorers: differentiable functions of a row with one flat vector of parameters.

    linear   s = x . w
    hidden   s = tanh(x A + c) . v,   A (n_features, n_hidden)

A scorer stores no parameters. `scores(theta, X)` is the forward pass, and `backward(theta, X, gradient)` converts
dLoss/ds, one number for each row, to dLoss/dtheta. `absorb(theta, turn)` returns the parameters that score X as theta
scores X @ turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Scorer(Protocol):
    """Interface of a scorer."""

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Return initial parameters, float64 (n_parameters,)."""

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return score of each row, float64 (n_rows,)."""

    def backward(self, theta: np.ndarray, X: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return dLoss/dtheta, given dLoss/ds."""

    def absorb(self, theta: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Return parameters for rows before the transformation `turn` (n_features, n_features)."""


@dataclass(frozen=True)
class LinearScorer:
    """s = x . w, from w = 0."""

    n_features: int

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Return zeros, because the loss is convex."""
        return np.zeros(self.n_features)

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return X w."""
        return X @ theta

    def backward(self, theta: np.ndarray, X: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return X' gradient."""
        return X.T @ gradient

    def absorb(self, theta: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Return T w, because X T w = X (T w)."""
        return turn @ theta


@dataclass(frozen=True)
class HiddenScorer:
    """One hidden layer; theta contains A row by row, then c, then v."""

    n_features: int
    n_hidden: int

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Return random normal weights, scaled by the width of each layer; c = 0."""
        inner = rng.normal(0, self.n_features**-0.5, self.n_features * self.n_hidden)
        return np.concatenate([inner, np.zeros(self.n_hidden), rng.normal(0, self.n_hidden**-0.5, self.n_hidden)])

    def _parts(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = self.n_features * self.n_hidden
        return (
            theta[:size].reshape(self.n_features, self.n_hidden),
            theta[size : -self.n_hidden],
            theta[-self.n_hidden :],
        )

    def scores(self, theta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Compute the forward pass."""
        inner, offset, outer = self._parts(theta)
        return np.tanh(X @ inner + offset) @ outer

    def backward(self, theta: np.ndarray, X: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Compute the gradient by back-propagation."""
        inner, offset, outer = self._parts(theta)
        hidden = np.tanh(X @ inner + offset)
        below = gradient[:, None] * outer * (1 - hidden**2)
        return np.concatenate([(X.T @ below).ravel(), below.sum(axis=0), hidden.T @ gradient])

    def absorb(self, theta: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Return parameters with T A for A, because X T A = X (T A); c and v do not change."""
        inner, offset, outer = self._parts(theta)
        return np.concatenate([(turn @ inner).ravel(), offset, outer])


def make_scorer(n_features: int, n_hidden: int) -> Scorer:
    """Return a linear scorer for n_hidden = 0, else one with a hidden layer."""
    return HiddenScorer(n_features, n_hidden) if n_hidden else LinearScorer(n_features)
