"""Training in epochs: the schedule of rates, when to end, which epoch to keep, one divergence undone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from tacit.core import DivergedError, track

LOSS_EXPONENT, LEAST_LOSS = 0.15, 1e-4


class TrainableState(Protocol):
    """Parameters in training, which can be put aside and restored."""

    def start_epoch(self) -> None:
        """Remember a state to go back to."""
        ...

    def go_back(self) -> None:
        """Return to the state remembered last."""
        ...

    def keep_best(self) -> None:
        """Mark the present state as the best so far."""
        ...

    def take_best(self) -> None:
        """Return to the best state."""
        ...

    def is_sound(self) -> bool:
        """Whether every number is finite and of a plausible size."""
        ...


class TrainingHistory(NamedTuple):
    """Last learning rate, best epoch (from 1), and loss, rate and measures of each epoch."""

    rate: float
    best_epoch: int
    epochs: list[dict[str, float]]


@dataclass(frozen=True)
class Schedule:
    """Learning rate of each epoch, and when training ends.

    Parameters
    ----------
    rate : float
        First learning rate.
    n_epochs : int or None, default=None
        With a number, so many epochs are run and, unless `constant`, the rate falls linearly to 0. With None the rate
        is constant and training ends after `patience` epochs without a better one (`epoch_score`).
    max_epochs : int, default=60
        Most epochs that are run where `n_epochs` is None.
    patience : int, default=8
        Epochs without a better one that end the training.
    constant : bool, default=False
        Whether the rate is constant with a number of epochs too.
    """

    rate: float
    n_epochs: int | None = None
    max_epochs: int = 60
    patience: int = 8
    constant: bool = False

    def shares(self, number: int) -> tuple[float, float]:
        """Rates at the start and at the end of an epoch (from 1), in units of the first rate.

        >>> Schedule(0.1, n_epochs=4).shares(2), Schedule(0.1).shares(2)
        ((0.75, 0.5), (1.0, 1.0))
        """
        if self.n_epochs is None or self.constant:
            return 1.0, 1.0
        return 1 - (number - 1) / self.n_epochs, 1 - number / self.n_epochs

    def is_over(self, number: int, best: int) -> bool:
        """Whether the epoch is the last."""
        if self.n_epochs is not None:
            return number >= self.n_epochs
        return number >= self.max_epochs or number - best >= self.patience


def epoch_score(measures: Mapping[str, float], target: str) -> float:
    """The number by which epochs are compared: target / (rank loss + 0.0001)^0.15, or the target without a rank loss.

    A target that is higher by 1 % is worth as much as a rank loss that is lower by 6 to 7 %.

    >>> [round(epoch_score({"MAP": 0.6, "rank_loss": loss}, "MAP"), 3) for loss in (0.0, 0.0039)]
    [2.389, 1.374]
    >>> round(epoch_score({"MAP": 0.606, "rank_loss": 0.0039 * 1.07}, "MAP"), 3)
    1.374
    """
    loss = measures.get("rank_loss")
    return measures[target] if loss is None else measures[target] / (loss + LEAST_LOSS) ** LOSS_EXPONENT


def run_epochs(
    state: TrainableState,
    epoch: Callable[[tuple[float, float]], float],
    measure: Callable[[int], Mapping[str, float]],
    target: str,
    schedule: Schedule,
) -> TrainingHistory:
    """Train by a schedule and end in the state of the best epoch (`epoch_score`).

    The first time that training diverges, the epoch is undone and the rate halved; the second time is an error.

    Parameters
    ----------
    state : TrainableState
        What is trained.
    epoch : callable
        Runs one epoch, given its first and last rate; returns the mean loss.
    measure : callable
        Validation measures of the present state, given how many epochs are measured with it.
    target : str
        The measure that decides; higher is better.
    schedule : Schedule
        Rates, and when training ends.
    """
    rate, halved, best, best_epoch = schedule.rate, False, -math.inf, 0
    epochs: list[dict[str, float]] = []
    n_most = schedule.n_epochs or schedule.max_epochs
    for number in track(range(1, n_most + 1), "training", n_most):
        state.start_epoch()
        start, stop = schedule.shares(number)
        loss = epoch((rate * start, rate * stop))
        if not state.is_sound():
            if halved or n_most == 1:
                raise diverged(number, rate, halved)
            state.go_back()
            rate, halved = rate / 2, True
            continue
        found = measure(len(epochs) + 1)
        epochs.append({"epoch": number, "loss": loss, "rate": rate * start, **found})
        if epoch_score(found, target) > best:
            best, best_epoch = epoch_score(found, target), number
            state.keep_best()
        if schedule.is_over(number, best_epoch):
            break
    state.take_best()
    return TrainingHistory(rate, best_epoch, epochs)


def diverged(epoch: int, rate: float, halved: bool) -> DivergedError:
    """The error that names epoch and rate."""
    before = f", after {2 * rate:g} had failed too" if halved else ""
    return DivergedError(f"numbers stopped being finite in epoch {epoch} at rate {rate:g}{before}; give a smaller rate")
