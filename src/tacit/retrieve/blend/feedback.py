"""Pseudo relevance feedback: words of the best first answers, as a query of their own.

With s_d the BM25 score of item d and y_d its row of BM25 weights, the expansion of a query is

    f = sum over the n best items of p_d y_d / |y_d|,    p_d ~ exp(s_d)

cut to its largest words. BM25 scores are log odds up to a constant, so p_d is to the probability that d is relevant
what the query likelihood is in a relevance model (Lavrenko and Croft 2001; RM3: Abdul-Jaleel et al. 2004): where one
item is far ahead, it alone expands the query. Items without a word of the query do not.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def expand_queries(
    weights: sp.csr_array, norms: np.ndarray, best: np.ndarray, scores: np.ndarray, n_words: int
) -> sp.csr_array:
    """Expansion of each query by its best items.

    Parameters
    ----------
    weights : csr_array of shape (n_items, n_features), float32
        BM25 weights.
    norms : ndarray of shape (n_items,)
        Euclidean lengths of these rows.
    best : ndarray of shape (n_queries, n_best), int
        Items, best first; -1 where there are no more.
    scores : ndarray of shape (n_queries, n_best)
        Their BM25 scores.
    n_words : int
        Words to keep for each query.

    Returns
    -------
    csr_array of shape (n_queries, n_features), float32

    Examples
    --------
    >>> weights = sp.csr_array(np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]], np.float32))
    >>> norms = np.array([5.0, 2.0])
    >>> expand_queries(weights, norms, np.array([[0, 1]]), np.array([[1.0, 0.0]]), 5).toarray().round(2)
    array([[0.6, 0.8, 0. ]], dtype=float32)
    """
    found = (best >= 0) & (scores > 0)
    odds = np.where(found, np.exp(np.minimum(scores - scores[:, :1], 0).astype(np.float64)), 0.0)
    shares = odds / np.maximum(odds.sum(axis=1, keepdims=True), 1e-300)
    items = np.where(found, best, 0)
    shares = np.where(found, shares / np.maximum(norms[items], 1e-30), 0.0)
    borders = np.arange(0, best.size + 1, best.shape[1])
    picked = sp.csr_array((shares.ravel(), np.arange(best.size), borders), shape=(len(best), best.size))
    return largest_words(sp.csr_array(picked @ weights[items.ravel()]), n_words)  # only these rows become float64


def largest_words(rows: sp.csr_array, n_words: int) -> sp.csr_array:
    """The largest positive entries of each row, of equal ones the first columns, as float32."""
    row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -rows.data, row_of))
    place = np.arange(rows.nnz) - rows.indptr[row_of[order]]
    kept = order[(place < n_words) & (rows.data[order] > 0)]
    entries = rows.data[kept].astype(np.float32), (row_of[kept], rows.indices[kept])
    return sp.csr_array(entries, shape=rows.shape)
