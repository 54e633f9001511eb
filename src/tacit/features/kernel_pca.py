"""Kernel PCA of one list: the directions of largest variance of its documents, and other documents along them.

For a kernel k and the list's points x_1 ... x_m, let K_ij = k(x_i, x_j), centred with the list's means, and K = sum of
lambda a a^T its eigendecomposition. A point x has the components sum_i a_i k~(x, x_i) / sqrt(lambda), where k~ is
centred alike. Kernels: linear x.y, polynomial (x.y)^p, Gaussian exp(-|x - y|^2 / (2 sigma^2)), diffusion. (Sources:
Schoelkopf et al. 1998; Duh and Kirchhoff 2011, section 4.1, where the Gaussian is printed without squares.)

Features are first scaled to mean 0 and variance 1 over the list, because they have different units. The paper's kernels
use raw features (`scale=False, center=False`), where the polynomial kernel has its printed form. The sign of a
direction makes its largest coefficient positive. All kernels except diffusion are functions of one product X @ list.T,
and a kernel's components of all rows are one matrix product. Rounding errors differ between processors, so they must
not matter: directions of equal variance are settled by a rule (`_settle`), and components are rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from tacit.core import (
    Estimator,
    StoreError,
    TacitError,
    check_array,
    check_choice,
    check_kind,
    check_list,
    check_number,
    check_numbers,
)
from tacit.features.diffusion import DiffusionKernel, first_steps, squared_distances
from tacit.features.scaling import deviations, standardize

KINDS = ("linear", "polynomial", "gaussian", "diffusion")

# Directions with a smaller share of the first one's variance are rounding errors.
SMALLEST_SHARE = 1e-10

# Eigenvalues that differ by a smaller share are equal up to rounding.
EQUAL_SHARE = 1e-8

# Components have so many binary digits below their largest value, so that equal documents have equal components:
# with rounding errors, thresholds between them would be chosen by the processor.
DIGITS = 30

MOST_COMPONENTS = 10_000


class Kernel(Estimator):
    """A kernel and its leading components.

    Parameters
    ----------
    kind : {"linear", "polynomial", "gaussian", "diffusion"}
        Type of the kernel.
    n_components : int
        Number of leading components.
    degree : int, default=2
        Degree of the polynomial kernel.
    sigma : float, default=None
        Width of the Gaussian kernel; None means `width` times the median distance between documents of the list.
    width : float, default=1.0
        Multiple of the median distance.
    n_neighbors : int, default=5
        Neighbours of each document in the diffusion kernel.
    tau : float, default=3
        Diffusion time.

    Attributes
    ----------
    weights_ : ndarray of shape (n_values, n_found), float64
        Components are `values @ weights_ - shift_`, where values are features (linear), first steps of a random walk
        (diffusion) or kernel values with the documents of the list.
    shift_ : ndarray of shape (n_found,), float64
        Components of the mean.
    sigma_ : float
        Width of the Gaussian kernel in use.
    floor_ : float
        Smallest distance of the diffusion kernel.
    """

    _fitted: ClassVar[dict[str, str]] = {
        "weights_": "values components", "shift_": "components", "sigma_": "", "floor_": "",
    }  # fmt: skip
    _array_dtypes: ClassVar[tuple[str, ...]] = ("float64",)

    def __init__(
        self,
        kind: str,
        n_components: int,
        degree: int = 2,
        sigma: float | None = None,
        n_neighbors: int = 5,
        tau: float = 3,
        width: float = 1.0,
    ) -> None:
        self.kind, self.n_components, self.degree, self.sigma = kind, n_components, degree, sigma
        self.n_neighbors, self.tau, self.width = n_neighbors, tau, width

    def fit(self, points: np.ndarray, squared: np.ndarray) -> Self:
        """Find the leading directions of points (m, n_features) with known squared distances."""
        self.check_params()
        self.sigma_, self.floor_ = 1.0, 0.0
        if self.kind == "gaussian":
            self.sigma_ = float(self.sigma or self.width * _median_distance(squared))
        if self.kind == "linear":  # the same directions, computed from the features
            self.weights_, self.shift_ = _linear_basis(points, self.n_components)
        elif self.kind == "diffusion":
            walk = DiffusionKernel(points, self.n_neighbors, self.tau)
            weights, self.shift_ = _basis(walk.matrix, self.n_components)
            self.weights_, self.floor_ = walk.matrix @ weights, walk.floor
        else:
            self.weights_, self.shift_ = _basis(self._values(points @ points.T, squared), self.n_components)
        return self

    def components(self, rows: np.ndarray, products: np.ndarray, squared: np.ndarray) -> np.ndarray:
        """Return components of rows, (n_rows, n_found), given products with and squared distances to the points."""
        if self.kind == "linear":
            values = rows
        elif self.kind == "diffusion":
            values = first_steps(squared, self.n_neighbors, self.floor_)
        else:
            values = self._values(products, squared)
        return values @ self.weights_ - self.shift_

    def _values(self, products: np.ndarray, squared: np.ndarray) -> np.ndarray:
        if self.kind == "polynomial":
            return products**self.degree
        return np.exp(squared / (-2 * self.sigma_ * self.sigma_))

    def check_params(self) -> None:
        """Raise unless the parameters describe a kernel."""
        check_choice("kernel", self.kind, KINDS)
        check_number("n_components", self.n_components, low=0, high=MOST_COMPONENTS, whole=True)
        check_numbers(self, "degree", "n_neighbors", low=1, whole=True)
        check_numbers(self, "tau", "width", low=0, open_low=True)
        check_numbers(self, "sigma", optional=True, low=0, open_low=True)

    def _check_loaded(self) -> None:
        self.check_params()
        check_number("sigma_", self.sigma_, low=0, open_low=True)
        check_number("floor_", self.floor_, low=0, open_low=self.kind == "diffusion")
        if len(self.shift_) > self.n_components:
            raise StoreError(f"a kernel has {len(self.shift_)} components, want at most {self.n_components}")


DEFAULT_KERNELS = (Kernel("linear", 7), Kernel("polynomial", 6), Kernel("gaussian", 6), Kernel("diffusion", 6))


# Kernels of Duh and Kirchhoff, to be chosen from on validation lists: one parameter varies at a time.
PRINTED_KERNELS = tuple(
    (
        Kernel("linear", n_linear),
        Kernel("polynomial", n_linear - 1, degree=degree),
        Kernel("gaussian", n_linear - 1, width=width),
        Kernel("diffusion", n_linear - 1, tau=tau),
    )
    for n_linear, degree, width, tau in (
        (7, 2, 1, 3),
        (7, 3, 1, 3),
        (7, 2, 0.5, 3),
        (7, 2, 2, 3),
        (7, 2, 1, 10),
        (4, 2, 1, 3),
    )
)

# Five kernels with five components each: equal parts of the 25 features of Duh and Kirchhoff.
FIVE_KERNELS = (
    Kernel("linear", 5), Kernel("polynomial", 5), Kernel("polynomial", 5, degree=3), Kernel("gaussian", 5),
    Kernel("diffusion", 5),
)  # fmt: skip


class KernelPca(Estimator, TransformerMixin, BaseEstimator):
    """Components of several kernels, concatenated.

    Parameters
    ----------
    kernels : sequence of Kernel, default=DEFAULT_KERNELS
        The kernels: 7 linear components and 6 each of a polynomial, a Gaussian and a diffusion kernel.
    scale : bool, default=True
        Divide features by their standard deviation over the list.
    center : bool, default=True
        Subtract the means of features over the list first; components are always centred.
    clip : float, default=None
        Clip components to this quantile and its counterpart (0.01: the first and last percent) over the list. Linear
        rankers need it, because documents of other lists may be far outside.

    Attributes
    ----------
    kernels_ : list of Kernel
        The fitted kernels.
    n_cut_ : int
        Number of components that the list is too short for, because m documents have at most m - 1 directions. Their
        columns are 0, as are columns of directions in which the list does not vary.

    Examples
    --------
    >>> list_rows = np.array([[0.0, 1.0], [2.0, 1.5], [4.0, 1.0], [6.0, 1.5]])
    >>> pca = KernelPca((Kernel("linear", 2), Kernel("gaussian", 3))).fit(list_rows)
    >>> pca.transform(list_rows).shape, pca.families_[-1], pca.n_cut_
    ((4, 5), 'gaussian', 0)
    """

    _fitted: ClassVar[dict[str, str]] = {
        "mean_": "features",
        "deviation_": "features",
        "points_": "points features",
        "kernels_": "estimators",
        "range_": "?bounds components",
        "n_cut_": "",
    }
    _n_features_attribute: ClassVar[str | None] = "n_features_in_"
    _array_dtypes: ClassVar[tuple[str, ...]] = ("float64",)

    def __init__(
        self,
        kernels: Sequence[Kernel] = DEFAULT_KERNELS,
        scale: bool = True,
        clip: float | None = None,
        center: bool = True,
    ) -> None:
        self.kernels, self.scale, self.clip, self.center = kernels, scale, clip, center

    def fit(self, X: np.ndarray, y: Any = None) -> Self:
        """Find the directions of the rows of a list, (m, n_features) with m >= 2."""
        X = check_array("X", X)
        if X.ndim != 2 or not np.isfinite(X).all():
            raise TacitError(f"X has shape {X.shape}, want 2 dimensions and finite numbers")
        for kernel in check_list("kernels", self.kernels, "kernels"):
            check_kind("kernels", kernel, Kernel, "kernels")
        if len(X) < 2:
            raise TacitError(f"a list of {len(X)} document varies in no direction, want at least 2 documents")
        self.n_features_in_ = X.shape[1]
        self.mean_ = X.mean(axis=0) if self.center else np.zeros(X.shape[1])
        self.deviation_ = deviations(X) if self.scale else np.ones(X.shape[1])
        self.points_ = standardize(X, self.mean_, self.deviation_)
        squared = squared_distances(self.points_, self.points_)
        self.kernels_ = [kernel.clone().fit(self.points_, squared) for kernel in self.kernels]
        self.n_cut_ = sum(max(0, kernel.n_components - (len(X) - 1)) for kernel in self.kernels)
        self.range_ = None
        if self.clip is not None:
            check_number("clip", self.clip, low=0, high=0.5)
            self.range_ = np.quantile(self.transform(X), [self.clip, 1 - self.clip], axis=0)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return components of rows, float64 (n_rows, n_components)."""
        self._check_fitted()
        found = self._components(standardize(X, self.mean_, self.deviation_))
        _, exponents = np.frexp(np.abs(self._components(self.points_)).max(axis=0))
        out = np.ldexp(np.round(np.ldexp(found, DIGITS - exponents)), exponents - DIGITS)
        return out if self.range_ is None else np.clip(out, *self.range_)

    def _components(self, rows: np.ndarray) -> np.ndarray:
        """Return components of standardized rows, with rounding errors."""
        products = rows @ self.points_.T
        norms = (self.points_**2).sum(axis=1)
        squared = np.maximum((rows**2).sum(axis=1)[:, None] + norms - 2 * products, 0)
        out = np.zeros((len(rows), len(self.families_)))
        first = 0
        for kernel in self.kernels_:
            found = kernel.components(rows, products, squared)
            out[:, first : first + found.shape[1]] = found
            first += kernel.n_components
        return out

    @property
    def families_(self) -> list[str]:
        """Return the type of kernel of each column."""
        return [kernel.kind for kernel in self.kernels for _ in range(kernel.n_components)]

    def _check_loaded(self) -> None:
        given, fitted = ([(k.kind, k.n_components) for k in kernels] for kernels in (self.kernels, self.kernels_))
        if given != fitted:
            raise StoreError("the kernels of a kernel PCA differ from the kernels of its fit")
        n_values = [k.weights_.shape[0] - (self.n_features_in_ if k.kind == "linear" else len(self.points_))
                    for k in self.kernels_]  # fmt: skip
        bounds = (2, len(self.families_)) if self.range_ is None else self.range_.shape
        if any(n_values) or bounds != (2, len(self.families_)) or (self.deviation_ < 0).any():
            raise StoreError("the kernels of a kernel PCA do not fit its documents")


