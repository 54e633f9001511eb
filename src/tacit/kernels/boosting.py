"""The loops of one boosting round over binned features, and sums of regression trees over rows.

A stump is h(d) = [code > cut] of one feature. codes is (n_features, n_rows); the cuts of feature f are 0 to
n_cuts[f] - 1. D is a distribution over pairs (better, worse). The potential of a row is

    pi(d) = sum of D over pairs in which d is better - sum of D over pairs in which it is worse,

so the margin of a stump, r = sum over pairs of D (h(better) - h(worse)), is the sum of pi over the rows where h is 1.
Every sum runs in a fixed order, so results have the same bits for any number of threads.

**Trees.** Nodes are numbered consecutively over all trees. A node with feature f and threshold t sends a row to `left`
if X[row, f] <= t, else to `right`. A negative child is the leaf ~child. A child node has a larger number than its
parent, so every walk ends. `missing` defines NaN: 0 treats it as the value 0, 1 goes left, 2 goes right.
"""

import numpy as np

from tacit.kernels.loops import njit

# Margins that differ by no more than rounding error count as equal; ties go to the first feature and the lowest cut.
TIE = 1e-12

# No pair's share falls so low that it could not recover; the largest is kept near 1.
LEAST_SHARE = 1e-290


@njit(cache=True, nogil=True)
def best_cuts(codes, n_cuts, potentials, first, stop, sums, cuts, margins):
    """cuts[f], margins[f]: the cut with the largest |r| and its r, for features first to stop; 0 without cuts.

    sums (n_features, most cuts + 1) is scratch: the potentials of each bin.
    """
    _sum_bins(codes, potentials, first, stop, sums)
    for f in range(first, stop):
        cuts[f], margins[f], margin = 0, 0.0, 0.0
        for cut in range(n_cuts[f] - 1, -1, -1):
            margin += sums[f, cut + 1]
            if abs(margin) >= abs(margins[f]) * (1 - TIE) and margin != 0:
                cuts[f], margins[f] = cut, margin


@njit(cache=True, nogil=True)
def _sum_bins(codes, potentials, first, stop, sums):
    """sums[f, c] = sum of potentials of the rows with code c, for features first to stop."""
    sums[first:stop] = 0.0
    n_rows, f = codes.shape[1], first
    while f + 4 <= stop:  # four at a time, so that one sum need not wait for another
        codes0, codes1, codes2, codes3 = codes[f], codes[f + 1], codes[f + 2], codes[f + 3]
        sums0, sums1, sums2, sums3 = sums[f], sums[f + 1], sums[f + 2], sums[f + 3]
        for d in range(n_rows):
            potential = potentials[d]
            sums0[codes0[d]] += potential
            sums1[codes1[d]] += potential
            sums2[codes2[d]] += potential
            sums3[codes3[d]] += potential
        f += 4
    for g in range(f, stop):
        for d in range(n_rows):
            sums[g, codes[g, d]] += potentials[d]


@njit(cache=True, nogil=True)
def graded_potentials(scores, level_starts, list_levels, potentials):
    """Potentials for D(i, j) proportional to exp(F_j - F_i), over all rows i of a higher grade than j in a list.

    Level v is rows level_starts[v] to level_starts[v + 1], of equal grade. List l is levels list_levels[l] to
    list_levels[l + 1], best grade first. Returns log of the sum of exp(F_j - F_i). Sums are kept as logarithms, so
    no score overflows: with a, b = the lowest, highest F of a level, exp(a - F_i) and exp(F_j - b) are at most 1.
    """
    n_levels = len(level_starts) - 1
    lowest, highest = np.empty(n_levels), np.empty(n_levels)
    above, below = np.full(n_levels, -np.inf), np.full(n_levels, -np.inf)
    falls = np.empty(len(scores))  # exp(a - F_i); potentials temporarily contains exp(F_j - b)
    log_pairs, largest = np.full(n_levels, -np.inf), -np.inf
    for l in range(len(list_levels) - 1):  # noqa: E741
        first, stop = list_levels[l], list_levels[l + 1]
        fallen = -np.inf  # log sum of exp(-F) over the levels above
        for v in range(first, stop):
            low, high = np.inf, -np.inf
            for d in range(level_starts[v], level_starts[v + 1]):
                low, high = min(low, scores[d]), max(high, scores[d])
            lowest[v], highest[v], above[v] = low, high, fallen
            total = 0.0
            if v < stop - 1:
                for d in range(level_starts[v], level_starts[v + 1]):
                    falls[d] = np.exp(low - scores[d])
                    total += falls[d]
                fallen = _log_add(fallen, np.log(total) - low)
        risen = -np.inf  # log sum of exp(F) over the levels below
        for v in range(stop - 1, first - 1, -1):
            below[v] = risen
            total = 0.0
            if v > first:
                for d in range(level_starts[v], level_starts[v + 1]):
                    potentials[d] = np.exp(scores[d] - highest[v])
                    total += potentials[d]
                rise = np.log(total) + highest[v]
                log_pairs[v] = rise + above[v]
                largest = max(largest, log_pairs[v])
                risen = _log_add(risen, rise)
    log_sum = largest + np.log(np.sum(np.exp(log_pairs - largest)))
    for l in range(len(list_levels) - 1):  # noqa: E741
        for v in range(list_levels[l], list_levels[l + 1]):
            gain, loss = np.exp(below[v] - lowest[v] - log_sum), np.exp(above[v] + highest[v] - log_sum)
            for d in range(level_starts[v], level_starts[v + 1]):
                won = falls[d] * gain if below[v] > -np.inf else 0.0
                lost = potentials[d] * loss if above[v] > -np.inf else 0.0
                potentials[d] = won - lost
    return log_sum


