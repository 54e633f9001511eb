"""Progress of a training: epochs, blocks of the current epoch, states in a checkpoint, and the progress bar.

An interrupted epoch is repeated from its first random state. All random draws are made again, but blocks in the
checkpoint are not trained twice: their losses are known, and the parameters include their steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tacit.core import progress_bar
from tacit.retrieve.checkpoint import Stage
from tacit.retrieve.snapshots import Snapshots


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
