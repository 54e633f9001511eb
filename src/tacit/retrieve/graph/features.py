"""The map phi of a graph embedding: what a point shows to the learned W.

    linear  phi(x) = (x - mean) / size of a typical row; sparse rows are not centred
    rbf     phi(x) = (K(x, c_1) ... K(x, c_m)) over the centres c (the items), K(x, c) = exp(-|x - c|^2 / (2 sigma^2)),
            kept for the nearest centres only, and brought to length 1 or to sum 1
    given   phi(x) = x

To bring rows to one size is ours, not the paper's: a point that is far from all centres has only tiny values K, and
its image would fall to the origin, near to whatever item lies there. With sum 1 an image is a mean of what the
centres learned; with length 1, images of points between many centres lie further out than those of the items, which
shows in a plane and does no harm to neighbours in many dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError, cut, map_blocks
from tacit.kernels.graph import bumps, minus_squares
from tacit.kernels.topk import top_k_rows

KINDS = ("linear", "rbf", "given")
SIZES = {"length": 2, "sum": 1}
ROWS_AT_ONCE = 64


@dataclass(frozen=True)
class LinearMap:
    """phi(x) = (x - shift) * scale; shift is float32 (n_features)."""

    shift: np.ndarray
    scale: float

    @property
    def width(self) -> int:
        """Length of phi(x)."""
        return len(self.shift)

    @property
    def n_features(self) -> int:
        """Length of x."""
        return len(self.shift)

    def rows(self, points: Features, threads: int | None = None) -> sp.csr_array:
        """phi of checked points, float32 CSR."""
        moved = points if sp.issparse(points) else points - self.shift
        return sp.csr_array(moved * np.float32(self.scale))


@dataclass(frozen=True)
class RbfMap:
    """Gaussian bumps around the centres, float32 (n_centres, n_features); n_kept nearest of them count."""

    centres: np.ndarray
    sigma: float
    n_kept: int
    size: str = "length"

    @property
    def width(self) -> int:
        """Length of phi(x)."""
        return len(self.centres)

    @property
    def n_features(self) -> int:
        """Length of x."""
        return int(self.centres.shape[1])

    def rows(self, points: Features, threads: int | None = None) -> sp.csr_array:
        """phi of checked points, float32 CSR with n_kept entries in each row; every row has bits of its own."""
        table = points if isinstance(points, np.ndarray) else points.toarray()
        shape = table.shape[0], self.n_kept
        columns, values = np.empty(shape, np.int64), np.empty(shape, np.float32)

        def find(block: slice) -> None:
            scores = np.empty((block.stop - block.start, len(self.centres)), np.float32)
            best = np.empty((len(scores), self.n_kept), np.float32)
            minus_squares(table[block], self.centres, scores)
            nobody = np.zeros(len(scores) + 1, np.int64)
            top_k_rows(scores, nobody, nobody, columns[block], best)
            bumps(best, self.sigma, SIZES[self.size], values[block])

        map_blocks(find, cut(len(table), ROWS_AT_ONCE), threads)
        borders = np.arange(0, values.size + 1, self.n_kept)
        found = sp.csr_array((values.ravel(), columns.ravel(), borders), shape=(len(table), self.width))
        found.sort_indices()
        return found


PointMap = LinearMap | RbfMap


def fit_map(
    kind: str, points: Features, n_centres: int | None = None, sigma: float = 1.0, size: str = "length"
) -> PointMap:
    """The map of one of `KINDS` for the items; `n_centres` None keeps all of them."""
    n_features = points.shape[1]
    if kind == "given":
        return LinearMap(np.zeros(n_features, np.float32), 1.0)
    if kind == "rbf":
        centres = points.copy() if isinstance(points, np.ndarray) else points.toarray()
        return RbfMap(centres, sigma, min(n_centres or len(centres), len(centres)), size)
    if isinstance(points, np.ndarray):
        shift = points.mean(axis=0, dtype=np.float64).astype(np.float32)
        squares = np.square(points - shift, dtype=np.float64).sum()
    else:
        shift, squares = np.zeros(n_features, np.float32), points.multiply(points).sum()
    if not squares > 0:
        raise TacitError("every feature of X is constant: want points that differ")
    return LinearMap(shift, float(np.sqrt(points.shape[0] / squares)))
