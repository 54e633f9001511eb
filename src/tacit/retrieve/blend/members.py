"""What a blend is made of: its members by name, and their scores for a block of queries in one unit.

bm25       BM25
latent     learned concepts (`htr-reconstruction` without its tf-idf part) on logarithmic tf-idf
feedback   BM25 of words from the first answers (see `feedback`)
title      BM25 of titles alone; with labels only
residual   `htr-residual`; with labels only
vectors    cosine of vectors that another model made, where they are given (see `vectors`)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.kernels.topk import top_k_rows

MEMBERS = ("bm25", "latent", "feedback", "title", "residual", "vectors")
N_CANDIDATES = 100  # first items by BM25, whose scores give each member its unit
TIED = 1e-5  # a standard deviation below this part of the largest score is rounding


class MemberScores(NamedTuple):
    """Scores of one member for a block of queries.

    Attributes
    ----------
    name : str
        The member.
    scores : ndarray of shape (n_queries, n_items), float32
        Its own scores.
    factors : ndarray of shape (n_queries,), float32
        What turns them into the common unit, query by query.
    """

    name: str
    scores: np.ndarray
    factors: np.ndarray


def best_items(scores: np.ndarray, skip: sp.csr_array | None, n_best: int) -> tuple[np.ndarray, np.ndarray]:
    """The first items of each query that are candidates, and their scores; item -1 where there are no more."""
    n_best = min(n_best, scores.shape[1])
    items, found = np.empty((len(scores), n_best), np.int64), np.empty((len(scores), n_best), np.float32)
    skip = sp.csr_array(scores.shape, dtype=bool) if skip is None else skip
    top_k_rows(scores, skip.indptr, skip.indices, items, found)
    return items, found


def spreads(scores: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Standard deviation of the scores of each query's candidates, float64; 1 where they are tied.

    >>> spreads(np.array([[3.0, 1.0, 9.0], [2.0, 2.0, 0.0]]), np.array([[0, 1], [0, 1]]))
    array([1., 1.])
    >>> spreads(np.array([[5.0, 1.0, 9.0]]), np.array([[0, 1]]))
    array([2.])
    """
    known = candidates >= 0
    values = np.take_along_axis(scores, np.maximum(candidates, 0), axis=1).astype(np.float64)
    values[~known] = 0.0
    numbers = np.maximum(known.sum(axis=1), 1)
    means = values.sum(axis=1) / numbers
    squares = np.where(known, (values - means[:, None]) ** 2, 0.0)
    found: np.ndarray = np.sqrt(squares.sum(axis=1) / numbers)
    return np.where(found > TIED * np.abs(values).max(axis=1, initial=0), found, 1.0)


def scaled(
    name: str, scores: np.ndarray, candidates: np.ndarray, n_words: np.ndarray, half_length: float
) -> MemberScores:
    """Scores of a member with the factors n / (n + half_length) / (standard deviation).

    A vector counts as at least one word.
    """
    n_words = np.maximum(n_words, 1) if name == "vectors" else n_words
    trust = n_words / np.maximum(n_words + half_length, 1e-12)
    return MemberScores(name, scores, (trust / spreads(scores, candidates)).astype(np.float32))
