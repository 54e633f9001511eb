"""One step against finite differences of the loss, an epoch against dense NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.graph.sgd import find_images, graph_epoch


def distance(a, b, squared):
    return ((a - b) ** 2).sum() if squared else np.abs(a - b).sum()


def pair_loss(a, b, is_near, margin, squared):
    return distance(a, b, squared) if is_near else max(0.0, margin - distance(a, b, squared))


def loss(phi, V, W, i, j, is_near, gamma, margin, squared):
    own = pair_loss(V[i], V[j], is_near, margin, squared) if i != j else 0.0
    return gamma * own + pair_loss(phi[i] @ W, V[j], is_near, margin, squared)


def dense_step(phi, V, W, i, j, is_near, rate, gamma, margin, squared):
    """The update as it is derived by hand, on whole matrices."""

    def pull(a, b):
        if not is_near and distance(a, b, squared) >= margin:
            return np.zeros_like(a)
        return (-1 if is_near else 1) * (2 * (a - b) if squared else np.sign(a - b))

    image, link = pull(phi[i] @ W, V[j]), pull(V[i], V[j]) * (i != j)
    W += rate * np.outer(phi[i], image)
    V[i] += rate * gamma * link
    V[j] -= rate * gamma * link + rate * image


def one_epoch(phi, near, far, V, W, rates, gamma, margin, squared):
    rows = sp.csr_array(phi.astype(np.float32))
    V, W = V.astype(np.float32), W.astype(np.float32)
    pairs = np.array(near, np.int64).reshape(-1, 2), np.array(far, np.int64).reshape(-1, 2)
    arrays = rows.indptr, rows.indices, rows.data, *pairs, V, W
    total = graph_epoch(*arrays, *rates, np.float32(gamma), np.float32(margin), squared)
    return V, W, total


@given(seed=st.integers(0, 2**32 - 1), squared=st.booleans(), is_near=st.booleans(), own=st.booleans())
@settings(max_examples=40, deadline=None)
def test_step_follows_the_numerical_gradient(seed, squared, is_near, own):
    rng, h = np.random.default_rng(seed), 1e-6
    phi = rng.normal(size=(3, 4)) * (rng.random((3, 4)) < 0.7)
    V, W = rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    i, j = (1, 1) if own and is_near else (0, 2)
    gamma, margin = 0.7, 50.0
    wanted = []
    for table in (V, W):
        downhill = np.empty_like(table)
        for at in np.ndindex(table.shape):
            kept, table[at] = table[at], table[at] + h
            above = loss(phi, V, W, i, j, is_near, gamma, margin, squared)
            table[at] = kept - h
            below = loss(phi, V, W, i, j, is_near, gamma, margin, squared)
            table[at] = kept
            downhill[at] = (below - above) / (2 * h)
        wanted.append(downhill)
    near, far = ([[i, j]], [[0, 0]]) if is_near else ([[1, 1]], [[i, j]])
    before = V.astype(np.float32).astype(float), W.astype(np.float32).astype(float)
    if not is_near:  # the near pair of that turn comes first
        dense_step(phi, *before, 1, 1, True, 0.0, gamma, margin, squared)
    moved = one_epoch(phi, near, far, V, W, (1.0, 1.0), gamma, margin, squared)
    if not is_near:
        dense_step(phi, V, W, 1, 1, True, 1.0, gamma, margin, squared)
        dense_step(phi, V, W, i, j, False, 1.0, gamma, margin, squared)
        wanted = [V - before[0], W - before[1]]
    scale = 1 + max(np.abs(table).max() for table in wanted)
    np.testing.assert_allclose(moved[0] - before[0], wanted[0], atol=2e-5 * scale)
    np.testing.assert_allclose(moved[1] - before[1], wanted[1], atol=2e-5 * scale)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_epoch_equals_dense_steps_with_a_falling_rate(squared, gamma):
    rng = np.random.default_rng(3)
    phi = rng.normal(size=(6, 8)) * (rng.random((6, 8)) < 0.5)
    V, W = rng.normal(0, 0.3, (6, 4)), rng.normal(0, 0.3, (8, 4))
    near, far = rng.integers(6, size=(30, 2)), rng.integers(6, size=(30, 2))
    fast = one_epoch(phi, near, far, V, W, (0.02, 0.01), gamma, 1.0, squared)
    phi, V, W = phi.astype(np.float32).astype(float), V.copy(), W.copy()
    total = 0.0
    for s in range(30):
        rate = 0.02 - 0.01 * s / 30
        for (i, j), is_near in ((near[s], True), (far[s], False)):
            if is_near or i != j:
                total += loss(phi, V, W, i, j, is_near, gamma, 1.0, squared)
                dense_step(phi, V, W, i, j, is_near, rate, gamma, 1.0, squared)
    # L1: a coordinate within rounding of its partner may step the other way, by one rate.
    np.testing.assert_allclose(fast[0], V, atol=1e-5)
    np.testing.assert_allclose(fast[1], W, atol=1e-5)
    assert fast[2] == pytest.approx(total, rel=1e-4)


def test_images_are_products():
    phi, W = np.array([[0, 2, 0], [1, 0, 3]], np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    rows, images = sp.csr_array(phi), np.full((2, 2), 9, np.float32)
    find_images(rows.indptr, rows.indices, rows.data, 0, 2, W, images)
    assert images.tolist() == (phi @ W).tolist()
