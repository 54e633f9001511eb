"""Member `latent`: learned concepts (`htr-reconstruction` without its tf-idf part) on logarithmic tf-idf."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import scipy.sparse as sp

from tacit.retrieve.blend.member import ItemRows, QueryBlock, RankerMember
from tacit.retrieve.latent.reconstruction import LearnedConcepts
from tacit.retrieve.training_data import TrainingData

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker


class LatentMember(RankerMember):
    """Cosine similarity of concept vectors learned from the items alone."""

    name: ClassVar[str] = "latent"
    is_reused: ClassVar[bool] = True
    ranker_class: ClassVar = LearnedConcepts
    by_vectors: ClassVar[bool] = True
    ranker_: LearnedConcepts

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Learn concepts of the items; None if their weight is 0 and labels cannot change it."""
        rows = items.weighed("log")
        if not rows.nnz or not (blend.latent or data.has_pairs):
            return None
        made = cls(blend.half_length)
        made.ranker_ = LearnedConcepts(blend.dim, seed=blend.seed).fit(None, rows, checkpoint=data.part("latent"))
        return made

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter."""
        return blend.latent

    def rows(self, block: QueryBlock) -> sp.csr_array:
        """Return logarithmic tf-idf rows."""
        return block.weighed("log")

    def add(self, items: ItemRows) -> None:
        """Append new items."""
        self.ranker_.add_items(items.weighed("log"))
