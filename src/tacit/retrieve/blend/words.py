"""Members by words: BM25 of the query as typed, and of queries rewritten into other words.

All of them score with the postings of member `bm25`.

**Content.** In a small collection, function words such as "what" or "please" can be rare and so get a large weight.
Half of the weight of BM25 therefore uses the query without such words. The other half uses all words, because a
function word of most collections can carry meaning in one ("IT", "who"). There they count less (`count_less`).

**Feedback** builds a second query from the words of the first results. The expansion of a query is

    f = sum over the n best items of p_d y_d / |y_d|,    p_d ~ exp(s_d)

s_d is the BM25 score of item d and y_d its row of BM25 weights. Only the largest words of f are kept. BM25 scores are
log odds up to a constant, so p_d estimates the probability that d is relevant. It has the role of the query likelihood
in a relevance model (Lavrenko and Croft 2001; RM3: Abdul-Jaleel et al. 2004). If one item is far ahead, it alone
expands the query. Items without a word of the query do not expand it.

**Spelling** adds words that are spelt like the words of the query. Such words share runs of four characters ("retriev"
and "retrieval"; "filepath" and "path"). The weight of word w for a query with the words u is

    x(w) = sum over runs g of  c(u, g) idf(g) c(w, g)

c(w, g) is the number of occurrences of run g in word w, and idf(g) is its inverse document frequency. Only the largest
weights are kept. The score of an item is the sum of x(w) times the part of BM25 that does not depend on idf. This is
BM25 on runs of four characters, except that saturation applies to the counts of words instead of runs. On nine
collections the two rank alike. The member uses the postings of words; postings of runs would be three to five times as
large. The share of items that contain run g is estimated from the words that contain it, as if words were independent:

    idf(g) = -ln(1 - product over words w with g of (1 - p(w)))

p(w) = exp(-idf(w)) is the share of items that contain word w.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import check_numbers
from tacit.features.text.lexicon import N_CHARACTERS, spelling_rows
from tacit.features.text.weighting import with_values
from tacit.kernels.expansion import keep_largest, square_rows, sum_rows
from tacit.retrieve.blend.member import ItemRows, Member, QueryBlock, RankerMember
from tacit.retrieve.explanation import Term, difference, word_terms
from tacit.retrieve.factors import FactorPair, Words, append_rows, factor_scores, whole, widened, word_rows
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.training_data import Terms, TrainingData

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

HALF = float(np.log(2))  # idf of a word that half of the items contain
LONG_SHARE = 0.2  # minimum share of words with more than four characters: in Chinese a run is a whole word
MOST_SHARE = 1 - 1e-6  # maximum assumed share of items that contain a word


class Bm25Member(RankerMember):
    """BM25 of items with their titles; its first items are the candidates of all other members."""

    name: ClassVar[str] = "bm25"
    heading: ClassVar[str] = "Words"
    is_column: ClassVar[bool] = True
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

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the scores, which the query already has."""
        return [(query.known_scores, None)]

    def add(self, items: ItemRows) -> None:
        """Append new items."""
        self.ranker_.add_items(items.counts)


class ExpansionMember(Member):
    """A member that computes BM25 with other words than the query's, or with other weights for them."""

    @abstractmethod
    def words(self, block: QueryBlock, row: int) -> Words:
        """Return the words used to score one query of a block, with their weights."""

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, float32 (n_queries, n_items)."""
        words = [self.words(block, row) for row in range(len(block.items))]
        return factor_scores(block.bm25.item_factors[0], word_rows(words, block.words.shape[1]))

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the postings and the words."""
        return [(query.bm25.item_factors[0], self.words(query, 0))]

    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Return one term for each word."""
        words = self.words(query, 0)
        return word_terms(words.indices, words.data.astype(np.float64), difference(query.bm25.weights_, a, b))

    def add(self, items: ItemRows) -> None:
        """Do nothing, because BM25 has the new items already."""


class ContentMember(ExpansionMember):
    """BM25 of content words.

    Attributes
    ----------
    content_ : ndarray of shape (n_features,), float32
        1 for a content word, else 0.
    """

    _fitted: ClassVar = {"content_": "features"}
    name: ClassVar[str] = "content"
    heading: ClassVar[str] = "Words"
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

    def bounding_pairs(self, query: QueryBlock, pairs: list[FactorPair]) -> list[FactorPair]:
        """Return the scores by all words, which the query already has, and which are never smaller."""
        return [(query.known_scores, None)]

    def add(self, items: ItemRows) -> None:
        """Append new words; words without names count as content words."""
        self.content_ = widened(self.content_, items.counts.shape[1], 1.0)
        if items.terms is not None:
            self.content_ = content_words(items.terms)


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
    heading: ClassVar[str] = "Words of the first results"
    is_column: ClassVar[bool] = True
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

    def words(self, block: QueryBlock, row: int) -> Words:
        """Return the words of the first results."""
        best, scores = block.items[row, : self.n_feedback], block.scores[row, : self.n_feedback]
        return expand_query(block.bm25.weights_, best, scores, self.n_expansion)

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless the parameters are valid."""
        check_numbers(self, "n_feedback", "n_expansion", low=1, whole=True)
        check_numbers(self, "half_length", low=0)


