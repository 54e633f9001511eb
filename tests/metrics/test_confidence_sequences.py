"""Confidence sequences: a slow version of the formula, any order, and coverage over all looks at once."""

import numpy as np
import pytest

from tacit.core import TacitError
from tacit.metrics.confidence_sequences import confidence_sequence


def capital(values, mean):
    """What a bettor has who puts 1/20 on each part c = 1/20, ..., 1, one value after the other."""
    parts = [1 / 20] * 20
    for x in values:
        parts = [part * (1 - c / 20 + c / 20 * x / mean) for c, part in enumerate(parts, start=1)]
    return sum(parts)


def test_the_capital_reaches_40_at_both_limits():
    values = np.random.default_rng(0).beta(2, 5, 60)
    lower, upper = confidence_sequence(values)
    assert capital(values, lower) == pytest.approx(40, rel=1e-6)
    assert capital(1 - values, 1 - upper) == pytest.approx(40, rel=1e-6)
    assert capital(values, lower + 0.001) < 40 < capital(values, lower - 0.001)
    scaled = confidence_sequence(2 * values - 1, -1.0, 1.0)
    np.testing.assert_allclose(scaled, 2 * np.array([lower, upper]) - 1, atol=1e-9)


def test_the_order_of_the_values_does_not_matter():
    """Sorted values, as those of a file that is sorted by topic, say nothing else than shuffled ones."""
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.uniform(0.2, 0.6, 40), rng.uniform(-0.6, -0.2, 40)])
    limits = {confidence_sequence(order, -1.0, 1.0) for order in (values, values[::-1], rng.permutation(values))}
    assert len(limits) == 1
    lower, upper = limits.pop()
    assert lower < values.mean() < upper


def test_no_value_says_nothing():
    assert confidence_sequence(np.empty(0), -1.0, 1.0) == (-1.0, 1.0)


@pytest.mark.parametrize(("a", "b"), [(0.5, 4.0), (1.0, 1.0), (0.2, 0.2)])
def test_all_limits_hold_at_once(a, b):
    rng, mean, missed = np.random.default_rng(1), a / (a + b), 0
    for _ in range(60):
        values = rng.beta(a, b, 150)
        limits = np.array([confidence_sequence(values[:n]) for n in (2, 5, 10, 20, 40, 70, 100, 150)])
        missed += bool((limits[:, 0] > mean).any() or (limits[:, 1] < mean).any())
    assert missed <= 3  # 5 %


def test_values_beyond_the_bounds_are_refused():
    with pytest.raises(TacitError, match=r"values go from 0 to 1\.5, want 0 to 1"):
        confidence_sequence(np.array([0.0, 1.5]))
