"""Columns of a scorer: features scaled over all rows or within lists, and decorrelation of their L2 penalty.

Features are given with mean 0 and standard deviation 1 over all training rows, judged or not. Columns computed from
them:

    feature    the feature itself
    standard   scaled to mean 0 and standard deviation 1 within each list
    quantile   share of the rows of the list that are below the row, by this feature
    discount   1 / log2(1 + position) by this feature, then scaled as standard

The last three compare a row with all rows of its list, so `predict` needs complete lists with their `qid`. A feature
that is constant in a list is 0 there. A scale is a set of kinds of columns with weights; a smaller weight of a kind
means a larger L2 penalty of its columns.

L2 penalises the weights of all columns equally, so directions in which rows differ much, such as directions of
correlated columns, cost little. `decorrelation` changes this. Let C = U diag(v) U' be the covariance of the columns
within lists, over all rows; then the penalty of weights w is w' C^power w instead of |w|^2. X is transformed to
X U diag(v)^(-power / 2), and the usual penalty is applied to the new weights. Power 0 changes nothing, power 1 is
whitening.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tacit.core import check_choice
from tacit.rerank.input_checks import check_memory, check_size

LEAST_SPREAD = 0.01  # least variance of a direction, relative to the mean over directions


def centre_lists(X: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Return X minus the means of lists; `lists` contains the list of each row, in any order."""
    _, code, counts = np.unique(lists, return_inverse=True, return_counts=True)
    mean = np.zeros((len(counts), X.shape[1]))
    np.add.at(mean, code, X)
    return X - (mean / counts[:, None])[code]


def known_means(X: np.ndarray) -> np.ndarray:
    """Return the mean of the values of each feature that are not NaN; 0 if all are NaN."""
    known = ~np.isnan(X)
    values, counts = np.where(known, X, 0.0), np.maximum(known.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        means: np.ndarray = values.sum(axis=0) / counts
    return means if np.isfinite(means).all() else (values / counts).sum(axis=0)  # sums of 1e308 overflow


def fill_missing(X: np.ndarray, lists: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return X with NaN replaced by the mean of the list's known values, or else by `means` (n_features,).

    >>> X = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, 5.0]])
    >>> fill_missing(X, np.array([0, 0, 1]), np.array([2.0, 4.0])).tolist()
    [[1.0, 4.0], [1.0, 4.0], [3.0, 5.0]]
    """
    _, code = np.unique(lists, return_inverse=True)
    known = ~np.isnan(X)
    sums, counts = np.zeros((2, int(code.max(initial=0)) + 1, X.shape[1]))
    np.add.at(sums, code, np.where(known, X, 0.0))
    np.add.at(counts, code, known)
    filling = np.where(counts > 0, sums / np.maximum(counts, 1), means)
    return np.where(known, X, filling[code])


def scale_lists(X: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """X with mean 0 and standard deviation 1 within each list.

    >>> scale_lists(np.array([[1.0], [5.0], [3.0], [5.0]]), np.array([7, 2, 7, 2])).ravel().tolist()
    [-1.0, 0.0, 1.0, 0.0]
    """
    centred = centre_lists(X, lists)
    _, code, counts = np.unique(lists, return_inverse=True, return_counts=True)
    spread = np.zeros((len(counts), X.shape[1]))
    np.add.at(spread, code, centred**2)
    spread = np.sqrt(spread / counts[:, None])
    return np.where(spread[code] > 1e-9, centred / np.where(spread > 1e-9, spread, 1.0)[code], 0.0)


def minmax_lists(X: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """X scaled to the range 0 to 1 within each list; a feature that is constant in a list is 0 there.

    >>> minmax_lists(np.array([[1.0], [5.0], [3.0], [5.0]]), np.array([7, 2, 7, 2])).ravel().tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    _, code = np.unique(lists, return_inverse=True)
    low, high = np.full((2, int(code.max(initial=0)) + 1, X.shape[1]), np.inf)
    np.minimum.at(low, code, X)
    np.minimum.at(high, code, -X)
    width = -high - low
    return (X - low[code]) / np.where(width > 0, width, np.inf)[code]


