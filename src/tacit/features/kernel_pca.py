"""Kernel PCA of one list: the directions in which its documents vary most, and other documents along them.

For a kernel k and the list's points x_1 ... x_m: K_ij = k(x_i, x_j), centred with the list's means, K = sum of
lambda a a^T, and a point x has the components  sum_i a_i k~(x, x_i) / sqrt(lambda), k~ centred alike. Kernels: linear
x.y, polynomial (x.y)^p, Gaussian exp(-|x - y|^2 / (2 sigma^2)), diffusion. (Sources: Schoelkopf et al. 1998; Duh and
Kirchhoff 2011, section 4.1, whose Gaussian is printed without squares.)

Features are first scaled to mean 0 and variance 1 over the list, as they come in units of their own. The sign of a
direction is such that its largest coefficient is positive. All kernels but the diffusion are functions of one product
X @ list.T; a kernel's components of all rows are one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from tacit.core import TacitError, check_choice, check_fitted, check_number
from tacit.features.diffusion import DiffusionKernel, squared_distances

KINDS = ("linear", "polynomial", "gaussian", "diffusion")

# Directions with less than this share of the first one's variance are rounding.
SMALLEST_SHARE = 1e-10


@dataclass(frozen=True)
class Kernel:
    """A kernel and how many of its leading components are wanted; sigma None is the list's median distance."""

    kind: str
    n_components: int
    degree: int = 2
    sigma: float | None = None
    n_neighbors: int = 5
    tau: float = 3

    def __post_init__(self) -> None:
        check_choice("kernel", self.kind, KINDS)
        check_number("n_components", self.n_components, low=0, whole=True)
        check_number("degree", self.degree, low=1, whole=True)
        if self.sigma is not None:
            check_number("sigma", self.sigma, low=0, open_low=True)


DEFAULT_KERNELS = (Kernel("linear", 7), Kernel("polynomial", 6), Kernel("gaussian", 6), Kernel("diffusion", 6))


