"""The graph of neighbours against all pairs of distances, and the inputs that break such graphs."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import MissingExtraError, TacitError, UsageError
from tacit.features import component_sizes, knn_graph


def edges(graph):
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    return {(int(i), int(j)): d for i, j, d in zip(rows, graph.indices, graph.data, strict=True)}


def slow_edges(X, k, metric, how):
    """All distances, sorted row by row by (distance, number)."""
    n, directed = len(X), {}
    for i in range(n):
        if metric == "euclidean":
            far = [float(np.sqrt(((X[i] - X[j]) ** 2).sum())) for j in range(n)]
        else:
            lengths = np.linalg.norm(X, axis=1)
            far = [float(1 - X[i] @ X[j] / (lengths[i] * lengths[j])) for j in range(n)]
        nearest = sorted((j for j in range(n) if j != i), key=lambda j: (round(far[j], 9), j))[:k]
        directed |= {(i, j): far[j] for j in nearest}
    mirrored = {(j, i): d for (i, j), d in directed.items()}
    if how == "union":
        return directed | mirrored
    return {pair: d for pair, d in directed.items() if how == "directed" or pair in mirrored}


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 30), k=st.integers(1, 5), data=st.data())
@settings(max_examples=40, deadline=None)
def test_graph_equals_the_slow_one(seed, n, k, data):
    metric = data.draw(st.sampled_from(["euclidean", "cosine"]))
    how = data.draw(st.sampled_from(["union", "mutual", "directed"]))
    X = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    wanted = slow_edges(X.astype(float), min(k, n - 1), metric, how)
    for given_as in (X, sp.csr_array(X)):
        found = edges(knn_graph(given_as, min(k, n - 1), metric=metric, how=how))
        assert found.keys() == wanted.keys()
        assert all(abs(found[pair] - wanted[pair]) < 1e-7 for pair in wanted)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_edges_between_equal_points_do_not_vanish_and_go_to_the_smaller_number(as_given, metric):
    X = as_given(np.tile([[0.1, 0.7, 0.3]], (6, 1)))
    found = edges(knn_graph(X, 2, metric=metric, how="directed"))
    assert {j for i, j in found if i == 4} == {0, 1}
    assert len(found) == 12
    assert set(found.values()) == {0.0}


def test_union_is_symmetric_to_the_bit():
    X = sp.random_array((80, 50), density=0.2, rng=np.random.default_rng(0), format="csr")
    for points in (X, X.toarray()):
        for metric in ("euclidean", "cosine"):
            graph = knn_graph(points, 4, metric=metric)
            assert (abs(graph - graph.T)).max() == 0
            assert graph.has_sorted_indices
            assert graph.indices.dtype == graph.indptr.dtype == np.int32  # scikit-learn takes no others


def test_points_far_from_the_origin_keep_their_neighbours():
    X = np.arange(20.0)[:, None] + 4096
    assert edges(knn_graph(X, 1, how="directed"))[7, 6] == 1.0


def test_same_bits_for_any_number_of_threads():
    X = np.random.default_rng(0).normal(size=(1500, 20))
    one, three = (knn_graph(X, 5, threads=threads) for threads in (1, 3))
    assert np.array_equal(one.indices, three.indices)
    assert np.array_equal(one.data, three.data)


def test_constant_features_change_nothing():
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert edges(knn_graph(X, 3)).keys() == edges(knn_graph(np.hstack([X, np.full((30, 2), 7.0)]), 3)).keys()


def test_an_empty_row_is_at_cosine_distance_one():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.1]])
    assert edges(knn_graph(X, 1, metric="cosine", how="directed"))[0, 1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("X", "k", "words"),
    [
        (np.zeros((5, 2)), 5, "k is 5, but the number of points is 5: want k < 5"),
        (np.zeros((5, 2)), 0, "k is 0"),
        (np.array([[1.0], [np.nan], [2.0]]), 1, "NaN or infinity in row 1"),
        (np.zeros(5), 1, "1 dimensions"),
    ],
)
def test_refuses(X, k, words):
    with pytest.raises(TacitError, match=words):
        knn_graph(X, k)


def test_refuses_unknown_names():
    with pytest.raises(UsageError, match="metric"):
        knn_graph(np.zeros((3, 1)), 1, metric="euclid")
    with pytest.raises(UsageError, match="how"):
        knn_graph(np.zeros((3, 1)), 1, how="both")
    with pytest.raises(UsageError, match="dense"):
        knn_graph(sp.eye_array(4, format="csr"), 1, exact=False)


def test_mutual_may_leave_points_alone():
    graph = knn_graph([[0.0], [1.0], [2.1], [9.0]], 1, how="mutual")
    assert edges(graph).keys() == {(0, 1), (1, 0)}
    assert component_sizes(graph).tolist() == [2, 1, 1]


def test_components_count_edges_of_distance_zero():
    assert component_sizes(knn_graph(np.zeros((4, 1)), 1)).tolist() == [4]


class TestApproximate:
    def test_finds_nearly_all_and_repeats(self):
        pytest.importorskip("faiss")
        X = np.random.default_rng(0).normal(size=(2000, 8))
        exact = edges(knn_graph(X, 5))
        near, again = (knn_graph(X, 5, exact=False, threads=threads) for threads in (1, 2))
        found = edges(near)
        assert len(found.keys() & exact.keys()) > 0.95 * len(exact)
        assert all(abs(found[pair] - exact[pair]) < 1e-9 for pair in found.keys() & exact.keys())
        assert np.array_equal(near.indices, again.indices)
        assert all(i != j for i, j in found)

    def test_equal_points_keep_k_neighbours_of_their_own(self):
        pytest.importorskip("faiss")
        graph = knn_graph(np.zeros((50, 3)), 4, exact=False, how="directed")
        assert (np.diff(graph.indptr) == 4).all()
        assert all(i != j for i, j in edges(graph))

    def test_names_the_extra(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "faiss", None)
        with pytest.raises(MissingExtraError, match=r"tacit-rank\[ann\]"):
            knn_graph(np.zeros((9, 2)), 2, exact=False)
