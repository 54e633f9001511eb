"""Base of members that rewrite the query and score it with the BM25 postings.

They add nothing to the index: `feedback` (`words.py`), `content` (`content.py`) and `spelling` (`spelling.py`).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from tacit.retrieve.blend.member import ItemRows, Member, QueryBlock
from tacit.retrieve.explanation import Term, difference, word_terms
from tacit.retrieve.factors import FactorPair, Words, factor_scores, word_rows


class ExpansionMember(Member):
    """A member that computes BM25 with other words than the query's, or with other weights for them."""

    @abstractmethod
    def words(self, block: QueryBlock, row: int) -> Words:
        """Return the words used to score one query of a block, with their weights."""

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, float32 (n_queries, n_items)."""
        words = [self.words(block, row) for row in range(len(block.items))]
        return factor_scores(block.bm25._item_factors[0], word_rows(words, block.words.shape[1]))

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the postings and the words."""
        return [(query.bm25._item_factors[0], self.words(query, 0))]

    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Return one term for each word."""
        words = self.words(query, 0)
        return word_terms(words.indices, words.data.astype(np.float64), difference(query.bm25.weights_, a, b))

    def add(self, items: ItemRows) -> None:
        """Do nothing, because BM25 has the new items already."""


def words_of(block: QueryBlock, row: int) -> Words:
    """Return the words of one query, unchanged."""
    part = slice(block.words.indptr[row], block.words.indptr[row + 1])
    return Words(block.words.indices[part], block.words.data[part])
