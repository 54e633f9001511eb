"""The nearest-neighbour graph of manifold methods.

It has an edge (i, j) if j is among the k nearest other points of i. `union` keeps edges in both directions if either
exists, `mutual` only if both exist, `directed` as found. Ties go to the smaller row number. Distances: euclidean
|a - b|, or cosine 1 - a.b / (|a| |b|) (an empty row has distance 1 to all non-empty rows).

For up to 50,000 dense points, and always for sparse rows, neighbours are exact: blocks of distances from matrix
products. For more points, an approximate index (HNSW by faiss, extra `ann`) is used, which misses a few percent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    Features,
    MissingExtraError,
    TacitError,
    UsageError,
    check_choice,
    check_features,
    check_number,
    checked,
    count_threads,
    cut,
    map_blocks,
    one_blas_thread,
    progress_bar,
)
from tacit.kernels.graph.distances import nearest_by_sum, pair_squares
from tacit.kernels.topk import top_k_rows

METRICS = ("euclidean", "cosine")
FORMS = ("union", "mutual", "directed")
MOST_EXACT = 50_000
N_LINKS, BUILD_BREADTH, BREADTH = 32, 100, 64  # of the approximate index
BLOCK_BYTES = 32 << 20
ROUNDING = 1e-13  # smaller squared distances, relative to the squared lengths, are rounding errors and mean 0


@checked
def knn_graph(
    X: Any,
    k: int,
    *,
    metric: str = "euclidean",
    how: str = "union",
    exact: bool | None = None,
    threads: int | None = None,
) -> sp.csr_array:
    """Return distances to the k nearest neighbours, float64 CSR (n_points, n_points), for any number of threads.

    An edge between equal points has distance 0 and is stored like any other. `exact` None: decided by the number of
    points.

    >>> knn_graph([[0.0], [1.0], [1.0], [5.0]], 1).toarray().tolist()  # the two at 1.0 are joined at distance 0
    [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 4.0], [0.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]]
    """
    check_choice("metric", metric, METRICS)
    check_choice("how", how, FORMS)
    points = check_features("X", X)
    n_points = points.shape[0]
    check_number("k", k, low=1, whole=True)
    if k >= n_points:
        raise TacitError(f"k is {k}, but the number of points is {n_points}: want k < {n_points}")
    table = _prepare(points, metric)
    if _is_exact(exact, table):
        neighbours, squares = _exact_neighbours(table, k, threads)
    else:
        neighbours, squares = _approximate_neighbours(table, k, threads)
    return _join(neighbours, squares / 2 if metric == "cosine" else np.sqrt(squares), how)


def nearest_rows(distances: np.ndarray, own: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest of n points and their distances, nearest first; ties go to the smaller number.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n), float64
        Distance of each row to each point.
    own : ndarray of shape (n_rows,), int64
        The point of each row itself, which is left out.
    k : int
        Number of neighbours, below n.

    Examples
    --------
    >>> nearest_rows(np.array([[0.0, 2.0, 2.0, 1.0]]), np.array([0]), 2)
    (array([[3, 1]]), array([[1., 2.]]))
    """
    n_rows = len(distances)
    neighbours, scores = np.empty((n_rows, k), np.int64), np.empty((n_rows, k), np.float64)
    top_k_rows(-distances, np.arange(n_rows + 1), own, neighbours, scores)
    return neighbours, np.abs(scores)


def nearest_of(
    points: np.ndarray, table: np.ndarray, *, squared: bool = True, threads: int | None = None
) -> np.ndarray:
    """Return the nearest row of a table for every point, int64; ties go to the smaller row.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        The points.
    table : ndarray of shape (n_rows, n_features)
        The rows to choose from.
    squared : bool, default=True
        Distances are sums of squared differences; False: sums of absolute differences.
    threads : int or None, default=None
        Number of threads; None means all cores.

    Examples
    --------
    >>> nearest_of(np.array([[0.0], [2.0]]), np.array([[3.0], [1.0]])).tolist()  # 2.0 is as near to both
    [1, 0]
    """
    found, distances = np.full(len(points), -1, np.int64), np.full(len(points), np.inf)

    def search(block: slice) -> None:
        nearest_by_sum(points, table, block.start, block.stop, squared, found, distances)

    map_blocks(search, cut(len(points), 64), threads)
    return found


@checked
def component_sizes(graph: sp.csr_array) -> np.ndarray:
    """Return the number of points of each connected component, largest first; edges of any value count.

    >>> component_sizes(knn_graph([[0.0], [1.0], [9.0], [9.0], [9.5]], 1)).tolist()
    [3, 2]
    """
    from scipy.sparse.csgraph import connected_components

    rows = sp.csr_array(graph)
    edges = sp.csr_array((np.ones(rows.nnz, np.int8), rows.indices, rows.indptr), shape=rows.shape)
    labels = connected_components(edges, directed=False)[1]
    return -np.sort(-np.bincount(labels))


