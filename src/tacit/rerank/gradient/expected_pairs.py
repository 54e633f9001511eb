"""Expected pairs: judged rows against unjudged rows of the same list, weighted by probabilities of grades.

Let p_g be the expected share of grade g in the list (`grade_shares`). A row of grade h is better than an unjudged row
with probability sum of p_g over g < h, and worse with the sum over g > h. The loss is the weighted mean

    sum over judged i and unjudged j of one list of
    P(y_j < y_i) log(1 + exp(s_j - s_i)) + P(y_j > y_i) log(1 + exp(s_i - s_j))

It is the risk over all pairs with the unknown grades integrated out, as in learning from positive and unlabelled data
(Sakai, Niu and Sugiyama 2018 do so for AUC). A list whose judged rows all have one grade has no graded pair, but has
expected pairs. The cost is linear in the rows of a list for a fixed number of judged rows.

The shares of grades of a list are drawn from a Dirichlet distribution around the shares p over all lists, so that n_g
rows of grade g among n judged rows have the posterior mean

    (n_g + k p_g) / (n + k)

k is the concentration of the prior, chosen by maximum likelihood of the judged grades of all lists under the
Dirichlet-multinomial distribution.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from tacit.rerank.rows import MOST_PAIRS, Pairs, Rows, draw_pairs, no_pairs

LEAST_K, MOST_K = 0.1, 1e4  # range of k: below it each list has its own shares, above it all lists are alike


def grade_shares(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the grades of judged rows in ascending order, and the expected share of each in each list.

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
    """Return k with the highest likelihood for counts (n_lists, n_grades), given the overall shares (n_grades,)."""
    found = minimize_scalar(
        lambda log_k: -log_likelihood(counts, overall, np.exp(log_k)),
        bounds=(np.log(LEAST_K), np.log(MOST_K)),
        method="bounded",
    )
    return float(np.exp(found.x))


def log_likelihood(counts: np.ndarray, overall: np.ndarray, k: float) -> float:
    """Return the log likelihood of the judged grades of all lists in their order, under Dirichlet(k overall)."""
    n = counts.sum(axis=1)
    lists = gammaln(k) - gammaln(n + k)
    grades = gammaln(counts + k * overall) - gammaln(k * overall)
    return float(lists.sum() + grades.sum())


def expected_pairs(rows: Rows, most: int = MOST_PAIRS) -> Pairs:
    """Return all pairs of a judged and an unjudged row of one list, in both orders, weighted by their probability.

    For a list with more than `most` pairs, a random sample (`draw_pairs`).

    >>> rows = Rows(np.zeros((3, 1)), np.array([1, np.nan, 0]), np.array([0, 3]), np.arange(3))
    >>> expected_pairs(rows)
    Pairs(better=array([0, 1]), worse=array([1, 2]), weight=array([0.5, 0.5]))
    """
    grades, shares = grade_shares(rows)
    if not len(grades):
        return no_pairs()
    below = np.hstack([np.zeros((rows.n_lists, 1)), np.cumsum(shares, axis=1)])
    level = np.searchsorted(grades, np.nan_to_num(rows.y))
    found = [no_pairs()]
    for number, (start, stop) in enumerate(pairwise(rows.starts.tolist())):
        unjudged = np.isnan(rows.y[start:stop])
        known, unknown = np.flatnonzero(~unjudged) + start, np.flatnonzero(unjudged) + start
        picks, weight = draw_pairs(len(known) * len(unknown), most)
        judged, other = known[picks // max(1, len(unknown))], unknown[picks % max(1, len(unknown))]
        chance_above, chance_below = below[number, level[judged]], 1 - below[number, level[judged] + 1]
        found.append(_likely(judged, other, chance_above, weight))
        found.append(_likely(other, judged, chance_below, weight))
    return Pairs(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _likely(better: np.ndarray, worse: np.ndarray, chance: np.ndarray, weight: float) -> Pairs:
    """Return the pairs with a positive probability; rounding gives the highest grade 0 probability of a better one."""
    kept = chance > 1e-12
    return Pairs(better[kept], worse[kept], weight * chance[kept])
