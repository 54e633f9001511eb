"""Two tasks trained in turn that share one table: queries of another language, and links between the items.

An epoch is cut into rounds: some queries of the first task, then some of the second. Where the first task is so
small that it is visited in many epochs, each of them takes only a part of the second.
"""

from __future__ import annotations

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
    """The task of links between the items, on the items' table of a first trainer, whose state has its table too."""

    def __init__(
        self,
        share: str,
        items: sp.csr_array,
        pairs: sp.csr_array,
        first: EmbeddingTrainer,
        rng: np.random.Generator,
        scale: float = START,
    ) -> None:
        self.pairs, tables = pairs, first.tables
        if share == "both":
            own = tables.mapped
        else:
            own = first.state.live["second"] = rng.normal(0, scale, tables.mapped.shape).astype(np.float32)
        settings = first.settings.__class__(
            **vars(first.settings) | {"block": block_for(int(np.count_nonzero(np.diff(pairs.indptr))))}
        )
        data = TrainingRows(items, items, items, items, queries_are_items=True)
        both = Tables(own, tables.mapped, tables.items[:0], tables.diagonal)
        self.trainer = EmbeddingTrainer(both, data, settings, first.n_threads)

    def visit(self, rows: np.ndarray, rng: np.random.Generator, rates: tuple[float, float]) -> None:
        """Train on the links of some items."""
        self.trainer.epoch_on_pairs(only_rows(self.pairs, rows), rng, rates)


@dataclass(frozen=True)
class AlternatingTasks:
    """A task on pairs whose epochs also visit a second task; validation uses the first alone."""

    task: TrainingTask
    second: SecondTask
    second_share: float
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
        """Visit every query of the first task once, and items of the second in between; mean loss of the first."""
        assert isinstance(self.task, PairTask)
        first = rng.permutation(filled_rows(self.task.pairs))
        second = rng.permutation(filled_rows(self.second.pairs))
        second = second[: round(len(second) * self.second_share)]
        n_rounds = max(1, min(N_ROUNDS, len(first) // trainer.settings.block))
        total, (start, stop) = 0.0, rates
        with self.second.trainer.running():
            for number, (some, others) in enumerate(
                zip(np.array_split(first, n_rounds), np.array_split(second, n_rounds), strict=True)
            ):
                low, high = (start + (stop - start) * place / n_rounds for place in (number, number + 1))
                total += len(some) * trainer.epoch_on_pairs(only_rows(self.task.pairs, some), rng, (low, high))
                self.second.visit(others, rng, (low, high))
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
