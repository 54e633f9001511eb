"""Features on one scale: over all rows, or within each list.

    global   mean 0 and standard deviation 1 over all training rows, judged or not
    list     then also within each list, training or new: what counts is how a row stands in its own list. A row's
             score then depends on the other rows of its list, so give `predict` whole lists with their `qid`.

A feature that is constant in a list says nothing about its order and becomes 0 there.
"""

from __future__ import annotations

import numpy as np

SCALES = ("global", "list")


def scale_lists(X: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """X with mean 0 and standard deviation 1 within each list; `lists` holds the list of each row, in any order.

    >>> scale_lists(np.array([[1.0], [5.0], [3.0], [5.0]]), np.array([7, 2, 7, 2])).ravel().tolist()
    [-1.0, 0.0, 1.0, 0.0]
    """
    _, code, counts = np.unique(lists, return_inverse=True, return_counts=True)
    mean = np.zeros((len(counts), X.shape[1]))
    np.add.at(mean, code, X)
    mean /= counts[:, None]
    centred = X - mean[code]
    spread = np.zeros_like(mean)
    np.add.at(spread, code, centred**2)
    spread = np.sqrt(spread / counts[:, None])
    return np.where(spread[code] > 1e-9, centred / np.where(spread > 1e-9, spread, 1.0)[code], 0.0)
