"""Confidence sequences: a slow version of the formula, and coverage over all looks at once."""

import math

import numpy as np
import pytest

from tacit.core import TacitError
from tacit.metrics.sequences import confidence_sequence


def slow(values, alpha=0.05):
    """One value after the other, as the paper writes it."""
    limits, low, high = [], 0.0, 1.0
    seen, total, weighted, penalty = [], 0.0, 0.0, 0.0
    mean, variance = 0.5, 0.25
    for t, x in enumerate(values, start=1):
        weight = min(0.5, math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(1 + t))))
        total += weight
        weighted += weight * x
        penalty += 4 * (x - mean) ** 2 * (-math.log(1 - weight) - weight) / 4
        radius = (math.log(2 / alpha) + penalty) / total
        low, high = max(low, weighted / total - radius), min(high, weighted / total + radius)
        limits.append((low, high))
        seen.append(x)
        mean = (0.5 + sum(seen)) / (t + 1)
        means = [(0.5 + sum(seen[:i])) / (i + 1) for i in range(1, t + 1)]
        variance = (0.25 + sum((v - m) ** 2 for v, m in zip(seen, means, strict=True))) / (t + 1)
    return np.array(limits).T


def test_agrees_with_the_formula():
    values = np.random.default_rng(0).beta(2, 5, 60)
    lower, upper = confidence_sequence(values)
    expected = slow(values)
    np.testing.assert_allclose([lower, upper], expected, rtol=1e-12, atol=1e-12)
    scaled = confidence_sequence(2 * values - 1, -1.0, 1.0)
    np.testing.assert_allclose(scaled, 2 * expected - 1, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.5, 4.0), (1.0, 1.0), (0.2, 0.2)])
def test_all_limits_hold_at_once(a, b):
    rng, mean, missed = np.random.default_rng(1), a / (a + b), 0
    for _ in range(300):
        lower, upper = confidence_sequence(rng.beta(a, b, 300))
        missed += bool((lower > mean).any() or (upper < mean).any())
    assert missed <= 15  # 5 %


def test_values_beyond_the_bounds_are_refused():
    with pytest.raises(TacitError, match=r"values go from 0 to 1\.5, want 0 to 1"):
        confidence_sequence(np.array([0.0, 1.5]))
