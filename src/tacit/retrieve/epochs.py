"""Training in epochs: learning rates, early stopping, the best epoch, and recovery from one divergence.

Progress is shown by a bar and stored in a checkpoint. An interrupted epoch is repeated from its first random state. All
random draws are made again, but blocks in the checkpoint are not trained twice: their losses are known, and the
parameters include their steps. The training recipe of a paper is one parameter, which sets the defaults of other
parameters (`WithRecipe`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit.core import DivergedError, Estimator, UsageError, check_choice, progress_bar
from tacit.retrieve.checkpoint import Stage
from tacit.retrieve.snapshots import Snapshots

LOSS_EXPONENT, LEAST_LOSS = 0.15, 1e-4
RECIPES = ("mined", "printed")


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


@dataclass
class Progress:
    """Finished epochs, the current rate and whether it was halved, the best epoch and its score, the history."""

    rate: float
    number: int = 0
    halved: bool = False
    best: float = -math.inf
    best_epoch: int = 0
    epochs: list[dict[str, float]] = field(default_factory=list)
    is_over: bool = False


class EpochLog:
    """The blocks of the current epoch, and the states in a checkpoint.

    Parameters
    ----------
    rng : Generator or None, default=None
        Random generator of the epochs.
    stage : Stage or None, default=None
        Stage that stores the states; None means that none are stored.
    n_blocks : int, default=0
        Blocks of an epoch, for the progress bar; 0 if epochs are not split into blocks.
    """

    def __init__(self, rng: np.random.Generator | None = None, stage: Stage | None = None, n_blocks: int = 0) -> None:
        self._rng, self._stage, self._n_blocks = rng, stage, n_blocks
        self._losses, self._next, self._drawn, self._is_inside = list[float](), 0, dict[str, Any](), False
        self._at, self._state = Progress(0.0), Snapshots({})
        self._advance: Callable[..., None] = lambda amount: None

    def block(self, work: Callable[[], float]) -> float:
        """Return the loss of the next block; train it unless the checkpoint has it."""
        place, self._next = self._next, self._next + 1
        if place == len(self._losses):
            self._losses.append(work())
            if self._stage is not None and self._stage.is_due:
                self._keep_block(self._stage)
        if place < self._n_blocks:
            self._advance(1 / self._n_blocks)
        return self._losses[place]

    @contextmanager
    def running(self, at: Progress, state: Snapshots) -> Iterator[None]:
        """Context of a training: resume from the last stored state, if any, and store the end."""
        self._at, self._state = at, state
        if self._stage is not None:
            self._resume(self._stage)
        with progress_bar("training") as self._advance:
            self._advance(at.number)
            yield
        if self._stage is not None:
            self._save(self._stage, ["live"])

    def start_epoch(self, last: int, may_go_on: bool) -> None:
        """Begin the next epoch; `last` is the last one, or later with `may_go_on`."""
        label = f"training, epoch {self._at.number + 1} of {last}{' or more' if may_go_on else ''}"
        self._advance(0, total=last, description=label)
        if not self._is_inside:
            self._state.start_epoch()
            self._begin()
        self._next, self._is_inside = 0, False

    def end_epoch(self) -> None:
        """Store the state after an epoch; `running` stores the last one."""
        self._advance(max(0.0, 1 - self._next / self._n_blocks) if self._n_blocks else 1)
        self._begin()
        if self._stage is not None and not self._at.is_over:
            is_best = self._at.best_epoch == self._at.number
            changed = ["average", "best"] if is_best else ["average"]
            self._save(self._stage, ["live", *(name for name in changed if name in self._state.copies)], ["best"])

    def _begin(self) -> None:
        self._losses, self._next = [], 0
        self._drawn = {} if self._rng is None else dict(self._rng.bit_generator.state)

    def _resume(self, stage: Stage) -> None:
        found = stage.load(self._state)
        if found is None:
            self._begin()
            self._save(stage, ["live"])
            return
        self._losses, self._drawn = found.pop("losses"), found.pop("drawn")
        self._is_inside = bool(self._losses)
        vars(self._at).update(found)
        self._tell_owners(stage)
        if self._rng is not None:
            self._rng.bit_generator.state = self._drawn

    def _keep_block(self, stage: Stage) -> None:
        """Store a state within an epoch: the parameters only, because copies have not changed since its start."""
        if self._state.keeps_start and "before" not in stage.files:
            stage.files["before"] = stage.files["live"]
        self._save(stage, ["live"], ["before", "average", "best"])

    def _save(self, stage: Stage, changed: Sequence[str], kept: Sequence[str] = ()) -> None:
        progress = asdict(self._at) | {"losses": self._losses, "drawn": self._drawn}
        arrays = {name: self._state.live if name == "live" else self._state.copies[name] for name in changed}
        stage.save(progress, arrays, kept)
        self._tell_owners(stage)

    def _tell_owners(self, stage: Stage) -> None:
        """Let remote owners restore their rows from this state from now on."""
        for name, array in self._state.live.items():
            if not isinstance(array, np.ndarray):
                array.saved({group: stage.reader(group, self._state.live, name) for group in stage.files})


class WithRecipe(Estimator):
    """Base of rankers that are trained our way (`recipe="mined"`), or as their paper prints it ("printed")."""

    recipe: str
    # Values of the printed recipe: the first where none is given, and the others that it permits; `...`: any.
    _printed: ClassVar[dict[str, tuple[Any, ...]]] = {}

    def _used(self, name: str) -> Any:
        """Return the value of a parameter, or the value of the recipe if the parameter has its default."""
        value, printed = getattr(self, name), self._printed.get(name)
        if self.recipe == "mined" or printed is None:
            return value
        default = next(parameter.default for parameter in self._parameters() if parameter.name == name)
        return printed[0] if value == default else value

    def _check_recipe(self) -> None:
        """Raise if the recipe is unknown, or a parameter contradicts it."""
        check_choice("recipe", self.recipe, RECIPES)
        for name, permitted in self._printed.items() if self.recipe == "printed" else ():
            if ... not in permitted and self._used(name) not in permitted:
                wanted = " or ".join(map(repr, permitted))
                raise UsageError(f"{name} is {getattr(self, name)!r} with recipe='printed', want {wanted}")
