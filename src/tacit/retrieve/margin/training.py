"""The history of a training: epochs with a falling rate, the best of them kept, one way back when numbers run away."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from tacit.core import DivergedError, track
from tacit.retrieve.margin.block_sgd import BlockTrainer
from tacit.retrieve.margin.tasks import TrainingTask

LARGEST_BLOCK, LARGEST_TRIPLE_BLOCK = 64, 256  # a triple has two items, where a query has a pool of them
MOST_DRAWN, FEWEST_DRAWN, DRAWN_SHARE = 1000, 100, 0.1
FEWEST_BLOCKS = 600  # a small training set is visited more often: too few steps leave a model where it began
FEWEST_EPOCHS = 8


class TrainableState(Protocol):
    """What a trainer changes, and how it is put aside and taken back."""

    def start_epoch(self) -> None:
        """Remember a state to go back to."""
        ...

    def go_back(self) -> None:
        """Return to the state remembered last."""
        ...

    def keep_best(self) -> None:
        """The present state is the best so far."""
        ...

    def take_best(self) -> None:
        """Return to the best state."""
        ...

    def is_sound(self) -> bool:
        """Whether every number is finite and of a sensible size."""
        ...


class TrainingHistory(NamedTuple):
    """How a training went: its last rate, the best epoch (from 1), loss and measures of each epoch."""

    rate: float
    best_epoch: int
    epochs: list[dict[str, float]]


def run_epochs(
    trainer: BlockTrainer,
    state: TrainableState,
    task: TrainingTask,
    measure: Callable[[], dict[str, float]],
    rng: np.random.Generator,
    rate: float,
    n_epochs: int,
) -> TrainingHistory:
    """Train and end in the best epoch; `measure` gives validation measures of the present state.

    The rate falls in a straight line to 0. The first time that numbers run away, the epoch is undone and the
    rate halved; the second time is an error.
    """
    halved, best, best_epoch = False, -math.inf, 0
    epochs: list[dict[str, float]] = []
    with trainer.running():
        for epoch in track(range(n_epochs), "training", n_epochs):
            state.start_epoch()
            rates = rate * (1 - epoch / n_epochs), rate * (1 - (epoch + 1) / n_epochs)
            loss = task.epoch(trainer, rng, rates)
            if not state.is_sound():
                if halved or n_epochs == 1:
                    raise diverged(epoch + 1, rate, halved)
                state.go_back()
                rate, halved = rate / 2, True
                continue
            found = measure()
            epochs.append({"epoch": epoch + 1, "loss": loss, **found})
            if found[task.target] > best:
                best, best_epoch = found[task.target], epoch + 1
                state.keep_best()
    state.take_best()
    return TrainingHistory(rate, best_epoch, epochs)


def diverged(epoch: int, rate: float, halved: bool) -> DivergedError:
    """The error that names epoch and rate."""
    before = f", after {2 * rate:g} had failed too" if halved else ""
    return DivergedError(f"numbers stopped being finite in epoch {epoch} at rate {rate:g}{before}; give a smaller rate")


def choose_rate_and_margin(
    value: Callable[[float, float], float], rates: Sequence[float], margins: Sequence[float], margin: float
) -> tuple[float, float]:
    """The best rate at the given margin, then the best margin at that rate; `value(rate, margin)` trains and judges.

    A setting that diverges is the worst.

    >>> choose_rate_and_margin(lambda rate, margin: -abs(rate - 2) - abs(margin - 0.3), (1, 2), (0.1, 0.3), 0.1)
    (2, 0.3)
    """

    def judged(rate: float, margin: float) -> float:
        try:
            return value(rate, margin)
        except DivergedError:
            return -math.inf

    found = {(rate, margin): judged(rate, margin) for rate in rates}
    best_rate = max(found, key=lambda setting: found[setting])[0]
    found |= {(best_rate, other): judged(best_rate, other) for other in margins if other != margin}
    return max(found, key=lambda setting: found[setting])


def block_for(n_visits: int, largest: int = LARGEST_BLOCK) -> int:
    """Queries in a block: few where there are few, since a block moves an item once for all its queries."""
    return min(largest, max(4, n_visits // 32))


def epochs_for(n_visits: int) -> int:
    """How often the training set is visited when nothing is said."""
    n_blocks = max(1, math.ceil(n_visits / block_for(n_visits)))
    return max(FEWEST_EPOCHS, math.ceil(FEWEST_BLOCKS / n_blocks))


def n_drawn_for(n_items: int) -> int:
    """Items drawn for a block: a share of all, within bounds."""
    return min(MOST_DRAWN, max(FEWEST_DRAWN, round(DRAWN_SHARE * n_items)))
