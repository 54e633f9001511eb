"""The two kinds of terms of a score: a product over shared words (sparse), or of vectors in one space (dense).

Every ranker of collections scores by a sum of such products. The factor of the items is stored; the ranker
computes the factor of a query. Items are float32; scores are added into float32 rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Features
from tacit.kernels.scoring import (
    add_dense_scores,
    add_multiple,
    add_sparse_scores,
    add_sparse_scores_at,
    largest_of_words,
    squared_lengths,
)
from tacit.kernels.sketch import BLOCK, lower_bounds, make_sketch
from tacit.kernels.topk import top_k_rows

GATHERED = 0.2  # share of the vectors above which all of them are read in order
ROW_ENTRY, ZEROED = 9.0, 0.025  # time of an entry of an item's row, and of setting a score to 0, in those of a posting


class Words(NamedTuple):
    """One sparse row, such as a query: different columns in rising order, and their values (float32)."""

    indices: np.ndarray
    data: np.ndarray


@dataclass(frozen=True)
class SparseFactors:
    """Items by the postings of each word (items by words, CSC); score = x . y_i."""

    postings: sp.csc_array
    known_rows: sp.csr_array | None = None  # the same by items, if it exists already

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return int(self.postings.shape[0])

    def add_scores(self, queries: Features, out: np.ndarray) -> None:
        """Add the scores of all items for some query rows (CSR) to out (n_queries, n_items)."""
        rows: sp.csr_array = queries if sp.issparse(queries) else sp.csr_array(queries)
        posts = self.postings
        data = rows.data.astype(np.float32, copy=False)
        add_sparse_scores(whole(rows.indptr), whole(rows.indices), data, posts.indptr, posts.indices, posts.data, out)

    def add_scores_at(self, query: sp.csr_array | Words, items: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of some items for one query to out (len(items),), with the bits of `add_scores`."""
        if self._reads_postings(query.indices, len(items)):
            of_all = np.zeros(self.n_items, np.float32)
            of_all[items] = out
            self._add_words(query.indices, query.data, of_all)
            out[:] = of_all[items]
        else:
            rows, words = self.rows, whole(query.indices)
            add_sparse_scores_at(whole(items), words, query.data, rows.indptr, rows.indices, rows.data, out)

    def _reads_postings(self, words: np.ndarray, n_wanted: int) -> bool:
        """Return whether reading all postings of the words is faster than reading the rows of the wanted items."""
        indptr, n_items = self.postings.indptr, max(1, self.n_items)
        n_postings = int((indptr[words + 1] - indptr[words]).sum())
        return n_postings + ZEROED * n_items < ROW_ENTRY * n_wanted * self.postings.nnz / n_items

    def add_bounds(self, query: sp.csr_array | Words, factor: float, budget: float, out: np.ndarray) -> float:
        """Add upper bounds of factor * score to out (n_items,), minus a returned amount of at most `budget`.

        Words with long postings and small contributions are left out.
        """
        words, values, indptr = query.indices, np.float32(factor) * query.data, self.postings.indptr
        most = np.where(values < 0, np.inf, values * self._largest[words])
        order = np.argsort(most / (indptr[words + 1] - indptr[words] + 1))
        sums = np.cumsum(most[order], dtype=np.float64)
        n_left = int(np.searchsorted(sums, budget, side="right"))
        kept = order[n_left:]
        self._add_words(words[kept], values[kept], out)
        return float(sums[n_left - 1]) if n_left else 0.0

    def _add_words(self, words: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
        posts, ends = self.postings, np.array([0, len(words)])
        add_sparse_scores(ends, whole(words), values, posts.indptr, posts.indices, posts.data, out[None])

    @cached_property
    def rows(self) -> sp.csr_array:
        """The items by rows."""
        return self.postings.tocsr() if self.known_rows is None else self.known_rows

    @cached_property
    def _largest(self) -> np.ndarray:
        """The largest value of each word, at least 0."""
        found = np.empty(self.postings.shape[1], np.float32)
        largest_of_words(self.postings.indptr, self.postings.data, found)
        return found


@dataclass(frozen=True)
class DenseFactors:
    """Items as vectors (n_items, dim); score = u . v_i."""

    items: np.ndarray

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.items)

    def add_scores(self, queries: Features, out: np.ndarray) -> None:
        """Add the scores of all items for some query vectors (dense) to out (n_queries, n_items)."""
        add_dense_scores(np.ascontiguousarray(queries, np.float32), self.items, out)

    def add_scores_at(self, query: Features, items: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of some items for one query vector to out (len(items),), with the bits of `add_scores`."""
        many = len(items) > GATHERED * self.n_items
        found = factor_scores(self if many else DenseFactors(self.items.take(items, axis=0)), query)[0]
        out += found[items] if many else found

    def add_bounds(self, query: Features, factor: float, budget: float, out: np.ndarray) -> float:
        """Add upper bounds of factor * score to out (n_items,): the product of the lengths; return 0."""
        add_multiple(np.float32(factor * length_of(query)), self.lengths, out)
        return 0.0

    def lower_bounds(self, query: Features, factor: float, wanted: float, bounds: np.ndarray) -> None:
        """Tighten the bounds of `add_bounds`, by reading one byte for each number of the vectors.

        Bounds below `wanted` need not change.
        """
        codes, scales, error = self._sketch
        padded = np.zeros(codes.shape[1], np.float32)
        padded[: self.items.shape[1]] = query[0]
        given = self.lengths, padded, np.float32(factor), np.float32(wanted)
        lower_bounds(codes, scales, np.float32(error), *given, bounds)

    def prepare(self) -> None:
        """Make what `lower_bounds` reads, which takes a third of a second for a million items."""
        self._sketch  # noqa: B018 - makes it

    @cached_property
    def _sketch(self) -> tuple[np.ndarray, np.ndarray, float]:
        """The vectors in whole numbers of 8 bits (see `kernels.sketch`)."""
        n_items, dim = self.items.shape
        codes = np.zeros((-(-n_items // BLOCK), -(-dim // 4) * 4, BLOCK), np.int8)
        scales = np.empty(n_items, np.float32)
        return codes, scales, make_sketch(self.items, codes, scales)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Euclidean lengths of the vectors, float32."""
        squares = np.empty(self.n_items, np.float32)
        squared_lengths(self.items, squares)
        return np.sqrt(squares)


@dataclass(frozen=True)
class PassageFactors(DenseFactors):
    """Items as one or more vectors each; score = the largest u . v over the passages of the item.

    `items` are the vectors of all passages, grouped by item; `starts` (n_items + 1,) has the first passage of each
    item. Every item has at least one passage.
    """

    starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.starts) - 1

    def add_scores(self, queries: Features, out: np.ndarray) -> None:
        """Add the scores of all items for some query vectors (dense) to out (n_queries, n_items)."""
        out += np.maximum.reduceat(factor_scores(DenseFactors(self.items), queries), self.starts[:-1], axis=1)

    def add_scores_at(self, query: Features, items: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of some items for one query vector to out (len(items),), with the bits of `add_scores`."""
        if not len(items):
            return
        sizes = self.starts[items + 1] - self.starts[items]
        first = np.cumsum(sizes) - sizes
        passages = np.arange(sizes.sum()) + np.repeat(self.starts[items] - first, sizes)
        found = np.zeros(len(passages), np.float32)
        DenseFactors(self.items).add_scores_at(query, passages, found)
        out += np.maximum.reduceat(found, first)

    def lower_bounds(self, query: Features, factor: float, wanted: float, bounds: np.ndarray) -> None:
        """Return without changing the bounds."""

    def prepare(self) -> None:
        """Do nothing, because there is no sketch."""

    @cached_property
    def lengths(self) -> np.ndarray:
        """The largest Euclidean length of the vectors of each item, float32."""
        return np.maximum.reduceat(DenseFactors(self.items).lengths, self.starts[:-1])


@dataclass(frozen=True)
class FewFactors:
    """Scores of a few items (ascending) for one query, which are stored here; all others score 0."""

    items: np.ndarray
    scores: np.ndarray
    n_items: int

    def add_scores(self, queries: Any, out: np.ndarray) -> None:
        """Add the scores to out (1, n_items)."""
        out[0, self.items] += self.scores

    def add_scores_at(self, query: Any, items: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of some items to out (len(items),)."""
        if len(self.items):
            places = np.minimum(np.searchsorted(self.items, items), len(self.items) - 1)
            out += np.where(self.items[places] == items, self.scores[places], np.float32(0))

    def add_bounds(self, query: Any, factor: float, budget: float, out: np.ndarray) -> float:
        """Add factor * score to out (n_items,); return 0."""
        out[self.items] += np.float32(factor) * self.scores
        return 0.0


@dataclass(frozen=True)
class KnownScores:
    """Scores of all items for one query, which are stored here."""

    scores: np.ndarray

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.scores)

    def add_scores(self, queries: Any, out: np.ndarray) -> None:
        """Add the scores to out (1, n_items)."""
        out[0] += self.scores

    def add_scores_at(self, query: Any, items: np.ndarray, out: np.ndarray) -> None:
        """Add the scores of some items to out (len(items),)."""
        out += self.scores[items]

    def add_bounds(self, query: Any, factor: float, budget: float, out: np.ndarray) -> float:
        """Add factor * score to out (n_items,); return 0."""
        add_multiple(np.float32(factor), self.scores, out)
        return 0.0


