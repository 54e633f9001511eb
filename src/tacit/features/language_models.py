"""Smoothed language models of documents: the probability of the query's words under each document.

log p(q | d) = sum over the query's words w of (count in the query) * ln p(w | d). Let p(w | C) be the share of w among
all words of the collection, c = c(w, d) its count in the document and |d| the document's length (Zhai and Lafferty,
2001):

    absolute         max(c - delta, 0) / |d| + delta u / |d| p(w | C),   u different words in d
    dirichlet        (c + mu p(w | C)) / (|d| + mu)
    jelinek-mercer   (1 - lambda) c / |d| + lambda p(w | C)

An empty document has c / |d| = 0 and u / |d| = 1, like a single word that is not in the query. Words that are not in
the collection are left out of the query, because they would not distinguish documents.
"""

from __future__ import annotations

import numpy as np

DELTA, MU, LAMBDA = 0.7, 2000.0, 0.1


def absolute(counts: np.ndarray, shares: np.ndarray, lengths: np.ndarray, n_different: np.ndarray) -> np.ndarray:
    """Return ln p(w | d) with absolute discounting, (n_docs, n_words), given counts and shares (n_words,)."""
    length = np.maximum(lengths, 1)[:, None]
    kept = np.where(lengths > 0, n_different, 1)[:, None]
    return np.log(np.maximum(counts - DELTA, 0) / length + DELTA * kept / length * shares)


def dirichlet(counts: np.ndarray, shares: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return ln p(w | d) with a Dirichlet prior, (n_docs, n_words).

    >>> dirichlet(np.array([[0.0]]), np.array([0.5]), np.array([0.0])).round(4)
    array([[-0.6931]])
    """
    return np.log((counts + MU * shares) / (lengths[:, None] + MU))


def jelinek_mercer(counts: np.ndarray, shares: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return ln p(w | d) as a mixture with the collection, (n_docs, n_words)."""
    return np.log((1 - LAMBDA) * counts / np.maximum(lengths, 1)[:, None] + LAMBDA * shares)