class Runs(NamedTuple):
    """Words indexed by their runs of characters.

    Attributes
    ----------
    words : csr_array of shape (n_runs, n_features), float32
        Number of occurrences of each run in each word.
    idf : ndarray of shape (n_runs,), float64
        Inverse document frequencies of runs.
    of : ndarray of shape (n_features,), float32
        The idf of words used to compute `idf`.
    """

    words: sp.csr_array
    idf: np.ndarray
    of: np.ndarray


class SpellingMember(ExpansionMember):
    """BM25 of words that are spelt like the words of the query.

    Parameters
    ----------
    n_expansion : int, default=100
        Number of words added to the query.

    Attributes
    ----------
    spelled_ : csr_array of shape (n_features, n_runs), float32
        Number of occurrences of each run of four characters in each word.
    """

    _fitted: ClassVar = {"spelled_": "features runs"}
    name: ClassVar[str] = "spelling"
    heading: ClassVar[str] = "Words spelt alike"
    spelled_: sp.csr_array
    _runs: Runs | None = None

    def __init__(self, n_expansion: int = 100) -> None:
        self.n_expansion = n_expansion

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Index the spelling of all words; None if they have no names, or if most are too short."""
        if items.terms is None or not (blend.spelling or data.has_pairs):
            return None
        n_long = sum(len(word) > N_CHARACTERS for word in items.terms.words)
        if n_long < LONG_SHARE * len(items.terms.words):
            return None
        made = cls(blend.n_expansion)
        made.spelled_ = spelling_rows(items.terms.words)
        return made

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter."""
        return blend.spelling

    def words(self, block: QueryBlock, row: int) -> Words:
        """Return the words with the most similar spelling, including the words of the query."""
        asked, idf = words_of(block, row), block.bm25.idf_
        runs = self._by_run(idf)
        found, sums = _sum_rows(self.spelled_, asked.indices, asked.data.astype(np.float64))
        words, values = _sum_rows(runs.words, found, sums * runs.idf[found])
        values[idf[words] == 0] = 0  # occurs in no item
        n_kept = keep_largest(words, values, self.n_expansion)
        order = np.argsort(words[:n_kept])
        words, values = words[:n_kept][order], values[:n_kept][order]
        return Words(words, (values / idf[words]).astype(np.float32))

    def _by_run(self, idf: np.ndarray) -> Runs:
        """Return the runs, computed once for the current items."""
        if self._runs is None or self._runs.of is not idf:
            words = sp.csr_array(self.spelled_.T)
            shares = np.where(idf > 0, np.minimum(np.exp(-idf.astype(np.float64)), MOST_SHARE), 0.0)
            absent = np.log1p(-shares)[words.indices]
            rows = np.repeat(np.arange(words.shape[0]), np.diff(words.indptr))
            none = np.bincount(rows, absent, words.shape[0])
            occurring = np.flatnonzero(none < 0)  # of a million runs, few
            by_run = np.zeros(words.shape[0])
            by_run[occurring] = -np.log(-np.expm1(np.minimum(none[occurring], -1e-300)))
            self._runs = Runs(words, by_run, idf)
        return self._runs

    def add(self, items: ItemRows) -> None:
        """Append new words; words without names match no other word."""
        known, width = self.spelled_.shape[0], items.counts.shape[1]
        new = [""] * (width - known) if items.terms is None else items.terms.words[known:]
        rows = spelling_rows(new) if items.terms is not None else sp.csr_array((len(new), self.spelled_.shape[1]))
        self.spelled_ = append_rows(self.spelled_, rows.astype(np.float32))

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless the parameters are valid."""
        check_numbers(self, "n_expansion", low=1, whole=True)


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
    return with_values(words, np.where(lower, shares, np.float32(1)) * words.data.astype(np.float32))


def words_of(block: QueryBlock, row: int) -> Words:
    """Return the words of one query, unchanged."""
    part = slice(block.words.indptr[row], block.words.indptr[row + 1])
    return Words(block.words.indices[part], block.words.data[part])


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


def _sum_rows(matrix: sp.csr_array, rows: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of some rows, and the sums over these rows of share * entry."""
    n_entries = int((matrix.indptr[rows + 1] - matrix.indptr[rows]).sum())
    columns, sums = np.empty(n_entries, np.int64), np.empty(n_entries)
    if not n_entries:
        return columns, sums
    n_found = sum_rows(matrix.indptr, matrix.indices, matrix.data, whole(rows), shares, columns, sums)
    return columns[:n_found], sums[:n_found]
