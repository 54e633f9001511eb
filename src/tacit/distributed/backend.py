"""The interface of a cluster, and parts of the items that are held by it.

A backend does three things: it runs tasks on blocks of input, it holds objects (`Owner`), and it carries calls to them
and their answers. Training, validation and search are written against this interface alone.
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

MOST_LOSSES = 10  # owners lost during one call


class OwnerLostError(TacitError):
    """An owner is gone with all that it had; another one has to be started."""


class Owner(ABC):
    """An object that a backend holds. Calls are made in the order in which they are sent."""

    @abstractmethod
    def call(self, name: str, *args: Any) -> Callable[[], Any]:
        """Send a call of a method; the answer is waited for when the result is called.

        That raises what the method raises, or `OwnerLostError`. An answer need not be waited for. Arrays that arrive
        are read-only on both sides.
        """

    @abstractmethod
    def end(self) -> None:
        """Give the object up. Later calls find it lost."""


class Backend(ABC):
    """A cluster, or what behaves like one."""

    @property
    @abstractmethod
    def n_machines(self) -> int:
        """Number of machines: of parts, where no other number is given."""

    @abstractmethod
    def map_tasks(self, work: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Results of a function for each block, in the order of the blocks, of which few are read ahead."""

    @abstractmethod
    def own(self, make: Callable[..., Any], *args: Any) -> Owner:
        """Hold the object that make(*args) gives. Owners are spread over the machines."""

    def share(self, value: Any) -> Any:
        """Stands for a value in the calls to several owners, so that it need not be sent with each of them."""
        return value

    @contextmanager
    def used(self) -> Iterator[None]:
        """Let this backend count words, read dumps and train vectors of items, as long as the context lasts."""
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
        """Trains item vectors that owners hold."""
        from tacit.distributed.parted_embedding import PartedTrainer

        if settings.uniform:
            raise UsageError('a cluster trains in blocks; negatives="uniform" takes one triple a step, want "mined"')
        return PartedTrainer(tables, data, settings, threads, self, partitions or self.n_machines)


class Parts(ABC):
    """Items cut into contiguous parts, each with an owner. An owner that is lost is replaced and asked again.

    Parameters
    ----------
    backend : Backend
        Holds the owners.
    n_items : int
        Number of items.
    n_parts : int
        Number of parts; no more than items are made.
    """

    def __init__(self, backend: Backend, n_items: int, n_parts: int) -> None:
        self._backend, n_parts = backend, min(n_parts, n_items)
        self.borders = np.array([n_items * part // n_parts for part in range(n_parts + 1)])
        self.owners = [self._start(part) for part in range(n_parts)]

    @abstractmethod
    def _start(self, part: int) -> Owner:
        """A new owner with the present state of a part."""

    def _ask(self, name: str, calls: Mapping[int, tuple[Any, ...]]) -> Callable[[], list[Any]]:
        """Send a call to some parts; the answers are waited for when the result is called."""
        sent = {part: (self.owners[part], self.owners[part].call(name, *args)) for part, args in calls.items()}
        return lambda: [self._answer(part, *sent[part], name, args) for part, args in calls.items()]

    def _answer(self, part: int, owner: Owner, wait: Callable[[], Any] | None, name: str, args: tuple[Any, ...]) -> Any:
        for _ in range(MOST_LOSSES):
            try:
                if wait is None:
                    if owner is self.owners[part]:  # no other call has replaced it
                        self._replace(part)
                    owner = self.owners[part]
                    wait = owner.call(name, *args)
                return wait()
            except OwnerLostError:
                wait = None
        raise TacitError(f"the owner of items {self._range(part)} was lost {MOST_LOSSES} times; has it enough memory?")

    def _replace(self, part: int) -> None:
        self.owners[part].end()  # it may be alive and out of reach
        self.owners[part] = self._start(part)

    def _range(self, part: int) -> str:
        return f"{self.borders[part]} to {self.borders[part + 1] - 1}"

    def close(self) -> None:
        """End the owners."""
        for owner in self.owners:
            owner.end()