class KernelPca(TransformerMixin, BaseEstimator):
    """Components of several kernels side by side.

    scale: features get mean 0 and deviation 1 over the list; clip: components stay between these quantiles (0.01: the
    first and the last percent) of the list's own, which linear rankers need, as documents of other lists lie far out.

    Learned: families_, the kind of kernel of each column; n_cut_, how many components the list is too short for, as m
    documents have at most m - 1 directions. Columns of these, and of directions that the list does not vary in, are 0.

    >>> list_rows = np.array([[0.0, 1.0], [2.0, 1.5], [4.0, 1.0], [6.0, 1.5]])
    >>> pca = KernelPca((Kernel("linear", 2), Kernel("gaussian", 3))).fit(list_rows)
    >>> pca.transform(list_rows).shape, pca.families_[-1], pca.n_cut_
    ((4, 5), 'gaussian', 0)
    """

    def __init__(
        self, kernels: Sequence[Kernel] = DEFAULT_KERNELS, scale: bool = True, clip: float | None = None
    ) -> None:
        self.kernels, self.scale, self.clip = kernels, scale, clip

    def fit(self, X: np.ndarray, y: Any = None) -> Self:
        """Find the directions of the rows of a list, (m, n_features) with m >= 2."""
        if len(X) < 2:
            raise TacitError(f"a list of {len(X)} document varies in no direction, want at least 2 documents")
        self.mean_ = X.mean(axis=0)
        self.deviation_ = _safe_deviation(X) if self.scale else np.ones(X.shape[1])
        self.points_ = (X - self.mean_) / self.deviation_
        squared = squared_distances(self.points_, self.points_)
        self._median = _median_distance(squared)
        self.bases_ = [self._fit_kernel(kernel, squared) for kernel in self.kernels]
        self.families_ = [kernel.kind for kernel in self.kernels for _ in range(kernel.n_components)]
        self.n_cut_ = sum(max(0, kernel.n_components - (len(X) - 1)) for kernel in self.kernels)
        self.range_ = None
        if self.clip is not None:
            check_number("clip", self.clip, low=0, high=0.5)
            self.range_ = np.quantile(self.transform(X), [self.clip, 1 - self.clip], axis=0)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Components of rows, float64 (n_rows, n_components)."""
        check_fitted(self, "bases_")
        rows = (X - self.mean_) / self.deviation_
        products = rows @ self.points_.T
        squared = np.maximum((rows**2).sum(axis=1)[:, None] + self._norms - 2 * products, 0)
        out = np.zeros((len(X), len(self.families_)))
        first = 0
        for kernel, basis in zip(self.kernels, self.bases_, strict=True):
            found = self._values_for(kernel, basis, rows, products, squared) @ basis.weights - basis.shift
            out[:, first : first + found.shape[1]] = found
            first += kernel.n_components
        return out if self.range_ is None else np.clip(out, *self.range_)

    @property
    def _norms(self) -> np.ndarray:
        norms: np.ndarray = (self.points_**2).sum(axis=1)
        return norms

    def _fit_kernel(self, kernel: Kernel, squared: np.ndarray) -> _Basis:
        if kernel.kind == "linear":  # the same directions, found among the features
            return _linear_basis(self.points_, kernel.n_components)
        if kernel.kind == "diffusion":
            walk = DiffusionKernel(self.points_, kernel.n_neighbors, kernel.tau)
            basis = _basis(walk.matrix, kernel.n_components)
            return _Basis(walk.matrix @ basis.weights, basis.shift, walk)
        return _basis(self._values(kernel, self.points_ @ self.points_.T, squared), kernel.n_components)

    def _values_for(
        self, kernel: Kernel, basis: _Basis, rows: np.ndarray, products: np.ndarray, squared: np.ndarray
    ) -> np.ndarray:
        if kernel.kind == "linear":
            return rows
        if basis.walk is not None:
            return basis.walk.first_steps(squared)
        return self._values(kernel, products, squared)

    def _values(self, kernel: Kernel, products: np.ndarray, squared: np.ndarray) -> np.ndarray:
        if kernel.kind == "polynomial":
            powers: np.ndarray = products**kernel.degree
            return powers
        sigma = kernel.sigma or self._median
        values: np.ndarray = np.exp(squared / (-2 * sigma * sigma))
        return values


@dataclass(frozen=True)
class _Basis:
    """Components are `values @ weights - shift`; the values are features, first steps of a walk or k(x, list)."""

    weights: np.ndarray
    shift: np.ndarray
    walk: DiffusionKernel | None = None


def _basis(K: np.ndarray, n_components: int) -> _Basis:
    """Leading directions of a kernel matrix, centred.

    Centring of new values v is v - mean(v) - K.mean(axis=0) + K.mean(); the first two fall into the weights, since
    the mean of the coefficients is taken off, the others into the shift.
    """
    means = K.mean(axis=0)
    values, vectors = np.linalg.eigh(K - means - means[:, None] + means.mean())
    coefficients = _leading(values, vectors, min(n_components, len(K) - 1))
    weights = coefficients - coefficients.mean(axis=0)
    return _Basis(weights, means @ weights)


def _linear_basis(points: np.ndarray, n_components: int) -> _Basis:
    centre = points.mean(axis=0)
    _, deviations, directions = np.linalg.svd(points - centre, full_matrices=False)
    n = min(n_components, len(points) - 1, int((deviations**2 > SMALLEST_SHARE * deviations[0] ** 2).sum()))
    weights = _fix_signs(directions[:n].T)
    return _Basis(weights, centre @ weights)


def _leading(values: np.ndarray, vectors: np.ndarray, n: int) -> np.ndarray:
    """The n best eigenvectors over the root of their eigenvalues; directions without variance are left out."""
    values, vectors = values[::-1][:n], vectors[:, ::-1][:, :n]
    kept = values > SMALLEST_SHARE * max(float(values[0]) if n else 0.0, np.finfo(float).tiny)
    return _fix_signs(vectors[:, kept] / np.sqrt(values[kept]))


def _fix_signs(columns: np.ndarray) -> np.ndarray:
    """Each column turned so that its largest entry, the first of equals, is positive."""
    if not columns.size:
        return columns
    largest = np.argmax(np.round(np.abs(columns) / np.abs(columns).max(axis=0), 8), axis=0)
    fixed: np.ndarray = columns * np.sign(columns[largest, np.arange(columns.shape[1])])
    return fixed


def _safe_deviation(X: np.ndarray) -> np.ndarray:
    """Standard deviation of each feature; 1 for one that does not vary over the list."""
    deviation = X.std(axis=0)
    return np.where(deviation > 1e-12 * np.maximum(1, np.abs(X).max(axis=0)), deviation, np.inf)


def _median_distance(squared: np.ndarray) -> float:
    apart = squared[np.triu_indices(len(squared), 1)]
    median = float(np.sqrt(np.median(apart)))
    return median if median > 0 else float(np.sqrt(apart.mean())) or 1.0
