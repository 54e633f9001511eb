"""The dense update of V in float64 is the oracle; margin losses against finite differences."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.reconstruction import (
    frobenius,
    hardest,
    hinge_step,
    reconstruct_step,
    room,
    train_documents,
    train_triplets,
)

SEEDS = st.integers(0, 2**32 - 1)


def world(seed, n_docs=5, n_words=7, dim=3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    rows = sp.csr_array((rng.normal(size=(n_docs, n_words)) * (rng.random((n_docs, n_words)) < 0.6)).astype(dtype))
    B, W = (rng.normal(0, 0.5, (n_words, dim)).astype(dtype) for _ in range(2))
    vectors = rng.normal(0, 0.5, (n_docs, dim)).astype(dtype)
    return rng, rows, vectors, W, B


def factors(B):
    dim = B.shape[1]
    return np.eye(dim), np.eye(dim), B.astype(np.float64).T @ B


@given(seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_factored_steps_are_the_dense_steps(seed):
    rng, rows, vectors, _, B = world(seed)
    V, (M, N, G) = B.copy(), factors(B)
    dense, gradient, work = rows.toarray(), np.empty(3), np.empty((3, 3))
    for k in rng.integers(0, len(vectors), 12):
        v, y, c = vectors[k], dense[k], 0.1
        error = V @ v - y
        loss = reconstruct_step(
            rows.indptr, rows.indices, rows.data, k, v, c, B, M, N, G, gradient, work, room(rows.indptr, rows.data)
        )
        assert loss == pytest.approx(error @ error, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(gradient, 2 * V.T @ error, atol=1e-9)
        V -= 2 * min(c, 0.25 / (v @ v)) * np.outer(error, v)
        np.testing.assert_allclose(B @ M, V, atol=1e-9)
        np.testing.assert_allclose(M @ N, np.eye(3), atol=1e-9)
        np.testing.assert_allclose(G, V.T @ V, atol=1e-9)


def test_a_step_touches_only_the_words_of_its_document():
    _, rows, vectors, _, B = world(3)
    before, (M, N, G), kept = B.copy(), factors(B), room(rows.indptr, rows.data)
    reconstruct_step(
        rows.indptr, rows.indices, rows.data, 2, vectors[2], 0.1, B, M, N, G, np.empty(3), np.empty((3, 3)), kept
    )
    assert np.array_equal(np.flatnonzero((before != B).any(axis=1)), rows[[2]].indices)


def margin_loss(x, vectors, W, k, other, rival, margin):
    own = vectors[k] @ (x[k] @ W)
    first = max(0.0, margin - own + vectors[k] @ (x[other] @ W))
    return first + max(0.0, margin - own + vectors[rival] @ (x[k] @ W))


def downhill(loss, table, h=1e-6):
    found = np.empty_like(table)
    for place in np.ndindex(table.shape):
        kept = table[place]
        table[place] = kept - h
        below = loss()
        table[place] = kept + h
        found[place] = (below - loss()) / (2 * h)
        table[place] = kept
    return found


@given(seed=SEEDS, margin=st.sampled_from([0.0, 0.2, 9.0]))
@settings(max_examples=25, deadline=None)
def test_margin_steps_follow_the_numerical_gradient(seed, margin):
    _, rows, vectors, W, _ = world(seed)
    x, k, other, rival = rows.toarray(), 1, 3, 4

    def loss():
        return margin_loss(x, vectors, W, k, other, rival, margin)

    terms = margin - vectors[k] @ (x[k] @ W) + np.array([vectors[k] @ (x[other] @ W), vectors[rival] @ (x[k] @ W)])
    if np.abs(terms).min() < 1e-4:
        return  # at the corner of a margin loss there is no gradient
    by_W, by_vectors = downhill(loss, W), downhill(loss, vectors)
    moved_W, moved, gradient, work = W.copy(), vectors.copy(), np.zeros(3), np.empty((3, 3))
    work[0] = x[k] @ W
    kept = room(rows.indptr, rows.data)
    found = hinge_step(
        rows.indptr, rows.indices, rows.data, k, other, rival, True, 1.0, margin, moved, moved_W, gradient, work, kept
    )
    moved[k] -= gradient
    assert found == pytest.approx(loss())
    np.testing.assert_allclose(moved_W - W, by_W, atol=1e-6)  # rounding of 9 / h
    np.testing.assert_allclose(moved - vectors, by_vectors, atol=1e-6)


def dense_epoch(x, y, order, candidates, rates, gamma, margin, vectors, W, V):
    """The same steps, every one on whole tables."""
    losses = np.zeros(2)
    for k, drawn, rate in zip(order, candidates, rates, strict=True):
        v, image = vectors[k].copy(), x[k] @ W
        error = V @ v - y[k]
        losses[0] += error @ error
        gradient = 2 * gamma * V.T @ error
        V -= 2 * min(rate * gamma, 0.25 / (v @ v)) * np.outer(error, v)
        other, rival = drawn[0], drawn[np.argmax(vectors[drawn] @ image)]
        away = x[other] @ W
        first, second = margin - v @ image + np.array([v @ away, vectors[rival] @ image])
        losses[1] += max(first, 0) + max(second, 0)
        step = np.zeros_like(v)
        if first > 0:
            gradient -= image - away
            step += v
            W -= rate * np.outer(x[other], v)
        if second > 0:
            gradient -= image
            step += v - vectors[rival]
            vectors[rival] -= rate * image
        W += rate * np.outer(x[k], step)
        vectors[k] -= rate * gradient
    return losses


@given(seed=SEEDS, n_candidates=st.integers(1, 3), limit=st.sampled_from([0.0, 1e6]))
@settings(max_examples=20, deadline=None)
def test_an_epoch_equals_the_dense_one_however_often_it_is_folded(seed, n_candidates, limit):
    rng, rows, vectors, W, B = world(seed, n_docs=6)
    n_steps, dim = 70, 3
    order = rng.integers(0, 6, n_steps)
    candidates = rng.integers(0, 5, (n_steps, n_candidates))
    candidates += candidates >= order[:, None]
    queries = np.where(rng.random(rows.nnz) < 0.5, rows.data, 0)
    rates, (M, N, G) = np.linspace(0.1, 0, n_steps), factors(B)
    asked = sp.csr_array((queries, rows.indices, rows.indptr), shape=rows.shape).toarray()
    dense = vectors.copy(), W.copy(), B.copy()
    expected = dense_epoch(asked, rows.toarray(), order, candidates, rates, 0.7, 0.3, *dense)
    losses, at, stops = np.zeros(2), 0, []
    while at < n_steps:
        at = train_documents(
            rows.indptr, rows.indices, rows.data, queries, order, candidates, True, at, rates, 0.7, 0.3,
            vectors, W, B, M, N, G, limit, losses,
        )  # fmt: skip
        stops.append(at)
        B = B @ M
        M, N = np.eye(dim), np.eye(dim)
    assert stops == ([32, 64, 70] if limit == 0 else [70])
    for found, wanted in zip((vectors, W, B, losses), (*dense, expected), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-8)


def printed_steps(y, triplets, rate, gamma, vectors, W, V):
    """The four updates of HTR's section 2.1, dense: descent, and v_k in both conditions (slips of the print)."""
    for i, k, other in triplets:
        v, error = vectors[i].copy(), V @ vectors[i] - y[i]
        V, vectors[i] = V - 2 * rate * gamma * np.outer(error, v), v - 2 * rate * gamma * V.T @ error
        if 1 - vectors[k] @ W.T @ y[k] + vectors[k] @ W.T @ y[other] > 0:
            step = np.outer(y[k] - y[other], vectors[k])
            vectors[k] += rate * W.T @ (y[k] - y[other])
            W = W + rate * step
    return vectors, W, V


