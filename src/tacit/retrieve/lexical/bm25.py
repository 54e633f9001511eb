"""`bm25`: Okapi BM25, a weight for each word of each item, bit-identical to the library bm25s.

    score = sum over the query's words of (count in the query) * (weight of the word in the item)

`features.bm25` has the formula of the weights and its variants. Whole collections are scored with the same postings as
tf-idf.

In the variants bm25l and bm25+, a word also has a weight in items that do not contain it, the same in all of them. It
is stored by word (`absent_`) and subtracted from `weights_`, so `weights_` stays sparse and has no weight below 0.
Scores include both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, StoreError, TacitError, UsageError, check_choice, check_features, check_number
from tacit.features.bm25 import DELTA, K1, VARIANTS, B, inverse_frequencies, length_norms
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, difference, sparse_row, word_terms
from tacit.retrieve.factors import ItemFactors, append_rows, make_factors, widened
from tacit.retrieve.training_data import TrainingData

_BLOCK_ROWS = 10_000


class Bm25Ranker(CollectionRanker):
    """BM25 on rows of word counts.

    New items are weighted with the idf and the mean length of `fit`. A word unknown to `fit` gets its idf when it first
    appears in new items, from these items among all so far.

    Parameters
    ----------
    k1 : float, default=1.5
        Saturation of repeated words. With a larger value, repetitions add more to the score.
    b : float, default=0.75
        Penalty for long items, from 0 to 1.
    variant : {"lucene", "robertson", "atire", "bm25l", "bm25+"}, default="lucene"
        Variant of the formula. With bm25l and bm25+, items without a word of the query also have scores above 0.
    delta : float, default=0.5
        Minimum count (bm25l) or minimum part of the score (bm25+) of a word; other variants ignore it.

    Attributes
    ----------
    weights_ : csr_array of shape (n_items, n_features), float32
        Weight of each word of each item, minus `absent_`.
    idf_ : ndarray of shape (n_features,), float32
        Inverse document frequencies; 0 for words that no item has contained.
    absent_ : ndarray of shape (n_features,), float32, or None
        Weight of each word in items that do not contain it; None if it is 0 (lucene, robertson, atire).
    mean_length_ : float
        Mean number of words of the items of `fit`.
    """

    _fitted: ClassVar = {"weights_": "items features", "idf_": "features", "absent_": "?features", "mean_length_": "+"}
    by_words: ClassVar[bool] = True
    learns_from_pairs: ClassVar[bool] = False
    features = "counts"

    def __init__(self, k1: float = K1, b: float = B, variant: str = "lucene", delta: float = DELTA) -> None:
        self.k1, self.b, self.variant, self.delta = k1, b, variant, delta

    def _fit(self, data: TrainingData) -> None:
        self._check_params()
        counts = _check_counts(data.items)
        if not counts.nnz:
            raise TacitError("items hold no word at all; BM25 needs some text")
        self.mean_length_ = float(counts.sum(axis=1, dtype=np.float64).mean())
        self.idf_, self.absent_ = self._weights_of_words(counts, counts.shape[0])
        self.weights_ = self._weigh(counts)

    def _check_params(self) -> None:
        check_number("k1", self.k1, low=0)
        check_number("b", self.b, low=0, high=1)
        check_number("delta", self.delta, low=0)
        check_choice("variant", self.variant, VARIANTS)
        if self.variant == "bm25l" and not self.k1 + self.delta:
            raise UsageError("k1 and delta are both 0, want one of them above 0 in bm25l")

    def _check_loaded(self) -> None:
        self._check_params()
        if (self.absent_ is not None) != VARIANTS[self.variant].is_shifted:
            raise StoreError(f"absent_ is {'missing' if self.absent_ is None else 'stored'} with {self.variant!r}")

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [make_factors(self.weights_)]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [queries]

    def score_rows(self, rows: Features, skip: sp.csr_array | None = None) -> np.ndarray:
        """Return `scores`; in some variants an item without a word of the query scores above 0."""
        scores = super().score_rows(rows, skip)
        if self.absent_ is not None:
            scores += self.unmatched_scores(rows)
        return scores

    def unmatched_scores(self, queries: Features) -> np.ndarray:
        """Return the scores of items without a word of the query; see `CollectionRanker.unmatched_scores`."""
        if self.absent_ is None:
            return super().unmatched_scores(queries)
        return np.asarray(queries @ self.absent_, np.float32)[:, None]

    def items_with_word(self, column: int) -> np.ndarray | None:
        """Return the rows of the items that contain a word; None if a common word may have weight 0."""
        if self.variant != "lucene":
            return None
        one = sp.csr_array(([np.float32(1)], ([0], [column])), shape=(1, self.n_features_))
        return np.flatnonzero(self.scores(one)[0])

    def add_items(self, items: Features) -> Self:
        """Make new items rankable; see `CollectionRanker.add_items`."""
        _check_counts(check_features("items", items))
        return super().add_items(items)

    def _grow(self, width: int) -> None:
        super()._grow(width)
        self.idf_ = widened(self.idf_, width)
        self.absent_ = None if self.absent_ is None else widened(self.absent_, width)

    def _add_items(self, items: Features) -> None:
        counts = _check_counts(items)
        n_items = int(self.weights_.shape[0]) + int(counts.shape[0]) + self.n_removed_
        # The idf of a common word is 0 in some variants.
        known = (self.idf_ > 0) | (np.bincount(self.weights_.indices, minlength=len(self.idf_)) > 0)
        idf, absent = self._weights_of_words(counts, n_items)
        self.idf_ = np.where(known, self.idf_, idf)
        if self.absent_ is not None and absent is not None:
            self.absent_ = np.where(known, self.absent_, absent)
        self.weights_ = append_rows(self.weights_, self._weigh(counts))

    def _weights_of_words(self, counts: sp.csr_array, n_items: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the idf of each word and its weight where it is absent, float32; 0 for a word in no item."""
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1]).tolist()
        idf, variant = inverse_frequencies(frequencies, n_items, self.variant), VARIANTS[self.variant]
        least = variant.tf_part(0, 1.0, self.k1, self.delta) if variant.is_shifted else 0.0
        return idf.astype(np.float32), (idf * least).astype(np.float32) if variant.is_shifted else None

    def _weigh(self, counts: sp.csr_array) -> sp.csr_array:
        """Convert counts to weights in place, some rows at a time: float64 until the end, as in bm25s."""
        norms = length_norms(counts.sum(axis=1, dtype=np.float64), self.mean_length_, self.b)
        tf_part = VARIANTS[self.variant].tf_part
        for first in range(0, counts.shape[0], _BLOCK_ROWS):
            limits = counts.indptr[first : first + _BLOCK_ROWS + 1]
            part = slice(limits[0], limits[-1])
            tf, words = counts.data[part].astype(np.float64), counts.indices[part]
            each = np.repeat(norms[first : first + _BLOCK_ROWS], np.diff(limits))
            weights = self.idf_[words] * tf_part(tf, each, self.k1, self.delta)
            counts.data[part] = weights if self.absent_ is None else weights - self.absent_[words]
        return counts

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        weights = difference(self.weights_, a, b)
        if self.absent_ is not None and b is None:
            weights += self.absent_
        return word_terms(*sparse_row(query), weights)


def _check_counts(items: Features) -> sp.csr_array:
    """Return a copy of rows of whole numbers >= 0, without stored zeros."""
    counts = sp.csr_array(items, copy=True)
    if (counts.data < 0).any() or (counts.data != np.floor(counts.data)).any():
        raise TacitError("items must be word counts for BM25: whole numbers >= 0")
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts
