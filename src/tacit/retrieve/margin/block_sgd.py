"""SGD on the margin ranking loss in blocks: a few queries against one shared pool of items.

All parameters are frozen within a block, so its queries and items are processed in parallel. At the end of the block,
each touched row of a table is changed once, by one owner, so the same seed gives the same bits for any number of
threads. The negatives of a query are the best-scored of the drawn items (`kernels.blocks`), because after the first
epoch a random item rarely violates the margin.

With `uniform` negatives, training is as printed in the papers: one triple per step, a training pair and one item drawn
from all others (`kernels.triples`). Steps are sequential, so the number of threads does not affect the result.

Subclasses define the score and its update in `_step`. The threads (`WorkerPool`) live as long as a training and
synchronize after each phase.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Self

import numpy as np
import scipy.sparse as sp

from tacit.core import count_threads
from tacit.kernels import blocks, rows
from tacit.retrieve.epochs import EpochLog
from tacit.retrieve.snapshots import Snapshots

MOST_REDRAWS = 100  # of a negative that is none
Work = Callable[[int], None]


@dataclass(frozen=True)
class BlockSettings:
    """Size of a block, negative sampling, dropout and average; see `base.MarginRanker` for the parameters."""

    block: int = 64
    n_drawn: int = 1000
    n_hardest: int = 20
    max_positives: int = 20
    weigh_ranks: bool = True
    uniform: bool = False
    margin: float = 0.2
    dropout: float = 0.0
    average: float = 0.0

    def pool_size(self, n_items: int) -> int:
        """The most items that a block can hold."""
        return min(n_items, self.n_drawn + self.block * max(2, self.max_positives))


class Comparison:
    """Scores of a block's items (pool size, block size), and the negative gradient of a margin loss in them."""

    def __init__(self, pool_size: int, block: int) -> None:
        self.scores, self.gradients = (np.empty((pool_size, block), np.float32) for _ in range(2))


FindGradients = Callable[[Comparison, float, int, int], None]  # (scores and gradients, scale, first query, end)


