"""Pairs of neighbours within lists, for the preference regularizer.

Row i's neighbours N(i) are the K nearest rows of its list, by Euclidean distance between vectors (the ranking features,
or content vectors of any width), or the K most similar ones by given similarities. Each unordered pair occurs once:

    union            q_ij = 1 / K if j is in N(i) or i in N(j)   (PREF 6.2: length scale infinity)
    there-and-back   q_ij = q(j|i) q(i|j) / Z, where q(j|i) is exp(-d_ij^2 / sigma^2) normalised over N(i), and Z makes
                     the q of a list sum to one over ordered pairs

In a list of n rows a row has at most n - 1 neighbours; lists with n <= K are counted.

In lists of up to `most_exact` rows, all pairs are compared. In longer lists, trees of random splits divide the rows
into leaves of at most LEAF rows. Each row is compared with the rows of its leaf in every tree, and the K nearest are
used. Then the time is linear in the rows, and a few percent of the true neighbours are missed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from tacit.core import TacitError, check_choice, check_number, cut
from tacit.features.knn import nearest_rows

WEIGHTINGS = ("union", "there-and-back")
CELLS_AT_ONCE = 4_000_000  # of the distance table of one list
MOST_EXACT = 5_000
N_TREES, LEAF, TREE_SEED = 10, 400, 0


class NeighbourPairs(NamedTuple):
    """Pair t: rows left[t] < right[t] (int64) with strength[t] > 0; `n_cut`: lists too short for K neighbours."""

    left: np.ndarray
    right: np.ndarray
    strength: np.ndarray
    n_cut: int = 0


class Nearest(NamedTuple):
    """Directed neighbours in one list: row `source[t]` has neighbour `target[t]` at squared distance `distance[t]`."""

    source: np.ndarray
    target: np.ndarray
    distance: np.ndarray


def find_neighbours(
    starts: np.ndarray,
    n_neighbours: int,
    *,
    vectors: np.ndarray | None = None,
    similarities: sp.csr_array | None = None,
    weighting: str = "union",
    sigma: float = np.inf,
    most_exact: int = MOST_EXACT,
) -> NeighbourPairs:
    """Return pairs of neighbours within each list, from vectors (n_rows, width) or similarities (n_rows, n_rows).

    Only the stored, positive similarities within a list count; the distance is 1 - similarity, but not below 0.

    >>> points = np.array([[0.0], [1.0], [5.0], [5.5]])
    >>> find_neighbours(np.array([0, 4]), 1, vectors=points)
    NeighbourPairs(left=array([0, 2]), right=array([1, 3]), strength=array([1., 1.]), n_cut=0)
    """
    check_number("n_neighbours", n_neighbours, low=1, whole=True)
    check_choice("weighting", weighting, WEIGHTINGS)
    if sigma != np.inf:
        check_number("sigma", sigma, low=0, open_low=True)
    if (vectors is None) == (similarities is None):
        raise TacitError("neighbours need either vectors or similarities")
    found, n_cut = [], 0
    for start, stop in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        if vectors is not None:
            nearest = _nearest_vectors(vectors[start:stop], min(n_neighbours, stop - start - 1), most_exact)
            n_cut += stop - start - 1 < n_neighbours
        else:
            assert similarities is not None  # one of the two is given
            nearest = _most_similar(similarities[start:stop, start:stop], n_neighbours)
        left, right, strength = _join(nearest, stop - start, n_neighbours, weighting, sigma)
        found.append((left + start, right + start, strength))
    left, right, strength = (np.concatenate(column) for column in zip(*found, strict=True))
    return NeighbourPairs(left, right, strength, n_cut)


def _nearest_vectors(vectors: np.ndarray, k: int, most_exact: int) -> Nearest:
    """Return the k nearest other rows of each row; ties go to the earlier row."""
    n = len(vectors)
    if k < 1:
        return Nearest(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    if n > most_exact:
        return _nearest_by_trees(np.asarray(vectors, np.float64), k)
    targets, distances = np.empty((n, k), np.int64), np.empty((n, k))
    for part in cut(n, max(1, CELLS_AT_ONCE // n)):
        table = cdist(vectors[part], vectors, "sqeuclidean")
        targets[part], distances[part] = nearest_rows(table, np.arange(part.start, part.stop), k)
    return Nearest(np.repeat(np.arange(n), k), targets.ravel(), distances.ravel())


def _nearest_by_trees(vectors: np.ndarray, k: int) -> Nearest:
    """Like `_nearest_vectors`, but only among rows that share a leaf in any tree."""
    n, rng = len(vectors), np.random.default_rng(TREE_SEED)
    targets, distances = np.full((n, 2 * k), n, np.int64), np.full((n, 2 * k), np.inf)
    for _ in range(N_TREES):
        for leaf in _leaves(vectors, rng, max(LEAF, k + 1)):
            table = cdist(vectors[leaf], vectors[leaf], "sqeuclidean")
            near, squares = nearest_rows(table, np.arange(len(leaf)), k)
            targets[leaf, k:], distances[leaf, k:] = leaf[near], squares
        _keep_best(targets, distances, k)
    return Nearest(np.repeat(np.arange(n), k), targets[:, :k].ravel(), distances[:, :k].ravel())


def _leaves(vectors: np.ndarray, rng: np.random.Generator, size: int) -> list[np.ndarray]:
    """Return groups of at most `size` rows, ascending: halved repeatedly along a direction between two rows."""
    found, open_parts = [], [np.arange(len(vectors))]
    while open_parts:
        part = open_parts.pop()
        if len(part) <= size:
            found.append(part)
            continue
        one, other = vectors[rng.choice(part, 2, replace=False)]
        place = vectors[part] @ (one - other)
        order = np.argsort(place, kind="stable")
        middle = len(part) // 2
        open_parts += [np.sort(part[order[:middle]]), np.sort(part[order[middle:]])]
    return found


def _keep_best(targets: np.ndarray, distances: np.ndarray, k: int) -> None:
    """Move the k nearest different rows of each line to its front, in place; ties go to the earlier row."""
    order = np.lexsort((distances, targets), axis=1)  # equal rows become neighbours, so duplicates can be dropped
    rows, squares = (np.take_along_axis(table, order, axis=1) for table in (targets, distances))
    squares[:, 1:][rows[:, 1:] == rows[:, :-1]] = np.inf
    order = np.lexsort((rows, squares), axis=1)
    targets[:], distances[:] = (np.take_along_axis(table, order, axis=1) for table in (rows, squares))


def _most_similar(similarities: sp.csr_array, k: int) -> Nearest:
    """Return the k largest positive similarities of each row; ties go to the earlier row."""
    entries = sp.coo_array(similarities)
    kept = (entries.data > 0) & (entries.row != entries.col)
    row, column, value = entries.row[kept], entries.col[kept], entries.data[kept]
    order = np.lexsort((column, -value, row))
    row, column, value = row[order], column[order], value[order]
    first = np.searchsorted(row, row, side="left")
    near = np.arange(len(row)) - first < k
    return Nearest(row[near].astype(np.int64), column[near].astype(np.int64), np.maximum(1 - value[near], 0.0))


def _join(nearest: Nearest, n: int, k: int, weighting: str, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return unordered pairs (left < right) of one list with their strength."""
    left, right = np.minimum(nearest.source, nearest.target), np.maximum(nearest.source, nearest.target)
    pair, at = np.unique(left * n + right, return_inverse=True)
    if weighting == "union":
        return pair // n, pair % n, np.full(len(pair), 1 / k)
    there = _transitions(nearest, n, sigma)
    product, seen = np.ones(len(pair)), np.zeros(len(pair), np.int64)
    np.multiply.at(product, at, there)
    np.add.at(seen, at, 1)
    mutual = (seen == 2) & (product > 0)  # a pair needs both directions
    pair, product = pair[mutual], product[mutual]
    return pair // n, pair % n, product / (2 * product.sum()) if len(pair) else product


def _transitions(nearest: Nearest, n: int, sigma: float) -> np.ndarray:
    """Return q(target | source), which sums to one over the neighbours of each row."""
    # The nearest neighbour's distance is subtracted first: the ratio stays the same and cannot be 0 / 0.
    least = np.full(n, np.inf)
    np.minimum.at(least, nearest.source, nearest.distance)
    affinity = np.exp(-(nearest.distance - least[nearest.source]) / sigma**2)
    return affinity / np.bincount(nearest.source, weights=affinity, minlength=n)[nearest.source]
