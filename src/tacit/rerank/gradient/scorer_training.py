"""Scorers, their training by full-batch Adam, and selection of settings on validation lists.

A scorer is a differentiable function of a row with one flat vector of parameters:

    linear   s = x . w
    hidden   s = tanh(x A + c) . v,   A (n_features, n_hidden)

A scorer stores no parameters. `scores(theta, X)` is the forward pass, and `backward(theta, X, gradient)` converts
dLoss/ds, one number for each row, to dLoss/dtheta. `absorb(theta, turn)` returns the parameters that score X as theta
scores X @ turn.

An epoch sums dLoss/ds over all terms (a loss, regularizers), lets the scorer convert the sum to dLoss/dtheta, adds l2
theta, and takes one step of Adam over all rows. Only the initialisation of the scorer is random.

The validation measure (`ValidationPairs`) is the share of judged pairs in the right order; ties count half. With few
labels it has less variance than measures of the top of lists. Unlike a likelihood it does not depend on the scale of
the scores, which regularizers change. For rankers that learn from expected pairs, expected pairs of the validation
lists are added, weighted by their probabilities. Settings are tried in order, and a later one replaces an earlier one
only if it is better by more than the standard error of the difference over lists. PREF chooses by nDCG
(`ValidationMeasure`), where the best value wins. Ties between epochs go to the earliest. For convex losses
(`stop_early` false) all epochs are run: the first steps of Adam have the same size for all parameters, and with few
validation pairs training would often stop there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tacit.core import DivergedError
from tacit.metrics import Measure, evaluate_rows
from tacit.rerank.gradient.expected_pairs import expected_pairs
from tacit.rerank.rows import Pairs, Rows

MOMENTUM, SPREAD, TINY = 0.9, 0.999, 1e-8  # the usual constants of Adam


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


Scorer = LinearScorer | HiddenScorer


def make_scorer(n_features: int, n_hidden: int) -> Scorer:
    """Return a linear scorer for n_hidden = 0, else one with a hidden layer."""
    return HiddenScorer(n_features, n_hidden) if n_hidden else LinearScorer(n_features)


class GradientTerm(Protocol):
    """A term of the gradient: a loss or a regularizer."""

    def add(self, scores: np.ndarray, gradient: np.ndarray) -> float:
        """Add dLoss/ds to the gradient, and return the loss."""

    def add_curvature(self, scores: np.ndarray, curvature: np.ndarray) -> None:
        """Add the diagonal of d2Loss/ds2, which boosted trees use."""


@dataclass(frozen=True)
class ValidationMeasure:
    """Mean of a measure over validation lists."""

    X: np.ndarray
    y: np.ndarray
    lists: np.ndarray  # list number of each row
    measure: Measure

    def parts(self, scores: np.ndarray) -> np.ndarray:
        """Return the contribution of each list to the mean."""
        found = evaluate_rows(self.y, scores, self.lists, self.measure).values[str(self.measure)]
        return found / len(found)


@dataclass(frozen=True)
class ValidationPairs:
    """Validation rows, scaled like the training rows, and their known pairs."""

    X: np.ndarray
    pairs: Pairs
    lists: np.ndarray  # list number of each pair, from 0

    @classmethod
    def of(cls, X: np.ndarray, rows: Rows | None, unjudged: bool = False) -> ValidationPairs | None:
        """Make all known pairs, with expected pairs if `unjudged`; None if there are none."""
        if rows is None:
            return None
        known = [rows.pairs, expected_pairs(rows)] if unjudged else [rows.pairs]
        pairs = Pairs(*(np.concatenate(columns) for columns in zip(*known, strict=True)))
        return cls(X, pairs, rows.list_of[pairs.better]) if len(pairs) else None

    def value(self, scores: np.ndarray) -> float:
        """Return the weighted share of pairs in the right order."""
        return float(self.parts(scores).sum())

    def parts(self, scores: np.ndarray) -> np.ndarray:
        """Return the contribution of each list to the value."""
        gap = scores[self.pairs.better] - scores[self.pairs.worse]
        right = self.pairs.weight * ((gap > 0) + 0.5 * (gap == 0))
        return np.bincount(self.lists, right) / self.pairs.weight.sum()


Validation = ValidationMeasure | ValidationPairs


def is_ahead(parts: np.ndarray, other: np.ndarray) -> bool:
    """Return whether a value exceeds another by more than the standard error of the difference over lists.

    >>> is_ahead(np.array([0.2, 0.2, 0.2]), np.array([0.1, 0.1, 0.1])), is_ahead(np.array([0.3, 0]), np.array([0, 0.2]))
    (True, False)
    """
    difference = parts - other
    return bool(difference.sum() > np.sqrt(np.sum((difference - difference.mean()) ** 2)))


@dataclass(frozen=True)
class Trained:
    """Parameters, their epoch, the contributions of the validation lists (`Validation.parts`) and all losses."""

    theta: np.ndarray
    epoch: int
    parts: np.ndarray
    losses: Sequence[float]


@dataclass
class Adam:
    """The Adam optimiser."""

    rate: float
    mean: np.ndarray
    square: np.ndarray = field(init=False)
    n_steps: int = 0

    def __post_init__(self) -> None:
        self.square = self.mean.copy()

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """Return the step to subtract from the parameters."""
        self.n_steps += 1
        self.mean = MOMENTUM * self.mean + (1 - MOMENTUM) * gradient
        self.square = SPREAD * self.square + (1 - SPREAD) * gradient**2
        mean = self.mean / (1 - MOMENTUM**self.n_steps)
        square = self.square / (1 - SPREAD**self.n_steps)
        return self.rate * mean / (np.sqrt(square) + TINY)


def total_loss(
    scorer: Scorer, theta: np.ndarray, X: np.ndarray, terms: Sequence[GradientTerm], l2: float
) -> tuple[float, np.ndarray]:
    """Return the loss of all terms plus (l2 / 2) |theta|^2, and its gradient for theta."""
    scores = scorer.scores(theta, X)
    gradient = np.zeros(len(scores))
    loss = sum(term.add(scores, gradient) for term in terms)
    return loss + 0.5 * l2 * float(theta @ theta), scorer.backward(theta, X, gradient) + l2 * theta


def train(
    scorer: Scorer,
    X: np.ndarray,
    terms: Sequence[GradientTerm],
    *,
    l2: float,
    rate: float,
    n_epochs: int,
    seed: int,
    held_out: Validation | None = None,
    stop_early: bool = True,
) -> Trained:
    """Train for n_epochs; with `held_out` lists, return the best epoch, or else the last with its value."""
    theta = scorer.start(np.random.default_rng(seed))
    adam = Adam(rate, np.zeros_like(theta))
    losses: list[float] = []
    best, value = Trained(theta, 0, np.empty(0), losses), -np.inf
    for epoch in range(1, n_epochs + 1):
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            loss, gradient = total_loss(scorer, theta, X, terms, l2)
            theta = theta - adam.step(gradient)
        if not (np.isfinite(loss) and np.isfinite(theta).all()):
            raise DivergedError(f"the loss is no longer finite in epoch {epoch} at rate {rate:g}: try a smaller rate")
        losses.append(loss)
        if held_out is not None and (stop_early or epoch == n_epochs):
            parts = held_out.parts(scorer.scores(theta, held_out.X))
            if parts.sum() > value:
                best, value = Trained(theta, epoch, parts, losses), parts.sum()
    return best if held_out is not None else Trained(theta, n_epochs, np.empty(0), losses)
