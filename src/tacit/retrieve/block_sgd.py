"""SGD on the margin ranking loss in blocks: a few queries against one shared pool of items.

All parameters are frozen within a block, so its queries and items are worked on in parallel, and each
touched row of a table is changed once at its end, by one owner: the same seed gives the same bits for
any number of threads. Against a query stand the best-scored of the drawn items (`kernels.blocks`), since
after the first epoch a random item hardly ever violates the margin and teaches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from tacit.core import count_threads
from tacit.kernels import blocks, rows

LARGEST = 1e6  # an honest table stays below 10; NaN fails the comparison too


@dataclass
class Tables:
    """What is learned, all float32. A table that a form lacks has no rows (or, for `diagonal`, is fixed).

    queries (n_query_words, dim); mapped (n_item_words, dim), the same object as queries where the two
    sides are tied; items (n_items, dim), the free or residual vectors; diagonal (n_words,).
    """

    queries: np.ndarray
    mapped: np.ndarray
    items: np.ndarray
    diagonal: np.ndarray

    def copy(self) -> Tables:
        """The same values in arrays of their own, still tied where they were."""
        queries = self.queries.copy()
        mapped = queries if self.mapped is self.queries else self.mapped.copy()
        return Tables(queries, mapped, self.items.copy(), self.diagonal.copy())

    def is_sound(self) -> bool:
        """Whether every number is finite, and so small that scores made of it are finite too."""
        tables = (self.queries, self.mapped, self.items, self.diagonal)
        return all(bool(np.abs(table).max(initial=0) < LARGEST) for table in tables)


@dataclass(frozen=True)
class BlockSettings:
    """How a block is drawn and how far a step goes."""

    block: int = 64
    n_drawn: int = 1000
    n_hardest: int = 20
    max_positives: int = 20
    margin: float = 0.2
    gamma: float = 0.0
    item_rate: float = 1.0
    learn_diagonal: bool = False
    use_diagonal: bool = True


@dataclass(frozen=True)
class Sides:
    """Features of queries and items (CSR), for the low-rank part and for the words that both share."""

    query_rows: sp.csr_array
    item_rows: sp.csr_array
    query_words: sp.csr_array
    item_words: sp.csr_array
    same: bool


class _View:
    """One margin loss of a block: the items' vectors under it, scores, pulls, and the items' steps.

    The first view is the model itself; HTR's gamma adds a second, in which items are mapped like queries.
    """

    def __init__(self, pool_size: int, block: int, dim: int) -> None:
        self.vectors, self.steps = (np.empty((pool_size, dim), np.float32) for _ in range(2))
        self.scores, self.pulls = (np.empty((pool_size, block), np.float32) for _ in range(2))


FindPulls = Callable[[_View, float, int, int], None]  # (view, scale of its loss, first query, end)


class BlockTrainer:
    """Runs epochs over tables that it changes in place; every buffer is allocated once."""

    def __init__(self, tables: Tables, sides: Sides, settings: BlockSettings, threads: int | None = None) -> None:
        self.tables, self.sides, self.settings = tables, sides, settings
        self.n_threads = count_threads(threads)
        n_items, dim = sides.item_rows.shape[0], tables.queries.shape[1]
        self._n_items = n_items
        pool_size = min(n_items, settings.n_drawn + settings.block * max(2, settings.max_positives))
        self._pool, self._slot_of = np.empty(pool_size, np.int64), np.full(n_items, -1, np.int64)
        self._views = [_View(pool_size, settings.block, dim) for _ in range(2 if settings.gamma > 0 else 1)]
        self._query_vectors, self._query_steps = (np.empty((settings.block, dim), np.float32) for _ in range(2))
        n_words = sides.query_words.shape[1]
        n_most = settings.block * int(np.diff(sides.query_words.indptr).max(initial=0))
        places = np.zeros(n_words, np.int64), np.zeros(n_words, np.int64)
        self._index = (*places, np.empty(n_most, np.int64), np.empty(n_most, np.float32))
        self._losses = np.empty(settings.block, np.float64)

    @contextmanager
    def running(self) -> Iterator[BlockTrainer]:
        """Threads for the length of a fit."""
        if self.n_threads == 1:
            self._pool_map: Callable[..., Iterable[None]] = map
            yield self
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            self._pool_map = pool.map
            yield self

    def epoch_on_pairs(self, pairs: sp.csr_array, rng: np.random.Generator, rates: tuple[float, float]) -> float:
        """Visit every query that has pairs (CSR of weights, queries by items) once; return the mean loss.

        The rate falls in a straight line from the first of `rates` to the second.
        """
        visits = rng.permutation(np.flatnonzero(np.diff(pairs.indptr)))
        known = (pairs.indptr.astype(np.int64), pairs.indices.astype(np.int64))
        size, total = self.settings.block, 0.0
        chosen = np.empty((size, self.settings.max_positives), np.int64)
        n_chosen, weights = np.empty(size, np.int64), np.ones(chosen.shape, np.float32)
        for start in range(0, len(visits), size):
            queries = visits[start : start + size]
            draws = rng.integers(0, self._n_items, min(self.settings.n_drawn, 2 * self._n_items))
            offsets = rng.random(len(queries))
            places = (self._slot_of, self._pool, chosen, n_chosen, weights)
            n_pool, n_drawn = blocks.gather_pool(draws, queries, *known, pairs.data, offsets, *places)
            mine = partial(self._mine, queries, known, n_drawn, (chosen, n_chosen, weights))
            total += self._step(queries, n_pool, mine, _between(rates, start / len(visits)))
        return total / max(1, len(visits))

    def epoch_on_triples(
        self, triples: np.ndarray, weights: np.ndarray, rng: np.random.Generator, rates: tuple[float, float]
    ) -> float:
        """Visit every (query, better, worse) once; return the mean loss."""
        order, size, total = rng.permutation(len(triples)), self.settings.block, 0.0
        for start in range(0, len(order), size):
            picked = order[start : start + size]
            items, slots = np.unique(triples[picked, 1:], return_inverse=True)
            self._pool[: len(items)] = items
            compare = partial(self._compare, slots.reshape(-1, 2), weights[picked].astype(np.float32))
            queries = np.ascontiguousarray(triples[picked, 0])
            total += self._step(queries, len(items), compare, _between(rates, start / len(order)))
        return total / max(1, len(order))

    def _mine(
        self,
        queries: np.ndarray,
        known: tuple[np.ndarray, np.ndarray],
        n_drawn: int,
        positives: tuple[np.ndarray, np.ndarray, np.ndarray],
        view: _View,
        scale: float,
        start: int,
        stop: int,
    ) -> None:
        """Pulls of some queries against the hardest of the drawn items."""
        (chosen, n_chosen, weights), settings = positives, self.settings
        pool = (self.sides.same, self._slot_of, n_drawn, chosen, n_chosen, weights * np.float32(scale))
        how = (self._n_items, settings.n_hardest, np.float32(settings.margin))
        blocks.mine_pulls(queries, start, stop, *known, *pool, *how, view.scores, view.pulls, self._losses)

    def _compare(
        self, slots: np.ndarray, weights: np.ndarray, view: _View, scale: float, start: int, stop: int
    ) -> None:
        """Pulls of given triples, for the queries from start to stop."""
        better, worse = np.ascontiguousarray(slots[:, 0]), np.ascontiguousarray(slots[:, 1])
        margin, weights = np.float32(self.settings.margin), weights * np.float32(scale)
        blocks.triple_pulls(better, worse, weights, start, stop, margin, view.scores, view.pulls, self._losses)

    def _step(self, queries: np.ndarray, n_pool: int, find_pulls: FindPulls, rate: float) -> float:
        """One block: project, score, find pulls, change the tables."""
        n_queries, pool, words = len(queries), self._pool[:n_pool], self.sides.query_words
        self._losses[:] = 0
        if self.settings.use_diagonal:
            blocks.index_queries(*_csr(words), queries, *self._index)
        self._over(n_queries, partial(self._project_queries, queries))
        self._over(n_pool, partial(self._score, pool, n_queries))
        for view, scale in zip(self._views, (1.0, self.settings.gamma), strict=False):
            self._over(n_queries, partial(self._pull, view, n_pool, find_pulls, scale))
        self._over(n_pool, partial(self._pull_items, n_queries))
        list(self._pool_map(partial(self._apply, queries, pool, rate), range(self.n_threads)))
        if self.settings.use_diagonal:
            blocks.clear_index(words.indptr, words.indices, queries, *self._index[:2])
        blocks.release_pool(self._pool, n_pool, self._slot_of)
        return float(self._losses[:n_queries].sum())

    def _project_queries(self, queries: np.ndarray, start: int, stop: int) -> None:
        self._query_vectors[start:stop] = 0
        self._query_steps[start:stop] = 0
        rows_of = _csr(self.sides.query_rows)
        rows.add_projections(*rows_of, queries, start, stop, self.tables.queries, self._query_vectors)

    def _score(self, pool: np.ndarray, n_queries: int, start: int, stop: int) -> None:
        """Vectors of the items from start to stop, and their scores under every view."""
        sides, tables = self.sides, self.tables
        for view in self._views:
            view.vectors[start:stop] = 0
            view.pulls[start:stop, :n_queries] = 0
            view.steps[start:stop] = 0
        if len(tables.items):
            self._views[0].vectors[start:stop] += tables.items[pool[start:stop]]
        for view, table in zip(self._views, (tables.mapped, tables.queries), strict=False):
            if len(table):
                rows.add_projections(*_csr(sides.item_rows), pool, start, stop, table, view.vectors)
            blocks.score_pool(self._query_vectors, view.vectors, n_queries, start, stop, view.scores)
        if self.settings.use_diagonal:
            words, scores = _csr(sides.item_words), self._views[0].scores
            blocks.add_shared_words(*words, pool, start, stop, *self._index, tables.diagonal, scores)

    def _pull(self, view: _View, n_pool: int, find_pulls: FindPulls, scale: float, start: int, stop: int) -> None:
        find_pulls(view, scale, start, stop)
        blocks.pull_queries(view.pulls, view.vectors, n_pool, start, stop, self._query_steps)

    def _pull_items(self, n_queries: int, start: int, stop: int) -> None:
        for view in self._views:
            blocks.pull_items(view.pulls, self._query_vectors, n_queries, start, stop, view.steps)

    def _apply(self, queries: np.ndarray, pool: np.ndarray, rate: float, owner: int) -> None:
        """Change the rows that this owner has."""
        sides, tables, share = self.sides, self.tables, (owner, self.n_threads)
        step, item_step = np.float32(rate), np.float32(rate * self.settings.item_rate)
        query_rows, item_rows = _csr(sides.query_rows), _csr(sides.item_rows)
        rows.add_outer(*query_rows, queries, len(queries), self._query_steps, step, tables.queries, *share)
        for view, table in zip(self._views, (tables.mapped, tables.queries), strict=False):
            if len(table):
                rows.add_outer(*item_rows, pool, len(pool), view.steps, step, table, *share)
        if len(tables.items):
            rows.add_to_rows(pool, len(pool), self._views[0].steps, item_step, tables.items, *share)
        if self.settings.learn_diagonal:
            words, pulls = _csr(sides.item_words), self._views[0].pulls
            blocks.pull_diagonal(*words, pool, len(pool), *self._index, pulls, step, tables.diagonal, *share)

    def _over(self, n: int, work: Callable[[int, int], None]) -> None:
        """Run work(start, stop) over ranges that cover n, one for each thread."""
        borders = [n * part // self.n_threads for part in range(self.n_threads + 1)]
        list(self._pool_map(lambda part: work(borders[part], borders[part + 1]), range(self.n_threads)))


def _between(rates: tuple[float, float], share: float) -> float:
    return rates[0] + (rates[1] - rates[0]) * share


def _csr(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix.indptr, matrix.indices, matrix.data
