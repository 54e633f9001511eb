"""Manifold ranking against its closed form, and what it cannot do said in words."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import TacitError
from tacit.rerank.propagation.manifold import ManifoldRanker, propagate, smooth_graph


def dense_graph(X, k):
    """S by the definition, with loops."""
    n = len(X)
    distance = np.linalg.norm(X[:, None] - X[None], axis=2)
    joined = np.zeros((n, n), bool)
    for i in range(n):
        near = [j for j in np.argsort(distance[i], kind="stable") if j != i][:k]
        joined[i, near] = joined[near, i] = True
    sigma = np.median(distance[joined])
    W = np.where(joined, np.exp(-(distance**2) / (2 * sigma**2)), 0)
    root = W.sum(axis=1) ** -0.5
    return root[:, None] * W * root[None]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 0.99]))
def test_iteration_ends_at_the_closed_form(seed, alpha):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), (rng.random(30) < 0.2).astype(float)
    S = dense_graph(X, 4)
    np.testing.assert_allclose(smooth_graph(X, 4).toarray(), S, atol=1e-6)  # the graph takes float32
    closed = (1 - alpha) * np.linalg.solve(np.eye(30) - alpha * S, y)
    np.testing.assert_allclose(propagate(sp.csr_array(S), y, alpha), closed, atol=1e-9)


def test_relevance_follows_the_ring_and_not_the_shortest_way():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.vstack([3 * ring, ring])
    y = np.full(120, np.nan)
    y[0] = 1  # on the outer ring; the nearest inner point is closer than the far outer ones
    scores = ManifoldRanker(k=2).fit(X, y).predict(X)
    assert scores[:60].min() > scores[60:].max()


def test_lists_do_not_mix_and_row_order_does_not_matter():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(40, 2)), np.repeat([5, 3], 20)
    y = np.full(40, -1.0)
    y[[2, 30]] = 1
    scores = ManifoldRanker().fit(X, y, qid).predict(X, qid)
    np.testing.assert_allclose(ManifoldRanker().fit(X[:20], y[:20]).predict(X[:20]), scores[:20], rtol=1e-12)
    order = rng.permutation(40)
    shuffled = ManifoldRanker().fit(X[order], y[order], qid[order]).predict(X)
    np.testing.assert_allclose(shuffled, scores, atol=1e-9)


def test_copies_of_a_row_are_neighbours():
    X = np.array([[0.0], [0.0], [9.0], [9.0]])
    scores = ManifoldRanker(k=1).fit(X, [1, -1, -1, 0]).predict(X)
    assert scores[1] > 0
    assert scores[2] == scores[3] == 0
    assert ManifoldRanker().fit([[1.0]], [1]).predict([[1.0]]) == pytest.approx(0.01)


def test_unseen_rows_and_lists_without_a_positive_are_refused():
    X = np.arange(8.0)[:, None]
    ranker = ManifoldRanker().fit(X, [1, 0, -1, -1, -1, -1, -1, -1])
    with pytest.raises(TacitError, match="row 0 was not among the 8 rows of fit.*no inductive form"):
        ranker.predict([[0.5]])
    with pytest.raises(TacitError, match=r"no row \(of 8; unjudged: 7\) has a grade >= 1"):
        ManifoldRanker().fit(X, [0, -1, -1, -1, -1, -1, -1, -1])
    with pytest.raises(TacitError, match="alpha is 1"):
        ManifoldRanker(alpha=1).fit(X, np.ones(8))
