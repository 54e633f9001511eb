"""Training and validation of item vectors held by remote owners (`owners`).

A block needs only the words and vectors of its pool. These are fetched from the owners, the block is computed here as
on one machine, and changed vectors are sent back. All random draws are made here in the same order, so the bits do not
depend on the number of owners. Words never change, so the next block's words are requested before the current block is
computed.

In validation, the scores of the relevant items are computed here, from their words and vectors alone. Each owner counts
how many candidates of its part have a higher or equal score (`metrics.full_ranking`). The sums are the positions of the
relevant items, which give the same measures, bit by bit, as on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, cut
from tacit.core.mapped import release
from tacit.distributed.backend import Backend
from tacit.distributed.owners import OwnedVectors, Owners
from tacit.kernels import blocks, rows
from tacit.metrics.full_ranking import Places, check_mask, check_row, entries, find_places, measures_from_places
from tacit.retrieve import EmbeddingRanker
from tacit.retrieve.margin.embedding_sgd import (
    LARGEST_ENTRY,
    EmbeddingSettings,
    EmbeddingTrainer,
    Shares,
    Tables,
    TrainingRows,
    word_borders,
)
from tacit.retrieve.margin.tasks import PairTask, TrainingTask, TripleTask
from tacit.retrieve.snapshots import Snapshots
from tacit.retrieve.training_data import Monitor

QUERIES = 64  # scored together in validation


class PartedTrainer(EmbeddingTrainer):
    """Trains word tables locally and vectors of items with their owners.

    Parameters
    ----------
    tables, data, settings, threads
        As for `EmbeddingTrainer`.
    backend : Backend
        Holds the owners.
    n_parts : int
        Number of owners.
    """

    def __init__(
        self,
        tables: Tables,
        data: TrainingRows,
        settings: EmbeddingSettings,
        threads: int | None,
        backend: Backend,
        n_parts: int,
    ) -> None:
        self._backend, self._n_parts = backend, n_parts
        super().__init__(tables, data, settings, threads)

    def _open(self, data: TrainingRows) -> None:
        tables, settings = self.tables, self.settings
        self._data, self._is_cut = data, data.item_rows is not data.item_words
        self._owners = Owners(self._backend, data.item_words, tables.items, self._n_parts)
        self._vectors: Any = OwnedVectors(self._owners) if len(tables.items) else tables.items
        tables.items = cast(Any, self._vectors)
        self.state = Snapshots(tables.arrays(), largest=LARGEST_ENTRY)
        self._borders = word_borders(data.query_words, data.item_words, self._n_owners)
        self._low_borders = word_borders(data.query_rows, data.item_rows, self._n_owners)
        for array in (data.item_words.indices, data.item_words.data):
            release(array)  # if it is mapped, because the owners have it
        self._draws, self._wanted = np.empty(0, np.float32), np.empty(0, np.int64)
        shape = settings.block, settings.max_positives
        positives = np.empty(shape, np.int64), np.empty(shape[0], np.int64), np.empty(shape, np.float32)
        self._next_places = (np.full_like(self._slot_of, -1), np.empty_like(self._pool), *positives)
        self._next: Callable[[], np.ndarray] | None = None
        self._asked: tuple[np.ndarray, Callable[[], tuple[np.ndarray, ...]]] | None = None

    def _drop_words(self, queries: np.ndarray, rng: np.random.Generator) -> None:
        if self.settings.dropout:
            lengths = self._data.query_words.indptr[queries + 1] - self._data.query_words.indptr[queries]
            self._draws = rng.random(int(lengths.sum()), np.float32)

    def _expect(
        self,
        queries: np.ndarray,
        known: tuple[np.ndarray, np.ndarray],
        pair_weights: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        rng = deepcopy(rng)

        def items_of_next_block() -> np.ndarray:
            draws, offsets = self._draw_pool(len(queries), rng)
            slot_of, pool, *_ = places = self._next_places
            size, _ = blocks.gather_pool(draws, queries, *known, pair_weights, offsets, *places)
            blocks.release_pool(pool, size, slot_of)
            return self._needed(queries, pool[:size])

        self._next = items_of_next_block if len(queries) else None

    def _needed(self, queries: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Return the rows that a block needs, in ascending order."""
        return np.unique(np.concatenate([items, queries]) if self.queries_are_items else items)

    def _take(self, queries: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wanted = self._wanted = self._needed(queries, items)
        asked, self._asked = self._asked, None
        if asked is None or not np.array_equal(asked[0], wanted):
            asked = wanted, self._owners.take_words(wanted)
        vectors = self._vectors
        if isinstance(vectors, OwnedVectors):
            self.tables.items = self._owners.take_vectors(vectors.name, wanted)
        words = self._matrix(*asked[1]())
        if self._next is not None:
            following, self._next = self._next(), None
            self._asked = following, self._owners.take_words(following)
        some, places = np.unique(queries, return_inverse=True)
        of_queries = words[np.searchsorted(wanted, some)] if self.queries_are_items else self._data.query_words[some]
        self._item_words, self._item_rows = self._shares(words, 1)
        self._query_words, self._query_rows = self._dropped(sp.csr_array(of_queries), places)
        self._max_words = int(np.diff(words.indptr).max(initial=0))
        return places, np.searchsorted(wanted, items)

    def _matrix(self, lengths: np.ndarray, words: np.ndarray, values: np.ndarray) -> sp.csr_array:
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return sp.csr_array((values, words, indptr), shape=(len(lengths), self._data.item_words.shape[1]))

    def _dropped(self, words: sp.csr_array, places: np.ndarray) -> tuple[Shares, Shares]:
        """Return rows of queries without the words removed by dropout."""
        if self.settings.dropout:
            data = words.data.copy()
            draws, share = self._draws, np.float32(self.settings.dropout)
            rows.drop_words(places, np.diff(words.indptr), draws, share, words.indptr, data, words.data)
        return self._shares(words, 0)

    def _shares(self, words: sp.csr_array, side: int) -> tuple[Shares, Shares]:
        """Return all words of some rows of queries (side 0) or items (1), and the leading ones, which have vectors."""
        shared = Shares(words, self._borders[side])
        if not self._is_cut:
            return shared, shared
        low = self._low_borders[side]
        return shared, Shares(sp.csr_array(words[:, : low[-1]]), low)

    def _put(self, items: np.ndarray) -> None:
        if self._vectors is not self.tables.items:
            moved = np.unique(items[self._views[0].moving])
            self._owners.put("live", self._wanted[moved], self.tables.items[moved])
            self.tables.items = self._vectors

    def measuring(
        self, ranker: EmbeddingRanker, rows: TrainingRows, task: TrainingTask, monitor: Monitor | None = None
    ) -> Callable[[], Mapping[str, np.ndarray | float]]:
        """Validate with the owners, unless a monitor needs the whole ranker."""
        if monitor is not None or not isinstance(task, PairTask | TripleTask):
            return super().measuring(ranker, rows, task, monitor)
        return partial(PartedValidation(self, ranker).values, task)

    def words_of(self, items: np.ndarray) -> sp.csr_array:
        """Return words of some items, in ascending order."""
        return self._matrix(*self._owners.take_words(items)())

    def count_places(self, candidates: np.ndarray, asked: Question) -> np.ndarray:
        """Return the counts of all owners for validation."""
        items = self.averaged.items
        return self._owners.count_places(items.name if isinstance(items, OwnedVectors) else "live", candidates, asked)

    def close(self) -> None:
        """End the owners."""
        self._owners.close()


class Question(NamedTuple):
    """The request to every owner: validation queries, scores of their relevant items, and excluded items."""

    ranker: EmbeddingRanker  # without items
    mapped: np.ndarray
    diagonal: np.ndarray
    queries: Sequence[Features]  # their factors
    wanted: sp.csr_array
    excluded: sp.csr_array


def count_in_part(ranker: EmbeddingRanker, asked: Question, first: int) -> np.ndarray:
    """Return the contribution of a part of the candidates to the positions of relevant items, as `Places` in an array.

    Parameters
    ----------
    ranker : EmbeddingRanker
        Ranks the candidates of the part.
    asked : Question
        Queries and relevant items, numbered among all candidates.
    first : int
        Number of the first candidate of the part.
    """
    n_items, wanted = ranker.n_items_, asked.wanted
    excluded, found = sp.csr_array(asked.excluded[:, first : first + n_items]), []
    for block in cut(wanted.shape[0], QUERIES):
        scores = np.zeros((block.stop - block.start, n_items), np.float32)
        for factors, of_queries in zip(ranker.item_factors, asked.queries, strict=True):
            factors.add_scores(of_queries[block], scores)
        for query, row in enumerate(scores, block.start):
            own = slice(*wanted.indptr[query : query + 2])
            placed = find_places(row, entries(excluded, query), wanted.data[own], wanted.indices[own] - first)
            found.append(np.array(placed))
    return np.concatenate(found, axis=1)


class PartedValidation:
    """Measures the averaged tables of a trainer.

    Parameters
    ----------
    trainer : PartedTrainer
        Knows the owners.
    ranker : EmbeddingRanker
        The ranker in training; it is not changed.
    """

    def __init__(self, trainer: PartedTrainer, ranker: EmbeddingRanker) -> None:
        self._trainer, self._ranker = trainer, ranker

    def values(self, task: PairTask | TripleTask) -> dict[str, np.ndarray]:
        """Return the result of `task.values` on one machine."""
        if isinstance(task, PairTask):
            return self._pair_values(task)

        def ranker_of(triples: np.ndarray) -> tuple[EmbeddingRanker, np.ndarray]:
            items, places = np.unique(triples[:, 1:], return_inverse=True)
            return self._ranker_of(items), places.reshape(-1, 2)

        return task.accuracy(ranker_of)

    def _ranker_of(self, items: np.ndarray) -> EmbeddingRanker:
        """Return the ranker with some of the items."""
        made = copy(self._ranker)
        made.use_tables(self._trainer.averaged.take(items), self._trainer.words_of(items))
        return made

    def _pair_values(self, task: PairTask) -> dict[str, np.ndarray]:
        held, shape = task.held, task.held.relevant.shape
        relevant, excluded = check_mask("relevant", held.relevant, shape), check_mask("excluded", held.excluded, shape)
        candidates = np.arange(shape[1]) if task.candidates is None else task.candidates
        some, places = np.unique(relevant.indices, return_inverse=True)
        ranker = self._ranker_of(candidates[some])
        wanted = sp.csr_array((np.empty(relevant.nnz, np.float32), relevant.indices, relevant.indptr), shape)
        for block in cut(shape[0], QUERIES):
            for query, row in enumerate(ranker.score_rows(held.queries[block]), block.start):
                own = slice(*relevant.indptr[query : query + 2])
                wanted.data[own] = row[places[own]]
                check_row(query, wanted.data[own], relevant.indices[own], entries(excluded, query))
        tables, factors = self._trainer.averaged, ranker._query_factors(held.queries)
        asked = Question(ranker.clone(), tables.mapped, tables.diagonal, factors, wanted, excluded)
        found = Places(*self._trainer.count_places(candidates, asked))
        return task.named(measures_from_places(found, wanted, shape[1] - np.diff(excluded.indptr)))
