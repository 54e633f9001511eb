"""`bm25`: Okapi BM25 through the library bm25s, which turns counts into a weight for each word of each item.

Score = sum over the query's words of (times in the query) * (weight of the word in the item), so that
whole collections are scored by the same postings as tf-idf.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, TacitError, check_number
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, difference, sparse_row, word_terms
from tacit.retrieve.factors import ItemFactors, make_factors


class Bm25Ranker(CollectionRanker):
    """BM25 (Lucene's form) on rows of word counts.

    k1: how soon repeated words stop adding; b: how much long items are held back (0 to 1).
    """

    _fitted: ClassVar = {"weights_": "items features"}
    by_words: ClassVar[bool] = True
    learns_from_pairs: ClassVar[bool] = False
    features = "counts"

    def __init__(self, k1: float = 1.5, b: float = 0.75) -> None:
        self.k1, self.b = k1, b

    def _fit(self, queries: Features, items: Features, pairs: Links | None, validation: Links | None) -> None:
        check_number("k1", self.k1, low=0)
        check_number("b", self.b, low=0, high=1)
        if isinstance(items, np.ndarray):
            items = sp.csr_array(items)
        if (items.data < 0).any() or (items.data != np.floor(items.data)).any():
            raise TacitError("items must be word counts for BM25: whole numbers >= 0")
        if not items.nnz:
            raise TacitError("items hold no word at all; BM25 needs some text")
        self.weights_ = _weigh(items, self.k1, self.b)

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [make_factors(self.weights_)]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [queries]

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        return word_terms(*sparse_row(query), difference(self.weights_, a, b))


def _weigh(counts: sp.csr_array, k1: float, b: float) -> sp.csr_array:
    import bm25s  # here, because models that are only loaded do not need it

    words = np.repeat(counts.indices, counts.data.astype(np.int64))
    ends = np.cumsum(counts.data.astype(np.int64))
    borders = np.concatenate([[0], ends])[counts.indptr]
    rows = [words[start:stop].tolist() for start, stop in pairwise(borders)]
    index = bm25s.BM25(k1=k1, b=b).build_index_from_ids(list(range(counts.shape[1])), rows, show_progress=False)
    weights = sp.csc_array((index["data"], index["indices"], index["indptr"]), shape=counts.shape)
    return sp.csr_array(weights)
