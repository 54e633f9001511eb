"""Rankers for queries in another language than the items (SSI, Bai et al. 2010, section 2.4.2).

    f(q, d) = q_F' U_F' V_E d_E        no identity: the two languages share no word

If there are few pairs across the languages and many links between the items, both tasks are learned in turn
(`cross_tasks`) and share the table of the items:

    share="both"     f(q, d) = q_E' V_E' V_E d_E    the second task has no separate table
    share="target"   f(q, d) = q_E' U_E' V_E d_E    its queries have a table U_E, which is dropped in the end

Links between the query documents, if given, are a third task, f(q, d) = q_F' U_F' U_F d_F.

items="residual" adds to V_E d_E a learned vector of each item, as in HTR.
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Links, UsageError, check_choice, check_number
from tacit.retrieve.margin.cross_tasks import SHARES, AlternatingTasks, SecondTask
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.embedding_sgd import EmbeddingTrainer, Tables, TrainingRows
from tacit.retrieve.margin.tasks import TrainingTask
from tacit.retrieve.training_data import TrainingData

logger = logging.getLogger("tacit")

FEWEST_EPOCHS = 8  # with more of them, each visits a part of the second task


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
