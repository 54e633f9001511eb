"""Confidence sequences: intervals of a mean that stay valid for any number and times of looks.

A mixture of bets (Waudby-Smith and Ramdas 2024, section 4; Robbins' method of mixtures). For x_1, x_2, ... in [0, 1]
with mean m, each c in (0, 1] has a capital after t values of

    K_t(c, m) = product over i <= t of  1 - c + c x_i / m

that starts at 1 and whose expected value does not grow. The lower limit is the smallest m at which the mean of K_t(c,
m) over c = 1/20, 2/20, ..., 1 is below 2 / alpha. By Ville's inequality all lower limits hold together with a
probability of at least 1 - alpha / 2. The upper limit is the lower limit of 1 - x. The capital is a product, so the
limits do not depend on the order of the values.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.core import TacitError, check_number

BETS = np.arange(1, 21) / 20  # c
N_HALVINGS = 40  # limits are precise to 1e-12


def confidence_sequence(
    values: np.ndarray, low: float = 0.0, high: float = 1.0, level: float = 0.95
) -> tuple[float, float]:
    """Return limits of the mean, given the values so far in any order.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values, independent of each other.
    low, high : float, default=0 and 1
        Bounds of all values: -1 and 1 for differences of a measure.
    level : float, default=0.95
        Probability that the limits after 1, 2, 3, ... values are all valid.

    Returns
    -------
    tuple of float
        Lower and upper limit.

    Examples
    --------
    >>> lower, upper = confidence_sequence(np.tile([0.0, 1.0], 500))
    >>> round(lower, 2), round(upper, 2)
    (0.44, 0.56)
    """
    check_number("level", level, low=0, high=1, open_low=True)
    x = np.sort((np.asarray(values, np.float64) - low) / (high - low))  # the same bits for any order
    if len(x) and not (np.isfinite(x).all() and x[0] >= 0 and x[-1] <= 1):
        raise TacitError(f"values go from {np.min(values):g} to {np.max(values):g}, want {low:g} to {high:g}")
    below, above = _lower_limit(x, 1 - level), _lower_limit(1 - x[::-1], 1 - level)
    return low + (high - low) * below, high - (high - low) * above


def _lower_limit(x: np.ndarray, alpha: float) -> float:
    """Return the mean below which the capital reaches 2 / alpha; the capital falls as the mean rises."""
    wanted, excluded, kept = math.log(2 / alpha) + math.log(len(BETS)), 0.0, 1.0
    for _ in range(N_HALVINGS):
        mean = (excluded + kept) / 2
        with np.errstate(divide="ignore"):  # a bet of the whole capital on a value of 0
            capital = np.log(1 - BETS[:, None] + BETS[:, None] * (x / mean)).sum(axis=1)
        if np.logaddexp.reduce(capital) >= wanted:
            excluded = mean
        else:
            kept = mean
    return excluded
