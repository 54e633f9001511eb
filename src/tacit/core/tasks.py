"""Work that a cluster may do; `tacit.distributed` has the clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Cluster(Protocol):
    """What the packages below `tacit.distributed` ask of its `Backend`."""

    def map_tasks(self, work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
        """`map_tasks`, by processes elsewhere."""

    def new_trainer(self, tables: Any, data: Any, settings: Any, threads: int | None, partitions: int | None) -> Any:
        """An `EmbeddingTrainer` whose item vectors are elsewhere."""


cluster: ContextVar[Cluster | None] = ContextVar("cluster", default=None)  # in use; None means this process alone


def map_tasks(work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
    """Results of a function for each block, in the order of the blocks, which are read as they are needed.

    Parameters
    ----------
    work : callable
        Function of one block. It and the blocks can be sent to another process.
    blocks : iterable
        Arguments.

    Examples
    --------
    >>> list(map_tasks(sum, [[1, 2], [3]]))
    [3, 3]
    """
    used = cluster.get()
    return map(work, blocks) if used is None else used.map_tasks(work, blocks)


def gather(parts: Iterable[T], size_of: Callable[[T], int], size: int) -> Iterator[list[T]]:
    """Parts in lists of at least this total size, except the last.

    >>> list(gather(["a", "bc", "", "d"], len, 2))
    [['a', 'bc'], ['', 'd']]
    """
    some, total = list[T](), 0
    for part in parts:
        some.append(part)
        total += size_of(part)
        if total >= size:
            yield some
            some, total = [], 0
    if some:
        yield some
