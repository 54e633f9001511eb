"""The tables of a low-rank model, and one block of SGD on them (forms and formula in `embedding`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from tacit.kernels import blocks, rows
from tacit.retrieve.block_sgd import BlockSettings, BlockTrainer, Comparison, FindPulls

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
class EmbeddingSettings(BlockSettings):
    """Also: weight of HTR's second loss, rate of the items' own vectors, and what becomes of the diagonal."""

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


class _View(Comparison):
    """One margin loss of a block, with the items' vectors under it and their steps.

    The first view is the model itself; HTR's gamma adds a second, in which items are mapped like queries.
    """

    def __init__(self, pool_size: int, block: int, dim: int) -> None:
        super().__init__(pool_size, block)
        self.vectors, self.steps = (np.empty((pool_size, dim), np.float32) for _ in range(2))


class EmbeddingTrainer(BlockTrainer):
    """Changes tables in place; it is its own `training.Learned`."""

    settings: EmbeddingSettings

    def __init__(self, tables: Tables, sides: Sides, settings: EmbeddingSettings, threads: int | None = None) -> None:
        super().__init__(sides.item_rows.shape[0], sides.same, settings, threads)
        self.tables, self.sides = tables, sides
        self._before = self._best = tables
        dim, pool_size = tables.queries.shape[1], len(self._pool)
        self._views = [_View(pool_size, settings.block, dim) for _ in range(2 if settings.gamma > 0 else 1)]
        self._query_vectors, self._query_steps = (np.empty((settings.block, dim), np.float32) for _ in range(2))
        n_words, longest = sides.query_words.shape[1], int(np.diff(sides.query_words.indptr).max(initial=0))
        places, posts = (np.zeros(n_words, np.int64) for _ in range(2)), settings.block * longest
        self._index = (*places, np.empty(posts, np.int64), np.empty(posts, np.float32))

    def _step(self, queries: np.ndarray, n_pool: int, find_pulls: FindPulls, rate: float) -> None:
        """Project, score, find pulls, change the tables."""
        n_queries, pool, words = len(queries), self._pool[:n_pool], self.sides.query_words
        if self.settings.use_diagonal:
            blocks.index_queries(*_csr(words), queries, *self._index)
        self._over(n_queries, partial(self._project_queries, queries))
        self._over(n_pool, partial(self._score, pool, n_queries))
        for view, scale in zip(self._views, (1.0, self.settings.gamma), strict=False):
            self._over(n_queries, partial(self._pull, view, n_pool, find_pulls, scale))
        self._over(n_pool, partial(self._pull_items, n_queries))
        self._each_owner(partial(self._apply, queries, pool, rate))
        if self.settings.use_diagonal:
            blocks.clear_index(words.indptr, words.indices, queries, *self._index[:2])

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

    def start_epoch(self) -> None:
        """Remember the tables, to go back to them."""
        self._before = self.tables.copy()

    def go_back(self) -> None:
        """Return to the tables that the epoch began with."""
        self.tables = self._before

    def keep_best(self) -> None:
        """Remember the tables as the best so far."""
        self._best = self.tables.copy()

    def take_best(self) -> None:
        """Return to the best tables."""
        self.tables = self._best

    def is_sound(self) -> bool:
        """Whether every number is finite and of a sensible size."""
        return self.tables.is_sound()


def _csr(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return matrix.indptr, matrix.indices, matrix.data