def _prepare(points: Features, metric: str) -> Features:
    """Return rows whose euclidean distances order neighbours: unchanged, or of length 1 for cosine (2 - 2 cos)."""
    table = points.astype(np.float64)
    if metric == "euclidean":
        # Far from the origin the products below lose precision; a shift does not change distances.
        return table if sp.issparse(table) else table - table.mean(axis=0)
    lengths = np.sqrt(_squared_lengths(table))
    is_empty = lengths == 0
    scale = 1 / np.where(is_empty, 1, lengths)
    # Each empty row gets a separate direction, orthogonal to all others.
    own = is_empty[:, None].astype(np.float64)
    if isinstance(table, np.ndarray):
        return np.hstack([table * scale[:, None], own])
    return sp.csr_array(sp.hstack([sp.diags_array(scale) @ table, sp.csr_array(own)]))


def _squared_lengths(table: Features) -> np.ndarray:
    squares = np.square(table) if isinstance(table, np.ndarray) else table.multiply(table)
    return np.asarray(squares.sum(axis=1), np.float64).ravel()


def _is_exact(exact: bool | None, table: Features) -> bool:
    if exact is False and sp.issparse(table):
        raise UsageError("the approximate index takes dense rows only: give exact=True or project the sparse rows")
    if exact is None:
        return sp.issparse(table) or table.shape[0] <= MOST_EXACT
    return exact


def _exact_neighbours(table: Features, k: int, threads: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return neighbours int64 (n, k) and squared distances float64, nearest first."""
    n_points, lengths = table.shape[0], _squared_lengths(table)
    neighbours, scores = np.empty((n_points, k), np.int64), np.empty((n_points, k), np.float64)
    columns = table.T if not sp.issparse(table) else sp.csr_array(table.T)

    def find(block: slice) -> None:
        products = table[block] @ columns
        size = lengths[block, None] + lengths
        squares = size - 2 * (products if isinstance(products, np.ndarray) else products.toarray())
        squares[squares < ROUNDING * size] = 0
        own = np.arange(block.start, block.stop)
        neighbours[block], scores[block] = nearest_rows(squares, own, k)
        if not sp.issparse(table):
            pair_squares(table, neighbours, block.start, block.stop, scores)
        advance(len(own))

    blocks = cut(n_points, max(1, min(512, BLOCK_BYTES // (8 * n_points))))
    with progress_bar("nearest neighbours", n_points) as advance, one_blas_thread():
        map_blocks(find, blocks, threads)
    return neighbours, scores


def _approximate_neighbours(table: np.ndarray, k: int, threads: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Like `_exact_neighbours`, by an index; -1 if it found fewer than k."""
    faiss = import_faiss("a graph of that many points")
    n_points, rows = table.shape[0], np.ascontiguousarray(table, np.float32)
    index: Any = faiss.IndexHNSWFlat(table.shape[1], N_LINKS)
    index.hnsw.efConstruction = BUILD_BREADTH
    index.hnsw.efSearch = max(BREADTH, 2 * (k + 1))
    found = np.full((n_points, k + 1), -1, np.int64)
    with progress_bar("nearest neighbours", 2 * n_points) as advance:
        with faiss_threads(1):  # with more threads, the index depends on their timing
            for block in cut(n_points, 4096):
                index.add(rows[block])
                advance(block.stop - block.start)
        with faiss_threads(count_threads(threads)):  # each point is searched for separately
            for block in cut(n_points, 4096):
                found[block] = index.search(rows[block], k + 1)[1]
                advance(block.stop - block.start)
    neighbours = _without_self(found)
    squares = np.empty(neighbours.shape, np.float64)
    pair_squares(table, neighbours, 0, n_points, squares)
    return neighbours, squares


def _without_self(found: np.ndarray) -> np.ndarray:
    """Remove each point from its own list, or the last of the list if equal points displaced it."""
    is_self = found == np.arange(len(found))[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    return found[~is_self].reshape(len(found), -1)


def _join(neighbours: np.ndarray, distances: np.ndarray, how: str) -> sp.csr_array:
    """Make the CSR of the edges directly, because scipy's sums and maxima drop edges of distance 0."""
    n_points = len(neighbours)
    is_edge = neighbours.ravel() >= 0
    rows = np.repeat(np.arange(n_points), neighbours.shape[1])[is_edge]
    columns, values = neighbours.ravel()[is_edge], distances.ravel()[is_edge]
    if how != "directed":
        rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        values = np.concatenate([values, values])
    order = np.lexsort((values, rows * n_points + columns))  # of two roundings of one distance, the smaller first
    rows, columns, values = rows[order], columns[order], values[order]
    keys, first, times = np.unique(rows * n_points + columns, return_index=True, return_counts=True)
    if how == "mutual":
        keys, first = keys[times == 2], first[times == 2]
    indptr = np.searchsorted(keys, np.arange(n_points + 1) * n_points)
    # As in scipy, because other libraries reject long indices where short ones suffice.
    index_type = sp.get_index_dtype(maxval=max(len(keys), n_points))
    parts = values[first], (keys % n_points).astype(index_type), indptr.astype(index_type)
    return sp.csr_array(parts, shape=(n_points, n_points))


def import_faiss(wanted_for: str = "an index for approximate search") -> Any:
    """Import faiss, or raise an error that says what needs it."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError(wanted_for, "faiss-cpu", "ann") from error
    return faiss


@contextmanager
def faiss_threads(n_threads: int) -> Iterator[None]:
    """Set the number of threads of faiss, and restore it."""
    faiss = import_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
