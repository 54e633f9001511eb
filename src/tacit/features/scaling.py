"""Columns brought to one scale, by named rules; a column that does not vary becomes 0 or keeps its values."""

from __future__ import annotations

import numpy as np

# A standard deviation below this share of the column's largest value (or of 1) is rounding.
LEAST_DEVIATION = 1e-12


def deviations(X: np.ndarray) -> np.ndarray:
    """Standard deviation of each column; 0 where it is no more than rounding.

    >>> deviations(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [1.0, 0.0]
    """
    found = X.std(axis=0)
    return np.where(found > LEAST_DEVIATION * np.maximum(1, np.abs(X).max(axis=0)), found, 0.0)


def spreads(X: np.ndarray, least: float = LEAST_DEVIATION) -> np.ndarray:
    """Standard deviation of each column; 1 where it is not above `least`, so that a constant column stays as it is.

    >>> spreads(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [1.0, 1.0]
    """
    found = X.std(axis=0)
    return np.where(found > least, found, 1.0)


def standardize(X: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """(X - mean) / deviation; columns of deviation 0 are 0.

    >>> standardize(np.array([[1.0, 5.0], [3.0, 6.0]]), np.array([2.0, 5.0]), np.array([1.0, 0.0])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    return (X - mean) / np.where(deviation > 0, deviation, np.inf)
