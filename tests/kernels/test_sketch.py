"""Bounds of a sketch against products in float64."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.retrieve.factors import DenseFactors


@given(seed=st.integers(0, 2**32 - 1), n_items=st.integers(1, 150), dim=st.integers(1, 21))
@settings(max_examples=40, deadline=None)
def test_bounds_are_above_the_products_and_near_them(seed, n_items, dim):
    rng = np.random.default_rng(seed)
    vectors = (rng.normal(size=(n_items, dim)) * rng.choice([0, 1e-42, 1e-3, 1, 50], (n_items, 1))).astype(np.float32)
    query = rng.normal(size=(1, dim)).astype(np.float32)
    factors, bounds = DenseFactors(vectors), np.zeros(n_items, np.float32)
    exact = 3 * vectors.astype(np.float64) @ query[0]
    most = np.linalg.norm(query) * np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert factors.add_bounds(query, 3.0, 0.0, bounds) == 0
    np.testing.assert_allclose(bounds, 3 * most, rtol=1e-5, atol=1e-30)
    factors.lower_bounds(query, 3.0, -np.inf, bounds)
    assert (bounds - exact >= -1e-5 * (1 + 3 * most)).all()
    assert (
        bounds - exact <= 0.05 * most + 1e-6 + 3e-41 * dim
    ).all()  # 3 * 2 * sqrt(dim) / 2 / 127 of the length at most


def test_blocks_that_do_not_reach_keep_their_bounds():
    factors = DenseFactors(np.random.default_rng(0).normal(size=(130, 8)).astype(np.float32))
    bounds = np.zeros(130, np.float32)
    factors.add_bounds(np.ones((1, 8)), 1.0, 0.0, bounds)
    before = bounds.copy()
    factors.lower_bounds(np.ones((1, 8)), 1.0, float(np.sort(bounds)[-1]), bounds)
    block = int(before.argmax()) // 64
    changed = np.flatnonzero(bounds != before)
    assert len(changed) > 30
    assert set(changed // 64) == {block}