ItemFactors = SparseFactors | DenseFactors | FewFactors | KnownScores
FactorPair = tuple[ItemFactors, Any]  # of the items, and of one query: Words, a sparse row or a vector (1, dim)


def whole(numbers: np.ndarray) -> np.ndarray:
    """Numbers of rows or words as int64; a loop is compiled once for each type that it gets, which takes seconds."""
    return numbers.astype(np.int64, copy=False)


def factor_scores(factors: ItemFactors, queries: Features) -> np.ndarray:
    """Scores by one term alone, float32 (n_queries, n_items)."""
    out = np.zeros((queries.shape[0], factors.n_items), np.float32)
    factors.add_scores(queries, out)
    return out


def length_of(query: np.ndarray) -> float:
    """Euclidean length of one query vector (1, dim)."""
    return math.sqrt(float(query[0] @ query[0]))


def word_rows(rows: Sequence[Words], n_words: int) -> sp.csr_array:
    """Rows as a matrix."""
    words, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    borders = np.cumsum([0, *(len(row.indices) for row in rows)])
    return sp.csr_array((values, words, borders), shape=(len(rows), n_words))


def scores_at(pairs: Iterable[FactorPair], items: np.ndarray) -> np.ndarray:
    """Scores of some items for one query, float32 (len(items),), bit-identical to the scores of all items."""
    out = np.zeros(len(items), np.float32)
    for factors, query in pairs:
        factors.add_scores_at(query, items, out)
    return out


