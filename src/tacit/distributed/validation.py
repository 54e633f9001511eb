"""Validation of items held by remote owners (`owners`).

The scores of the relevant items are computed here, from their words and vectors alone. Each owner counts how many
candidates of its part have a higher or equal score (`metrics.full_ranking`). The sums are the positions of the relevant
items, which give the same measures, bit by bit, as on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, cut
from tacit.metrics.full_ranking import Places, check_mask, check_row, entries, find_places, measures_from_places
from tacit.retrieve import EmbeddingRanker
from tacit.retrieve.margin.tasks import PairTask, TripleTask

if TYPE_CHECKING:
    from tacit.distributed.parted_embedding import PartedTrainer

QUERIES = 64  # scored together


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
