"""The two kinds of terms of a score: a product over shared words (sparse), or of vectors in one space (dense).

Every ranker of collections scores by a sum of such products. The factor of the items is kept; that of a query is
computed by the ranker. Items are float32; scores are added into float32 rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tacit.core import Features
from tacit.kernels.scoring import add_dense_scores, add_sparse_scores


@dataclass(frozen=True)
class SparseFactors:
    """Items by the postings of each word (items by words, CSC); score = x . y_i."""

    postings: sp.csc_array

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return int(self.postings.shape[0])

    def add_scores(self, queries: Features, out: np.ndarray) -> None:
        """Add the scores of all items for some query rows (CSR) to out (n_queries, n_items)."""
        rows, posts = sp.csr_array(queries), self.postings
        data = rows.data.astype(np.float32, copy=False)
        add_sparse_scores(rows.indptr, rows.indices, data, posts.indptr, posts.indices, posts.data, out)


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


ItemFactors = SparseFactors | DenseFactors


def factor_scores(factors: ItemFactors, queries: Features) -> np.ndarray:
    """Scores by one term alone, float32 (n_queries, n_items)."""
    out = np.zeros((queries.shape[0], factors.n_items), np.float32)
    factors.add_scores(queries, out)
    return out


def make_factors(items: Features) -> ItemFactors:
    """Sparse or dense factors, whichever the items are."""
    return DenseFactors(items) if isinstance(items, np.ndarray) else SparseFactors(items.tocsc())


def scale_columns(postings: sp.csc_array, weights: np.ndarray) -> sp.csc_array:
    """Postings with the values of each word multiplied by its weight; the same object where all weights are 1."""
    if (weights == 1).all():
        return postings
    data = postings.data * np.repeat(weights, np.diff(postings.indptr))
    return sp.csc_array((data, postings.indices, postings.indptr), shape=postings.shape)


def append_rows(items: Features, more: Features) -> Features:
    """Old and new items under one another, in the form of the old."""
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
    """rows @ table (n_features, dim), each row with the same bits alone as among others."""
    if isinstance(rows, np.ndarray):
        return factor_scores(DenseFactors(np.ascontiguousarray(table.T)), rows)
    return rows @ table
