"""What a row's features are to a scorer: brought to one scale, set beside their list, turned so that decay is fair.

    global      mean 0 and standard deviation 1 over all training rows, judged or not
    list        then also within each list, training or new: what counts is how a row stands in its own list
    quantiles   global, and for each feature a second column: which part of its whole list the row stands above, by
                this feature. The unjudged rows give a judged one its place. These columns count `QUANTILE_WEIGHT`.

With list and quantiles a row's score depends on the other rows of its list, so give `predict` whole lists with their
`qid`. A feature that is constant in a list says nothing about its order and is 0 there.

Decay makes all columns equally dear, but columns that say the same share one price, so a direction in which all rows
differ much is cheap. `decorrelation` makes it dearer: C = U diag(v) U' is the covariance of the columns within lists,
over all rows, and weights w cost w' C^power w in place of |w|^2. For that X is turned to X U diag(v)^(-power / 2), and
plain decay does the rest. Power 0 changes nothing, 1 is whitening.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

SCALES = ("global", "list", "quantiles")
QUANTILE_WEIGHT = 0.5  # decay then prefers a feature to its quantiles where both say the same
LEAST_SPREAD = 0.01  # of a direction, against the mean over directions: rows hardly differ in it, by chance alone


def scale_lists(X: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """X with mean 0 and standard deviation 1 within each list; `lists` holds the list of each row, in any order.

    >>> scale_lists(np.array([[1.0], [5.0], [3.0], [5.0]]), np.array([7, 2, 7, 2])).ravel().tolist()
    [-1.0, 0.0, 1.0, 0.0]
    """
    code, centred = _centre(X, lists)
    spread = np.zeros((code.max() + 1, X.shape[1]))
    np.add.at(spread, code, centred**2)
    spread = np.sqrt(spread / np.bincount(code)[:, None])
    return np.where(spread[code] > 1e-9, centred / np.where(spread > 1e-9, spread, 1.0)[code], 0.0)


def list_quantiles(X: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Each feature's quantile within the list, from -sqrt(3) to sqrt(3): about mean 0 and standard deviation 1.

    >>> list_quantiles(np.array([[1.0], [5.0], [900.0], [5.0]]), np.array([7, 2, 7, 2])).round(2).ravel().tolist()
    [-0.87, 0.0, 0.87, 0.0]
    """
    _, code, counts = np.unique(lists, return_inverse=True, return_counts=True)
    order = np.argsort(code, kind="stable")
    found = np.empty_like(X)
    for rows in np.split(order, np.cumsum(counts)[:-1]):
        found[rows] = (rankdata(X[rows], axis=0) - (len(rows) + 1) / 2) * (np.sqrt(12) / len(rows))
    return found


def to_columns(X: np.ndarray, lists: np.ndarray, scale: str) -> np.ndarray:
    """The columns of a scale from features of mean 0 and standard deviation 1."""
    if scale == "list":
        return scale_lists(X, lists)
    return np.hstack([X, QUANTILE_WEIGHT * list_quantiles(X, lists)]) if scale == "quantiles" else X


def decorrelation(X: np.ndarray, lists: np.ndarray, power: float) -> np.ndarray:
    """T (n_columns, n_columns) such that decay of the weights of X @ T is decay in the metric C^power.

    >>> X, lists = np.array([[3.0, 0], [-3, 0], [0, 1], [0, -1]]), np.zeros(4, int)
    >>> turned = X @ decorrelation(X, lists, 1.0)
    >>> (abs(turned.T @ turned) / 4).round(1).tolist()   # alike in all directions, but for the least spread
    [[2.4, 0.0], [0.0, 2.5]]
    """
    if power == 0:
        return np.eye(X.shape[1])
    _, centred = _centre(X, lists)
    values, directions = np.linalg.eigh(centred.T @ centred / len(X))
    if values[-1] <= 0:  # no two rows of a list differ
        return np.eye(X.shape[1])
    price = (np.maximum(values, 0) / values.mean() + LEAST_SPREAD) ** power
    return directions * np.sqrt(price.mean() / price)


def _centre(X: np.ndarray, lists: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number from 0 of each row's list, and X without the means of lists."""
    _, code, counts = np.unique(lists, return_inverse=True, return_counts=True)
    mean = np.zeros((len(counts), X.shape[1]))
    np.add.at(mean, code, X)
    return code, X - (mean / counts[:, None])[code]