class BlockTrainer(ABC):
    """Visits pairs or triples block by block; every buffer is allocated once. `state` has the parameters."""

    state: Snapshots

    def __init__(
        self, n_items: int, queries_are_items: bool, settings: BlockSettings, threads: int | None = None
    ) -> None:
        self.settings, self.queries_are_items, self.n_threads = settings, queries_are_items, count_threads(threads)
        self._n_items, self._workers = n_items, WorkerPool(self.n_threads)
        self._pool, self._slot_of = np.empty(settings.pool_size(n_items), np.int64), np.full(n_items, -1, np.int64)
        self._losses, self.log = np.empty(settings.block, np.float64), EpochLog()
        self._droppable = list[tuple[np.ndarray, ...]]()

    @abstractmethod
    def _step(self, queries: np.ndarray, n_pool: int, find_gradients: FindGradients, rate: float) -> None:
        """Score the pool for the queries, let `find_gradients` compare them, and update the parameters."""

    def _with_dropout(self, queries: sp.csr_array) -> sp.csr_array:
        """Return the rows with copied values, some of which `_drop_words` sets to 0; initially none."""
        if not self.settings.dropout:
            return queries
        copy = sp.csr_array((queries.data.copy(), queries.indices, queries.indptr), shape=queries.shape)
        self._droppable.append((queries.indptr, queries.data, copy.data))
        return copy

    def _drop_words(self, queries: np.ndarray, rng: np.random.Generator) -> None:
        """Drop a random fraction of the words of some queries until their next visit."""
        if not self._droppable:
            return
        widths = np.diff(self._droppable[0][0])
        draws, share = rng.random(int(widths[queries].sum()), np.float32), np.float32(self.settings.dropout)
        for matrix in self._droppable:
            rows.drop_words(queries, widths, draws, share, *matrix)

    def _draw_pool(self, n_queries: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Items that are drawn for a block, and offsets among the positives of its queries."""
        draws = rng.integers(0, self._n_items, min(self.settings.n_drawn, 2 * self._n_items))
        return draws, rng.random(n_queries)

    def _expect(  # noqa: B027
        self,
        queries: np.ndarray,
        known: tuple[np.ndarray, np.ndarray],
        pair_weights: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Announce the queries of the next block, which draws from `rng` in its current state."""

    def average(self, number: int) -> None:
        """Add the current parameters to their average over epochs, as the `number`-th (from 1).

        The weight is 1 / number at first (a mean), then a constant.
        """
        if self.settings.average:
            self.state.average(max(1 / number, 1 - self.settings.average))

    @abstractmethod
    def decay(self, share: float) -> None:
        """Apply decay after an epoch whose rate was `share` of the first one."""

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Start the threads; they end with the context."""
        with self._workers:
            yield self

    def epoch_on_pairs(self, pairs: sp.csr_array, rng: np.random.Generator, rates: tuple[float, float]) -> float:
        """Visit every query that has pairs (CSR of weights, queries by items) once; return the mean loss.

        With uniform negatives, take as many steps as there are pairs. The rate falls linearly from the first of
        `rates` to the second.
        """
        if self.settings.uniform:
            return self._visit(*draw_triples(pairs, self.queries_are_items, rng), rng, rates)
        visits = rng.permutation(np.flatnonzero(np.diff(pairs.indptr)))
        known = (pairs.indptr.astype(np.int64), pairs.indices.astype(np.int64))
        size, total = self.settings.block, 0.0
        chosen = np.empty((size, self.settings.max_positives), np.int64)
        n_chosen, weights = np.empty(size, np.int64), np.ones(chosen.shape, np.float32)
        for start in range(0, len(visits), size):
            queries = visits[start : start + size]
            draws, offsets = self._draw_pool(len(queries), rng)
            self._drop_words(queries, rng)
            self._expect(visits[start + size : start + 2 * size], known, pairs.data, rng)
            drawn = draws, offsets, (chosen, n_chosen, weights)
            work = partial(self._step_on_pairs, queries, pairs.data, known, drawn, _between(rates, start / len(visits)))
            total += self.log.block(partial(self._train_block, work, len(queries)))
        return total / max(1, len(visits))

    def _step_on_pairs(
        self,
        queries: np.ndarray,
        pair_weights: np.ndarray,
        known: tuple[np.ndarray, np.ndarray],
        drawn: tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]],
        rate: float,
    ) -> None:
        """One block of queries against the drawn items and their own."""
        draws, offsets, positives = drawn
        places = (self._slot_of, self._pool, *positives)
        n_pool, n_drawn = blocks.gather_pool(draws, queries, *known, pair_weights, offsets, *places)
        self._step(queries, n_pool, partial(self._mine, queries, known, n_drawn, positives), rate)
        blocks.release_pool(self._pool, n_pool, self._slot_of)

    def _train_block(self, work: Callable[[], None], size: int) -> float:
        """Train a block of queries; return the sum of their losses before it."""
        self._losses[:] = 0
        work()
        return float(self._losses[:size].sum())

    def epoch_on_triples(
        self, triples: np.ndarray, weights: np.ndarray, rng: np.random.Generator, rates: tuple[float, float]
    ) -> float:
        """Visit every (query, better, worse) once; return the mean loss."""
        order = rng.permutation(len(triples))
        return self._visit(triples[order], weights[order].astype(np.float32, copy=False), rng, rates)

    def _visit(
        self, triples: np.ndarray, weights: np.ndarray, rng: np.random.Generator, rates: tuple[float, float]
    ) -> float:
        """Visit triples in their order, block by block, or singly with uniform negatives; return the mean loss."""
        size, total = self.settings.block, 0.0
        for start in range(0, len(triples), size):
            some = triples[start : start + size]
            self._drop_words(some[:, 0], rng)
            rate = _between(rates, start / len(triples))
            work = partial(self._step_on_triples, some, weights[start : start + size], rate)
            block = partial(self._train_block, work, len(some))
            total += block() if self.settings.uniform else self.log.block(block)  # steps on one triple are too many
        return total / max(1, len(triples))

    def _step_on_triples(self, given: np.ndarray, weights: np.ndarray, rate: float) -> None:
        """One block of triples, as a pool of their items."""
        items, slots = np.unique(given[:, 1:], return_inverse=True)
        self._pool[: len(items)] = items
        compare = partial(self._compare, slots.reshape(-1, 2), weights)
        self._step(np.ascontiguousarray(given[:, 0]), len(items), compare, rate)

    def _mine(
        self,
        queries: np.ndarray,
        known: tuple[np.ndarray, np.ndarray],
        n_drawn: int,
        positives: tuple[np.ndarray, np.ndarray, np.ndarray],
        comparison: Comparison,
        scale: float,
        start: int,
        stop: int,
    ) -> None:
        """Gradients of some queries with the hardest of the drawn items as negatives."""
        (chosen, n_chosen, weights), settings = positives, self.settings
        pool = (self.queries_are_items, self._slot_of, n_drawn, chosen, n_chosen, weights * np.float32(scale))
        how = (self._n_items, settings.n_hardest, settings.weigh_ranks, np.float32(settings.margin))
        blocks.mine_gradients(
            queries, start, stop, *known, *pool, *how, comparison.scores, comparison.gradients, self._losses
        )

    def _compare(
        self, slots: np.ndarray, weights: np.ndarray, comparison: Comparison, scale: float, start: int, stop: int
    ) -> None:
        """Gradients of given triples, for the queries from start to stop."""
        better, worse = np.ascontiguousarray(slots[:, 0]), np.ascontiguousarray(slots[:, 1])
        margin, weights = np.float32(self.settings.margin), weights * np.float32(scale)
        blocks.triple_gradients(
            better, worse, weights, start, stop, margin, comparison.scores, comparison.gradients, self._losses
        )

    def _each_owner(self, work: Callable[[int], None], n_owners: int | None = None) -> None:
        """Run work(owner) for every owner; by default as many as threads."""
        self._workers.run(work, n_owners or self.n_threads)

    def _over(self, n: int, work: Callable[[int, int], None], n_parts: int | None = None) -> None:
        """Run work(start, stop) over ranges that cover n; by default as many as threads."""
        n_ranges = n_parts or self.n_threads
        self._workers.run(lambda part: work(n * part // n_ranges, n * (part + 1) // n_ranges), n_ranges)


def draw_triples(
    pairs: sp.csr_array, queries_are_items: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """As many (query, better, worse) triples as there are pairs (CSR of weights), with the weights of their pairs.

    Pairs are drawn with replacement, `worse` from all items that are not the query's. A query to which all items belong
    gets no triple.

    >>> pairs = sp.csr_array(np.tile([[0, 1, 0], [1, 0, 1]], (20, 1)))
    >>> triples, _ = draw_triples(pairs, False, np.random.default_rng(0))
    >>> np.unique(np.stack([triples[:, 0] % 2, triples[:, 2]], axis=1), axis=0).tolist()
    [[0, 0], [0, 2], [1, 1]]
    """
    n_queries, n_items = pairs.shape
    query_of = np.repeat(np.arange(n_queries), np.diff(pairs.indptr))
    barred = query_of * n_items + pairs.indices
    if queries_are_items:
        barred = np.concatenate([barred, np.arange(min(n_queries, n_items)) * (n_items + 1)])
    barred = np.unique(barred)
    picked = rng.integers(0, pairs.nnz, pairs.nnz)
    triples = np.stack([query_of[picked], pairs.indices[picked], rng.integers(0, n_items, pairs.nnz)], axis=1)
    for _ in range(MOST_REDRAWS):
        codes = triples[:, 0] * n_items + triples[:, 2]
        places = np.minimum(np.searchsorted(barred, codes), len(barred) - 1)
        wrong = np.flatnonzero(barred[places] == codes)
        if not len(wrong):
            break
        triples[wrong, 2] = rng.integers(0, n_items, len(wrong))
    kept = np.setdiff1d(np.arange(len(triples)), wrong)
    return triples[kept], pairs.data[picked[kept]].astype(np.float32, copy=False)


def _between(rates: tuple[float, float], share: float) -> float:
    return rates[0] + (rates[1] - rates[0]) * share


class WorkerPool:
    """Runs work(part) for many parts; work should spend its time in loops that release the GIL.

    A free thread takes the next part. A phase may last less than a millisecond, so synchronization has to be cheap:
    one queue of tasks for each thread, and one for all results.

    >>> found = [0, 0, 0]
    >>> with WorkerPool(2) as workers:
    ...     workers.run(lambda part: found.__setitem__(part, part + 1), 3)
    >>> found
    [1, 2, 3]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._tasks: list[SimpleQueue[Callable[[], None] | None]] = []
        self._answers: SimpleQueue[BaseException | None] = SimpleQueue()
        self._threads: list[Thread] = []

    def __enter__(self) -> Self:
        self._tasks = [SimpleQueue() for _ in range(1, self.size)]
        self._threads = [Thread(target=self._help, args=(tasks,), daemon=True) for tasks in self._tasks]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for tasks in self._tasks:
            tasks.put(None)
        for thread in self._threads:
            thread.join()

    def run(self, work: Work, n_parts: int) -> None:
        """Return when all parts are done; an error in one of them is raised here. The last part is taken first."""
        parts = reversed(range(n_parts))  # its next is one step under the GIL: no part is taken twice

        def take_parts() -> None:
            while (part := next(parts, None)) is not None:
                work(part)

        helpers = self._tasks[: max(0, n_parts - 1)]
        for tasks in helpers:
            tasks.put(take_parts)
        try:
            take_parts()
        finally:
            errors = [self._answers.get() for _ in helpers]
        for error in errors:
            if error is not None:
                raise error

    def _help(self, tasks: SimpleQueue[Callable[[], None] | None]) -> None:
        while (task := tasks.get()) is not None:
            try:
                task()
            except BaseException as error:  # handed to the caller of run
                self._answers.put(error)
            else:
                self._answers.put(None)
