"""`tfidf`: cosine similarity of tf-idf rows, or of any other rows of unit length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tacit.core import Features
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, difference, sparse_row, word_terms
from tacit.retrieve.factors import ItemFactors, append_rows, make_factors
from tacit.retrieve.training_data import TrainingData


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

    def check_new_items(self) -> None:
        """Accept all items, because any item can be added."""

    def _add_items(self, items: Features) -> None:
        self.items_ = append_rows(self.items_, items)

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        (words,) = self._query_factors(query)
        return word_terms(*sparse_row(words), difference(self.items_, a, b))
