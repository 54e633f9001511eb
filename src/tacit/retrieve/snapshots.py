"""Copies of parameters in training: at the start of an epoch, averaged over epochs, at the best epoch.

Parameters are changed in place. Copies are made and read by blocks. Large ones are mapped files (`core.mapped`): copies
are then on disk, and only the parameters themselves need memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tacit.core import cut
from tacit.core.mapped import allocate, release

BLOCK_BYTES = 4 << 20

Arrays = Mapping[str, np.ndarray]


def row_blocks(array: np.ndarray) -> Iterator[slice]:
    """Rows of an array in pieces of a few megabytes; of a mapped array only a few pieces are in memory at a time."""
    for number, part in enumerate(cut(len(array), max(1, BLOCK_BYTES // max(1, array[:1].nbytes)))):
        yield part
        if number % 16 == 15:
            release(array)
    release(array)


def copy_into(target: np.ndarray, source: np.ndarray) -> None:
    """Copy by blocks; vectors of remote owners are copied remotely."""
    if not isinstance(target, np.ndarray):
        target.copy_from(source)
        return
    for part, _ in zip(row_blocks(target), row_blocks(source), strict=True):
        target[part] = source[part]


class Snapshots:
    """Parameters in training with the copies that `run_epochs` needs.

    Parameters
    ----------
    live : mapping of str to ndarray
        The parameters; they are changed in place and keep their arrays.
    first : callable or None, default=None
        Creates the first parameters again. Used if a copy at the start of each epoch would take too much memory: after
        a divergence, the best epoch or these parameters are restored.
    largest : float, default=1e6
        Numbers of this size have diverged.

    Attributes
    ----------
    copies : dict of str to dict of str to ndarray
        The copies that exist: "before", "average" and "best".

    Examples
    --------
    >>> numbers = np.array([1.0, 2.0])
    >>> state = Snapshots({"numbers": numbers})
    >>> state.start_epoch()
    >>> numbers[:] = np.inf
    >>> state.is_sound()
    False
    >>> state.go_back()
    >>> numbers.tolist()
    [1.0, 2.0]
    """

    def __init__(self, live: Arrays, *, first: Callable[[], Arrays] | None = None, largest: float = 1e6) -> None:
        self.live, self._first, self._largest = dict(live), first, largest
        self.copies = dict[str, dict[str, np.ndarray]]()

    @property
    def keeps_start(self) -> bool:
        """Whether the start of the epoch is restored after a divergence."""
        return self._first is None

    def room(self, name: str) -> dict[str, np.ndarray]:
        """Arrays for a copy of this name, allocated once."""
        if name not in self.copies:
            self.copies[name] = {key: _room(name, array) for key, array in self.live.items()}
        return self.copies[name]

    def start_epoch(self) -> None:
        """Store the parameters, to restore them later."""
        if self.keeps_start:
            self._store("before", self.live)

    def go_back(self) -> None:
        """Undo the epoch."""
        if self._first is None:
            self._restore(self.copies["before"])
        else:
            self._restore(self.copies["best"] if "best" in self.copies else self._first())

    def average(self, weight: float) -> None:
        """Average over epochs = (1 - weight) * average + weight * parameters."""
        if "average" not in self.copies:
            self._store("average", self.live)
            return
        for name, array in self.copies["average"].items():
            move_to(array, self.live[name], weight)

    @property
    def averaged(self) -> Arrays:
        """Return the parameters to rank with: their average over epochs, or the current ones if there is none."""
        return self.copies.get("average", self.live)

    def keep_best(self) -> None:
        """Remember the averaged parameters as the best so far."""
        self._store("best", self.averaged)

    def take_best(self) -> None:
        """Return to the best parameters and end all copies."""
        if "best" in self.copies:
            self._restore(self.copies["best"])
        self.copies.clear()

    def is_sound(self) -> bool:
        """Whether every number is finite and of a plausible size; without a copy of them."""
        return all(
            # A NaN among numbers is their maximum, and fails the comparison.
            bool(array.max(initial=0) < self._largest and array.min(initial=0) > -self._largest)
            for array in self.live.values()
        )

    def _store(self, name: str, arrays: Arrays) -> None:
        for key, target in self.room(name).items():
            copy_into(target, arrays[key])

    def _restore(self, arrays: Arrays) -> None:
        for name, target in self.live.items():
            copy_into(target, arrays[name])


def _room(name: str, array: np.ndarray) -> np.ndarray:
    """Place for a copy of an array."""
    return allocate(array.shape, array.dtype) if isinstance(array, np.ndarray) else array.like(name)


def move_to(average: np.ndarray, present: np.ndarray, weight: float) -> None:
    """average = (1 - weight) * average + weight * present, in place and without a copy of either."""
    if not isinstance(average, np.ndarray):
        average.move_to(present, weight)
        return
    kind = average.dtype.type
    for part in row_blocks(average):
        average[part] *= kind(1 - weight)
        average[part] += kind(weight) * present[part]
