"""Checks of parameters and features. Compiled loops do not check bounds, so all input is checked first."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from tacit.core.errors import NotFittedError, TacitError, UsageError, plural

MOST_SHOWN = 200  # characters of a wrong value shown in an error

Features: TypeAlias = sp.csr_array | np.ndarray


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    whole: bool = False,
    open_low: bool = False,
) -> Any:
    """Return a parameter if it is a finite number within bounds, otherwise raise UsageError.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value to check.
    low, high : float
        Bounds, both included.
    whole : bool, default=False
        Require an integer.
    open_low : bool, default=False
        Exclude the lower bound.

    Examples
    --------
    >>> check_number("dim", 0, low=1, whole=True)
    Traceback (most recent call last):
    tacit.core.errors.UsageError: dim is 0, want a whole number >= 1
    """
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    good = isinstance(value, kinds) and not isinstance(value, bool)
    good = good and (isinstance(value, int) or math.isfinite(value))
    if good and low <= value <= high and not (open_low and value == low):
        return value
    wanted = "a whole number" if whole else "a number"
    if low > -math.inf:
        wanted += f" {'>' if open_low else '>='} {low:g}"
    if high < math.inf:
        wanted += f" and <= {high:g}" if low > -math.inf else f" <= {high:g}"
    raise UsageError(f"{name} is {shown(value)}, want {wanted}")


def shown(value: Any) -> str:
    """Return the value as one line of text."""
    if isinstance(value, int) and value.bit_length() > 1024:  # Python refuses to format very long integers
        return f"a whole number of {value.bit_length()} bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def check_kind(name: str, value: Any, kinds: Any, wanted: str) -> Any:
    """Return a value if it has one of the types, otherwise raise UsageError.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value to check.
    kinds : type, tuple of types or union
        Types, as for `isinstance`. A bool is accepted as an integer only if bool is listed.
    wanted : str
        Description of the types, for the message.

    Examples
    --------
    >>> check_kind("stem", "yes", bool | None, "True, False or None")
    Traceback (most recent call last):
    tacit.core.errors.UsageError: stem is 'yes', want True, False or None
    """
    if isinstance(value, kinds):
        return value
    raise UsageError(f"{name} is {shown(value)}, want {wanted}")


def check_list(name: str, values: Any, wanted: str) -> list[Any]:
    """Return the values as a list. Raise UsageError if they are not a list of values, for example a string."""
    try:
        if not isinstance(values, str | bytes):
            return list(values)
    except TypeError:
        pass
    raise UsageError(f"{name} is {shown(values)}, want {wanted}")


def check_array(name: str, values: Any, wanted: str = "numbers") -> np.ndarray:
    """Return the values as an array of float64. Raise UsageError if they are not numbers in rows of equal length.

    >>> check_array("p_values", ["small"])
    Traceback (most recent call last):
    tacit.core.errors.UsageError: p_values is ['small'], want numbers
    """
    try:
        if not sp.issparse(values):
            return np.asarray(values, np.float64)
    except (OverflowError, TypeError, ValueError):
        pass
    raise UsageError(f"{name} is {shown(values)}, want {wanted}")


def check_path(value: Any, name: str = "path") -> str:
    """Return the path as text. Raise UsageError if it cannot be a file name."""
    if isinstance(value, str | os.PathLike) and isinstance(text := os.fspath(value), str):
        with suppress(UnicodeEncodeError):  # a lone surrogate
            if b"\0" not in os.fsencode(text):
                return text
    raise UsageError(f"{name} is {shown(value)}, want the name of a file or folder")


# Bounds of parameters shared by all methods. Random generators, thread pools and arrays accept no other values.
_SIZES = {
    "seed": (0, 2**63 - 1),
    "threads": (1, 10_000),
    "dim": (0, 1_000_000),
    "n_hidden": (0, 1_000_000),
    "n_buckets": (1, 2**31 - 1),
}


def check_sizes(owner: object) -> None:
    """Raise UsageError if the seed, number of threads or number of dimensions is out of bounds.

    Parameters
    ----------
    owner : object
        Estimator with the parameters as attributes. Values that are not integers are left to its own checks.
    """
    for name in _SIZES:
        check_size(name, getattr(owner, name, None))


def check_size(name: str, value: Any) -> None:
    """Raise UsageError if a parameter has the name of a size and is out of its bounds; see `check_sizes`."""
    low, high = _SIZES.get(name, (0, 0))
    if name in _SIZES and isinstance(value, int) and not low <= value <= high:
        raise UsageError(f"{name} is {shown(value)}, want a whole number from {low} to {high}")


def check_numbers(owner: object, *names: str, optional: bool = False, **limits: Any) -> None:
    """Check several parameters of an estimator against the same limits; see `check_number`.

    Parameters
    ----------
    owner : object
        Estimator with the parameters as attributes.
    *names : str
        Names of the parameters.
    optional : bool, default=False
        Whether None is allowed.
    **limits
        Limits as in `check_number`.
    """
    for name in names:
        value = getattr(owner, name)
        if value is not None or not optional:
            check_number(name, value, **limits)


def check_choice(name: str, value: Any, choices: Any) -> Any:
    """Return the value if it is one of the choices, otherwise raise UsageError and suggest the closest choice."""
    with suppress(TypeError):  # a tuple that contains a list is Hashable by type, but hashing it fails
        if isinstance(value, Hashable) and value in choices:
            return value
    import difflib

    near = difflib.get_close_matches(shown(value).strip("'"), [str(choice) for choice in choices], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{name} is {shown(value)}, want one of {', '.join(map(str, choices))}{hint}")


def check_features(name: str, features: Any, *, n_columns: int | None = None) -> Features:
    """Return features as float32: CSR with sorted rows, or dense and C-contiguous.

    Parameters
    ----------
    name : str
        Name for messages.
    features : sparse matrix or array-like of shape (n_rows, n_columns)
        Features without NaN and infinity.
    n_columns : int, default=None
        Required number of columns.
    """
    if sp.issparse(features):
        checked = isinstance(features, sp.csr_array) and features.dtype == np.float32
        matrix = features if checked else sp.csr_array(features, dtype=np.float32)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # the constructor above shares the caller's arrays
            matrix.sum_duplicates()
        values = matrix.data
    else:
        try:
            matrix = values = np.ascontiguousarray(features, dtype=np.float32)
        except (OverflowError, TypeError, ValueError):
            raise UsageError(f"{name} is {shown(features)}, want rows of numbers") from None
    if matrix.ndim != 2:
        raise TacitError(f"{name} has {matrix.ndim} dimensions, want 2 (rows by features)")
    if n_columns is not None and matrix.shape[1] != n_columns:
        raise TacitError(f"{name} has {plural(matrix.shape[1], 'feature')}, want {n_columns} as in fit")
    if not np.isfinite(values).all():
        raise TacitError(f"{name} contains NaN or infinity in row {_first_bad_row(matrix)}")
    return matrix


def check_fitted(estimator: object, *names: str) -> None:
    """Raise NotFittedError unless the estimator has all these attributes."""
    if not all(hasattr(estimator, name) for name in names):
        raise NotFittedError(f"{type(estimator).__name__} is not fitted yet: call fit first")


def _first_bad_row(matrix: Features) -> int:
    if isinstance(matrix, np.ndarray):
        return int(np.nonzero(~np.isfinite(matrix).all(axis=1))[0][0])
    entry = np.nonzero(~np.isfinite(matrix.data))[0][0]
    return int(np.searchsorted(matrix.indptr, entry, side="right") - 1)
