"""Training of a scorer by gradients per row, and the choice of its settings on validation lists.

Each epoch adds up dLoss/ds of all terms (a loss, regularizers), lets the scorer turn the sum into dLoss/dtheta, adds
l2 theta, and takes one step of Adam over all rows. There is nothing random in it but the start of the scorer.

On validation counts the share of judged pairs in the right order, ties half: with labels as few as in training, a
measure of the top of lists says less than all pairs do, and unlike a likelihood it does not depend on the scale of
scores, which regularizers change. Rankers that learn from unjudged rows also choose by them: the expected pairs of the
validation lists join the judged ones, each with its chance as weight. Few labels cannot tell settings apart that are
nearly alike, so settings stand in the order in which we would try them: a later one is taken only if it is ahead by
more than the standard error of the difference over lists. The earliest of equal epochs wins. Where the loss has one
minimum (`stop_early` false) all epochs are run: the first steps of Adam are of one size for all parameters, and few
validation pairs would often stop there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tacit.core import DivergedError
from tacit.rerank.gradient.expected_pairs import expected_pairs
from tacit.rerank.gradient.scorers import Scorer
from tacit.rerank.rows import Pairs, Rows

MOMENTUM, SPREAD, TINY = 0.9, 0.999, 1e-8  # Adam's usual constants


class GradientTerm(Protocol):
    """A term of the gradient: a loss or a regularizer."""

    def add(self, scores: np.ndarray, gradient: np.ndarray) -> float:
        """gradient += dLoss/ds; the loss."""

    def add_curvature(self, scores: np.ndarray, curvature: np.ndarray) -> None:
        """curvature += the diagonal of d2Loss/ds2, which boosted trees ask for."""


@dataclass(frozen=True)
class ValidationPairs:
    """Validation rows, scaled like the training rows, with what is known of their order."""

    X: np.ndarray
    pairs: Pairs
    lists: np.ndarray  # number from 0 of each pair's list

    @classmethod
    def of(cls, X: np.ndarray, rows: Rows | None, unjudged: bool = False) -> ValidationPairs | None:
        """All pairs that are known, with expected pairs if `unjudged`; None where nothing is known."""
        if rows is None:
            return None
        known = [rows.pairs, expected_pairs(rows)] if unjudged else [rows.pairs]
        pairs = Pairs(*(np.concatenate(columns) for columns in zip(*known, strict=True)))
        return cls(X, pairs, rows.list_of[pairs.better]) if len(pairs) else None

    def value(self, scores: np.ndarray) -> float:
        """Weighted share of pairs in the right order."""
        return float(self.parts(scores).sum())

    def parts(self, scores: np.ndarray) -> np.ndarray:
        """What each list adds to the value."""
        gap = scores[self.pairs.better] - scores[self.pairs.worse]
        right = self.pairs.weight * ((gap > 0) + 0.5 * (gap == 0))
        return np.bincount(self.lists, right) / self.pairs.weight.sum()


def is_ahead(parts: np.ndarray, other: np.ndarray) -> bool:
    """Whether a value is above another by more than the standard error of the difference, list by list.

    >>> is_ahead(np.array([0.2, 0.2, 0.2]), np.array([0.1, 0.1, 0.1])), is_ahead(np.array([0.3, 0]), np.array([0, 0.2]))
    (True, False)
    """
    difference = parts - other
    return bool(difference.sum() > np.sqrt(np.sum((difference - difference.mean()) ** 2)))


@dataclass(frozen=True)
class Trained:
    """Parameters, their epoch, the value of each validation list (`ValidationPairs.parts`) and all losses."""

    theta: np.ndarray
    epoch: int
    parts: np.ndarray
    losses: Sequence[float]


@dataclass
class Adam:
    """Steps of a size that fits each parameter."""

    rate: float
    mean: np.ndarray
    square: np.ndarray = field(init=False)
    n_steps: int = 0

    def __post_init__(self) -> None:
        self.square = self.mean.copy()

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """What to take off the parameters."""
        self.n_steps += 1
        self.mean = MOMENTUM * self.mean + (1 - MOMENTUM) * gradient
        self.square = SPREAD * self.square + (1 - SPREAD) * gradient**2
        mean = self.mean / (1 - MOMENTUM**self.n_steps)
        square = self.square / (1 - SPREAD**self.n_steps)
        return self.rate * mean / (np.sqrt(square) + TINY)


def total_loss(
    scorer: Scorer, theta: np.ndarray, X: np.ndarray, terms: Sequence[GradientTerm], l2: float
) -> tuple[float, np.ndarray]:
    """Loss of all terms plus (l2 / 2) |theta|^2, and its gradient for theta."""
    scores = scorer.scores(theta, X)
    gradient = np.zeros(len(scores))
    loss = sum(term.add(scores, gradient) for term in terms)
    return loss + 0.5 * l2 * float(theta @ theta), scorer.pull_back(theta, X, gradient) + l2 * theta


def train(
    scorer: Scorer,
    X: np.ndarray,
    terms: Sequence[GradientTerm],
    *,
    l2: float,
    rate: float,
    n_epochs: int,
    seed: int,
    held_out: ValidationPairs | None = None,
    stop_early: bool = True,
) -> Trained:
    """Train for n_epochs; with `held_out` pairs, return the best epoch, or the last with its value."""
    theta = scorer.start(np.random.default_rng(seed))
    adam = Adam(rate, np.zeros_like(theta))
    losses: list[float] = []
    best, value = Trained(theta, 0, np.empty(0), losses), -np.inf
    for epoch in range(1, n_epochs + 1):
        with np.errstate(over="ignore", invalid="ignore"):  # told below, in our words
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
