"""Combines the scores of two stages, and chooses the weight of the second.

Let s be the scores of the first stage and r the scores of the second, both over the items of a list:

    score = s + share * sd(s) * (r - mean(r)) / sd(r)

`share` is chosen by average precision on lists that neither stage was fitted on: the smallest that is at most one
standard error below the best. Unless the best gains more than two standard errors over the first stage, share is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.features.scaling import deviations, standardize

SHARES = (0.0, 0.5, 1.0, 2.0, 4.0)
SURE = 2.0  # standard errors that the second stage must gain


class FirstAnswers(NamedTuple):
    """First results of one query: items, scores of the first stage, features; in training also grades (NaN: none)."""

    items: np.ndarray
    scores: np.ndarray
    X: np.ndarray
    grades: np.ndarray = np.empty(0)
    query: int = -1


def standardized(values: np.ndarray) -> np.ndarray:
    """Return values with mean 0 and standard deviation 1; zeros if all are equal."""
    return standardize(values, values.mean(), deviations(values))


def sure_share(values: np.ndarray) -> float:
    """Choose the share from values by query and share: 0 unless the best one gains significantly.

    >>> sure, unsure = np.arange(5.0) + np.arange(3.0)[:, None], np.array([[0.0, 0, 1, 0, 0], [0, 0, -0.9, 0, 0]])
    >>> sure_share(sure), sure_share(unsure)
    (4.0, 0.0)
    """
    best = int(np.argmax(values.mean(axis=0)))
    gains, losses = values[:, best] - values[:, 0], values[:, [best]] - values
    scale = np.sqrt(len(values))
    if gains.mean() <= SURE * gains.std(ddof=1) / scale:
        return 0.0
    near = losses.mean(axis=0) <= losses.std(axis=0, ddof=1) / scale
    return next(share for share, good in zip(SHARES[1:], near[1:], strict=True) if good)


def joined_scores(first: np.ndarray, second: np.ndarray, share: float) -> np.ndarray:
    """Return the combined scores of both stages; `second` is standardized."""
    joined: np.ndarray = first + share * first.std() * second
    return joined
