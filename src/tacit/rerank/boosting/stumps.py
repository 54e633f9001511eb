"""Rounds of boosting: in each, the best stump for the current distribution over pairs.

A round takes the stump h with the largest |r| and gives it the weight theta:

    r = sum over pairs of D (h(better) - h(worse)),   theta = 0.5 s ln((1 + r) / (1 - r)),   which may be negative.

where D is the weight of the pair and s the shrinkage: 1 in RankBoost; smaller steps need more rounds and fit less
closely.

Rounds end early if a stump orders every pair correctly (it would be chosen in all further rounds) or if r is 0 for all
stumps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.core import cut, map_blocks
from tacit.kernels import boosting
from tacit.rerank.boosting.bins import BinnedFeatures
from tacit.rerank.boosting.pairs import PairDistribution

# |r| = 1 would give an infinite weight; with this one the stump outvotes all others.
LARGEST_MARGIN = 1 - 1e-9

# A smaller margin is rounding error: no stump is better than chance.
LEAST_MARGIN = 1e-13

# Number of codes per thread from which a further thread is worth starting.
CELLS_AT_ONCE = 4_000_000


class Stumps(NamedTuple):
    """Stump t adds `weights[t]` to rows with X[row, features[t]] > thresholds[t]; int64, float64, float64.

    >>> stumps = Stumps(np.array([0, 1]), np.array([1.0, 0.5]), np.array([0.25, -1.0]))
    >>> stumps.score(np.array([[2.0, 0.0], [2.0, 1.0], [np.nan, 1.0]])).tolist()
    [0.25, -0.75, -1.0]
    """

    features: np.ndarray
    thresholds: np.ndarray
    weights: np.ndarray

    def score(self, X: np.ndarray) -> np.ndarray:
        """Return scores of rows, float64 (n_rows,)."""
        scores = np.zeros(len(X))
        boosting.add_stumps(X, self.features, self.thresholds, self.weights, scores)
        return scores

    def outputs(self, X: np.ndarray) -> np.ndarray:
        """Return the output of each stump for each row, float64 (n_stumps, n_rows)."""
        fires = X.T[self.features] > self.thresholds[:, None]
        return np.where(fires, self.weights[:, None], 0.0)

    def take(self, rounds: slice) -> Stumps:
        """Return the stumps of some rounds."""
        return Stumps(*(column[rounds] for column in self))


def boost(
    binned: BinnedFeatures,
    distribution: PairDistribution,
    n_rounds: int,
    threads: int | None = 1,
    shrinkage: float = 1.0,
) -> Stumps:
    """Return the stumps of at most n_rounds rounds; binned are the features of the used rows; D is changed."""
    chosen: list[tuple[int, float, float]] = []
    search = _Search(binned, threads)
    while len(chosen) < n_rounds:
        feature, place, margin = search.best(distribution.potentials())
        if abs(margin) < LEAST_MARGIN:
            break
        margin = min(max(margin, -LARGEST_MARGIN), LARGEST_MARGIN)
        weight = 0.5 * shrinkage * float(np.log((1 + margin) / (1 - margin)))
        chosen.append((feature, float(binned.thresholds[feature][place]), weight))
        if abs(margin) == LARGEST_MARGIN:
            break
        distribution.step(binned.codes[feature] > place, weight)
    features, thresholds, weights = zip(*chosen, strict=True) if chosen else ((), (), ())
    return Stumps(np.array(features, np.int64), np.array(thresholds, np.float64), np.array(weights, np.float64))


class _Search:
    """Finds the best stump repeatedly, in blocks of features that do not depend on the number of threads."""

    def __init__(self, binned: BinnedFeatures, threads: int | None) -> None:
        self.features = np.flatnonzero(binned.n_cuts)  # a constant feature has no stump
        self.codes, self.n_cuts = binned.codes[self.features], binned.n_cuts[self.features]
        n_features, n_rows = self.codes.shape
        self.blocks = cut(n_features, 4 * max(1, CELLS_AT_ONCE // 4 // max(1, n_rows)))
        self.threads = threads
        self.sums = np.empty((n_features, 1 + int(self.n_cuts.max(initial=0))))
        self.cuts, self.margins = np.zeros(n_features, np.int64), np.zeros(n_features)

    def best(self, potentials: np.ndarray) -> tuple[int, int, float]:
        """Return feature, threshold number and margin r of the stump with the largest |r|; r is 0 if there is none."""
        if not len(self.features):
            return 0, 0, 0.0
        results = self.sums, self.cuts, self.margins

        def search(block: slice) -> None:
            boosting.best_cuts(self.codes, self.n_cuts, potentials, block.start, block.stop, *results)

        map_blocks(search, self.blocks, self.threads)
        strength = np.abs(self.margins)
        best = int(np.argmax(strength >= strength.max() * (1 - boosting.TIE)))  # ties go to the first
        return int(self.features[best]), int(self.cuts[best]), float(self.margins[best])
