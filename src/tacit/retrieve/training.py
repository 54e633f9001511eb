"""Training in epochs with a falling rate: the best epoch is kept, and the first divergence is undone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

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
    """Last learning rate, best epoch (from 1), and loss and measures of each epoch."""

    rate: float
    best_epoch: int
    epochs: list[dict[str, float]]


def run_epochs(
    state: TrainableState,
    epoch: Callable[[tuple[float, float]], float],
    measure: Callable[[], dict[str, float]],
    target: str,
    rate: float,
    n_epochs: int,
) -> TrainingHistory:
    """Train for a number of epochs and end in the state of the best one.

    The rate falls linearly to 0. The first time that training diverges, the epoch is undone and the rate halved; the
    second time is an error.

    Parameters
    ----------
    state : TrainableState
        What is trained.
    epoch : callable
        Runs one epoch, given its first and last rate; returns the mean loss.
    measure : callable
        Validation measures of the present state.
    target : str
        The measure that decides; higher is better.
    rate : float
        First learning rate.
    n_epochs : int
        Number of epochs.
    """
    halved, best, best_epoch = False, -math.inf, 0
    epochs: list[dict[str, float]] = []
    for number in track(range(n_epochs), "training", n_epochs):
        state.start_epoch()
        loss = epoch((rate * (1 - number / n_epochs), rate * (1 - (number + 1) / n_epochs)))
        if not state.is_sound():
            if halved or n_epochs == 1:
                raise diverged(number + 1, rate, halved)
            state.go_back()
            rate, halved = rate / 2, True
            continue
        found = measure()
        epochs.append({"epoch": number + 1, "loss": loss, **found})
        if found[target] > best:
            best, best_epoch = found[target], number + 1
            state.keep_best()
    state.take_best()
    return TrainingHistory(rate, best_epoch, epochs)


def diverged(epoch: int, rate: float, halved: bool) -> DivergedError:
    """The error that names epoch and rate."""
    before = f", after {2 * rate:g} had failed too" if halved else ""
    return DivergedError(f"numbers stopped being finite in epoch {epoch} at rate {rate:g}{before}; give a smaller rate")
