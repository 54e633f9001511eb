"""Normalisations: make the scores of different legs comparable before they are weighted and summed.

The fused score of a document d is the sum over legs l of w_l x_l(d), where w_l is the weight of the leg and x_l its
normalised score. Let s be the leg's score of d; min, max, mean and sd are over the leg's documents for the query:

    minmax       (s - min) / (max - min); a value of 0 becomes `floor` (OpenSearch: .001)
    minmax-zero  the same, where min and max include the missing documents, with s = 0 (Vespa)
    zscore       (s - mean) / sd
    l2           s / square root of the sum of s^2
    rrf          1 / (k + rank), where k is the rank constant; the first rank is 1
    rrf-rank     1 / (k + rank / w - 1): the weight divides the rank, and is not applied again (Qdrant)
    log-odds     ln(p / (1 - p)), where p = 0.01 + 0.98 minmax
    deviation    (s - min) / sd, where sd is over the documents that both the first leg and this leg returned
    scaled       s / c, where c is a constant of the leg: the mean of its best scores; a weighted sum of raw scores

If all scores of a leg are equal, minmax is 1 for all returned documents, minmax-zero and zscore are 0, log-odds is its
value at p = .99, and deviation is 0.

A document that a leg did not return is missing, and gets the value in `MISSING`: the value of the lowest result that
the leg could have returned, or no contribution. It differs from a document with a score of 0, except in minmax-zero,
where the engine does not distinguish them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core import check_choice, check_list, check_number
from tacit.judge.fuse.legs import Legs
from tacit.retrieve.rank_fusion import RANK_CONSTANT

LOWEST_P = 0.01  # of log-odds, at both ends
FEWEST_SHARED = 3  # shared documents; with fewer, the deviation is over all documents of the leg

MISSING = {
    "minmax": "0, the value of the leg's last result",
    "minmax-zero": "counts as a score of 0, also for min and max",
    "zscore": "the value of the leg's last result, or 0 if the leg returned nothing for the query",
    "l2": "no contribution (0)",
    "rrf": "no contribution (0), as if its rank were infinite",
    "rrf-rank": "no contribution (0), as if its rank were infinite",
    "log-odds": "the log-odds of p = .01, the value of the leg's last result",
    "deviation": "0, the value of the leg's last result",
    "scaled": "no contribution (0)",
}


@dataclass(frozen=True)
class Family:
    """A normalisation and its constants: a fusion without its weights.

    Parameters
    ----------
    normalization : str
        One of `MISSING`.
    rank_constant : float, default=60
        The k of `rrf` and `rrf-rank`.
    floor : float, default=0
        Value of the lowest results in `minmax`.
    scales : tuple of float, default=()
        The c of each leg in `scaled`.
    equal : tuple of float, default=()
        Value of each leg's results in `minmax` where all its scores are equal; () means 1 for every leg.
    """

    normalization: str
    rank_constant: float = RANK_CONSTANT
    floor: float = 0.0
    scales: tuple[float, ...] = ()
    equal: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_choice("normalization", self.normalization, MISSING)
        check_number("rank_constant", self.rank_constant, low=0)
        check_number("floor", self.floor)
        for name in ("scales", "equal"):
            numbers = check_list(name, getattr(self, name), "a number for each leg")
            for number in numbers:
                check_number(name, number, low=0, open_low=name == "scales")

    @property
    def of_ranks(self) -> bool:
        """Whether only the ranks count."""
        return self.normalization in ("rrf", "rrf-rank")

    @property
    def is_linear(self) -> bool:
        """Whether a contribution is the weight times the normalised score."""
        return self.normalization != "rrf-rank"

    def normalize(self, legs: Legs) -> np.ndarray:
        """Return normalised scores of all rows, float64 (n_rows, n_legs), without NaN.

        Examples
        --------
        >>> from tacit.core import Run
        >>> runs = {"a": Run.from_dict({"q": {"x": 5.0, "y": 1.0}}), "b": Run.from_dict({"q": {"x": 1.0, "z": 3.0}})}
        >>> Family("minmax").normalize(Legs.from_runs(runs)).tolist()
        [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
        """
        if self.normalization == "rrf":
            return np.nan_to_num(1 / (self.rank_constant + legs.ranks))
        if self.normalization == "scaled":
            return np.nan_to_num(legs.scores / np.asarray(self.scales, np.float64))
        found = np.stack([NORMALIZATIONS[self.normalization](legs, leg) for leg in range(len(legs.names))], axis=1)
        if self.equal:
            spread = [_extreme(np.fmax, legs, score) > _extreme(np.fmin, legs, score) for score in legs.scores.T]
            found = np.where(np.isnan(legs.scores) | np.stack(spread, axis=1), found, np.asarray(self.equal))
        return np.where((found == 0) & ~np.isnan(legs.scores), self.floor, found) if self.floor else found

    def contributions(self, legs: Legs, weights: np.ndarray) -> np.ndarray:
        """Return the contribution of each leg to the score of each row, float64 (n_rows, n_legs)."""
        if self.is_linear:
            return self.normalize(legs) * weights
        with np.errstate(divide="ignore"):  # a weight of 0 makes the rank infinite
            return np.nan_to_num(1 / (self.rank_constant + legs.ranks / weights - 1))


def weighted_sum(columns: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    """Sum weight times column, leg by leg, so that the bits do not depend on the row's position; (n_rows, n_legs)."""
    total = np.zeros(len(columns))
    for leg, weight in enumerate(weights):
        if weight:
            total += columns[:, leg] * weight
    return total


def leg_scales(legs: Legs) -> tuple[float, ...]:
    """Return the c of `scaled`: the mean over queries of each leg's best score, rounded to three digits.

    >>> from tacit.core import Run
    >>> runs = {"a": Run.from_dict({"p": {"x": 5.0}, "q": {"x": 7.0}}), "b": Run.from_dict({"q": {"x": 0.8, "z": 0.5}})}
    >>> leg_scales(Legs.from_runs(runs))
    (6.0, 0.8)
    """
    best = np.fmax.reduceat(legs.scores, legs.starts[:-1], axis=0)
    return tuple(float(f"{np.nanmean(np.abs(column)):.3g}") or 1.0 for column in best.T)


def _minmax(legs: Legs, leg: int) -> np.ndarray:
    score = legs.scores[:, leg]
    low, high = _extreme(np.fmin, legs, score), _extreme(np.fmax, legs, score)
    spread = high - low
    scaled = np.divide(score - low, spread, out=np.ones_like(score), where=spread > 0)
    return np.where(np.isnan(score), 0.0, scaled)


def _zscore(legs: Legs, leg: int) -> np.ndarray:
    score = legs.scores[:, leg]
    mean, deviation = _moments(legs, score, ~np.isnan(score))
    scaled = np.divide(score - mean, deviation, out=np.zeros_like(score), where=deviation > 0)
    scaled[np.isnan(score)] = np.nan
    lowest = np.nan_to_num(_extreme(np.fmin, legs, scaled))
    return np.where(np.isnan(scaled), lowest, scaled)


def _l2(legs: Legs, leg: int) -> np.ndarray:
    score = np.nan_to_num(legs.scores[:, leg])
    length = np.sqrt(np.bincount(legs.query, score**2, len(legs)))[legs.query]
    return np.divide(score, length, out=np.zeros_like(score), where=length > 0)


def _log_odds(legs: Legs, leg: int) -> np.ndarray:
    p = LOWEST_P + (1 - 2 * LOWEST_P) * _minmax(legs, leg)
    return np.asarray(np.log(p / (1 - p)))


def _deviation(legs: Legs, leg: int) -> np.ndarray:
    score = legs.scores[:, leg]
    returned = ~np.isnan(score)
    shared = returned & ~np.isnan(legs.scores[:, 0])
    enough = np.bincount(legs.query[shared], minlength=len(legs)) >= FEWEST_SHARED
    _, near = _moments(legs, score, shared)
    _, far = _moments(legs, score, returned)
    deviation = np.where(enough[legs.query] & (near > 0), near, far)
    low = _extreme(np.fmin, legs, score)
    scaled = np.divide(score - low, deviation, out=np.zeros_like(score), where=deviation > 0)
    return np.where(returned, scaled, 0.0)


def _minmax_zero(legs: Legs, leg: int) -> np.ndarray:
    score = np.nan_to_num(legs.scores[:, leg])
    low, high = _extreme(np.fmin, legs, score), _extreme(np.fmax, legs, score)
    spread = high - low
    return np.divide(score - low, spread, out=np.zeros_like(score), where=spread > 0)


NORMALIZATIONS: dict[str, Callable[[Legs, int], np.ndarray]] = {
    "minmax": _minmax,
    "zscore": _zscore,
    "l2": _l2,
    "log-odds": _log_odds,
    "deviation": _deviation,
    "minmax-zero": _minmax_zero,
}


def _extreme(smaller: np.ufunc, legs: Legs, values: np.ndarray) -> np.ndarray:
    """Return the smallest or largest value of the row's query, NaN for a query without values; NaN is ignored."""
    found: np.ndarray = smaller.reduceat(values, legs.starts[:-1])[legs.query]
    return found


def _moments(legs: Legs, values: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation (divided by n) over the used values of the row's query."""
    query = legs.query
    count = np.maximum(np.bincount(query[used], minlength=len(legs)), 1)
    mean = np.bincount(query[used], values[used], len(legs)) / count
    squares = np.bincount(query[used], (values[used] - mean[query[used]]) ** 2, len(legs))
    return mean[query], np.sqrt(squares / count)[query]
