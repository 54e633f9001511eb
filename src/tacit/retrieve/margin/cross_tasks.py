"""Tasks trained in turn that share tables: queries of another language, links between the items, and links between the
query documents.

An epoch is split into rounds: some queries of the first task, then some of each further task. If the first task is so
small that it has many epochs, each epoch visits only a part of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.margin.base import block_for
from tacit.retrieve.margin.block_sgd import BlockTrainer
from tacit.retrieve.margin.embedding import START
from tacit.retrieve.margin.embedding_sgd import EmbeddingTrainer, Tables, TrainingRows
from tacit.retrieve.margin.tasks import PairTask, TrainingTask

SHARES = ("none", "both", "target")
N_ROUNDS = 16


class SecondTask:
    """Links between the items (or between queries, `of_queries`), on the table that a first trainer has for them.

    A separate table is part of the state of that trainer.
    """

    def __init__(
        self,
        share: str,
        rows: sp.csr_array,
        pairs: sp.csr_array,
        first: EmbeddingTrainer,
        rng: np.random.Generator,
        scale: float = START,
        of_queries: bool = False,
    ) -> None:
        self.pairs, tables = pairs, first.tables
        own = words = tables.queries if of_queries else tables.mapped
        if share != "both" and not of_queries:
            own = first.state.live["second"] = rng.normal(0, scale, words.shape).astype(np.float32)
        settings = first.settings.__class__(
            **vars(first.settings) | {"block": block_for(int(np.count_nonzero(np.diff(pairs.indptr))))}
        )
        data = TrainingRows(rows, rows, rows, rows, queries_are_items=True)
        self.trainer = EmbeddingTrainer(
            Tables(own, words, tables.items[:0], tables.diagonal), data, settings, first.n_threads
        )

    def visit(self, rows: np.ndarray, rng: np.random.Generator, rates: tuple[float, float]) -> None:
        """Train on the links of some items."""
        self.trainer.epoch_on_pairs(only_rows(self.pairs, rows), rng, rates)


@dataclass(frozen=True)
class AlternatingTasks:
    """A task on pairs whose epochs also visit others; validation uses the first alone."""

    task: TrainingTask
    others: Sequence[SecondTask]
    share: float
    target: ClassVar[str] = PairTask.target

    @property
    def n_visits(self) -> int:
        """Queries of the first task."""
        return self.task.n_visits

    @property
    def candidates(self) -> np.ndarray | None:
        """Of the first task."""
        return self.task.candidates

    def epoch(self, trainer: BlockTrainer, rng: np.random.Generator, rates: tuple[float, float]) -> float:
        """Visit every query of the first task once, and rows of the others in between; mean loss of the first."""
        assert isinstance(self.task, PairTask)
        first = rng.permutation(filled_rows(self.task.pairs))
        n_rounds = max(1, min(N_ROUNDS, len(first) // trainer.settings.block))
        parts = [np.array_split(first, n_rounds)]
        for other in self.others:
            rows = rng.permutation(filled_rows(other.pairs))
            parts.append(np.array_split(rows[: round(len(rows) * self.share)], n_rounds))
        total, (start, stop) = 0.0, rates
        with ExitStack() as running:
            for other in self.others:
                other.trainer.log = trainer.log
                running.enter_context(other.trainer.running())
            for number, (some, *rest) in enumerate(zip(*parts, strict=True)):
                low, high = (start + (stop - start) * place / n_rounds for place in (number, number + 1))
                total += len(some) * trainer.epoch_on_pairs(only_rows(self.task.pairs, some), rng, (low, high))
                for other, rows in zip(self.others, rest, strict=True):
                    other.visit(rows, rng, (low, high))
        return total / max(1, len(first))

    def values(self, ranker: CollectionRanker) -> dict[str, np.ndarray]:
        """Of the first task."""
        return self.task.values(ranker)


def filled_rows(pairs: sp.csr_array) -> np.ndarray:
    """Rows with at least one entry."""
    return np.flatnonzero(np.diff(pairs.indptr))


def only_rows(pairs: sp.csr_array, rows: np.ndarray) -> sp.csr_array:
    """The same matrix with all other rows emptied.

    >>> only_rows(sp.csr_array([[1, 1], [0, 2], [3, 0]]), np.array([2, 0])).toarray().tolist()
    [[1, 1], [0, 0], [3, 0]]
    """
    kept = np.zeros(pairs.shape[0], bool)
    kept[rows] = True
    lengths = np.diff(pairs.indptr)
    entries = np.repeat(kept, lengths)
    indptr = np.concatenate([[0], np.cumsum(np.where(kept, lengths, 0))]).astype(pairs.indptr.dtype)
    return sp.csr_array((pairs.data[entries], pairs.indices[entries], indptr), shape=pairs.shape)
