"""Members by the words of the query as typed: BM25, BM25 of titles alone, and BM25 of content words.

In a small collection, function words such as "what" or "please" can be rare and so get a large weight. Half of the
weight of BM25 therefore uses the query without such words (member `content`). The other half uses all words, because a
function word of most collections can carry meaning in one ("IT", "who"). There they count less (`count_less`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.kernels.scoring import add_multiple
from tacit.retrieve.blend.expansion import ExpansionMember, words_of
from tacit.retrieve.blend.member import ItemRows, QueryBlock, RankerMember
from tacit.retrieve.factors import FactorPair, Words, widened
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.training_data import Terms, TrainingData

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

TITLE_B = 0.5  # titles differ little in length
HALF = float(np.log(2))  # idf of a word that half of the items contain


class Bm25Member(RankerMember):
    """BM25 of items with their titles; its first items are the candidates of all other members."""

    name: ClassVar[str] = "bm25"
    is_kept: ClassVar[bool] = True
    ranker_class: ClassVar = Bm25Ranker
    ranker_: Bm25Ranker

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self:
        """Fit BM25 of all words."""
        made = cls()
        made.ranker_ = Bm25Ranker().fit(None, items.counts)
        return made

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return 1 minus the weight of `content`; other weights are relative to the sum of the two."""
        return 1.0 if blend.of_kind(ContentMember) is None else 1.0 - blend.content

    def rows(self, block: QueryBlock) -> sp.csr_array:
        """Return counts."""
        return block.words

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, which the block already has."""
        return block.all_scores.copy()

    def scores_at(self, query: QueryBlock, pairs: list[FactorPair], items: np.ndarray) -> np.ndarray:
        """Return the scores of some items, which the query already has."""
        found: np.ndarray = query.all_scores[0, items]
        return found

    def add_bounds(
        self, query: QueryBlock, pairs: list[FactorPair], factor: float, budget: float, out: np.ndarray
    ) -> float:
        """Add the scores themselves."""
        add_multiple(np.float32(factor), query.all_scores[0], out)
        return 0.0

    def add(self, items: ItemRows) -> None:
        """Append new items."""
        self.ranker_.add_items(items.counts)


class TitleMember(RankerMember):
    """BM25 of titles alone; its weight is learned from labels."""

    name: ClassVar[str] = "title"
    ranker_class: ClassVar = Bm25Ranker
    ranker_: Bm25Ranker

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Fit BM25 of titles if there are titles and labels."""
        if items.titles is None or not data.has_pairs:
            return None
        made = cls()
        made.ranker_ = Bm25Ranker(b=TITLE_B).fit(None, items.titles)
        return made

    def rows(self, block: QueryBlock) -> sp.csr_array:
        """Return counts."""
        return block.words

    def add(self, items: ItemRows) -> None:
        """Append new items."""
        none = sp.csr_array(items.counts.shape, dtype=np.float32)
        self.ranker_.add_items(none if items.titles is None else items.titles)


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
        made.content_ = content_words(items.terms)
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
        self.content_ = widened(self.content_, items.counts.shape[1], 1.0)
        if items.terms is not None:
            self.content_ = content_words(items.terms)


def content_words(terms: Terms) -> np.ndarray:
    """Return 1 for each content word, else 0, float32."""
    found = np.ones(len(terms.words), np.float32)
    found[terms.functional] = 0
    return found


def count_less(words: sp.csr_array, content: np.ndarray | None, idf: np.ndarray) -> sp.csr_array:
    """Reduce the counts of function words: each weighs at most as much as a word that half of the items contain.

    A function word can be rare in a collection ("what" among product names), though it adds no meaning to the query. A
    query of function words only ("to be or not to be") is not changed.

    Parameters
    ----------
    words : csr_array of shape (n_queries, n_features)
        Counts.
    content : ndarray of shape (n_features,) or None
        0 for function words, else 1; None means that there are no function words.
    idf : ndarray of shape (n_features,)
        Inverse document frequencies of BM25.

    Examples
    --------
    >>> queries = sp.csr_array(np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 0.0]], np.float32))
    >>> count_less(queries, np.array([0.0, 0.0, 1.0]), np.full(3, 4 * HALF)).toarray().tolist()
    [[0.25, 0.0, 2.0], [1.0, 0.0, 0.0]]
    """
    if content is None:
        return words
    empty = content[words.indices] == 0
    rows = np.repeat(np.arange(words.shape[0]), np.diff(words.indptr))
    lower = empty & (np.bincount(rows, ~empty, minlength=words.shape[0])[rows] > 0)
    if not lower.any():
        return words
    shares = np.minimum(1, HALF / np.maximum(idf[words.indices], HALF)).astype(np.float32)
    data = np.where(lower, shares, np.float32(1)) * words.data.astype(np.float32)
    return sp.csr_array((data, words.indices, words.indptr), shape=words.shape)