@njit(cache=True, nogil=True)
def _log_add(a, b):
    """log(exp(a) + exp(b)), where either may be -inf but not both."""
    return max(a, b) + np.log1p(np.exp(-abs(a - b)))


@njit(cache=True, nogil=True)
def step_pairs(better, worse, fires, weight, shares, potentials):
    """RankBoost's step, shares *= exp(-weight (h(better) - h(worse))), and the potentials of the new shares.

    Shares need not sum to 1: potentials use shares / sum. Returns the sum.
    """
    factors = np.array([np.exp(weight), 1.0, np.exp(-weight)])
    potentials[:] = 0.0
    total = 0.0
    for t in range(len(shares)):
        i, j = better[t], worse[t]
        share = max(shares[t] * factors[1 + fires[i] - fires[j]], LEAST_SHARE)
        shares[t] = share
        potentials[i] += share
        potentials[j] -= share
        total += share
    potentials /= total
    return total


@njit(cache=True, nogil=True)
def step_costly_pairs(better, worse, importance, fires, weight, shares, potentials):
    """AdaCost's step, shares *= exp(-c weight (h(better) - h(worse))); otherwise as `step_pairs`.

    c = 0.5 + 0.5 importance for a pair that this stump orders wrongly, 0.5 - 0.5 importance for one in the right
    order; importance is from 0 to 1. That is exp(-gap / 2) exp(importance |gap| / 2), gap = weight (h - h).
    """
    factors = np.array([np.exp(weight / 2), 1.0, np.exp(-weight / 2)])
    half = abs(weight) / 2
    potentials[:] = 0.0
    total = 0.0
    for t in range(len(shares)):
        i, j = better[t], worse[t]
        share = shares[t]
        if fires[i] != fires[j]:
            share = max(share * factors[1 + fires[i] - fires[j]] * np.exp(half * importance[t]), LEAST_SHARE)
            shares[t] = share
        potentials[i] += share
        potentials[j] -= share
        total += share
    potentials /= total
    return total


@njit(cache=True, nogil=True)
def add_stumps(X, features, thresholds, weights, scores):
    """scores[row] += weights of the stumps with X[row, feature] > threshold, in their order; false for NaN."""
    for row in range(len(X)):
        for t in range(len(features)):
            if X[row, features[t]] > thresholds[t]:
                scores[row] += weights[t]


@njit(cache=True, nogil=True)
def add_trees(X, roots, feature, threshold, missing, left, right, values, scores):
    """scores[row] += the values of the leaves that the row reaches, tree by tree."""
    for row in range(X.shape[0]):
        total = scores[row]
        for tree in range(roots.shape[0]):
            at = roots[tree]
            while at >= 0:
                value = X[row, feature[at]]
                if value != value and missing[at] > 0:
                    at = left[at] if missing[at] == 1 else right[at]
                else:
                    if value != value:
                        value = 0.0
                    at = left[at] if value <= threshold[at] else right[at]
            total += values[~at]
        scores[row] = total
