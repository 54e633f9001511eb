"""Importance weights of training pairs for one list: pairs similar to the list's own pairs count more.

A pair of rows is represented by its difference of features, in both orders. KLIEP estimates the ratio of the density of
all pairs of the list to the density of the training pairs (Duh and Kirchhoff 2011, section 5.1). Weights have a level:

    "pair"  one for each of `rows.pairs`      "row"  one for each row      "list"  one for each list

Each has mean 1, and `convert_weights` converts between levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from tacit.core import Estimator, check_choice, check_numbers
from tacit.features.kliep import Kliep, fit_kliep
from tacit.features.scaling import deviations
from tacit.kernels.kliep import mirrored_pair_weights, pair_distances
from tacit.rerank.rows import Pairs, Rows

LEVELS = ("pair", "row", "list")


class Adaptation(Protocol):
    """Interface of `adapt` in per-list training: weights of training pairs, rows or lists, as `level` says."""

    level: str

    def weights(self, rows: Rows, X: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return weights for a list with the features `target`; X are the training rows, with the same columns."""


@dataclass(frozen=True)
class _Samples:
    """Differences of sampled pairs, and their rows."""

    differences: np.ndarray
    rows: np.ndarray


class KliepAdaptation(Estimator):
    """Weights of training pairs by KLIEP.

    Parameters
    ----------
    n_bases : int, default=100
        Number of centres of the density ratio.
    n_train : int, default=2000
        Number of training pairs for fitting the ratio, drawn at random; all pairs are weighted.
    n_test : int, default=1000
        Number of pairs of the list for fitting the ratio, drawn at random.
    n_folds : int, default=3
        Number of parts of the list's documents for the choice of the bandwidth; pairs across parts are not used.
    sigmas : sequence of float, default=None
        Bandwidths to choose from, in standard deviations of training features; None uses multiples of the median
        distance.
    cautious : bool, default=True
        Use the widest bandwidth within one standard error of the best, instead of the best as in KLIEP.
    clip : float, default=None
        Quantile, from 0 to 1, at which weights are clipped; None means no clipping. AdaCost scales weights by the
        largest one, so a few very large weights make all others nearly equal.
    seed : int, default=0
        Random seed.

    Examples
    --------
    >>> rows = Rows(np.array([[0.0], [1.0], [0.0], [5.0]]), np.array([0, 1, 0, 1.0]), np.array([0, 2, 4]), np.arange(4))
    >>> weights = KliepAdaptation(sigmas=(0.5,)).weights(rows, rows.X, np.array([[2.0], [3.0], [4.0]]))
    >>> bool(weights[0] > weights[1]), round(float(weights.mean()), 6)  # pairs with gaps 1 and 5
    (True, 1.0)
    """

    level: ClassVar[str] = "pair"

    def __init__(
        self,
        n_bases: int = 100,
        n_train: int = 2000,
        n_test: int = 1000,
        n_folds: int = 3,
        sigmas: tuple[float, ...] | None = None,
        cautious: bool = True,
        clip: float | None = None,
        seed: int = 0,
    ) -> None:
        self.n_bases, self.n_train, self.n_test, self.n_folds = n_bases, n_train, n_test, n_folds
        self.sigmas, self.cautious, self.clip, self.seed = sigmas, cautious, clip, seed

    def weights(self, rows: Rows, X: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return weights of `rows.pairs`, mean 1; all 1 if the list has no pair or no feature varies."""
        check_numbers(self, "n_bases", "n_train", "n_test", low=1, whole=True)
        check_numbers(self, "clip", optional=True, low=0, high=1)
        deviation = deviations(X)
        varies = deviation > 0
        if len(target) < 2 or not varies.any():
            return np.ones(len(rows.pairs))
        scaled, target = (np.ascontiguousarray(table[:, varies] / deviation[varies]) for table in (X, target))
        rng = np.random.default_rng(self.seed)
        train, test = self._train_samples(scaled, rows.pairs, rng), self._test_samples(target, rng)
        ratio = fit_kliep(
            train.differences,
            test.differences,
            n_bases=self.n_bases,
            sigmas=self.sigmas,
            n_folds=self.n_folds,
            groups=test.rows,
            mirrored=True,
            cautious=self.cautious,
            seed=self.seed,
        )
        weights = weigh_pairs(ratio, scaled, rows.pairs)
        return weights if self.clip is None else _to_mean_one(np.minimum(weights, np.quantile(weights, self.clip)))

    def _train_samples(self, X: np.ndarray, pairs: Pairs, rng: np.random.Generator) -> _Samples:
        drawn = np.sort(rng.choice(len(pairs), min(self.n_train, len(pairs)), replace=False))
        ends = np.column_stack([pairs.better[drawn], pairs.worse[drawn]])
        return _Samples(X[ends[:, 0]] - X[ends[:, 1]], ends)

    def _test_samples(self, X: np.ndarray, rng: np.random.Generator) -> _Samples:
        ends = np.column_stack(np.triu_indices(len(X), 1))
        if len(ends) > self.n_test:
            ends = ends[np.sort(rng.choice(len(ends), self.n_test, replace=False))]
        return _Samples(X[ends[:, 0]] - X[ends[:, 1]], ends)


def weigh_pairs(ratio: Kliep, X: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return weights of all pairs by a ratio fitted on some, scaled to mean 1."""
    used = ratio.beta > 0
    centres = ratio.centres[used]
    squared, weights = np.empty(len(pairs)), np.empty(len(pairs))
    pair_distances(X, pairs.better, pairs.worse, squared)
    norms, scale = (centres * centres).sum(axis=1), 1 / (2 * ratio.sigma**2)
    products = np.ascontiguousarray(X @ centres.T)
    mirrored_pair_weights(pairs.better, pairs.worse, squared, products, norms, ratio.beta[used], scale, weights)
    mean = weights.mean()
    # All pairs may be so far from the list that their weights vanish: then they are treated as equally near.
    return weights / mean if mean > 0 else np.ones(len(weights))


def convert_weights(weights: np.ndarray, given: str, wanted: str, rows: Rows) -> np.ndarray:
    """Return weights at another level: the mean over the pairs of a row or list, or the mean of a pair's two rows.

    A row in no pair and a list without weighted rows have weight 1. The result has mean 1.

    >>> rows = Rows(np.zeros((3, 1)), np.array([1, 0, np.nan]), np.array([0, 3]), np.arange(3))
    >>> convert_weights(np.array([1.0]), "pair", "row", rows).tolist()
    [1.0, 1.0, 1.0]
    """
    for level in (given, wanted):
        check_choice("level", level, LEVELS)
    better, worse, _ = rows.pairs
    if given == wanted:
        return weights
    if given == "pair":
        ends, n_owners = (rows.list_of[better], rows.n_lists) if wanted == "list" else (better, len(rows.y))
        owners = np.concatenate([ends, rows.list_of[worse] if wanted == "list" else worse])
        return _means(owners, np.concatenate([weights, weights]), n_owners)
    by_row = weights[rows.list_of] if given == "list" else weights
    if wanted == "row":
        return _to_mean_one(by_row)
    if wanted == "list":
        return _means(rows.list_of, by_row, rows.n_lists)
    return _to_mean_one((by_row[better] + by_row[worse]) / 2)


def _means(owners: np.ndarray, values: np.ndarray, n_owners: int) -> np.ndarray:
    counts = np.bincount(owners, minlength=n_owners)
    sums = np.bincount(owners, weights=values, minlength=n_owners)
    return _to_mean_one(np.where(counts > 0, sums / np.maximum(counts, 1), 1.0))


def _to_mean_one(weights: np.ndarray) -> np.ndarray:
    mean = weights.mean() if len(weights) else 1.0
    return weights / mean if mean > 0 else np.ones(len(weights))
