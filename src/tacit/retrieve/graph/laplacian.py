"""`le-all` and `le-ose`: Laplacian eigenmaps (Belkin and Niyogi 2003) and their extension to new points.

The vectors of the items are the leading solutions of A y = mu D y after the constant one, A the graph, D its degrees:
the coordinates that neighbours share most. A new point with neighbours N gets (Bengio et al. 2003, after Nystrom)

    y(x) = mean of y_i over i in N, divided by mu for each coordinate,

which reproduces the vector of an item.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Estimator, TacitError, check_features, check_numbers, one_blas_thread
from tacit.features.knn import knn_graph
from tacit.retrieve.graph.pairs import check_adjacency

SMALLEST_EIGENVALUE = 1e-6  # smaller eigenvalues cannot be used as divisors


class LaplacianEigenmaps(Estimator):
    """Vectors of items from their graph of neighbours alone.

    Parameters
    ----------
    dim : int, default=100
        Width of the vectors.
    k : int, default=5
        Neighbours in the graph that `fit` builds, and of a new point among the items.
    seed : int, default=0
        Random seed.
    threads : int or None, default=None
        Number of threads; None means all cores.

    Attributes
    ----------
    item_vectors_ : ndarray of shape (n_items, dim), float64
        Vectors of the items.
    eigenvalues_ : ndarray of shape (dim,), float64
        Eigenvalues mu, largest first.
    items_ : array or csr_array of shape (n_items, n_features), float32
        The items.

    Examples
    --------
    >>> model = LaplacianEigenmaps(dim=1, k=2).fit(np.arange(8.0)[:, None])
    >>> line = model.item_vectors_[:, 0]
    >>> bool((line[:4] * line[4:] < 0).all())  # the two halves of the line are on two sides
    True
    """

    _fitted: ClassVar = {"item_vectors_": "items dim", "eigenvalues_": "dim", "items_": "items features"}
    _n_features_attribute: ClassVar[str | None] = "n_features_"
    _array_dtypes: ClassVar[tuple[str, ...]] = ("float32", "float64")

    def __init__(self, dim: int = 100, *, k: int = 5, seed: int = 0, threads: int | None = None) -> None:
        self.dim, self.k, self.seed, self.threads = dim, k, seed, threads

    def fit(self, X: Any, adjacency: Any = None) -> Self:
        """Embed the rows of X by a symmetric sparse graph on them; without one, by their k nearest neighbours."""
        check_numbers(self, "dim", "k", low=1, whole=True)
        points = check_features("X", X)
        if adjacency is None:
            adjacency = knn_graph(points, self.k, threads=self.threads)
        graph = check_adjacency(adjacency, points.shape[0])
        if self.dim > points.shape[0] - 2:
            raise TacitError(f"dim is {self.dim}, want at most {points.shape[0] - 2}: two less than there are points")
        self.eigenvalues_, self.item_vectors_ = _eigenmaps(graph, self.dim, self.seed)
        self.items_, self.n_features_ = points, int(points.shape[1])
        return self

    def extend(self, adjacency: sp.csr_array) -> np.ndarray:
        """Vectors of new points from their neighbours, CSR (n_points, n_items); each needs one at least."""
        self._check_fitted()
        degrees = np.diff(adjacency.indptr)
        if (degrees == 0).any():
            raise TacitError(f"point {int(np.argmin(degrees))} has no neighbour among the items, want at least one")
        if np.abs(self.eigenvalues_).min() < SMALLEST_EIGENVALUE:
            raise TacitError(
                f"an eigenvalue is {np.abs(self.eigenvalues_).min():.1g}, too near to 0; take a smaller dim"
            )
        edges = sp.csr_array((np.ones(adjacency.nnz), adjacency.indices, adjacency.indptr), shape=adjacency.shape)
        vectors: np.ndarray = (edges @ self.item_vectors_) / degrees[:, None] / self.eigenvalues_
        return vectors

    def embed(self, X: Any) -> np.ndarray:
        """Vectors of new points by their k nearest items."""
        self._check_fitted()
        from sklearn.neighbors import NearestNeighbors

        points = check_features("X", X, n_columns=self.items_.shape[1])
        k = min(self.k, self.items_.shape[0])
        with one_blas_thread():
            finder = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self.items_)
            return self.extend(sp.csr_array(finder.kneighbors_graph(points)))


def _eigenmaps(graph: sp.csr_array, dim: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """mu and D^-1/2 u, u the eigenvectors of D^-1/2 A D^-1/2; a point without neighbours stays at 0."""
    from scipy.sparse.linalg import eigsh

    degrees = np.diff(graph.indptr)
    scale = np.divide(1, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0)
    rows = np.repeat(np.arange(len(degrees)), degrees)
    walk = sp.csr_array((scale[rows] * scale[graph.indices], graph.indices, graph.indptr), shape=graph.shape)
    start = np.random.default_rng(seed).normal(size=len(degrees))
    with one_blas_thread():
        values, vectors = eigsh(walk, k=dim + 1, which="LA", v0=start)
    order = np.argsort(-values)[1:]
    found = vectors[:, order] * scale[:, None]
    strongest = found[np.abs(found).argmax(axis=0), np.arange(dim)]
    return values[order], found * np.where(strongest < 0, -1, 1)