@given(seed=SEEDS, limit=st.sampled_from([0.0, 1e6]))
@settings(max_examples=15, deadline=None)
def test_triplets_step_as_printed(seed, limit):
    rng, rows, vectors, W, B = world(seed, n_docs=6)
    triplets = np.array([[rng.integers(6), *rng.permutation(6)[:2]] for _ in range(50)])
    expected = printed_steps(rows.toarray(), triplets, 0.02, 0.5, vectors.copy(), W.copy(), B.copy())
    (M, N, G), losses, at = factors(B), np.zeros(2), 0
    while at < len(triplets):
        at = train_triplets(
            rows.indptr, rows.indices, rows.data, triplets, at, 0.02, 0.5, 1.0, vectors, W, B, M, N, G, limit, losses
        )
        B = B @ M
        M, N = np.eye(3), np.eye(3)
    for found, wanted in zip((vectors, W, B), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-8)
    assert losses.all()


def test_one_way_leaves_the_rival_alone():
    _, rows, vectors, W, _ = world(2)
    before, gradient, work = vectors.copy(), np.zeros(3), np.empty((3, 3))
    work[0] = rows.toarray()[1] @ W
    kept = room(rows.indptr, rows.data)
    loss = hinge_step(rows.indptr, rows.indices, rows.data, 1, 3, 4, False, 0.1, 9.0, vectors, W, gradient, work, kept)
    assert np.array_equal(vectors, before)
    assert loss > 0


def test_without_gamma_nothing_is_reconstructed():
    _, rows, vectors, W, B = world(4)
    before, (M, N, G), losses = B.copy(), factors(B), np.zeros(2)
    args = rows.indptr, rows.indices, rows.data, rows.data, np.array([0, 1]), np.array([[2], [3]]), True, 0
    train_documents(*args, np.full(2, 0.1), 0.0, 1.0, vectors, W, B, M, N, G, 1e4, losses)
    assert np.array_equal(B, before)
    assert losses[0] == 0 < losses[1]


def test_the_hardest_is_the_best_scored_and_of_equals_the_first():
    vectors = np.array([[1.0], [3.0], [2.0], [3.0]])
    assert hardest(np.array([2, 1, 3]), vectors, np.array([1.0])) == 1
    assert hardest(np.array([2, 3, 1]), vectors, np.array([1.0])) == 3
    assert hardest(np.array([3, 0]), vectors, np.array([-1.0])) == 0


def test_size_of_a_matrix():
    assert frobenius(np.array([[3.0, 0.0], [0.0, 4.0]])) == 5.0
