"""`tfidf`: cosine similarity of tf-idf rows, or of any other rows of unit length; and two rankers based on it.

**`qe`.** Query expansion by pseudo relevance feedback:

    x' = x + beta * (mean of the E best items of x)

x is the query row. The items are reranked by x' (Zighelnic and Kurland 2008, used as a baseline for HTR and SSI). beta
and E are chosen on training pairs, if there are any. Items that are not candidates, such as the document that the query
was taken from, do not expand it.

**Shared words.** Words that two languages spell alike: names, numbers, loanwords, identifiers.

    f(q, d) = sum over pairs (v, w) of equal words of  q_v d_w

Queries and items have separate dictionaries. v is a word of the query dictionary and w the same string in the item
dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, UsageError, check_number, checked
from tacit.metrics import full_ranking_measures
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, difference, sparse_row, word_terms
from tacit.retrieve.factors import ItemFactors, append_rows, best_items, factor_scores, make_factors
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.validation import held_out_queries

BETAS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
EXPANSIONS = (1, 2, 5, 10, 20)


class CosineRanker(CollectionRanker):
    """Cosine similarity of a query and an item: x . y_i for rows of unit length. Nothing is learned.

    Attributes
    ----------
    items_ : array or csr_array of shape (n_items, n_features)
        Rows of the items.

    Examples
    --------
    >>> import numpy as np
    >>> items = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    >>> CosineRanker().fit(None, items).rank(np.array([[0.0, 1.0]]), k=2).items
    array([[1, 0]])
    """

    _fitted: ClassVar = {"items_": "items features"}
    by_words: ClassVar[bool] = True
    learns_from_pairs: ClassVar[bool] = False

    def _fit(self, data: TrainingData) -> None:
        self.items_ = data.items

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [make_factors(self.items_)]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [queries]

    def _add_items(self, items: Features) -> None:
        self.items_ = append_rows(self.items_, items)

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        (words,) = self._query_factors(query)
        return word_terms(*sparse_row(words), difference(self.items_, a, b))


class QueryExpansionRanker(CosineRanker):
    """Cosine similarity with a query expanded by its best items (pseudo relevance feedback).

    Parameters
    ----------
    beta : float or None, default=None
        Weight of the expansion; None means chosen on training pairs, or 0.2 without pairs.
    n_expand : int or None, default=None
        Number of items that expand the query; None means chosen on training pairs, or 5 without pairs.

    Attributes
    ----------
    items_ : array or csr_array of shape (n_items, n_features)
        Rows of the items.
    beta_ : float
        The weight in use.
    n_expand_ : int
        The number of items in use.
    """

    _fitted: ClassVar = CosineRanker._fitted | {"beta_": "", "n_expand_": ""}
    learns_from_pairs: ClassVar[bool] = True

    def __init__(self, beta: float | None = None, n_expand: int | None = None) -> None:
        self.beta, self.n_expand = beta, n_expand

    def _fit(self, data: TrainingData) -> None:
        betas = BETAS if self.beta is None else (check_number("beta", self.beta, low=0),)
        sizes = EXPANSIONS if self.n_expand is None else (check_number("n_expand", self.n_expand, low=1, whole=True),)
        self.items_ = data.items
        self.beta_ = 0.2 if self.beta is None else float(self.beta)
        self.n_expand_ = 5 if self.n_expand is None else int(self.n_expand)
        if data.has_pairs and len(betas) * len(sizes) > 1:
            self._choose(data, betas, sizes)

    def _choose(self, data: TrainingData, betas: Sequence[float], sizes: Sequence[int]) -> None:
        # Only these two numbers are learned from pairs, so training pairs are used to choose them.
        held = held_out_queries(data.queries, data.pairs, None, queries_are_items=data.queries_are_items)
        totals = np.zeros((len(sizes), len(betas)))
        for block in held.blocks():
            plain = factor_scores(self.item_factors[0], block.queries)
            for row, size in enumerate(sizes):
                more = factor_scores(self.item_factors[0], self._mean_of_best(plain, block.excluded, size))
                for column, beta in enumerate(betas):
                    mixed = plain + np.float32(beta) * more
                    totals[row, column] += full_ranking_measures(mixed, block.relevant, block.excluded)["AP"].sum()
        best_size, best_beta = np.unravel_index(np.argmax(totals), totals.shape)
        self.beta_, self.n_expand_ = float(betas[int(best_beta)]), int(sizes[int(best_size)])

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [self._expand(queries, None)]

    def score_rows(self, rows: Features, skip: sp.csr_array | None = None) -> np.ndarray:
        """Return `scores` of the expanded queries."""
        return factor_scores(self.item_factors[0], self._expand(rows, skip))

    def _expand(self, queries: Features, skip: sp.csr_array | None) -> Features:
        plain = factor_scores(self.item_factors[0], queries)
        return queries + np.float32(self.beta_) * self._mean_of_best(plain, skip, self.n_expand_)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        check_number("n_expand_", self.n_expand_, low=1, whole=True)

    def _mean_of_best(self, scores: np.ndarray, skip: sp.csr_array | None, n_expand: int) -> Features:
        """Return the mean of the best candidates of each query; a query without matches is not expanded."""
        best, best_scores = best_items(scores, skip, n_expand)
        found = best_scores > 0
        weights = (found / np.maximum(found.sum(axis=1, keepdims=True), 1)).astype(np.float32)
        rows = np.arange(0, best.size + 1, best.shape[1])
        picked = sp.csr_array((weights.ravel(), np.maximum(best, 0).ravel(), rows), shape=scores.shape)
        return picked @ self.items_


class SharedWordsRanker(CosineRanker):
    """tf-idf of the words that the dictionaries of queries and items have in common. Nothing is learned.

    Attributes
    ----------
    items_ : csr_array of shape (n_items, n_item_words)
        Rows of the items.
    same_words_ : csr_array of shape (n_query_words, n_item_words), float32
        1 where a word of the queries and a word of the items are the same string.

    Examples
    --------
    >>> same = find_same_words(["Hund", "2024", "Rom"], ["2024", "dog"])
    >>> items = sp.csr_array(np.eye(2, dtype=np.float32))
    >>> queries = np.array([[0.0, 0.6, 0.8]], np.float32)
    >>> SharedWordsRanker().fit(queries, items, same_words=same).scores(queries)
    array([[0.6, 0. ]], dtype=float32)
    """

    _fitted: ClassVar = {"items_": "items item_features", "same_words_": "features known_words"}
    two_dictionaries: ClassVar[bool] = True
    reads = frozenset({"same_words"})
    same_words_: Any

    def _fit(self, data: TrainingData) -> None:
        wanted, found = (data.queries.shape[1], data.items.shape[1]), getattr(data.same_words, "shape", None)
        if found != wanted:
            raise UsageError(f"same_words is of shape {found}, want {wanted}: words of queries and of items")
        self.items_, self.same_words_ = data.items, data.same_words

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [sp.csr_array(queries) @ self.same_words_]

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        words, values = sparse_row(query)
        pairs, item = self.same_words_[words].tocoo(), difference(self.items_, a, b)
        found = zip(pairs.row.tolist(), pairs.col.tolist(), strict=True)
        return [
            Term("word", int(words[row]), column, float(values[row] * item[column]))
            for row, column in found
            if item[column]
        ]


@checked
def find_same_words(query_words: Sequence[str], item_words: Sequence[str]) -> sp.csr_array:
    """Return 1 where a word of the first list is a word of the second, float32 (n_query_words, n_item_words)."""
    column_of = {word: column for column, word in enumerate(item_words)}
    pairs = [(row, column_of[word]) for row, word in enumerate(query_words) if word in column_of]
    rows, columns = np.array(pairs, np.int64).reshape(-1, 2).T
    shape = (len(query_words), len(item_words))
    return sp.csr_array((np.ones(len(pairs), np.float32), (rows, columns)), shape=shape)
