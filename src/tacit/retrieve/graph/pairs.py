"""Training data of a graph embedding: a checked adjacency matrix, and pairs drawn from it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError
from tacit.features.knn import component_sizes
from tacit.kernels.graph.distances import edge_squares

MOST_REDRAWS = 20
SIZES_NAMED = 5


def check_adjacency(adjacency: Any, n_items: int) -> sp.csr_array:
    """The graph as CSR of ones without self edges; every stored entry is an edge, one of distance 0 too.

    Raises where it is not square, not symmetric, or empty; warns where it falls apart.
    """
    if not sp.issparse(adjacency):
        adjacency = sp.csr_array(np.asarray(adjacency, np.float64))
    graph = sp.csr_array(adjacency)
    if graph.shape != (n_items, n_items):
        raise TacitError(f"adjacency has shape {graph.shape}, want {(n_items, n_items)}: points by points")
    if not np.isfinite(graph.data).all():
        raise TacitError("adjacency contains NaN or infinity")
    rows = np.repeat(np.arange(n_items), np.diff(graph.indptr))
    keys = np.unique(rows[rows != graph.indices] * n_items + graph.indices[rows != graph.indices])
    if not len(keys):
        raise TacitError("adjacency has no edge between two points, want at least one")
    rows, columns = keys // n_items, keys % n_items
    lonely = ~np.isin(columns * n_items + rows, keys, assume_unique=True)
    if lonely.any():
        i, j = rows[lonely][0], columns[lonely][0]
        raise TacitError(
            f"adjacency is not symmetric: it has the edge ({i}, {j}) but not ({j}, {i}), "
            f"as {lonely.sum() - 1} others; want both, such as adjacency.maximum(adjacency.T)"
        )
    indptr = np.searchsorted(keys, np.arange(n_items + 1) * n_items)
    checked = sp.csr_array((np.ones(len(keys), np.int8), columns, indptr), shape=graph.shape)
    warn_if_disconnected(checked)
    return checked


def warn_if_disconnected(graph: sp.csr_array) -> None:
    """Warn about a graph with several components, because their relative positions are undetermined."""
    sizes = component_sizes(graph)
    if len(sizes) < 2:
        return
    named = ", ".join(map(str, sizes[:SIZES_NAMED].tolist())) + (", ..." if len(sizes) > SIZES_NAMED else "")
    alone = int((sizes == 1).sum())
    isolated = f"; points without a neighbour: {alone}" if alone else ""
    warnings.warn(
        f"the graph falls into {len(sizes)} components of {named} points{isolated}: a larger k would join them",
        stacklevel=3,
    )


def edge_length(points: Features, graph: sp.csr_array) -> float:
    """Median euclidean length of the edges.

    >>> edge_length(np.array([[0.0], [1.0], [3.0]]), sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])))
    1.5
    """
    table = points if isinstance(points, np.ndarray) else points.toarray()
    squares = np.empty(graph.nnz, np.float64)
    edge_squares(table, graph.indptr, graph.indices, squares)
    return float(np.median(np.sqrt(squares)))


class PairDraws:
    """Pairs of an epoch: every edge in both directions and own pairs (i, i) near, random others far.

    own_share is the share of own pairs among the near ones; None takes every own pair once, as every edge.
    """

    def __init__(self, graph: sp.csr_array, own_share: float | None) -> None:
        self.n_items = graph.shape[0]
        rows = np.repeat(np.arange(self.n_items), np.diff(graph.indptr))
        self._keys = rows * self.n_items + graph.indices
        n_own = self.n_items if own_share is None else round(len(rows) * own_share / (1 - own_share))
        own = np.arange(n_own) % self.n_items
        self._near = np.concatenate([np.stack([rows, graph.indices], 1), np.stack([own, own], 1)]).astype(np.int64)

    def epoch(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """near and far pairs, int64 (n_steps, 2); where no far pair is found (a full graph) it has i = j."""
        near = rng.permutation(self._near)
        far = rng.integers(self.n_items, size=near.shape)
        wrong = np.arange(len(far))
        for _ in range(MOST_REDRAWS):
            wrong = wrong[self._is_near(far[wrong])]
            if not len(wrong):
                break
            far[wrong] = rng.integers(self.n_items, size=(len(wrong), 2))
        wrong = wrong[self._is_near(far[wrong])]
        far[wrong, 1] = far[wrong, 0]
        return near, far

    def _is_near(self, pairs: np.ndarray) -> np.ndarray:
        keys = pairs[:, 0] * self.n_items + pairs[:, 1]
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found: np.ndarray = (self._keys[at] == keys) | (pairs[:, 0] == pairs[:, 1])
        return found
