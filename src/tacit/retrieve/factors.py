"""The two ways in which a query meets all items: shared words, or vectors in one space.

Every ranker of collections scores by a sum of such parts. A part knows its items; the ranker
gives the query's side of it. Items are float32; scores are added into float32 rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError
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


def factor_scores(part: ItemFactors, side: Features) -> np.ndarray:
    """Scores by one part alone, float32 (n_queries, n_items)."""
    out = np.zeros((side.shape[0], part.n_items), np.float32)
    part.add_scores(side, out)
    return out


def make_factors(items: Features) -> ItemFactors:
    """The part that fits the form of the items."""
    return DenseFactors(items) if isinstance(items, np.ndarray) else SparseFactors(items.tocsc())


def append_rows(items: Features, more: Features) -> Features:
    """Old and new items under one another, in the form of the old; widths must agree."""
    if items.shape[1] != more.shape[1]:
        raise TacitError(f"new items have {more.shape[1]} features, want {items.shape[1]} as in fit")
    if isinstance(items, np.ndarray):
        return np.concatenate([items, more if isinstance(more, np.ndarray) else more.toarray()])
    return sp.csr_array(sp.vstack([items, sp.csr_array(more)], format="csr"))


def project(rows: Features, table: np.ndarray) -> np.ndarray:
    """rows @ table (n_features, dim), each row with the same bits alone as among others."""
    if isinstance(rows, np.ndarray):
        return factor_scores(DenseFactors(np.ascontiguousarray(table.T)), rows)
    return rows @ table
