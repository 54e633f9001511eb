"""`bm25`: Okapi BM25, a weight for each word of each item, with the bits that the library bm25s gives.

    weight = idf * tf / (tf + k1 (1 - b + b length / mean length)),   idf = ln(1 + (N - df + 1/2) / (df + 1/2))

Score = sum over the query's words of (times in the query) * (weight of the word in the item), so that whole
collections are scored by the same postings as tf-idf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, TacitError, UsageError, check_features, check_number
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, difference, sparse_row, word_terms
from tacit.retrieve.factors import ItemFactors, append_rows, make_factors, widened

_BLOCK_ROWS = 10_000


class Bm25Ranker(CollectionRanker):
    """BM25 (Lucene's form) on rows of word counts.

    New items are weighted with the idf and the mean length of `fit`. A word that `fit` has not seen gets its idf when
    it first appears in new items, from these items among all so far.

    Parameters
    ----------
    k1 : float, default=1.5
        How soon repeated words stop adding to the score.
    b : float, default=0.75
        How much long items are penalized, from 0 to 1.

    Attributes
    ----------
    weights_ : csr_array of shape (n_items, n_features), float32
        Weight of each word of each item.
    idf_ : ndarray of shape (n_features,), float32
        Inverse document frequencies; 0 for words that no item has had. None in models of format version 1.
    mean_length_ : float
        Mean number of words of the items of `fit`.
    """

    _fitted: ClassVar = {"weights_": "items features", "idf_": "?features", "mean_length_": "?+"}
    by_words: ClassVar[bool] = True
    learns_from_pairs: ClassVar[bool] = False
    features = "counts"

    def __init__(self, k1: float = 1.5, b: float = 0.75) -> None:
        self.k1, self.b = k1, b

    def _fit(self, queries: Features, items: Features, pairs: Links | None, validation: Links | None) -> None:
        check_number("k1", self.k1, low=0)
        check_number("b", self.b, low=0, high=1)
        counts = _check_counts(items)
        if not counts.nnz:
            raise TacitError("items hold no word at all; BM25 needs some text")
        self.idf_ = _idf(counts, counts.shape[0])
        self.mean_length_ = float(counts.sum(axis=1, dtype=np.float64).mean())
        self.weights_ = self._weigh(counts)

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [make_factors(self.weights_)]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [queries]

    def add_items(self, items: Features) -> Self:
        """Make new items rankable; see `CollectionRanker.add_items`."""
        _check_counts(check_features("items", items))
        return super().add_items(items)

    def check_new_items(self) -> None:
        """Refuse where the model was saved by a version that did not keep idf and mean length."""
        if hasattr(self, "weights_") and (self.idf_ is None or self.mean_length_ is None):
            raise UsageError("this model of an older version holds no idf and takes no new items: fit it again")

    def _grow(self, width: int) -> None:
        super()._grow(width)
        self.idf_ = widened(self.idf_, width)

    def _add_items(self, items: Features) -> None:
        counts = _check_counts(items)
        n_items = int(self.weights_.shape[0]) + int(counts.shape[0]) + self.n_removed_
        self.idf_ = np.where(self.idf_ > 0, self.idf_, _idf(counts, n_items))
        self.weights_ = append_rows(self.weights_, self._weigh(counts))

    def _weigh(self, counts: sp.csr_array) -> sp.csr_array:
        """Counts to weights in their place, some rows at a time: float64 until the end, as in bm25s."""
        lengths = counts.sum(axis=1, dtype=np.float64)
        penalty = self.k1 * ((1 - self.b) + self.b * lengths / self.mean_length_)
        for first in range(0, counts.shape[0], _BLOCK_ROWS):
            limits = counts.indptr[first : first + _BLOCK_ROWS + 1]
            part = slice(limits[0], limits[-1])
            tf = counts.data[part].astype(np.float64)
            each = np.repeat(penalty[first : first + _BLOCK_ROWS], np.diff(limits))
            counts.data[part] = self.idf_[counts.indices[part]] * (tf / (each + tf))
        return counts

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        return word_terms(*sparse_row(query), difference(self.weights_, a, b))


def _check_counts(items: Features) -> sp.csr_array:
    """A copy of rows of whole numbers >= 0, without stored zeros."""
    counts = sp.csr_array(items, copy=True)
    if (counts.data < 0).any() or (counts.data != np.floor(counts.data)).any():
        raise TacitError("items must be word counts for BM25: whole numbers >= 0")
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def _idf(counts: sp.csr_array, n_items: int) -> np.ndarray:
    """Lucene's idf of each word, float32; 0 for a word that no item has."""
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1]).tolist()
    return np.array([math.log(1 + (n_items - df + 0.5) / (df + 0.5)) if df else 0.0 for df in frequencies], np.float32)
