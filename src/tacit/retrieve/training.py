"""Training in epochs: the schedule of rates, when to end, which epoch to keep, one divergence undone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from tacit.core import DivergedError, track


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
    """Last learning rate, chosen epoch (from 1), and loss, rate and measures of each epoch."""

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
        With a number, so many epochs are run and the rate falls linearly to 0. With None the rate is constant and
        training ends after `patience` epochs without a significant rise of the validation measure (`EpochChoice`).
    max_epochs : int, default=60
        Most epochs that are run where `n_epochs` is None.
    patience : int, default=8
        Epochs without a significant rise that end the training.
    """

    rate: float
    n_epochs: int | None = None
    max_epochs: int = 60
    patience: int = 8

    def shares(self, number: int) -> tuple[float, float]:
        """Rates at the start and at the end of an epoch (from 1), in units of the first rate.

        >>> Schedule(0.1, n_epochs=4).shares(2), Schedule(0.1).shares(2)
        ((0.75, 0.5), (1.0, 1.0))
        """
        if self.n_epochs is None:
            return 1.0, 1.0
        return 1 - (number - 1) / self.n_epochs, 1 - number / self.n_epochs

    def is_over(self, number: int, last_rise: int) -> bool:
        """Whether the epoch is the last."""
        if self.n_epochs is not None:
            return number >= self.n_epochs
        return number >= self.max_epochs or number - last_rise >= self.patience


class EpochChoice:
    """Chooses the epoch to keep: the least rank loss among epochs whose target measure is near the best.

    An epoch is near the best if its mean is lower by at most one standard error of the difference over the validation
    queries. Only one state is kept, so the choice is made epoch by epoch: the present epoch replaces the kept one
    where the kept one is no longer near the best (a significant rise), or where it is near the best itself and has
    less rank loss. Where rank loss is not measured, the epoch with the best target measure is kept.

    Parameters
    ----------
    target : str
        Name of the target measure; higher is better.

    Attributes
    ----------
    kept : int
        The epoch that is kept, from 1; 0 before the first.
    last_rise : int
        The epoch of the last significant rise.
    """

    def __init__(self, target: str) -> None:
        self.target, self.kept, self.last_rise = target, 0, 0
        self._best = self._found = np.empty(0)
        self._loss = math.inf

    def add(self, number: int, values: Mapping[str, np.ndarray]) -> bool:
        """Take the validation values of an epoch, one for each query; return whether it is the one to keep."""
        found = values[self.target]
        loss = float(values.get("rank_loss", -found).mean())
        if not self.kept or found.mean() > self._best.mean():
            self._best = found
        rises = not self.kept or not self._is_near(self._found)
        keeps = rises or (self._is_near(found) and loss < self._loss)
        if rises:
            self.last_rise = number
        if keeps:
            self.kept, self._found, self._loss = number, found, loss
        return keeps

    def _is_near(self, found: np.ndarray) -> bool:
        gaps = self._best - found
        error = gaps.std(ddof=1) / math.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
        return bool(gaps.mean() <= error)


def run_epochs(
    state: TrainableState,
    epoch: Callable[[tuple[float, float]], float],
    measure: Callable[[], Mapping[str, np.ndarray | float]],
    target: str,
    schedule: Schedule,
) -> TrainingHistory:
    """Train by a schedule and end in the state of the chosen epoch (`EpochChoice`).

    The first time that training diverges, the epoch is undone and the rate halved; the second time is an error.

    Parameters
    ----------
    state : TrainableState
        What is trained.
    epoch : callable
        Runs one epoch, given its first and last rate; returns the mean loss.
    measure : callable
        Validation measures of the present state: a value for each query, or a mean.
    target : str
        The measure that decides; higher is better.
    schedule : Schedule
        Rates, and when training ends.
    """
    rate, halved, choice = schedule.rate, False, EpochChoice(target)
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
        values = {name: np.atleast_1d(found) for name, found in measure().items()}
        means = {name: float(found.mean()) for name, found in values.items()}
        epochs.append({"epoch": number, "loss": loss, "rate": rate * start, **means})
        if choice.add(number, values):
            state.keep_best()
        if schedule.is_over(number, choice.last_rise):
            break
    state.take_best()
    return TrainingHistory(rate, choice.kept, epochs)


def diverged(epoch: int, rate: float, halved: bool) -> DivergedError:
    """The error that names epoch and rate."""
    before = f", after {2 * rate:g} had failed too" if halved else ""
    return DivergedError(f"numbers stopped being finite in epoch {epoch} at rate {rate:g}{before}; give a smaller rate")
