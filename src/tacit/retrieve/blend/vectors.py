"""Vectors of another model as a member of a blend, and a check of them that needs no labels.

A query row of a blend with vectors is its word counts, and beside them its vector (`join_vectors`); a query without one
has word counts alone, or zeros. With u the vector of the query and v_i that of item i, all of length 1, the score is

    u . (v_i - c),    c = mean of all v_i

the cosine less its mean over the items of `fit`. The mean changes no ranking; an item without a vector, which scores 0,
stands where an average item does.

How good vectors are is unknown before they are tried. The weight without labels is therefore earned by agreement with
words: for some items, or short queries made from them, a is the mean share of the 10 best other items by BM25 that are
also among the 10 best by vectors, b the same for the member `latent`, and e the share that is expected by chance:

    weight = min(1, (a - e) / (b - e))^2

Random vectors get 0; vectors that find the neighbours that words find get as much as BM25, for long queries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError, check_features, plural
from tacit.retrieve.blend.members import best_items

N_PROBES = 100  # items that the check looks at
N_NEAREST = 10
LEAST_SPAN, USUAL_SPAN = 0.1, 0.5  # least value of b - e, and its value without a member `latent`
SHORTEST = 1e-30  # a vector below this length is none


def check_vectors(name: str, vectors: np.ndarray, n_rows: int, dim: int | None = None) -> np.ndarray:
    """Vectors of length 1 as float32; those of length 0 stay so.

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
    lengths[lengths < SHORTEST] = np.inf
    unit: np.ndarray = rows / lengths[:, None].astype(np.float32)
    return unit


def join_vectors(rows: sp.csr_array, vectors: np.ndarray) -> sp.csr_array:
    """Query rows of a blend with vectors: word counts, and beside them vectors of length 1.

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


def centred(unit: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Vectors less the mean of all; those of length 0 stay so."""
    found: np.ndarray = np.where(unit.any(axis=1, keepdims=True), unit - centre, np.float32(0))
    return found


def mean_vector(unit: np.ndarray) -> np.ndarray:
    """Mean of the vectors that are not 0, float32."""
    n_vectors = max(1, int(np.count_nonzero(unit.any(axis=1))))
    return (unit.sum(axis=0, dtype=np.float64) / n_vectors).astype(np.float32)


def shared_neighbours(by_words: np.ndarray, others: Sequence[np.ndarray], own: sp.csr_array) -> np.ndarray:
    """Share of the best items by words of each query that other scores have among their best, NaN where there is none.

    >>> words, other = np.array([[0.0, 3.0, 2.0, 0.0]], np.float32), np.array([[9.0, 1.0, 0.0, 0.0]], np.float32)
    >>> shared_neighbours(words, [other], sp.csr_array(np.array([[True, False, False, False]])))
    array([[1.]])
    """
    wanted, positive = best_items(by_words, own, N_NEAREST)
    found = [best_items(scores, own, N_NEAREST)[0] for scores in others]
    shares = np.full((len(wanted), len(others)), np.nan)
    for row, known in enumerate((wanted >= 0) & (positive > 0)):
        if known.any():
            shares[row] = [np.isin(wanted[row, known], items[row]).mean() for items in found]
    return shares


def earned_weight(shares: np.ndarray, n_items: int) -> float:
    """The weight without labels, from shares of neighbours; those of the vectors are in the last column.

    >>> earned_weight(np.array([[0.4, 0.2]] * 9), 10**6), earned_weight(np.array([[1.0, 0.0]] * 9), 1000)
    (0.25, 0.0)
    """
    known = shares[~np.isnan(shares[:, 0])]
    if not len(known) or n_items <= N_NEAREST:
        return 0.0
    chance = N_NEAREST / n_items
    found = known.mean(axis=0) - chance
    span = max(float(found[0]), LEAST_SPAN) if len(found) > 1 else USUAL_SPAN
    return round(min(1.0, max(0.0, float(found[-1]) / span)) ** 2, 2)


def spread_rows(n_rows: int) -> np.ndarray:
    """Rows of the items that the check looks at, evenly spread."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, N_PROBES)).astype(np.int64))
