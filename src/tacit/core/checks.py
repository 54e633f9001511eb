"""Checks of parameters and features. Compiled loops do not check bounds, so all input is checked before."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from tacit.core.errors import NotFittedError, TacitError, UsageError, plural

Features: TypeAlias = "sp.csr_array | np.ndarray"


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    whole: bool = False,
    open_low: bool = False,
) -> Any:
    """Return a parameter if it is a finite number within bounds, else raise UsageError.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value to check.
    low, high : float
        Bounds, both included.
    whole : bool, default=False
        Ask for an integer.
    open_low : bool, default=False
        Exclude the lower bound.

    Examples
    --------
    >>> check_number("dim", 0, low=1, whole=True)
    Traceback (most recent call last):
    tacit.core.errors.UsageError: dim is 0, want a whole number >= 1
    """
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    good = isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)
    if good and low <= value <= high and not (open_low and value == low):
        return value
    wanted = "a whole number" if whole else "a number"
    if low > -math.inf:
        wanted += f" {'>' if open_low else '>='} {low:g}"
    if high < math.inf:
        wanted += f" and <= {high:g}" if low > -math.inf else f" <= {high:g}"
    raise UsageError(f"{name} is {value!r}, want {wanted}")


def check_numbers(owner: object, *names: str, optional: bool = False, **limits: Any) -> None:
    """Check several parameters of an estimator by the same limits; see `check_number`.

    Parameters
    ----------
    owner : object
        Estimator that has the parameters as attributes.
    *names : str
        Names of the parameters.
    optional : bool, default=False
        Whether None is permitted.
    **limits
        Limits as of `check_number`.
    """
    for name in names:
        value = getattr(owner, name)
        if value is not None or not optional:
            check_number(name, value, **limits)


def check_choice(name: str, value: Any, choices: Any) -> Any:
    """Return the value if it is one of the choices, else raise UsageError that names the nearest one."""
    if value in choices:
        return value
    import difflib

    near = difflib.get_close_matches(str(value), [str(choice) for choice in choices], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{name} is {value!r}, want one of {', '.join(map(str, choices))}{hint}")


def check_features(name: str, features: Any, *, n_columns: int | None = None) -> Features:
    """Return features as float32: CSR with sorted rows, or dense and C-contiguous.

    Parameters
    ----------
    name : str
        Name for messages.
    features : sparse matrix or array-like of shape (n_rows, n_columns)
        Features without NaN and infinity.
    n_columns : int, default=None
        Number of columns wanted.
    """
    if sp.issparse(features):
        matrix = sp.csr_array(features, dtype=np.float32)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # the constructor above shares the caller's arrays
            matrix.sum_duplicates()
        values = matrix.data
    else:
        matrix = values = np.ascontiguousarray(features, dtype=np.float32)
    if matrix.ndim != 2:
        raise TacitError(f"{name} has {matrix.ndim} dimensions, want 2 (rows by features)")
    if n_columns is not None and matrix.shape[1] != n_columns:
        raise TacitError(f"{name} has {plural(matrix.shape[1], 'feature')}, want {n_columns} as in fit")
    if not np.isfinite(values).all():
        raise TacitError(f"{name} holds NaN or infinity in row {_first_bad_row(matrix)}")
    return matrix


def check_fitted(estimator: object, *names: str) -> None:
    """Raise unless every fitted attribute is there."""
    if not all(hasattr(estimator, name) for name in names):
        raise NotFittedError(f"{type(estimator).__name__} is not fitted yet: call fit first")


def _first_bad_row(matrix: Features) -> int:
    if isinstance(matrix, np.ndarray):
        return int(np.nonzero(~np.isfinite(matrix).all(axis=1))[0][0])
    entry = np.nonzero(~np.isfinite(matrix.data))[0][0]
    return int(np.searchsorted(matrix.indptr, entry, side="right") - 1)
