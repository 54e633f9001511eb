"""The loops of importance estimation against their definitions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.kliep import climb_quadratic, mirrored_pair_weights, project_to_simplex


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
@settings(max_examples=50, deadline=None)
def test_projection_is_on_the_simplex_and_nearest(point):
    point = np.array(point)
    found = project_to_simplex(point)
    assert found.min() >= 0
    assert abs(found.sum() - 1) < 1e-12
    # Nearest: the way to any corner leads no closer.
    for corner in np.eye(len(point)):
        assert (point - found) @ (corner - found) <= 1e-9


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_no_corner_is_uphill_from_the_maximum_of_a_quadratic(seed):
    rng = np.random.default_rng(seed)
    factor, linear = rng.normal(size=(7, 5)), rng.normal(size=5)
    H = np.ascontiguousarray(factor.T @ factor)
    gamma = np.full(5, 0.2)
    climb_quadratic(H, linear, gamma, 2000, 1e-10)
    gradient = linear - H @ gamma
    assert abs(gamma.sum() - 1) < 1e-9
    assert gamma.min() >= 0
    assert gradient.max() - gradient @ gamma <= 1e-6


def test_pair_weights_are_those_of_the_differences():
    rng = np.random.default_rng(2)
    X, C = rng.normal(size=(9, 3)), rng.normal(size=(4, 3))
    better, worse = rng.integers(0, 9, 20), rng.integers(0, 9, 20)
    beta, scale = rng.random(4), 0.3
    x = X[better] - X[worse]
    weights = np.empty(20)
    norms = (C * C).sum(axis=1)
    mirrored_pair_weights(better, worse, (x * x).sum(axis=1), X @ C.T, norms, beta, scale, weights)
    wanted = [
        sum(
            b * (np.exp(-scale * ((d - c) ** 2).sum()) + np.exp(-scale * ((d + c) ** 2).sum())) / 2
            for b, c in zip(beta, C, strict=True)
        )
        for d in x
    ]
    np.testing.assert_allclose(weights, wanted, rtol=1e-12)
