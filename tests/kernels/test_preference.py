"""Regularizers against their formulas, their gradients against finite differences."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.kernels.lambdas import add_preference_gradients, add_quadratic_gradients, scale_by_discounts


def preference(s, left, right, q, beta):
    gap = s[left] - s[right]
    # log P and log(1 - P) apart: 1 - P by subtraction loses the digits that a difference quotient needs.
    log_p, log_other = -np.logaddexp(0, -gap), -np.logaddexp(0, gap)
    return -beta / 2 * float(q @ (log_p + log_other - np.log(0.25)))


def quadratic(s, left, right, q, beta):
    return beta / 8 * float(q @ (s[left] - s[right]) ** 2)


@pytest.mark.parametrize(
    ("kernel", "formula"), [(add_preference_gradients, preference), (add_quadratic_gradients, quadratic)]
)
@given(seed=st.integers(0, 2**32 - 1))
@example(seed=1571648)  # a gap so large that 1 - P has few digits left
@settings(deadline=None, max_examples=25)
def test_value_and_gradient_are_those_of_the_formula(kernel, formula, seed):
    rng, h = np.random.default_rng(seed), 1e-6
    s, q = rng.normal(0, 2, 5), rng.random(7)
    left, right = rng.integers(0, 5, (2, 7))
    gradient = np.zeros(5)
    assert kernel(s, left, right, q, 1.7, gradient) == pytest.approx(formula(s, left, right, q, 1.7))
    numerical = [
        (formula(s + h * row, left, right, q, 1.7) - formula(s - h * row, left, right, q, 1.7)) / (2 * h)
        for row in np.eye(5)
    ]
    np.testing.assert_allclose(gradient, numerical, atol=1e-7)


def test_gradient_is_the_printed_one():
    """Equation 17: of what is maximised, beta q (0.5 - P); ours is what is minimised."""
    s, gradient = np.array([1.0, 0.0]), np.zeros(2)
    add_preference_gradients(s, np.array([0]), np.array([1]), np.array([0.2]), 3.0, gradient)
    printed = 3.0 * 0.2 * (0.5 - 1 / (1 + np.exp(-1.0)))
    np.testing.assert_allclose(gradient, [-printed, printed])


def test_both_have_one_curvature_at_a_tie_and_only_one_grows_like_a_square():
    def slopes(gap):
        found = []
        for kernel in (add_preference_gradients, add_quadratic_gradients):
            gradient = np.zeros(2)
            kernel(np.array([gap, 0.0]), np.array([0]), np.array([1]), np.array([1.0]), 1.0, gradient)
            found.append(gradient[0])
        return found

    near, far = slopes(1e-4), slopes(100.0)
    assert near[0] == pytest.approx(near[1], rel=1e-6)
    assert far == [pytest.approx(0.5), pytest.approx(25.0)]


def test_neighbours_matter_by_the_difference_of_their_discounts():
    scaled = np.empty(1)
    scale_by_discounts(np.array([0]), np.array([1]), np.array([0.2]), np.array([2, 0]), np.array([1, 0.6, 0.5]), scaled)
    assert scaled.tolist() == [pytest.approx(0.1)]
