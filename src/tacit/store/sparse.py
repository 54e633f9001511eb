"""Sparse matrices as four arrays: `data`, `indices`, `indptr` (the CSR form) and `shape`.

Row i has the columns `indices[indptr[i]:indptr[i + 1]]`, rising, with the values at the same places in
`data`. Compiled loops trust every one of these numbers, so all are checked on the way in and out.

A large matrix is stored by columns too (the same four arrays of its transpose, below "by_column"), since a search
reads postings of words and sorting the entries would take seconds at every start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import StoreError, TacitError
from tacit.store.parts import BLOCK, is_finite, take_array, with_prefix
from tacit.store.stored import DTYPES

BY_COLUMN_FROM = 10_000_000  # entries


class StoredRows(sp.csr_array):  # type: ignore[misc]
    """A sparse matrix from a model. Where its columns are stored too, `tocsc` returns them without sorting."""

    by_column: sp.csc_array | None = None

    def tocsc(self, copy: bool = False) -> sp.csc_array:
        """The matrix by columns."""
        return super().tocsc(copy) if copy or self.by_column is None else self.by_column


def pack_csr(prefix: str, matrix: Any) -> dict[str, np.ndarray]:
    """Arrays of a sparse matrix of any form; rows are sorted and repeated entries added up first.

    >>> arrays = pack_csr("tfidf", sp.csr_array(np.eye(2)))
    >>> sorted(arrays), unpack_csr("tfidf", arrays).toarray().tolist()
    (['tfidf/data', 'tfidf/indices', 'tfidf/indptr', 'tfidf/shape'], [[1.0, 0.0], [0.0, 1.0]])
    """
    if not sp.issparse(matrix) or matrix.ndim != 2:
        raise TacitError(f"{prefix} is of type {type(matrix).__name__}, want a sparse matrix with two dimensions")
    rows = sp.csr_array(matrix)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the constructor above shares the caller's arrays
        rows.sum_duplicates()
    parts = _plain_parts(rows) | {"shape": np.array(rows.shape, np.int64)}
    fault = _csr_fault(*parts.values())
    if fault:
        raise TacitError(f"{prefix}: {fault}")
    if rows.nnz >= BY_COLUMN_FROM:
        known = isinstance(matrix, StoredRows) and matrix.by_column is not None
        parts |= with_prefix("by_column", _plain_parts((matrix if known else rows).tocsc()))
    return with_prefix(prefix, parts)


def _plain_parts(matrix: Any) -> dict[str, np.ndarray]:
    """The three arrays of a CSR or CSC matrix, with indices of one type."""
    index_type = np.result_type(matrix.indices, matrix.indptr)
    indices, indptr = (part.astype(index_type, copy=False) for part in (matrix.indices, matrix.indptr))
    return {"data": matrix.data, "indices": indices, "indptr": indptr}


def unpack_csr(
    prefix: str,
    arrays: Mapping[str, np.ndarray],
    *,
    shape: tuple[int | None, int | None] = (None, None),
) -> sp.csr_array:
    """The sparse matrix below a prefix, without copying; StoreError unless it is sound (and of that shape)."""
    size = take_array(arrays, f"{prefix}/shape", dtype="int64", shape=(2,))
    parts = _take_parts(prefix, arrays, size)
    n_rows, n_columns = size.tolist()
    if shape[0] not in (None, n_rows) or shape[1] not in (None, n_columns):
        wanted = " x ".join("any" if length is None else str(length) for length in shape)
        raise StoreError(f"array '{prefix}' is {n_rows} x {n_columns}, want {wanted}")
    matrix = _filled(StoredRows, (n_rows, n_columns), parts)
    if f"{prefix}/by_column/data" in arrays:
        turned = _take_parts(f"{prefix}/by_column", arrays, size[::-1])
        if len(turned[0]) != len(parts[0]) or turned[0].dtype != parts[0].dtype:
            raise StoreError(f"array '{prefix}' has other entries by columns than by rows")
        matrix.by_column = _filled(sp.csc_array, (n_rows, n_columns), turned)
    return matrix


def _take_parts(prefix: str, arrays: Mapping[str, np.ndarray], shape: np.ndarray) -> tuple[np.ndarray, ...]:
    """Checked values, columns and row limits."""
    data = take_array(arrays, f"{prefix}/data", dtype=DTYPES, shape=(None,), finite=False)
    indices = take_array(arrays, f"{prefix}/indices", dtype=("int32", "int64"), shape=(None,))
    indptr = take_array(arrays, f"{prefix}/indptr", dtype=indices.dtype.name, shape=(None,))
    fault = _csr_fault(data, indices, indptr, shape)
    if fault:
        raise StoreError(f"array '{prefix}': {fault}")
    return data, indices, indptr


def _filled(kind: Any, shape: tuple[int, int], parts: tuple[np.ndarray, ...]) -> Any:
    """A matrix of these arrays. Set and not passed: the constructor copies small windows on a large file."""
    matrix = kind(shape, dtype=parts[0].dtype)
    matrix.data, matrix.indices, matrix.indptr = parts
    matrix.has_canonical_format = True  # checked before; without this every user of it would look again
    return matrix


def _csr_fault(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: np.ndarray) -> str | None:
    """What is wrong with a matrix, if anything. Neighbours are compared, never subtracted: no overflow."""
    n_rows, n_columns = shape.tolist()
    if n_rows < 0 or not 0 <= n_columns <= np.iinfo(indices.dtype).max:
        return f"a shape of {n_rows} x {n_columns} cannot be"
    if len(data) != len(indices):
        return f"{len(data)} values for {len(indices)} columns"
    if len(indptr) != n_rows + 1:
        return f"{len(indptr)} row limits, want {n_rows + 1}"
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        return f"row limits do not rise from 0 to {len(indices)}"
    for first in range(0, len(indices), BLOCK):
        block = indices[first : first + BLOCK]
        if block.min() < 0 or block.max() >= n_columns:
            return f"columns from {block.min()} to {block.max()}, want 0 to {n_columns - 1}"
    if not _rise_within_rows(indices, indptr):
        return "columns do not rise within a row"
    return None if is_finite(data) else "it holds NaN or infinity"


def _rise_within_rows(indices: np.ndarray, indptr: np.ndarray) -> bool:
    """Whether columns rise, except from the end of one row to the start of the next."""
    for first in range(0, len(indices) - 1, BLOCK):
        block = indices[first : first + BLOCK + 1]
        rises = block[1:] > block[:-1]
        if rises.all():
            continue
        low, high = np.searchsorted(indptr, (first + 1, first + len(block)))
        rises[indptr[low:high] - first - 1] = True
        if not rises.all():
            return False
    return True
