"""Scaling of columns by named rules; a constant column becomes 0 or keeps its values."""

from __future__ import annotations

import numpy as np

# A smaller standard deviation, relative to the column's largest value (or 1), is a rounding error.
LEAST_DEVIATION = 1e-12


def deviations(X: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column; 0 if it is only rounding error.

    >>> deviations(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [1.0, 0.0]
    """
    found = X.std(axis=0)
    return np.where(found > LEAST_DEVIATION * np.maximum(1, np.abs(X).max(axis=0)), found, 0.0)


def spreads(X: np.ndarray, least: float = LEAST_DEVIATION) -> np.ndarray:
    """Return the standard deviation of each column; 1 if it is not above `least`, so constant columns stay constant.

    >>> spreads(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [1.0, 1.0]
    """
    found = X.std(axis=0)
    return np.where(found > least, found, 1.0)


def standardize(X: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Return (X - mean) / deviation; columns of deviation 0 are 0.

    >>> standardize(np.array([[1.0, 5.0], [3.0, 6.0]]), np.array([2.0, 5.0]), np.array([1.0, 0.0])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    return (X - mean) / np.where(deviation > 0, deviation, np.inf)
