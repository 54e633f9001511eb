"""Input checks of rankers of lists: grades, lists of rows, sizes of values, memory.

Each error is one line with the value found and the value wanted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tacit.core import DivergedError, TacitError, check_array

# Squares of larger values, and products of their sums, would overflow.
LARGEST_VALUE = 1e50


def check_grades(y: Any, n_rows: int) -> np.ndarray:
    """Grades as float64, one for each row; infinity is refused."""
    array = check_array("y", y, "a grade, -1 or NaN for each row")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n_rows,):
        raise TacitError(f"y has shape {array.shape}, want ({n_rows},): inconsistent numbers of rows in X and y")
    if np.isinf(array).any():
        raise TacitError(f"y is infinite in row {int(np.argmax(np.isinf(array)))}, want grades, -1 or NaN")
    return array


def check_qid(qid: Any, n_rows: int) -> np.ndarray:
    """Return the list of each row: numbers or strings, none missing; None means that all rows are one list.

    >>> check_qid([1, None], 2)
    Traceback (most recent call last):
    tacit.core.errors.TacitError: qid is None in row 1, want a number or a string for each row
    """
    if qid is None:
        return np.zeros(n_rows, np.int64)
    array = np.asarray(qid, object if isinstance(qid, list | tuple) else None)
    if array.shape != (n_rows,):
        raise TacitError(f"qid has shape {array.shape}, want ({n_rows},): the list of each row")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise TacitError(f"qid is NaN in row {int(np.argmax(np.isnan(array)))}, want a number or a string for each row")
    if array.dtype != object:
        return array
    kinds = [_kind(value) for value in array]
    for row, kind in enumerate(kinds):
        if kind == "":
            raise TacitError(f"qid is {array[row]!r} in row {row}, want a number or a string for each row")
        if kind != kinds[0]:
            raise TacitError(f"qid is a {kinds[0]} in row 0 and a {kind} in row {row}, want one type for all rows")
    return np.array(array.tolist())


def list_weights(sample_weight: Any, qid: np.ndarray) -> np.ndarray:
    """Return the mean of the rows' weights for each list, in the order of `np.unique(qid)`.

    >>> list_weights([1, 3, 5], np.array([7, 7, 2])).tolist()
    [5.0, 2.0]
    """
    weights = check_array("sample_weight", sample_weight)
    if weights.shape != qid.shape or not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
        raise TacitError(f"sample_weight wants {len(qid)} finite numbers >= 0, one for each row, and one above 0")
    _, code, counts = np.unique(qid, return_inverse=True, return_counts=True)
    return np.bincount(code, weights) / counts


def _kind(value: Any) -> str:
    """Return "number" or "text"; an empty string for values that cannot name a list, such as NaN and None."""
    if isinstance(value, str):
        return "text"
    is_number = isinstance(value, int | float | np.number | np.bool_)
    return "number" if is_number and value == value else ""


def check_size(X: np.ndarray) -> None:
    """Raise if a value is so large that sums of squares overflow."""
    if X.size and max(float(np.fmax.reduce(X, axis=None)), -float(np.fmin.reduce(X, axis=None))) > LARGEST_VALUE:
        row, feature = np.unravel_index(int(np.nanargmax(np.abs(X))), X.shape)
        raise TacitError(
            f"X is {X[row, feature]:g} in row {row}, feature {feature}; want values of at most {LARGEST_VALUE:g} "
            "in size, squares of larger ones overflow"
        )


def check_memory(what: str, n_bytes: float) -> None:
    """Raise if more memory is needed than the machine has.

    >>> check_memory("a table", 1e15)
    Traceback (most recent call last):
    tacit.core.errors.TacitError: a table would need about 1,000,000.0 GB of memory, there are ...
    """
    total = memory_size()
    if n_bytes > total:
        raise TacitError(f"{what} would need about {n_bytes / 1e9:,.1f} GB of memory, there are {total / 1e9:,.1f} GB")


def memory_size() -> int:
    """Return the bytes of memory of the machine; unlimited if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 62


@contextmanager
def numeric_errors_in_one_line(what: str, shape: tuple[int, ...]) -> Iterator[None]:
    """Turn overflow, singular matrices and lack of memory into one line; `what` works on rows of this shape."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        raise TacitError(
            f"{what} runs out of memory on {shape[0]} rows of {shape[1]} features{reason}; want fewer of them"
        ) from None
    except np.linalg.LinAlgError as error:
        raise DivergedError(f"{what}: {error}; want features of similar sizes") from None
