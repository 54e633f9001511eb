"""The tables of a low-rank model, and one block of SGD on them (forms and formula in `embedding`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tacit.kernels import blocks, rows, shared_words, triples
from tacit.retrieve.margin.block_sgd import BlockSettings, BlockTrainer, Comparison, FindGradients
from tacit.retrieve.snapshots import Arrays, Snapshots
from tacit.retrieve.training_data import Monitor

if TYPE_CHECKING:
    from tacit.retrieve.margin.embedding import EmbeddingRanker
    from tacit.retrieve.margin.tasks import TrainingTask

OWNERS_PER_THREAD = 4  # rare words cost more than frequent ones, so shares are small and a free thread takes the next
LARGEST_ENTRY = 1e6  # normal tables stay below 10


@dataclass
class Tables:
    """Learned parameters, all float32. A table that a form lacks has no rows (or, for `diagonal`, is fixed).

    queries (n_query_words, dim); mapped (n_item_words, dim), the same object as queries if items are
    tied; items (n_items, dim), the free or residual vectors; diagonal (n_words,).
    """

    queries: np.ndarray
    mapped: np.ndarray
    items: np.ndarray
    diagonal: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """The tables by name, each array once."""
        return {name: table for name, table in vars(self).items() if name != "mapped" or table is not self.queries}

    def take(self, items: np.ndarray) -> Tables:
        """The same for some of the items."""
        return Tables(self.queries, self.mapped, self.items[items] if len(self.items) else self.items, self.diagonal)

    @classmethod
    def of(cls, arrays: Arrays) -> Tables:
        """Tables made of `arrays()`, or of a copy of them."""
        names = ("queries", "mapped" if "mapped" in arrays else "queries", "items", "diagonal")
        return cls(*(arrays[name] for name in names))


@dataclass(frozen=True)
class EmbeddingSettings(BlockSettings):
    """Also: weight of HTR's second loss, rate of item vectors, decay of word vectors, use of the diagonal."""

    gamma: float = 0.0
    item_rate: float = 1.0
    decay: float = 0.0
    learn_diagonal: bool = False
    use_diagonal: bool = True


@dataclass(frozen=True)
class TrainingRows:
    """Features of queries and items (CSR), for the low-rank part and for the words that both share."""

    query_rows: sp.csr_array
    item_rows: sp.csr_array
    query_words: sp.csr_array
    item_words: sp.csr_array
    queries_are_items: bool


class _View(Comparison):
    """One margin loss of a block, with the items' vectors under it and their steps.

    The first view is the model itself; HTR's gamma adds a second, in which items are mapped like queries.
    """

    def __init__(self, pool_size: int, block: int, dim: int) -> None:
        super().__init__(pool_size, block)
        self.vectors, self.steps = (np.empty((pool_size, dim), np.float32) for _ in range(2))
        self.moving = np.empty(0, np.int64)
        self._moving = np.empty(pool_size, np.int64)
        self.gaps, self.triple_gradients = (np.zeros(block, np.float32) for _ in range(2))

    def find_moving(self, n_slots: int) -> None:
        """Note the slots that have a step."""
        self.moving = self._moving[: rows.find_moving(self.steps, n_slots, self._moving)]


class Shares:
    """Sparse rows, and which words of each row belong to which owner: ranges of words with equal numbers of entries."""

    def __init__(self, matrix: sp.csr_array, borders: np.ndarray) -> None:
        self.csr = matrix.indptr, matrix.indices, matrix.data
        places = np.int32 if matrix.nnz <= np.iinfo(np.int32).max else np.int64  # there may be millions of rows
        self._starts = np.empty((len(borders), matrix.shape[0]), places)
        rows.split_rows(matrix.indptr, matrix.indices, borders, self._starts)

    def of(self, owner: int) -> tuple[np.ndarray, ...]:
        """Where the owner's words start and end in each row, and all words with their values."""
        return self._starts[owner], self._starts[owner + 1], *self.csr[1:]


