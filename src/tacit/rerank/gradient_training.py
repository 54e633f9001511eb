"""Training of a scorer by gradients per row, and the choice of its settings on validation lists.

Each epoch adds up dLoss/ds of all sources (a loss, regularizers), lets the scorer turn the sum into dLoss/dtheta, adds
l2 theta, and takes one step of Adam over all rows. There is nothing random in it but the start of the scorer.

On validation counts the share of judged pairs in the right order, ties half: with labels as few as in training, a
measure of the top of lists says less than all pairs do, and unlike a likelihood it does not depend on the scale of
scores, which regularizers change. Rankers that learn from unjudged rows also choose by them: the expected pairs of the
validation lists join the judged ones, each with its chance as weight. The first of equal settings and the earliest of
equal epochs win. Where the loss has one minimum (`stop_early` false) all epochs are run: the first steps of Adam are of
one size for all parameters, and few validation pairs would often stop there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tacit.core import DivergedError
from tacit.rerank.regularizer_expected import expected_pairs
from tacit.rerank.rows import Pairs, Rows
from tacit.rerank.scorers import Scorer

MOMENTUM, SPREAD, TINY = 0.9, 0.999, 1e-8  # Adam's usual constants


class Source(Protocol):
    """Something that pulls at scores."""

    def add(self, scores: np.ndarray, gradient: np.ndarray) -> float:
        """gradient += dLoss/ds; the loss."""

    def bend(self, scores: np.ndarray, curvature: np.ndarray) -> None:
        """curvature += the diagonal of d2Loss/ds2, which boosted trees ask for."""


@dataclass(frozen=True)
class Watch:
    """Validation rows, scaled like the training rows, with what is known of their order."""

    X: np.ndarray
    pairs: Pairs

    @classmethod
    def of(cls, X: np.ndarray, rows: Rows | None, unjudged: bool = False) -> Watch | None:
        """A watch over all that is known, with expected pairs if `unjudged`; None where nothing is known."""
        if rows is None:
            return None
        known = [rows.pairs, expected_pairs(rows)] if unjudged else [rows.pairs]
        pairs = Pairs(*(np.concatenate(columns) for columns in zip(*known, strict=True)))
        return cls(X, pairs) if len(pairs) else None

    def value(self, scores: np.ndarray) -> float:
        """Weighted share of pairs in the right order."""
        gap = scores[self.pairs.better] - scores[self.pairs.worse]
        return float(np.average((gap > 0) + 0.5 * (gap == 0), weights=self.pairs.weight))


@dataclass(frozen=True)
class Trained:
    """Parameters, the epoch they are from, their value on validation (NaN without) and the loss of each epoch."""

    theta: np.ndarray
    epoch: int
    value: float
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
    scorer: Scorer, theta: np.ndarray, X: np.ndarray, sources: Sequence[Source], l2: float
) -> tuple[float, np.ndarray]:
    """Loss of all sources plus (l2 / 2) |theta|^2, and its gradient for theta."""
    scores = scorer.scores(theta, X)
    gradient = np.zeros(len(scores))
    loss = sum(source.add(scores, gradient) for source in sources)
    return loss + 0.5 * l2 * float(theta @ theta), scorer.pull_back(theta, X, gradient) + l2 * theta


def train(
    scorer: Scorer,
    X: np.ndarray,
    sources: Sequence[Source],
    *,
    l2: float,
    rate: float,
    n_epochs: int,
    seed: int,
    watch: Watch | None = None,
    stop_early: bool = True,
) -> Trained:
    """Train for n_epochs; with a watch, return the parameters of the best epoch, or of the last with its value."""
    theta = scorer.start(np.random.default_rng(seed))
    adam = Adam(rate, np.zeros_like(theta))
    losses: list[float] = []
    best = Trained(theta, 0, -np.inf, losses)
    for epoch in range(1, n_epochs + 1):
        with np.errstate(over="ignore", invalid="ignore"):  # told below, in our words
            loss, gradient = total_loss(scorer, theta, X, sources, l2)
            theta = theta - adam.step(gradient)
        if not (np.isfinite(loss) and np.isfinite(theta).all()):
            raise DivergedError(f"the loss is no longer finite in epoch {epoch} at rate {rate:g}: try a smaller rate")
        losses.append(loss)
        if watch is not None and (stop_early or epoch == n_epochs):
            value = watch.value(scorer.scores(theta, watch.X))
            if value > best.value:
                best = Trained(theta, epoch, value, losses)
    return best if watch is not None else Trained(theta, n_epochs, np.nan, losses)
