"""Words that two languages spell alike: names, numbers, loanwords, identifiers.

    f(q, d) = sum over pairs (v, w) of equal words of  q_v d_w

Queries and items have separate dictionaries. v is a word of the query dictionary and w the same string in the item
dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, UsageError, checked
from tacit.retrieve.explanation import Term, difference, sparse_row
from tacit.retrieve.lexical.cosine import CosineRanker
from tacit.retrieve.training_data import TrainingData


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
