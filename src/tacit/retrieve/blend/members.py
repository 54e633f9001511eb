"""What a blend is made of: its members by name, and their scores for a block of queries in one unit.

bm25       BM25
latent     learned concepts (`htr-reconstruction` without its tf-idf part) on logarithmic tf-idf
feedback   BM25 of words from the first answers (see `feedback`)
title      BM25 of titles alone; with labels only
residual   `htr-residual`; with labels only
vectors    cosine of vectors that another model made, where they are given (see `vectors`)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.kernels.topk import top_k_rows
from tacit.retrieve.factors import FactorPair

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


class AskedMember(NamedTuple):
    """One member and one query.

    Attributes
    ----------
    name : str
        The member.
    pairs : list of FactorPair
        What its scores are products of.
    scores : ndarray of shape (n_some_items,), float32
        Its own scores of some items.
    factor : float
        What turns them into the common unit.
    """

    name: str
    pairs: list[FactorPair]
    scores: np.ndarray
    factor: np.float32


class BlendQuery(NamedTuple):
    """One query: counts of its words (1, n_features), and its vector (1, dim_of_vectors) or None."""

    words: sp.csr_array
    vectors: np.ndarray | None


class FirstItems(NamedTuple):
    """The first items by BM25 for one query.

    Attributes
    ----------
    all_scores : ndarray of shape (1, n_items), float32
        Scores of all items.
    items : ndarray of shape (1, n_first), int
        The first items, best first; -1 where there are no more.
    scores : ndarray of shape (1, n_first), float32
        Their scores.
    """

    all_scores: np.ndarray
    items: np.ndarray
    scores: np.ndarray


def best_items(scores: np.ndarray, skip: sp.csr_array | None, n_best: int) -> tuple[np.ndarray, np.ndarray]:
    """The first items of each query that are candidates, and their scores; item -1 where there are no more."""
    n_best = min(n_best, scores.shape[1])
    items, found = np.empty((len(scores), n_best), np.int64), np.empty((len(scores), n_best), np.float32)
    skip = sp.csr_array(scores.shape, dtype=bool) if skip is None else skip
    top_k_rows(scores, skip.indptr, skip.indices, items, found)
    return items, found


def deviations(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Standard deviation of the known values of each row, float64; 1 where they are tied.

    >>> known = np.array([[True, True, False], [True, True, True]])
    >>> deviations(np.array([[5.0, 1.0, 9.0], [2.0, 2.0, 2.0]]), known)
    array([2., 1.])
    """
    values = np.where(known, values, np.float64(0))
    numbers = np.maximum(known.sum(axis=1), 1)
    means = values.sum(axis=1) / numbers
    squares = np.where(known, (values - means[:, None]) ** 2, 0.0)
    found: np.ndarray = np.sqrt(squares.sum(axis=1) / numbers)
    return np.where(found > TIED * np.abs(values).max(axis=1, initial=0), found, 1.0)


def trust(name: str, n_words: Any, half_length: float) -> Any:
    """n / (n + half_length) for one or many queries of n words; a vector counts as at least one word."""
    n_words = np.maximum(n_words, 1) if name == "vectors" else n_words
    return n_words / np.maximum(n_words + half_length, 1e-12)


def scores_near(scores: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Scores of the candidates of each query, (n_queries, n_candidates); those of item 0 where there is none."""
    return np.take_along_axis(scores, np.maximum(candidates, 0), axis=1)
