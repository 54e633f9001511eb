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

from tacit.kernels.expansion import keep_largest, square_rows, sum_rows
from tacit.retrieve.factors import Words


def expand_query(weights: sp.csr_array, best: np.ndarray, scores: np.ndarray, n_words: int) -> Words:
    """Expansion of a query by its best items.

    Parameters
    ----------
    weights : csr_array of shape (n_items, n_features), float32
        BM25 weights.
    best : ndarray of shape (n_best,), int
        Items, best first; -1 where there are no more.
    scores : ndarray of shape (n_best,)
        Their BM25 scores.
    n_words : int
        Words to keep.

    Examples
    --------
    >>> weights = sp.csr_array(np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]], np.float32))
    >>> expand_query(weights, np.array([0, 1]), np.array([1.0, 0.0]), 5)
    Words(indices=array([0, 1]), data=array([0.6, 0.8], dtype=float32))
    """
    found = (best >= 0) & (scores > 0)
    items = best[found]
    sizes = weights.indptr[items + 1] - weights.indptr[items]
    starts, n_entries = np.cumsum(sizes) - sizes, int(sizes.sum())
    words, sums, squares = np.empty(n_entries, np.int64), np.empty(n_entries), np.empty(n_entries, weights.dtype)
    if not n_entries:
        return Words(words, squares)
    square_rows(weights.indptr, weights.data, items, squares)
    lengths = np.sqrt(np.add.reduceat(squares, starts).astype(np.float64))
    odds = np.where(found, np.exp(np.minimum(scores - scores[0], 0).astype(np.float64)), 0.0)
    shares = (odds / odds.sum())[found] / np.maximum(lengths, 1e-30)
    n_found = sum_rows(weights.indptr, weights.indices, weights.data, items, shares, words, sums)
    n_kept = keep_largest(words[:n_found], sums[:n_found], n_words)
    order = np.argsort(words[:n_kept])
    return Words(words[order], sums[order].astype(np.float32))
