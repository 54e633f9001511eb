"""Member `content`: BM25 of the content words of a query, without function words.

In a small collection, function words such as "what" or "please" can be rare and so get a large weight. Half of the
weight of BM25 therefore uses the query without such words. The other half uses all words, because a function word of
most collections can carry meaning in one ("IT", "who").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from tacit.kernels.scoring import add_multiple
from tacit.retrieve.blend.expansion import ExpansionMember, words_of
from tacit.retrieve.blend.member import ItemRows, QueryBlock
from tacit.retrieve.factors import FactorPair, Words, widened
from tacit.retrieve.training_data import Terms, TrainingData

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker


class ContentMember(ExpansionMember):
    """BM25 of content words.

    Attributes
    ----------
    content_ : ndarray of shape (n_features,), float32
        1 for a content word, else 0.
    """

    _fitted: ClassVar = {"content_": "features"}
    name: ClassVar[str] = "content"
    content_: np.ndarray

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Find the content words; None if all words are content words, or if the weight is 0."""
        if items.terms is None or not len(items.terms.functional) or not (blend.content or data.has_pairs):
            return None
        made = cls()
        made.content_ = _content(items.terms, 0, items.counts.shape[1])
        return made

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter."""
        return blend.content

    def words(self, block: QueryBlock, row: int) -> Words:
        """Return the content words of the query."""
        words = words_of(block, row)
        kept = self.content_[words.indices] > 0
        return Words(words.indices[kept], words.data[kept].astype(np.float32))

    def add_bounds(
        self, query: QueryBlock, pairs: list[FactorPair], factor: float, budget: float, out: np.ndarray
    ) -> float:
        """Add the scores by all words, which are known and never smaller."""
        add_multiple(np.float32(factor), query.all_scores[0], out)
        return 0.0

    def add(self, items: ItemRows) -> None:
        """Append new words; words without names count as content words."""
        known, width = len(self.content_), items.counts.shape[1]
        more = _content(items.terms, known, width) if items.terms is not None else None
        self.content_ = widened(self.content_, width, 1.0) if more is None else np.concatenate([self.content_, more])


def _content(terms: Terms, first: int, end: int) -> np.ndarray:
    found = np.ones(end, np.float32)
    found[terms.functional] = 0
    return found[first:]
