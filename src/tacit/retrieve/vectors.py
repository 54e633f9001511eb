"""Vectors of queries and items from another model, in addition to the rows of word counts.

A query row with a vector is its word counts followed by its vector (`join_vectors`). A query without a vector has word
counts alone, or a vector of zeros.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError, check_features, plural

LEAST_LENGTH = 1e-30  # a shorter vector counts as missing


def check_vectors(name: str, vectors: np.ndarray, n_rows: int, dim: int | None = None) -> np.ndarray:
    """Vectors of length 1 as float32; vectors of length 0 are kept.

    >>> check_vectors("vectors", np.array([[3.0, 4.0], [0.0, 0.0]]), 2).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    if sp.issparse(vectors):
        raise TacitError(f"{name} are sparse, want a dense array")
    rows = check_features(name, vectors)
    if rows.shape[0] != n_rows:
        raise TacitError(f"{name} have {plural(rows.shape[0], 'row')}, want {n_rows}")
    if not rows.shape[1] or (dim is not None and rows.shape[1] != dim):
        raise TacitError(f"{name} have {plural(rows.shape[1], 'dimension')}, want {dim or 'at least 1'}")
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    lengths[lengths < LEAST_LENGTH] = np.inf
    unit: np.ndarray = rows / lengths[:, None].astype(np.float32)
    return unit


def join_vectors(rows: sp.csr_array, vectors: np.ndarray) -> sp.csr_array:
    """Query rows with vectors: word counts followed by vectors of length 1.

    >>> join_vectors(sp.csr_array(np.eye(2, dtype=np.float32)), np.array([[0.0, 2.0], [0.0, 0.0]])).toarray()
    array([[1., 0., 0., 1.],
           [0., 1., 0., 0.]], dtype=float32)
    """
    unit = check_vectors("vectors of queries", vectors, rows.shape[0])
    return sp.csr_array(sp.hstack([rows, sp.csr_array(unit)], format="csr", dtype=np.float32))


def split_vectors(rows: sp.csr_array, n_words: int) -> tuple[sp.csr_array, np.ndarray | None]:
    """Word counts and vectors of joined rows; None where the rows have word counts only."""
    if rows.shape[1] == n_words:
        return rows, None
    return sp.csr_array(rows[:, :n_words]), np.ascontiguousarray(rows[:, n_words:].toarray())


def spread_rows(n_rows: int, n_most: int) -> np.ndarray:
    """Return up to a given number of row numbers, evenly spaced.

    >>> spread_rows(9, 3).tolist()
    [0, 4, 8]
    """
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, n_most)).astype(np.int64))
