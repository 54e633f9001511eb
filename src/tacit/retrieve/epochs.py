"""Training in epochs: learning rates, early stopping, the best epoch, and recovery from one divergence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tacit.core import DivergedError
from tacit.retrieve.epoch_log import EpochLog, Progress
from tacit.retrieve.snapshots import Snapshots

LOSS_EXPONENT, LEAST_LOSS = 0.15, 1e-4


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
        Number of epochs; unless `constant`, the rate falls linearly to 0. None means that the rate
        is constant and training ends after `patience` epochs without a better one (`epoch_score`).
    max_epochs : int, default=60
        Maximum number of epochs if `n_epochs` is None.
    patience : int, default=8
        Number of epochs without improvement after which training ends.
    constant : bool, default=False
        Whether the rate is constant even if `n_epochs` is given.
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

    def last(self, best: int) -> int:
        """Number of the last epoch, if none after the `best` is better."""
        return min(self.max_epochs, best + self.patience) if self.n_epochs is None else self.n_epochs


def epoch_score(measures: Mapping[str, float], target: str) -> float:
    """Return the score that compares epochs: target / (rank loss + 0.0001)^0.15, or the target without a rank loss.

    A target that is higher by 1% is worth as much as a rank loss that is lower by 6 to 7%.

    >>> [round(epoch_score({"MAP": 0.6, "rank_loss": loss}, "MAP"), 3) for loss in (0.0, 0.0039)]
    [2.389, 1.374]
    >>> round(epoch_score({"MAP": 0.606, "rank_loss": 0.0039 * 1.07}, "MAP"), 3)
    1.374
    """
    loss = measures.get("rank_loss")
    return measures[target] if loss is None else measures[target] / (loss + LEAST_LOSS) ** LOSS_EXPONENT


def run_epochs(
    state: Snapshots,
    epoch: Callable[[tuple[float, float]], float],
    measure: Callable[[int], Mapping[str, float]],
    target: str,
    schedule: Schedule,
    log: EpochLog | None = None,
) -> TrainingHistory:
    """Train by a schedule and end in the state of the best epoch (`epoch_score`).

    The first time that training diverges, the epoch is undone and the rate halved; the second time is an error.

    Parameters
    ----------
    state : Snapshots
        Parameters in training.
    epoch : callable
        Runs one epoch, given its first and last rate; returns the mean loss.
    measure : callable
        Returns validation measures of the current state, given the number of epochs measured so far.
    target : str
        The measure that decides; higher is better.
    schedule : Schedule
        Rates, and when training ends.
    log : EpochLog or None, default=None
        Log with a checkpoint, to resume after a kill.
    """
    at, log = Progress(schedule.rate), log or EpochLog()
    with log.running(at, state):
        while not at.is_over:
            log.start_epoch(schedule.last(at.best_epoch), schedule.n_epochs is None)
            start, stop = schedule.shares(at.number + 1)
            loss = epoch((at.rate * start, at.rate * stop))
            at.number += 1
            if state.is_sound():
                found = measure(len(at.epochs) + 1)
                at.epochs.append({"epoch": at.number, "loss": loss, "rate": at.rate * start, **found})
                if epoch_score(found, target) > at.best:
                    at.best, at.best_epoch = epoch_score(found, target), at.number
                    state.keep_best()
                at.is_over = at.number >= schedule.last(at.best_epoch)
            else:
                undo_epoch(at, state, schedule)
            log.end_epoch()
        state.take_best()
    return TrainingHistory(at.rate, at.best_epoch, at.epochs)


def undo_epoch(at: Progress, state: Snapshots, schedule: Schedule) -> None:
    """Go back to the start of an epoch that diverged and halve the rate; the second time is an error."""
    n_most = schedule.n_epochs or schedule.max_epochs
    if at.halved or n_most == 1:
        raise diverged(at.number, at.rate, at.halved)
    state.go_back()
    at.rate, at.halved, at.is_over = at.rate / 2, True, at.number >= n_most


def diverged(epoch: int, rate: float, halved: bool) -> DivergedError:
    """Return the error that names epoch and rate."""
    before = f", after {2 * rate:g} had failed too" if halved else ""
    return DivergedError(f"numbers stopped being finite in epoch {epoch} at rate {rate:g}{before}; give a smaller rate")
