"""Probabilities of grades for unjudged rows of a list, from the judged rows of this list and of all others.

The shares of grades of a list are drawn from a Dirichlet distribution around the shares p over all lists, so that n_g
rows of grade g among n judged rows have the posterior mean

    (n_g + k p_g) / (n + k)

k is the concentration of the prior, chosen by maximum likelihood of the judged grades of all lists under the
Dirichlet-multinomial distribution.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from tacit.rerank.rows import Rows

LEAST, MOST = 0.1, 1e4  # of k: from here on, a list is its own, or like all others


def grade_shares(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The grades among judged rows, rising, and the expected share of each in each list, (n_lists, n_grades).

    >>> rows = Rows(np.zeros((4, 1)), np.array([0, 0, 2, np.nan]), np.array([0, 4]), np.arange(4))
    >>> grades, shares = grade_shares(rows)
    >>> grades.tolist(), shares.round(3).tolist()
    ([0.0, 2.0], [[0.667, 0.333]])
    """
    judged = ~np.isnan(rows.y)
    grades, level = np.unique(rows.y[judged], return_inverse=True)
    counts = np.zeros((rows.n_lists, len(grades)))
    np.add.at(counts, (rows.list_of[judged], level), 1.0)
    if not len(grades):
        return grades, counts
    overall = counts.sum(axis=0) / counts.sum()
    k = likeness(counts, overall)
    return grades, (counts + k * overall) / (counts.sum(axis=1, keepdims=True) + k)


def likeness(counts: np.ndarray, overall: np.ndarray) -> float:
    """k of the highest likelihood for counts (n_lists, n_grades) around the overall shares (n_grades,)."""
    found = minimize_scalar(
        lambda log_k: -log_likelihood(counts, overall, np.exp(log_k)),
        bounds=(np.log(LEAST), np.log(MOST)),
        method="bounded",
    )
    return float(np.exp(found.x))


def log_likelihood(counts: np.ndarray, overall: np.ndarray, k: float) -> float:
    """Of the judged grades of all lists in their order, under Dirichlet(k overall)."""
    n = counts.sum(axis=1)
    lists = gammaln(k) - gammaln(n + k)
    grades = gammaln(counts + k * overall) - gammaln(k * overall)
    return float(lists.sum() + grades.sum())
