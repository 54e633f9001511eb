"""Work on blocks of input that the machines of a cluster may do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Maps a function over blocks, results in order, by processes elsewhere; `tacit.distributed` puts one here.
spread_map: ContextVar[Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]] | None] = ContextVar(
    "spread_map", default=None
)


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
    return (spread_map.get() or map)(work, blocks)


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