class EmbeddingTrainer(BlockTrainer):
    """Updates tables in place."""

    settings: EmbeddingSettings

    def __init__(
        self, tables: Tables, data: TrainingRows, settings: EmbeddingSettings, threads: int | None = None
    ) -> None:
        super().__init__(data.item_rows.shape[0], data.queries_are_items, settings, threads)
        self.tables, self._n_owners = tables, 1 if self.n_threads == 1 else OWNERS_PER_THREAD * self.n_threads
        dim, block, pool_size = tables.queries.shape[1], settings.block, max(len(self._pool), 2 * settings.block)
        self._views = [_View(pool_size, block, dim) for _ in range(2 if settings.gamma > 0 else 1)]
        self._query_vectors, self._query_steps = (np.zeros((block, dim), np.float32) for _ in range(2))
        self._query_columns = np.zeros((dim, block), np.float32)
        lengths = np.diff(data.query_words.indptr)
        n_buckets = min(data.query_words.shape[1], int(np.sort(lengths)[-block:].sum()))
        self._row_of_word = np.full(data.query_words.shape[1], -1, np.int32)
        self._spread = np.empty((n_buckets, block), np.float32)
        self._max_words = int(np.diff(data.item_words.indptr).max(initial=0))
        self._open(data)

    def _open(self, data: TrainingRows) -> None:
        """Make `state`, and the rows of queries and items ready for `_take`."""
        self.state = Snapshots(self.tables.arrays(), largest=LARGEST_ENTRY)
        query_words = query_rows = self._with_dropout(data.query_words)
        if data.query_rows is not data.query_words:
            query_rows = self._with_dropout(data.query_rows)
        self._query_rows, self._item_rows = _share(query_rows, data.item_rows, self._n_owners)
        self._query_words, self._item_words = self._query_rows, self._item_rows
        if data.item_words is not data.item_rows or data.query_words is not data.query_rows:
            self._query_words, self._item_words = _share(query_words, data.item_words, self._n_owners)

    def _take(self, queries: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Their numbers among the rows at hand, and in `tables.items`, for the present block."""
        return queries, items

    def _put(self, items: np.ndarray) -> None:
        """End the block; `tables.items` has changed if the first view updates items."""

    def close(self) -> None:
        """Release remote resources of the trainer; `tables` can no longer be read."""

    def _step(self, queries: np.ndarray, n_pool: int, find_gradients: FindGradients, rate: float) -> None:
        """Project, score, find gradients, update the tables."""
        n_queries, (queries, pool) = len(queries), self._take(queries, self._pool[:n_pool])
        if self.settings.use_diagonal:
            shared_words.spread_queries(*self._query_words.csr, queries, self._row_of_word, self._spread)
        self._project_queries(queries, 0, n_queries)  # too short for threads
        self._over(n_pool, partial(self._score, pool), self._n_owners)
        self._over(n_queries, partial(self._find_gradients, n_pool, find_gradients))
        for view in self._views:
            blocks.item_steps(view.gradients, self._query_vectors, n_queries, 0, n_pool, view.steps)
            view.find_moving(n_pool)
        self._each_owner(partial(self._change_by_pool, queries, pool, np.float32(rate)), self._n_owners)
        if self.settings.use_diagonal:
            shared_words.release_words(*self._query_words.csr[:2], queries, self._row_of_word)
        self._put(pool)

    def _project_queries(self, queries: np.ndarray, start: int, stop: int) -> None:
        table, vectors = self.tables.queries, self._query_vectors
        vectors[start:stop] = 0
        rows.add_projections(*self._query_rows.csr, queries, start, stop, table, vectors)
        self._query_columns[:, start:stop] = vectors[start:stop].T
        self._query_steps[start:stop] = 0

    def _project_items(self, items: np.ndarray, start: int, stop: int) -> None:
        """Vectors of the items from start to stop, under every view."""
        tables = self.tables
        none = tables.items[:0]
        for view, words, own in zip(self._views, (tables.mapped, tables.queries), (tables.items, none), strict=False):
            rows.take_rows(own, items, start, stop, view.vectors)
            if len(words):
                rows.add_projections(*self._item_rows.csr, items, start, stop, words, view.vectors)

    def _score(self, pool: np.ndarray, start: int, stop: int) -> None:
        """Vectors of the items from start to stop, and their scores under every view."""
        self._project_items(pool, start, stop)
        for view in self._views:
            blocks.score_pool(self._query_columns, view.vectors, start, stop, view.scores, view.gradients)
        if self.settings.use_diagonal:
            where = pool, start, stop, self._max_words, self._row_of_word, self._spread
            shared_words.add_shared_words(*self._item_words.csr, *where, self.tables.diagonal, self._views[0].scores)

    def _find_gradients(self, n_pool: int, find_gradients: FindGradients, start: int, stop: int) -> None:
        for view, scale in zip(self._views, (1.0, self.settings.gamma), strict=False):
            find_gradients(view, scale, start, stop)
            blocks.query_steps(view.gradients, view.vectors, n_pool, start, stop, self._query_steps)

    def _visit(
        self, given: np.ndarray, weights: np.ndarray, rng: np.random.Generator, rates: tuple[float, float]
    ) -> float:
        """Use one compiled loop if triples are visited sequentially and in full."""
        settings, tables = self.settings, self.tables
        if not settings.uniform or settings.dropout:
            return super()._visit(given, weights, rng, rates)
        total = triples.visit_vectors(
            (self._query_rows.csr, self._item_rows.csr), (self._query_words.csr, self._item_words.csr),
            given, weights, rates, np.float32(settings.margin), np.float32(settings.gamma),
            np.float32(settings.item_rate), settings.use_diagonal, settings.learn_diagonal,
            tables.queries, tables.mapped, tables.items, tables.diagonal,
        )  # fmt: skip
        return total / max(1, len(given))

    def _step_on_triples(self, given: np.ndarray, weights: np.ndarray, rate: float) -> None:
        """A triple needs only the scores of its two items: slots 2 b and 2 b + 1."""
        queries, items = self._take(np.ascontiguousarray(given[:, 0]), given[:, 1:].reshape(-1))
        self._over(len(queries), partial(self._find_triple_gradients, queries, items, weights))
        for view in self._views:
            view.find_moving(len(items))
        self._each_owner(partial(self._change_by_triples, queries, items, np.float32(rate)), self._n_owners)
        self._put(items)

    def _find_triple_gradients(
        self, queries: np.ndarray, items: np.ndarray, weights: np.ndarray, start: int, stop: int
    ) -> None:
        self._project_queries(queries, start, stop)
        self._project_items(items, 2 * start, 2 * stop)
        if self.settings.use_diagonal:
            words = self._query_words.csr, self._item_words.csr
            gaps, diagonal = self._views[0].gaps, self.tables.diagonal
            shared_words.shared_gaps(*words, queries, items, start, stop, diagonal, gaps)
        margin = np.float32(self.settings.margin)
        for view, scale in zip(self._views, (1.0, self.settings.gamma), strict=False):
            wanted = view.gaps, weights * np.float32(scale), margin, start, stop
            changed = view.triple_gradients, self._query_steps, view.steps, self._losses
            triples.triple_steps(self._query_vectors, view.vectors, *wanted, *changed)

    def _change_by_pool(self, queries: np.ndarray, pool: np.ndarray, rate: np.float32, owner: int) -> None:
        self._change(queries, pool, rate, owner)
        if self.settings.learn_diagonal:
            pulled = pool, len(pool), self._row_of_word, self._spread, self._views[0].gradients
            shared_words.update_diagonal(*self._item_words.of(owner), *pulled, rate, self.tables.diagonal)

    def _change_by_triples(self, queries: np.ndarray, items: np.ndarray, rate: np.float32, owner: int) -> None:
        self._change(queries, items, rate, owner)
        if self.settings.learn_diagonal:
            words, pulled = self._item_words.of(owner), (queries, items, self._views[0].triple_gradients)
            diagonal = self.tables.diagonal
            shared_words.update_diagonal_by_triples(self._query_words.csr, *words, *pulled, rate, diagonal)

    def _change(self, queries: np.ndarray, items: np.ndarray, rate: np.float32, owner: int) -> None:
        """Update the vectors of this owner."""
        tables, views = self.tables, self._views
        everyone = np.arange(len(queries))
        rows.add_outer(*self._query_rows.of(owner), queries, everyone, self._query_steps, rate, tables.queries)
        for view, table in zip(views, (tables.mapped, tables.queries), strict=False):
            if len(table):
                rows.add_outer(*self._item_rows.of(owner), items, view.moving, view.steps, rate, table)
        if len(tables.items):
            item_rate = rate * np.float32(self.settings.item_rate)
            own = (len(tables.items) * part // self._n_owners for part in (owner, owner + 1))
            rows.add_to_rows(items, views[0].moving, views[0].steps, item_rate, tables.items, *own)

    def measuring(
        self, ranker: EmbeddingRanker, rows: TrainingRows, task: TrainingTask, monitor: Monitor | None = None
    ) -> Callable[[], Mapping[str, np.ndarray | float]]:
        """Return a function that computes validation values of the averaged tables, and the values of `monitor`."""
        measured, chosen = ranker._measured(task), task.candidates
        item_rows = rows.item_rows if chosen is None else sp.csr_array(rows.item_rows[chosen])

        def measure() -> Mapping[str, np.ndarray | float]:
            measured._keep(self.averaged if chosen is None else self.averaged.take(chosen), item_rows)
            return {**task.values(measured), **({} if monitor is None else monitor(measured))}

        return measure

    @property
    def averaged(self) -> Tables:
        """The tables to rank with."""
        return Tables.of(self.state.averaged)

    def decay(self, share: float) -> None:
        """Shrink the vectors of words."""
        tables, factor = self.tables, np.float32(1 - share * self.settings.decay)
        if factor < 1:
            tables.queries *= factor
            if tables.mapped is not tables.queries:
                tables.mapped *= factor


def _share(queries: sp.csr_array, items: sp.csr_array, n_owners: int) -> tuple[Shares, Shares]:
    """Rows of queries and items by owners of their words."""
    of_queries, of_items = word_borders(queries, items, n_owners)
    return Shares(queries, of_queries), Shares(items, of_items)


def word_borders(queries: sp.csr_array, items: sp.csr_array, n_owners: int) -> tuple[np.ndarray, np.ndarray]:
    """Owners of the words of queries and items: the same where both may share a table, so one owner writes a row.

    An array has the first word of each owner, and the end; an owner's words have about as many entries as another's.
    """
    counts = [np.bincount(matrix.indices, minlength=matrix.shape[1]) for matrix in (queries, items)]
    if queries.shape[1] == items.shape[1]:
        counts = [counts[0] + counts[1]] * 2
    return _borders(counts[0], n_owners), _borders(counts[1], n_owners)


def _borders(counts: np.ndarray, n_owners: int) -> np.ndarray:
    ends = np.cumsum(counts)
    inner = np.searchsorted(ends, ends[-1:] * np.arange(1, n_owners) / n_owners)
    return np.concatenate([[0], inner, [len(counts)]]).astype(np.int64)
