"""Truncated singular value decomposition by random projection (Halko, Martinsson and Tropp 2011).

The result has the bits of `sklearn.utils.extmath.randomized_svd`, which takes a second to import. Products of a sparse
matrix are compiled (`kernels.rows`) and keep the order of sums of scipy.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from tacit.core import Features
from tacit.kernels.rows import add_dense_products, add_transposed_products

OVERSAMPLED = 10  # further random directions


def randomized_svd(
    items: Features, n_components: int, n_iter: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest singular values and their right singular vectors (n_components, n_columns).

    Parameters
    ----------
    items : array or csr_array of shape (n_rows, n_columns), float32
        Matrix.
    n_components : int
        Number of singular values.
    n_iter : int
        Number of power iterations.
    random : RandomState
        Source of the random directions.
    """
    wide = items.shape[0] < items.shape[1]
    found = random.normal(size=(items.shape[0 if wide else 1], n_components + OVERSAMPLED))
    directions = found.astype(np.float32) if items.dtype == np.float32 else found
    for _ in range(n_iter):
        directions = _normal(product(items, directions, turned=wide), n_iter)
        directions = _normal(product(items, directions, turned=not wide), n_iter)
    basis, _ = scipy.linalg.qr(product(items, directions, turned=wide), mode="economic", check_finite=False)
    if sp.issparse(items):
        small = product(items, basis, turned=not wide).T
    else:
        small = basis.T @ (items.T if wide else items)
    left, values, right = scipy.linalg.svd(small, full_matrices=False, lapack_driver="gesdd")
    turned = (basis @ left).T
    ours, theirs = (turned, right) if wide else (right, turned)
    largest = np.abs(theirs).argmax(axis=1)
    vectors = ours * np.sign(theirs[np.arange(len(theirs)), largest])[:, None]
    return values[:n_components], vectors[:n_components]


def _normal(directions: np.ndarray, n_iter: int) -> np.ndarray:
    """Return directions that do not collapse in further iterations; a few do no harm."""
    if n_iter <= 2:
        return directions
    lower: np.ndarray = scipy.linalg.lu(directions, permute_l=True, check_finite=False)[0]
    return lower


def product(items: Features, directions: np.ndarray, *, turned: bool) -> np.ndarray:
    """Return items @ directions, or items' @ directions if `turned`."""
    if not sp.issparse(items):
        found: np.ndarray = (items.T if turned else items) @ directions
        return found
    rows: sp.csr_array = items
    out = np.zeros((rows.shape[1 if turned else 0], directions.shape[1]), np.result_type(rows, directions))
    add = add_transposed_products if turned else add_dense_products
    add(rows.indptr, rows.indices, rows.data, np.ascontiguousarray(directions), out)
    return out
