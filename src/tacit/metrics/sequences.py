"""Confidence sequences: intervals of a mean that stay valid however often, and whenever, one looks at them.

The empirical Bernstein sequence with predictable plug-in weights (Waudby-Smith and Ramdas 2024, theorem 2). For
x_1, x_2, ... in [0, 1], with m_t and v_t the mean and variance of what was seen before (started at 1/2 and 1/4),

    lambda_t = min(c, sqrt(2 log(2 / alpha) / (v_t t log(1 + t))))
    centre_t = sum lambda_i x_i / sum lambda_i
    radius_t = (log(2 / alpha) + sum 4 (x_i - m_i)^2 psi(lambda_i)) / sum lambda_i,   psi(l) = (-log(1 - l) - l) / 4

and P(mean in centre_t +- radius_t for all t) >= 1 - alpha.
"""

from __future__ import annotations

import numpy as np

from tacit.core import TacitError, check_number

LARGEST = 0.5  # c


def confidence_sequence(
    values: np.ndarray, low: float = 0.0, high: float = 1.0, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of the mean after each value.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values in the order in which they came.
    low, high : float, default=0 and 1
        Bounds of all values: -1 and 1 for differences of a measure.
    level : float, default=0.95
        Probability that all limits hold at once.

    Returns
    -------
    tuple of ndarray
        Limits of shape (n,); the lower ones never fall and the upper ones never rise.

    Examples
    --------
    >>> lower, upper = confidence_sequence(np.tile([0.0, 1.0], 500))
    >>> bool(lower[-1] < 0.5 < upper[-1]), bool(upper[-1] - lower[-1] < 0.2)
    (True, True)
    """
    check_number("level", level, low=0, high=1, open_low=True)
    x = (np.asarray(values, np.float64) - low) / (high - low)
    if len(x) and not (np.isfinite(x).all() and x.min() >= 0 and x.max() <= 1):
        raise TacitError(f"values go from {np.min(values):g} to {np.max(values):g}, want {low:g} to {high:g}")
    t = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (t + 1)
    before = np.concatenate([[0.5], means[:-1]])
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (t + 1)
    spread = np.concatenate([[0.25], variances[:-1]])
    alpha = 1 - level
    weights = np.minimum(LARGEST, np.sqrt(2 * np.log(2 / alpha) / (spread * t * np.log1p(t))))
    total = np.cumsum(weights)
    psi = (-np.log1p(-weights) - weights) / 4
    radius = (np.log(2 / alpha) + np.cumsum(4 * (x - before) ** 2 * psi)) / total
    centre = np.cumsum(weights * x) / total
    lower = np.maximum.accumulate(np.maximum(centre - radius, 0))
    upper = np.minimum.accumulate(np.minimum(centre + radius, 1))
    return low + (high - low) * lower, low + (high - low) * upper
