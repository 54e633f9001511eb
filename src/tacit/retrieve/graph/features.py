"""The map phi of a graph embedding: the features of a point that the learned W reads.

    linear  phi(x) = (x - mean) / size of a typical row; sparse rows are not centred
    rbf     phi(x) = (K(x, c_1) ... K(x, c_m)) over the centres c (the items), K(x, c) = exp(-|x - c|^2 / (2 sigma^2)),
            kept for the nearest centres only, and scaled to length 1 or to sum 1, or not scaled
    given   phi(x) = x

The scaling of rows is not in the paper. A point far from all centres has only tiny values K, so its image would be near
the origin, close to any item there. With sum 1, an image is a mean of the vectors learned for the centres. With length
1, images of points between many centres are further out than the items. This is visible in a plane and does not affect
neighbours in many dimensions.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Estimator, Features, TacitError, check_choice, check_number, cut, map_blocks
from tacit.kernels.graph.distances import gaussians, minus_squares
from tacit.kernels.topk import top_k_rows

KINDS = ("linear", "rbf", "given")
SIZES = {"length": 2, "sum": 1, "none": 0}  # and the power of the norm
ROWS_AT_ONCE = 64


class LinearMap(Estimator):
    """phi(x) = (x - shift) * scale.

    Parameters
    ----------
    standardize : bool, default=True
        Center dense rows and scale all rows so that a typical one has length 1; False leaves them as they are.

    Attributes
    ----------
    shift_ : ndarray of shape (n_features,), float32
        Mean of the rows; 0 for sparse rows.
    scale_ : float
        Factor of all rows.
    """

    _fitted: ClassVar = {"shift_": "features", "scale_": ""}
    _n_features_attribute: ClassVar[str | None] = "n_features_"

    def __init__(self, standardize: bool = True) -> None:
        self.standardize = standardize

    def fit(self, points: Features) -> Self:
        """Find shift and scale of checked points."""
        self.n_features_ = int(points.shape[1])
        self.shift_, self.scale_ = np.zeros(self.n_features_, np.float32), 1.0
        if not self.standardize:
            return self
        if isinstance(points, np.ndarray):
            self.shift_ = points.mean(axis=0, dtype=np.float64).astype(np.float32)
            squares = np.square(points - self.shift_, dtype=np.float64).sum()
        else:
            squares = points.multiply(points).sum()
        if not squares > 0:
            raise TacitError("every feature of X is constant: want points that differ")
        self.scale_ = float(np.sqrt(points.shape[0] / squares))
        return self

    @property
    def width(self) -> int:
        """Length of phi(x)."""
        return len(self.shift_)

    def rows(self, points: Features, threads: int | None = None) -> sp.csr_array:
        """phi of checked points, float32 CSR."""
        moved = points if sp.issparse(points) else points - self.shift_
        return sp.csr_array(moved * np.float32(self.scale_))


class RbfMap(Estimator):
    """Gaussian kernels around the points of `fit`, of which the nearest count.

    Parameters
    ----------
    sigma : float, default=1.0
        Width of the kernels.
    n_centres : int or None, default=None
        Nearest centres that count; None means all.
    size : {"length", "sum", "none"}, default="length"
        Norm of a row that is scaled to 1; "none" does not scale, as in the paper.

    Attributes
    ----------
    centres_ : ndarray of shape (n_centres, n_features), float32
        The points of `fit`.
    n_kept_ : int
        Nearest centres that count.
    """

    _fitted: ClassVar = {"centres_": "centres features", "n_kept_": ""}
    _n_features_attribute: ClassVar[str | None] = "n_features_"

    def __init__(self, sigma: float = 1.0, n_centres: int | None = None, size: str = "length") -> None:
        self.sigma, self.n_centres, self.size = sigma, n_centres, size

    def fit(self, points: Features) -> Self:
        """Take checked points as centres."""
        self.n_features_ = int(points.shape[1])
        self.centres_ = points.copy() if isinstance(points, np.ndarray) else points.toarray()
        self.n_kept_ = min(self.n_centres or len(self.centres_), len(self.centres_))
        return self

    @property
    def width(self) -> int:
        """Length of phi(x)."""
        return len(self.centres_)

    def rows(self, points: Features, threads: int | None = None) -> sp.csr_array:
        """phi of checked points, float32 CSR with n_kept_ entries in each row; no row depends on the others."""
        table = points if isinstance(points, np.ndarray) else points.toarray()
        shape = table.shape[0], self.n_kept_
        columns, values = np.empty(shape, np.int64), np.empty(shape, np.float32)

        def find(block: slice) -> None:
            scores = np.empty((block.stop - block.start, len(self.centres_)), np.float32)
            best = np.empty((len(scores), self.n_kept_), np.float32)
            minus_squares(table[block], self.centres_, scores)
            nobody = np.zeros(len(scores) + 1, np.int64)
            top_k_rows(scores, nobody, nobody, columns[block], best)
            gaussians(best, self.sigma, SIZES[self.size], values[block])

        map_blocks(find, cut(len(table), ROWS_AT_ONCE), threads)
        borders = np.arange(0, values.size + 1, self.n_kept_)
        found = sp.csr_array((values.ravel(), columns.ravel(), borders), shape=(len(table), self.width))
        found.sort_indices()
        return found

    def _check_loaded(self) -> None:
        check_number("n_kept_", self.n_kept_, low=1, high=len(self.centres_), whole=True)
        check_number("sigma", self.sigma, low=1e-100)  # the square of a smaller number is 0
        check_choice("size", self.size, SIZES)


PointMap = LinearMap | RbfMap


def make_map(kind: str, n_centres: int | None = None, sigma: float = 1.0, size: str = "length") -> PointMap:
    """The unfitted map of one of `KINDS`."""
    return RbfMap(sigma, n_centres, size) if kind == "rbf" else LinearMap(standardize=kind == "linear")
