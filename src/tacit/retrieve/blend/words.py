"""Members by words: BM25, BM25 of titles alone, and pseudo relevance feedback.

Feedback builds a second query from the words of the first results. The expansion of a query is

    f = sum over the n best items of p_d y_d / |y_d|,    p_d ~ exp(s_d)

s_d is the BM25 score of item d and y_d its row of BM25 weights. Only the largest words of f are kept. BM25 scores are
log odds up to a constant, so p_d estimates the probability that d is relevant. It has the role of the query likelihood
in a relevance model (Lavrenko and Croft 2001; RM3: Abdul-Jaleel et al. 2004). If one item is far ahead, it alone
expands the query. Items without a word of the query do not expand it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import check_numbers
from tacit.kernels.expansion import keep_largest, square_rows, sum_rows
from tacit.kernels.scoring import add_multiple
from tacit.retrieve.blend.content import ContentMember
from tacit.retrieve.blend.expansion import ExpansionMember
from tacit.retrieve.blend.member import ItemRows, QueryBlock, RankerMember, length_trust
from tacit.retrieve.factors import FactorPair, Words
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.training_data import TrainingData

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

TITLE_B = 0.5  # titles differ little in length


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


class FeedbackMember(ExpansionMember):
    """BM25 of the words of the first results.

    Parameters
    ----------
    n_feedback : int, default=20
        Number of first results whose words expand the query.
    n_expansion : int, default=100
        Number of words added to the query.
    half_length : float, default=12.0
        Query length, in words, at which the weight is halved.
    """

    name: ClassVar[str] = "feedback"
    is_kept: ClassVar[bool] = True

    def __init__(self, n_feedback: int = 20, n_expansion: int = 100, half_length: float = 12.0) -> None:
        self.n_feedback, self.n_expansion, self.half_length = n_feedback, n_expansion, half_length

    @property
    def n_first(self) -> int:  # type: ignore[override]
        """Number of first results that expand the query."""
        return self.n_feedback

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self:
        """Return the member without fitting, because the BM25 weights have all it needs."""
        return cls(blend.n_feedback, blend.n_expansion, blend.half_length)

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter."""
        return blend.feedback

    def trust(self, block: QueryBlock, at_candidates: np.ndarray) -> Any:
        """Return n / (n + half_length) for a query of n words."""
        return length_trust(block.n_words, self.half_length)

    def words(self, block: QueryBlock, row: int) -> Words:
        """Return the words of the first results."""
        best, scores = block.items[row, : self.n_feedback], block.scores[row, : self.n_feedback]
        return expand_query(block.bm25.weights_, best, scores, self.n_expansion)

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless the parameters are valid."""
        check_numbers(self, "n_feedback", "n_expansion", low=1, whole=True)
        check_numbers(self, "half_length", low=0)


def expand_query(weights: sp.csr_array, best: np.ndarray, scores: np.ndarray, n_words: int) -> Words:
    """Return the expansion of a query by its best items.

    Parameters
    ----------
    weights : csr_array of shape (n_items, n_features), float32
        BM25 weights.
    best : ndarray of shape (n_best,), int
        Items, best first; -1 where there are no more.
    scores : ndarray of shape (n_best,)
        Their BM25 scores.
    n_words : int
        Number of words to keep.

    Examples
    --------
    >>> weights = sp.csr_array(np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]], np.float32))
    >>> expand_query(weights, np.array([0, 1]), np.array([1.0, 0.0]), 5)
    Words(indices=array([0, 1]), data=array([0.6, 0.8], dtype=float32))
    """
    found = (best >= 0) & (scores > 0)
    items = best[found]
    sizes = weights.indptr[items + 1] - weights.indptr[items]
    starts, n_entries = np.cumsum(sizes) - sizes, int(sizes.sum())
    words, sums, squares = np.empty(n_entries, np.int64), np.empty(n_entries), np.empty(n_entries, weights.dtype)
    if not n_entries:
        return Words(words, squares)
    square_rows(weights.indptr, weights.data, items, squares)
    lengths = np.sqrt(np.add.reduceat(squares, starts).astype(np.float64))
    odds = np.where(found, np.exp(np.minimum(scores - scores[0], 0).astype(np.float64)), 0.0)
    shares = (odds / odds.sum())[found] / np.maximum(lengths, 1e-30)
    n_found = sum_rows(weights.indptr, weights.indices, weights.data, items, shares, words, sums)
    n_kept = keep_largest(words[:n_found], sums[:n_found], n_words)
    order = np.argsort(words[:n_kept])
    return Words(words[order], sums[order].astype(np.float32))
