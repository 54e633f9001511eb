"""The interface of a cluster, and items divided into parts on it.

A backend runs tasks on blocks of input, holds objects (`Owner`), and forwards calls to them and returns the results.
Training, validation and search use only this interface.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.core import TacitError, UsageError
from tacit.core.threads import cluster

if TYPE_CHECKING:
    from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows

MOST_LOSSES = 10  # maximum number of owners lost during one call


class OwnerLostError(TacitError):
    """An owner is lost with its state; a new one has to be started."""


class Owner(ABC):
    """An object held by a backend. Calls are executed in the order in which they are sent."""

    @abstractmethod
    def call(self, name: str, *args: Any) -> Callable[[], Any]:
        """Send a method call; calling the returned function waits for the result.

        That function raises the method's exception, or `OwnerLostError`. It need not be called. Arrays received on
        either side are read-only.
        """

    @abstractmethod
    def end(self) -> None:
        """Release the object. Later calls raise `OwnerLostError`."""


class Backend(ABC):
    """A cluster, or an object with the same interface."""

    @property
    @abstractmethod
    def n_machines(self) -> int:
        """Return the number of machines, which is the default number of parts."""

    @abstractmethod
    def map_tasks(self, work: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield results of a function for each block, in the order of the blocks; only a few blocks are read ahead."""

    @abstractmethod
    def own(self, make: Callable[..., Any], *args: Any) -> Owner:
        """Hold the object that make(*args) returns. Owners are spread over the machines."""

    def share(self, value: Any) -> Any:
        """Return a handle for a value in calls to several owners, so that it is not sent with each call."""
        return value

    @contextmanager
    def used(self) -> Iterator[None]:
        """Use this backend to count words, read dumps and train vectors of items within the context."""
        token = cluster.set(self)
        try:
            yield
        finally:
            cluster.reset(token)

    def new_trainer(
        self,
        tables: Tables,
        data: TrainingRows,
        settings: EmbeddingSettings,
        threads: int | None,
        partitions: int | None,
    ) -> EmbeddingTrainer:
        """Make a trainer of item vectors held by owners."""
        from tacit.distributed.parted_embedding import PartedTrainer

        if settings.uniform:
            raise UsageError('a cluster trains in blocks; negatives="uniform" takes one triple a step, want "mined"')
        return PartedTrainer(tables, data, settings, threads, self, partitions or self.n_machines)


class Parts(ABC):
    """Items divided into contiguous parts, each with an owner. A lost owner is replaced and the call repeated.

    Parameters
    ----------
    backend : Backend
        Holds the owners.
    n_items : int
        Number of items.
    n_parts : int
        Number of parts; at most the number of items.
    """

    def __init__(self, backend: Backend, n_items: int, n_parts: int) -> None:
        self._backend, n_parts = backend, min(n_parts, n_items)
        self.borders = np.array([n_items * part // n_parts for part in range(n_parts + 1)])
        self.owners = [self._start(part) for part in range(n_parts)]

    @abstractmethod
    def _start(self, part: int) -> Owner:
        """Start a new owner with the current state of a part."""

    def _ask(self, name: str, calls: Mapping[int, tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """Send a call to some parts; calling the returned function waits for the results."""
        sent = {part: (self.owners[part], self.owners[part].call(name, *args)) for part, args in calls.items()}
        return lambda: [self._answer(part, *sent[part], name, args) for part, args in calls.items()]

    def _answer(self, part: int, owner: Owner, wait: Callable[[], Any] | None, name: str, args: tuple[Any, ...]) -> Any:
        for _ in range(MOST_LOSSES):
            try:
                if wait is None:
                    if owner is self.owners[part]:  # no other call has replaced it yet
                        self._replace(part)
                    owner = self.owners[part]
                    wait = owner.call(name, *args)
                return wait()
            except OwnerLostError:
                wait = None
        raise TacitError(
            f"the owner of items {self._range(part)} was lost {MOST_LOSSES} times; check that it has enough memory"
        )

    def _replace(self, part: int) -> None:
        self.owners[part].end()  # it may still run but be unreachable
        self.owners[part] = self._start(part)

    def _range(self, part: int) -> str:
        return f"{self.borders[part]} to {self.borders[part + 1] - 1}"

    def close(self) -> None:
        """End the owners."""
        for owner in self.owners:
            owner.end()