def list_ranks(X: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Rank from 1, lowest first, of each row in its list by each feature; ties get their mean rank.

    >>> list_ranks(np.array([[1.0], [5.0], [900.0], [5.0]]), np.array([7, 2, 7, 2])).ravel().tolist()
    [1.0, 1.5, 2.0, 1.5]
    """
    _, code, counts = np.unique(lists, return_inverse=True, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ranks = np.empty(X.shape)
    for column in range(X.shape[1]):  # one sort for all lists, because most are short
        order = np.lexsort((X[:, column], code))
        values, owners = X[order, column], code[order]
        first = np.flatnonzero(np.r_[True, (values[1:] != values[:-1]) | (owners[1:] != owners[:-1])])
        lengths = np.diff(np.r_[first, len(order)])
        ranks[order, column] = np.repeat(first + (lengths + 1) / 2, lengths) - starts[owners]
    return ranks


def list_quantiles(X: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Return each feature's quantile within the list, from -sqrt(3) to sqrt(3): about mean 0 and standard deviation 1.

    >>> list_quantiles(np.array([[1.0], [5.0], [900.0], [5.0]]), np.array([7, 2, 7, 2])).round(2).ravel().tolist()
    [-0.87, 0.0, 0.87, 0.0]
    """
    n = list_lengths(lists)
    return (list_ranks(X, lists) - (n + 1) / 2) * (np.sqrt(12) / n)


def list_discounts(X: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Return discount of the position in the list by each feature (ties: mean position), scaled within the list.

    >>> list_discounts(np.array([[1.0], [5.0], [900.0], [5.0]]), np.array([7, 2, 7, 2])).round(2).ravel().tolist()
    [-1.0, 0.0, 1.0, 0.0]
    """
    position = list_lengths(lists) + 1 - list_ranks(X, lists)
    return scale_lists(1 / np.log2(1 + position), lists)


def list_lengths(lists: np.ndarray) -> np.ndarray:
    """Return number of rows of each row's list, (n_rows, 1)."""
    _, code, counts = np.unique(lists, return_inverse=True, return_counts=True)
    return counts[code][:, None]


LIST_SCALES = {"zscore": scale_lists, "minmax": minmax_lists}


def check_list_scale(scale: str | None) -> None:
    """Raise unless this is the name of a scale within lists, or None."""
    if scale is not None:
        check_choice("scale", scale, LIST_SCALES)


def scale_within_lists(X: np.ndarray, lists: np.ndarray, scale: str | None) -> np.ndarray:
    """Return X scaled within each list by the named rule in `LIST_SCALES`; None changes nothing, NaN stays NaN.

    >>> scale_within_lists(np.array([[1.0], [np.nan], [3.0]]), np.zeros(3, int), "zscore").ravel().tolist()
    [-1.0, nan, 1.0]
    """
    if scale is None:
        return X
    check_size(X)
    missing = np.isnan(X)
    if not missing.any():
        return LIST_SCALES[scale](X, lists)
    out = np.empty_like(X)
    for column in range(X.shape[1]):  # each column has its own known rows
        known = ~missing[:, column]
        out[known, column] = LIST_SCALES[scale](X[known, column, None], lists[known]).ravel()
    out[missing] = np.nan
    return out


Scale = Mapping[str, float]
KINDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "feature": lambda X, lists: X,
    "standard": scale_lists,
    "quantile": list_quantiles,
    "discount": list_discounts,
}


def to_columns(X: np.ndarray, lists: np.ndarray, scale: Scale) -> np.ndarray:
    """Return the columns of a scale, kind by kind, from features of mean 0 and standard deviation 1."""
    return np.hstack([weight * KINDS[kind](X, lists) for kind, weight in scale.items()])


def decorrelation(X: np.ndarray, lists: np.ndarray, power: float) -> np.ndarray:
    """Return T (n_columns, n_columns) such that the L2 penalty of weights of X @ T is the penalty w' C^power w.

    >>> X, lists = np.array([[3.0, 0], [-3, 0], [0, 1], [0, -1]]), np.zeros(4, int)
    >>> turned = X @ decorrelation(X, lists, 1.0)
    >>> (abs(turned.T @ turned) / 4).round(1).tolist()   # equal in all directions up to LEAST_SPREAD
    [[2.4, 0.0], [0.0, 2.5]]
    """
    check_memory(f"the covariance of {X.shape[1]} columns", 4 * 8 * X.shape[1] ** 2)
    centred = centre_lists(X, lists)
    values, directions = np.linalg.eigh(centred.T @ centred / len(X))
    if values[-1] <= 0:  # no two rows of a list differ
        return np.eye(X.shape[1])
    price = (np.maximum(values, 0) / values.mean() + LEAST_SPREAD) ** power
    return directions * np.sqrt(price.mean() / price)
