"""Diffusion kernel of a small set of points: the probability that lazy random walks on their neighbour graph meet.

Points x are connected to their k nearest with weights W_ij = 1 / |x_i - x_j|, and S = D^-1/2 W D^-1/2, where D is the
diagonal of the row sums of W. A lazy walk stays with probability 1/2. After tau steps its kernel is K = ((I + S) /
2)^tau, symmetric and positive semidefinite (the transition matrix up to the scaling by D^1/2). A new point first steps
to one of its k nearest, with probability proportional to 1 / distance, so a copy of a point has the same row of K
(source: Kondor and Lafferty 2002).
"""

from __future__ import annotations

import numpy as np

from tacit.core import check_number
from tacit.features.knn import ROUNDING, nearest_rows

# Equal points have no inverse distance, so they are treated as this share of the typical distance apart.
NEAREST_SHARE = 1e-3


def squared_distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return squared Euclidean distances, float64 (n, m), never negative.

    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[25.0, 0.0]]
    """
    found = (X * X).sum(axis=1)[:, None] + (Y * Y).sum(axis=1) - 2 * (X @ Y.T)
    return np.maximum(found, 0, out=found)


class DiffusionKernel:
    """Kernel of points (n, n_features) by a lazy walk of time tau on their nearest neighbours.

    Attributes
    ----------
    matrix : ndarray of shape (n, n), float64
        The kernel among the points themselves.
    floor : float
        Smallest distance between two points; equal points are this far apart.

    >>> kernel = DiffusionKernel(np.array([[0.0], [1.0], [9.0]]), n_neighbors=1, tau=2)
    >>> np.allclose(kernel.rows(np.array([[9.0]])), kernel.matrix[2])
    True
    """

    def __init__(self, points: np.ndarray, n_neighbors: int = 5, tau: float = 3) -> None:
        self.n_neighbors = min(check_number("n_neighbors", n_neighbors, low=1, whole=True), max(1, len(points) - 1))
        check_number("tau", tau, low=0, open_low=True)
        self.points = points
        distances = np.sqrt(_without_rounding(squared_distances(points, points), points))
        self.floor = NEAREST_SHARE * _typical(distances)
        self.matrix = _lazy_walk(self._edges(distances), tau)

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Return the kernel of new points with the points, (n_new, n)."""
        steps = first_steps(squared_distances(X, self.points), self.n_neighbors, self.floor)
        return steps @ self.matrix

    def _edges(self, distances: np.ndarray) -> np.ndarray:
        """Return inverse distances between points if either is among the nearest of the other, else 0."""
        nearest, _ = nearest_rows(distances, np.arange(len(distances)), self.n_neighbors)
        joined = np.zeros(distances.shape, bool)
        np.put_along_axis(joined, nearest, True, axis=1)
        joined |= joined.T
        np.fill_diagonal(joined, False)
        return joined / np.maximum(distances, self.floor)


def first_steps(squared: np.ndarray, n_neighbors: int, floor: float) -> np.ndarray:
    """Return the first step of a walk from new points, (n_new, n), given their squared distances to the n points."""
    near = min(n_neighbors, max(1, squared.shape[1] - 1))
    nearest = np.argpartition(squared, near - 1, axis=1)[:, :near]
    distances = np.sqrt(np.take_along_axis(squared, nearest, axis=1))
    steps = 1 / np.maximum(distances, floor)
    # A copy of a point equals that point; distances of copies are zero only up to rounding.
    copies = distances <= 1e-2 * floor
    steps = np.where(copies.any(axis=1, keepdims=True), copies, steps)
    steps /= steps.sum(axis=1, keepdims=True)
    first = np.zeros_like(squared)
    np.put_along_axis(first, nearest, steps, axis=1)
    return first


def _without_rounding(squared: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return squared distances between points; those that are rounding errors, between equal points, become 0."""
    lengths = (points * points).sum(axis=1)
    return np.where(squared <= ROUNDING * (lengths[:, None] + lengths), 0.0, squared)


def _typical(distances: np.ndarray) -> float:
    apart = distances[distances > 0]
    return float(np.median(apart)) if len(apart) else 1.0


def _lazy_walk(edges: np.ndarray, tau: float) -> np.ndarray:
    sums = edges.sum(axis=1)
    scale = 1 / np.sqrt(np.where(sums > 0, sums, 1))
    values, vectors = np.linalg.eigh(edges * scale[:, None] * scale)
    lazy = np.clip((1 + values) / 2, 0, 1) ** tau
    return (vectors * lazy) @ vectors.T