def add_bounds(products: Iterable[tuple[ItemFactors, Any, float, float]], out: np.ndarray) -> float:
    """Add upper bounds of a sum of products to out (n_items,), minus a constant that is returned.

    A product is the factors of the items and of one query, a factor of the score, and a budget
    (`SparseFactors.add_bounds`). Products of the same items are added together, because that reads the items once.
    """
    groups: dict[int, list[tuple[ItemFactors, Any, float, float]]] = {}
    for product in products:
        groups.setdefault(id(product[0]), []).append(product)
    left_out = 0.0
    for group in groups.values():
        items, budget = group[0][0], sum(budget for *_, budget in group)
        if isinstance(items, KnownScores):
            group = [(items, None, sum(factor for _, _, factor, _ in group), budget)]
        elif isinstance(items, SparseFactors) and len(group) > 1:
            group = [(items, _sum_of_words([(query, factor) for _, query, factor, _ in group]), 1.0, budget)]
        left_out += sum(items.add_bounds(query, factor, budget, out) for _, query, factor, budget in group)
    return left_out


def _sum_of_words(rows: Sequence[tuple[sp.csr_array | Words, float]]) -> Words:
    """Return the sum of sparse rows, each multiplied by a factor."""
    words, places = np.unique(np.concatenate([row.indices for row, _ in rows]), return_inverse=True)
    values = np.concatenate([factor * row.data for row, factor in rows])
    return Words(words, np.bincount(places, values).astype(np.float32))


def make_factors(items: Features) -> ItemFactors:
    """Return sparse or dense factors, depending on the items."""
    return DenseFactors(items) if isinstance(items, np.ndarray) else SparseFactors(items.tocsc(), items)


def scale_columns(postings: sp.csc_array, weights: np.ndarray) -> sp.csc_array:
    """Return postings with the values of each word multiplied by its weight; the same object if all weights are 1."""
    if (weights == 1).all():
        return postings
    data = postings.data * np.repeat(weights, np.diff(postings.indptr))
    return sp.csc_array((data, postings.indices, postings.indptr), shape=postings.shape)


def append_rows(items: Features, more: Features) -> Features:
    """Return old and new items stacked, in the format of the old."""
    if isinstance(items, np.ndarray):
        return np.concatenate([items, more if isinstance(more, np.ndarray) else more.toarray()])
    return sp.csr_array(sp.vstack([items, sp.csr_array(more)], format="csr"))


def widened(values: Features, width: int, fill: float = 0.0) -> Features:
    """The same with more columns (or, of a vector, more entries), which hold `fill`; sparse rows hold 0 there.

    >>> widened(np.ones(2, np.float32), 3).tolist()
    [1.0, 1.0, 0.0]
    """
    if not isinstance(values, np.ndarray):
        return sp.csr_array((values.data, values.indices, values.indptr), shape=(values.shape[0], width))
    more = np.full((*values.shape[:-1], width - values.shape[-1]), fill, values.dtype)
    return np.concatenate([values, more], axis=-1)


def project(rows: Features, table: np.ndarray) -> np.ndarray:
    """Return rows @ table (n_features, dim); the bits of a row do not depend on the other rows."""
    if isinstance(rows, np.ndarray):
        return factor_scores(DenseFactors(np.ascontiguousarray(table.T)), rows)
    return rows @ table


@lru_cache(maxsize=16)
def nothing_skipped(shape: tuple[int, ...]) -> sp.csr_array:
    """Return an empty matrix of queries by items, which is shared: to make one takes as long as ranking by BM25."""
    return sp.csr_array(shape, dtype=bool)


def best_items(scores: np.ndarray, skip: sp.csr_array | None, n_best: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the best candidates of each query and their scores; item -1 for padding."""
    n_best = min(n_best, scores.shape[1])
    items, found = np.empty((len(scores), n_best), np.int64), np.empty((len(scores), n_best), np.float32)
    skip = nothing_skipped(scores.shape) if skip is None else skip
    top_k_rows(scores, skip.indptr, skip.indices, items, found)
    return items, found


def best_among(items: np.ndarray, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best of some items (ascending) and their scores, best first; ties go to the first.

    >>> best_among(np.array([3, 5, 8]), np.array([1, 2, 2], np.float32), 2)[0].tolist()
    [5, 8]
    """
    places, found = best_items(scores[None], None, k)
    return items[places[0]], found[0]
