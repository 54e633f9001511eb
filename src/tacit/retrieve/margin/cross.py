"""Rankers for queries in another language than the items (SSI, Bai et al. 2010, section 2.4.2).

    f(q, d) = q_F' U_F' V_E d_E        no identity: the two languages share no word

If there are few pairs across the languages and many links between the items, both tasks are learned in turn and share
the table of the items:

    share="both"     f(q, d) = q_E' V_E' V_E d_E    the second task has no separate table
    share="target"   f(q, d) = q_E' U_E' V_E d_E    its queries have a table U_E, which is dropped in the end

Links between the query documents, if given, are a third task, f(q, d) = q_F' U_F' U_F d_F.

items="residual" adds to V_E d_E a learned vector of each item, as in HTR.

An epoch of several tasks is split into rounds: some queries of the first task, then some of each further task. If the
first task is so small that it has many epochs, each epoch visits only a part of the others.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Links, UsageError, check_choice, check_number
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.margin.base import block_for
from tacit.retrieve.margin.block_sgd import BlockTrainer
from tacit.retrieve.margin.embedding import START, EmbeddingRanker
from tacit.retrieve.margin.embedding_sgd import EmbeddingTrainer, Tables, TrainingRows
from tacit.retrieve.margin.tasks import PairTask, TrainingTask
from tacit.retrieve.training_data import TrainingData

logger = logging.getLogger("tacit")

FEWEST_EPOCHS = 8  # with more of them, each visits a part of the second task
SHARES = ("none", "both", "target")
N_ROUNDS = 16


class CrossRanker(EmbeddingRanker):
    """Learned vectors for two dictionaries: words of queries and words of items.

    Parameters
    ----------
    dim : int, default=100
        Width of the vectors.
    items : {"mapped", "residual"}, default="mapped"
        Whether an item's vector comes from its words alone, or also has a learned residual.
    identity : {"none"}, default="none"
        Queries and items share no word.
    share : {"none", "both", "target"}, default="none"
        What a second task, links between the items, shares with the first; "none" means that there is no second task.
    **training
        `n_words`, `item_rate` and `decay`, and the training parameters of `MarginRanker`.
    """

    def __init__(
        self, dim: int = 100, *, items: str = "mapped", identity: str = "none", share: str = "none", **training: Any
    ) -> None:
        super().__init__(dim, items=items, identity=identity, **training)
        self.share = share

    two_dictionaries: ClassVar[bool] = True
    reads = frozenset({"links", "query_links", "monitor"})

    @property
    def needs_links(self) -> bool:
        """Whether links between the items are a second task."""
        return self.share != "none"

    def _fit(self, data: TrainingData) -> None:
        super()._fit(data)
        if self.best_epoch_ == 1 and len(self.epochs_) > 1:
            logger.warning(
                "validation did not improve after the first of %d epochs: the learned vectors may be worth little; "
                "compare with the method cl-lsi",
                len(self.epochs_),
            )

    def _check_params(self, data: TrainingData) -> None:
        check_choice("items", self.items, ("mapped", "residual"))
        check_choice("identity", self.identity, ("none",))
        check_choice("share", self.share, SHARES)
        check_number("gamma", self.gamma, low=0, high=0)
        super()._check_params(data)
        if self.share != "none" and (data.links is None or not len(data.links)):
            raise UsageError(f"share={self.share!r} learns from links between the items as well, and there are none")
        if self.share == "none" and data.query_links is not None:
            raise UsageError("share='none' learns from no links, and query_links are given; want share='both'")
        for name, given, what, rows in (
            ("links", data.links, "items", data.items),
            ("query_links", data.query_links, "queries", data.queries),
        ):
            if given is not None and (given.n_sources, given.n_targets) != (rows.shape[0], rows.shape[0]):
                found = f"{given.n_sources} to {given.n_targets}"
                raise UsageError(f"{name} join {found} rows, want {rows.shape[0]} {what}")

    def _first_tables(self, rows: TrainingRows, rng: np.random.Generator) -> Tables:
        tables = super()._first_tables(rows, rng)
        if self.share == "both" and self._used("start") == "small":  # V'V has no slope at V = 0
            tables.mapped[:] = rng.normal(0, self._start_scale, tables.mapped.shape)
        return tables

    def _trained_on(
        self,
        trainer: EmbeddingTrainer,
        data: TrainingData,
        rows: TrainingRows,
        task: TrainingTask,
        rng: np.random.Generator,
    ) -> TrainingTask:
        if self.share == "none" or data.links is None:
            return task
        others = [SecondTask(self.share, rows.item_rows, _without_loops(data.links), trainer, rng, self._start_scale)]
        if data.query_links is not None:
            pairs = _without_loops(data.query_links)
            others.append(SecondTask(self.share, rows.query_rows, pairs, trainer, rng, of_queries=True))
        return AlternatingTasks(task, others, self._second_share(task))

    def _second_share(self, task: TrainingTask) -> float:
        """Share of the second task that a visit to all queries of the first takes, where those are few."""
        return 1 / self._n_passes(task) if self.n_epochs is None else min(1.0, FEWEST_EPOCHS / self.n_epochs)


def _without_loops(links: Links) -> sp.csr_array:
    """Weights of the links, without links of a row to itself."""
    return links.take(links.sources != links.targets).to_csr()


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
