"""Parallel work with bit-identical results for any number of threads.

Work is split into blocks whose boundaries do not depend on the number of threads, and each block writes its own part of
the result. BLAS runs on one thread, because its sums depend on how it splits them. `map_tasks` sends blocks to the
current cluster, if there is one (`tacit.distributed`).
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
    """Return the requested number, else the number of cores available to this process."""
    from tacit.core.checks import check_number

    if threads is not None:
        return int(check_number("threads", threads, low=1, high=10_000, whole=True))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_blocks(work: Callable[[B], R], blocks: Sequence[B], threads: int | None = None) -> list[R]:
    """Apply a function to each block and return the results in the order of the blocks.

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
    """Limit BLAS to one thread, so that a product has the same bits for any number of cores."""
    with _blas_controller(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _blas_controller(n_modules: int) -> Any:
    """Return a controller of the loaded BLAS libraries.

    Finding them takes longer than a small product, so it is repeated only after new modules were imported, since one of
    them may have loaded another library.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Cluster(Protocol):
    """The part of `tacit.distributed.Backend` that lower packages use."""

    def map_tasks(self, work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
        """`map_tasks` on other processes."""

    def new_trainer(self, tables: Any, data: Any, settings: Any, threads: int | None, partitions: int | None) -> Any:
        """Return an `EmbeddingTrainer` whose item vectors are held by other processes."""


cluster: ContextVar[Cluster | None] = ContextVar("cluster", default=None)  # the current one; None: this process only


def map_tasks(work: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
    """Apply a function to each block, lazily, and yield the results in the order of the blocks.

    Parameters
    ----------
    work : callable
        Function of one block. The function and the blocks must be picklable.
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
    """Group parts into lists of at least this total size, except the last.

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
