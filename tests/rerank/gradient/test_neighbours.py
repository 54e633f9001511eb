"""Pairs of neighbours against the definition, written out over all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from tacit.core import TacitError
from tacit.rerank.gradient import neighbours
from tacit.rerank.gradient.neighbours import find_neighbours


def nearest_of(points, i, k):
    distance = ((points - points[i]) ** 2).sum(axis=1)
    return [j for j in np.lexsort((np.arange(len(points)), distance)) if j != i][:k]


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
@settings(deadline=None, max_examples=25)
def test_union_is_that_of_the_definition(seed, k):
    rng = np.random.default_rng(seed)
    points, starts = rng.integers(0, 4, (11, 2)).astype(float), np.array([0, 1, 5, 11])
    wanted = set()
    for a, b in ((0, 1), (1, 5), (5, 11)):
        part = points[a:b]
        wanted |= {tuple(sorted((a + i, a + j))) for i in range(b - a) for j in nearest_of(part, i, k)}
    found = find_neighbours(starts, k, vectors=points)
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) == wanted
    assert len(found.left) == len(wanted)
    assert (found.strength == 1 / k).all()
    assert found.n_cut == sum(n - 1 < k for n in (1, 4, 6))


def test_there_and_back_is_that_of_the_definition():
    points, k, sigma = np.random.default_rng(1).normal(size=(8, 2)), 3, 0.7
    step = np.zeros((8, 8))
    for i in range(8):
        for j in nearest_of(points, i, k):
            step[i, j] = np.exp(-((points[i] - points[j]) ** 2).sum() / sigma**2)
    step /= step.sum(axis=1, keepdims=True)
    wanted = step * step.T / (step * step.T).sum()
    found = find_neighbours(np.array([0, 8]), k, vectors=points, weighting="there-and-back", sigma=sigma)
    np.testing.assert_allclose(found.strength, wanted[found.left, found.right])
    assert found.strength.sum() == pytest.approx(0.5)  # each pair is once here and twice in the table


def test_a_tiny_length_scale_leaves_the_nearest():
    points = np.array([[0.0], [1.0], [3.0], [3.5]])
    found = find_neighbours(np.array([0, 4]), 2, vectors=points, weighting="there-and-back", sigma=1e-3)
    assert list(zip(found.left, found.right, strict=True)) == [(0, 1), (2, 3)]


def test_similarities_within_a_list_only():
    table = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.3], [0.9, 0.3, 1.0]])
    import scipy.sparse as sp

    found = find_neighbours(np.array([0, 2, 3]), 1, similarities=sp.csr_array(table))
    assert (found.left.tolist(), found.right.tolist()) == ([0], [1])


def test_long_lists_find_nearly_all_neighbours_without_all_pairs(monkeypatch):
    rng = np.random.default_rng(0)
    points = np.repeat(rng.normal(size=(2000, 4)), 2, axis=0) @ rng.normal(size=(4, 20))  # every point twice
    starts, pairs = np.array([0, len(points)]), []
    for most in (len(points), 0):
        found = find_neighbours(starts, 5, vectors=points, most_exact=most)
        assert (found.left < found.right).all()
        pairs.append(set(zip(found.left.tolist(), found.right.tolist(), strict=True)))
    assert len(pairs[0] & pairs[1]) > 0.97 * len(pairs[0])
    assert {(2 * i, 2 * i + 1) for i in range(2000)} <= pairs[1]
    asked = []
    monkeypatch.setattr(neighbours, "cdist", lambda a, b, how: asked.append(a.shape) or cdist(a, b, how))
    find_neighbours(starts, 5, vectors=points, most_exact=0)
    assert max(asked)[0] <= neighbours.LEAF


def test_a_tree_of_one_leaf_compares_all_pairs():
    points = np.random.default_rng(1).integers(0, 4, (60, 2)).astype(float)  # many equal distances
    exact = find_neighbours(np.array([0, 60]), 4, vectors=points)
    by_tree = find_neighbours(np.array([0, 60]), 4, vectors=points, most_exact=0)
    for one, other in zip(exact, by_tree, strict=True):
        np.testing.assert_array_equal(one, other)


def test_mistakes_are_named():
    with pytest.raises(TacitError, match="n_neighbours is 0"):
        find_neighbours(np.array([0, 2]), 0, vectors=np.eye(2))
    with pytest.raises(TacitError, match="either vectors or similarities"):
        find_neighbours(np.array([0, 2]), 1)
