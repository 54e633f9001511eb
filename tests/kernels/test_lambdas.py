"""Changes of a measure by swaps against measuring twice; gradients of pairs against finite differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.lambdas import (
    add_pair_curvatures,
    add_pair_gradients,
    fill_positions,
    swap_average_precision,
    swap_reciprocal_rank,
)
from tacit.metrics import evaluate_rows

MANY = settings(deadline=None, max_examples=30)


def numerical_gradient(function, point, h=1e-6):
    found = np.empty_like(point)
    for i in range(len(point)):
        nudge = np.zeros_like(point)
        nudge[i] = h
        found[i] = (function(point + nudge) - function(point - nudge)) / (2 * h)
    return found


@given(st.integers(0, 2**32 - 1))
@MANY
def test_pair_gradient_is_that_of_the_loss(seed):
    rng = np.random.default_rng(seed)
    scores, weight = rng.normal(0, 3, 6), rng.random(8)
    better, worse = rng.integers(0, 6, (2, 8))
    gradient = np.zeros(6)
    loss = add_pair_gradients(scores, better, worse, weight, gradient)

    def direct(s):
        return float(weight @ np.log(1 + np.exp(s[worse] - s[better])))

    assert loss == pytest.approx(direct(scores))
    np.testing.assert_allclose(gradient, numerical_gradient(direct, scores), atol=1e-7)


def test_pair_loss_far_from_zero_is_finite_and_exact():
    gradient = np.zeros(2)
    loss = add_pair_gradients(np.array([-1e4, 1e4]), np.array([0]), np.array([1]), np.array([2.0]), gradient)
    assert (loss, gradient.tolist()) == (4e4, [-2.0, 2.0])


def test_places_give_ties_to_the_earlier_row_and_skip_the_uncounted():
    places = np.empty(5, np.int64)
    counted = np.array([True, True, False, True, True])
    fill_positions(np.array([1.0, 2.0, 9.0, 2.0, 0.5]), np.array([0, 4, 5]), counted, places)
    assert places.tolist() == [2, 0, -1, 1, 0]


@pytest.mark.parametrize(("swap", "measure"), [(swap_average_precision, "AP"), (swap_reciprocal_rank, "RR")])
@given(seed=st.integers(0, 2**32 - 1))
@MANY
def test_change_is_the_measure_after_less_before(swap, measure, seed):
    rng = np.random.default_rng(seed)
    starts = np.array([0, 5, 12])
    scores = rng.permutation(12).astype(float)
    relevant = rng.random(12) < 0.4
    pairs = [(i, j) for a, b in ((0, 5), (5, 12)) for i in range(a, b) for j in range(a, b) if i != j]
    better, worse = np.array(pairs).T
    first_pair = np.array([0, 20, 62])
    places, change = np.empty(12, np.int64), np.empty(len(pairs))
    fill_positions(scores, starts, np.ones(12, bool), places)
    swap(starts, better, worse, places, relevant, first_pair, change)
    qid = np.repeat([0, 1], [5, 7])
    before = evaluate_rows(relevant, scores, qid, measure).values[measure].sum()
    for (i, j), found in zip(pairs, change, strict=True):
        swapped = scores.copy()
        swapped[[i, j]] = scores[[j, i]]
        after = evaluate_rows(relevant, swapped, qid, measure).values[measure].sum()
        assert found == pytest.approx(abs(after - before), abs=1e-12)


def test_curvature_is_the_slope_of_the_gradient():
    rng, h = np.random.default_rng(2), 1e-6
    scores, weight = rng.normal(0, 2, 5), rng.random(6)
    better, worse = np.array([0, 1, 2, 0, 3, 4]), np.array([1, 2, 0, 3, 4, 0])
    found = np.zeros(5)
    add_pair_curvatures(scores, better, worse, weight, found)
    for i in range(5):
        slopes = []
        for sign in (1, -1):
            gradient, moved = np.zeros(5), scores.copy()
            moved[i] += sign * h
            add_pair_gradients(moved, better, worse, weight, gradient)
            slopes.append(gradient[i])
        assert found[i] == pytest.approx((slopes[0] - slopes[1]) / (2 * h), abs=1e-7)
