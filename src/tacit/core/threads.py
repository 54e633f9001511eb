"""Parallel work that gives the same bits for any number of threads.

Work is cut into blocks whose borders do not depend on the number of threads; each block writes
its own part of the result. BLAS is held to one thread, since its sums depend on how it splits them.
`map_tasks` gives blocks to the cluster in use, if there is one (`tacit.distributed`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Protocol, TypeVar

B = TypeVar("B")
T = TypeVar("T")
R = TypeVar("R")


def count_threads(threads: int | None = None) -> int:
    """The number asked for, else the cores that this process may use."""
    from tacit.core.checks import check_number

    if threads is not None:
        return int(check_number("threads", threads, low=1, high=10_000, whole=True))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_blocks(work: Callable[[B], R], blocks: Sequence[B], threads: int | None = None) -> list[R]:
    """Results of a function for each block, in the order of the blocks.

    Parameters
    ----------
    work : callable
        Function of one block; it should release the GIL.
    blocks : sequence
        Arguments.
    threads : int, default=None
        Number of threads; None for all cores.

    Examples
    --------
    >>> map_blocks(lambda block: sum(block), [range(3), range(4)], threads=2)
    [3, 6]
    """
    n_threads = min(count_threads(threads), len(blocks))
    if n_threads <= 1:
        return [work(block) for block in blocks]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, blocks))


def cut(n_rows: int, size: int) -> list[slice]:
    """Slices of at most `size` rows that cover all rows.

    >>> cut(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, so that a product has the same bits on every machine size."""
    with _blas_controller(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _blas_controller(n_modules: int) -> Any:
    """What knows the BLAS libraries in use. Finding them takes longer than a small product, so it is done again only
    after something was imported that may have brought one along.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


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