def _basis(K: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and shift of the leading directions of a kernel matrix, centred.

    Centring of new values v is v - mean(v) - K.mean(axis=0) + K.mean(). The first two terms are part of the weights,
    because the mean of the coefficients is subtracted; the others are part of the shift.
    """
    means = K.mean(axis=0)
    values, vectors = np.linalg.eigh(K - means - means[:, None] + means.mean())
    coefficients = _leading(values, vectors, min(n_components, len(K) - 1))
    weights = coefficients - coefficients.mean(axis=0)
    return weights, means @ weights


def _linear_basis(points: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    centre = points.mean(axis=0)
    _, deviations, directions = np.linalg.svd(points - centre, full_matrices=False)
    n = min(n_components, len(points) - 1, int((deviations**2 > SMALLEST_SHARE * deviations[0] ** 2).sum()))
    weights = _fix_signs(directions[:n].T)
    return weights, centre @ weights


def _leading(values: np.ndarray, vectors: np.ndarray, n: int) -> np.ndarray:
    """Return the n best eigenvectors divided by the root of their eigenvalues, without directions of no variance."""
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > SMALLEST_SHARE * max(float(values[0]), np.finfo(float).tiny)
    vectors = _settle(values[kept], vectors[:, kept], n)
    return _fix_signs(vectors / np.sqrt(values[kept][:n]))


def _settle(values: np.ndarray, vectors: np.ndarray, n: int) -> np.ndarray:
    """Return the first n eigenvectors, where those of equal eigenvalues do not depend on rounding.

    Every rotation of the eigenvectors of one eigenvalue is as good, and rounding errors choose one. The diffusion
    kernel has such directions if its graph has three parts or more. Values are descending.
    """
    settled, first = vectors[:, :n], 0
    ends = 1 + np.flatnonzero(-np.diff(values, append=-np.inf) > EQUAL_SHARE * values)
    for end in ends[: np.searchsorted(ends, n) + 1]:
        if end - first > 1:
            settled[:, first:end] = _pivoted_basis(vectors[:, first:end])[:, : n - first]
        first = end
    return settled


def _pivoted_basis(basis: np.ndarray) -> np.ndarray:
    """Return the orthonormal basis of a space, given any, whose vectors are projections of the nearest unit vectors."""
    rest, rotation = basis.copy(), np.empty((basis.shape[1], basis.shape[1]))
    for column in rotation.T:
        pivot = rest[np.argmax(np.round((rest**2).sum(axis=1), 8))]
        column[:] = pivot / np.sqrt(pivot @ pivot)
        rest -= np.outer(rest @ column, column)
    return basis @ rotation


def _fix_signs(columns: np.ndarray) -> np.ndarray:
    """Return the columns with signs such that the largest entry, or the first of several, is positive."""
    if not columns.size:
        return columns
    largest = np.argmax(np.round(np.abs(columns) / np.abs(columns).max(axis=0), 8), axis=0)
    return columns * np.sign(columns[largest, np.arange(columns.shape[1])])


def _median_distance(squared: np.ndarray) -> float:
    apart = squared[np.triu_indices(len(squared), 1)]
    median = float(np.sqrt(np.median(apart)))
    return median if median > 0 else float(np.sqrt(apart.mean())) or 1.0
