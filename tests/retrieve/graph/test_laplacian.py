"""Eigenmaps against scikit-learn and dense algebra; the extension of an item is the item."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.manifold import SpectralEmbedding

from tacit.core import NotFittedError, TacitError
from tacit.features import knn_graph
from tacit.retrieve.graph.laplacian import LaplacianEigenmaps
from tacit.search import load, save


def ring(n):
    graph = np.zeros((n, n))
    for i in range(n):
        graph[i, (i + 1) % n] = graph[(i + 1) % n, i] = 1
    return graph


@pytest.fixture(scope="module")
def cloud():
    X = np.random.default_rng(0).normal(size=(120, 3))
    graph = knn_graph(X, 8)
    return X, sp.csr_array((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape)


def test_equals_scikit_learn_up_to_sign_and_length(cloud):
    X, graph = cloud
    ours = LaplacianEigenmaps(dim=4).fit(X, graph).item_vectors_
    theirs = SpectralEmbedding(4, affinity="precomputed", eigen_solver="arpack", random_state=0).fit_transform(graph)
    for mine, other in zip(ours.T, theirs.T, strict=True):
        cosine = mine @ other / np.linalg.norm(mine) / np.linalg.norm(other)
        assert abs(cosine) == pytest.approx(1, abs=1e-6)


def test_solves_the_generalised_problem(cloud):
    X, graph = cloud
    model, degrees = LaplacianEigenmaps(dim=5).fit(X, graph), graph.sum(axis=1)
    residual = graph @ model.item_vectors_ - degrees[:, None] * model.item_vectors_ * model.eigenvalues_
    assert np.abs(residual).max() < 1e-9
    assert (np.diff(model.eigenvalues_) <= 0).all()
    assert model.eigenvalues_[0] < 1 - 1e-6  # the constant solution is left out


def test_a_ring_is_a_circle():
    model = LaplacianEigenmaps(dim=2).fit(np.arange(12.0)[:, None], ring(12))
    np.testing.assert_allclose(model.eigenvalues_, np.cos(2 * np.pi / 12), atol=1e-9)
    lengths = np.linalg.norm(model.item_vectors_, axis=1)
    np.testing.assert_allclose(lengths, lengths[0], atol=1e-9)


def test_the_extension_of_items_is_their_own_embedding(cloud):
    X, graph = cloud
    model = LaplacianEigenmaps(dim=6).fit(X, graph)
    np.testing.assert_allclose(model.extend(graph), model.item_vectors_, atol=1e-9)


def test_new_points_are_the_mean_of_their_neighbours(cloud):
    X, graph = cloud
    model = LaplacianEigenmaps(dim=3, k=4).fit(X, graph)
    new = np.random.default_rng(5).normal(size=(1, 3))
    nearest = np.argsort(np.square(X - new).sum(axis=1))[:4]
    np.testing.assert_allclose(
        model.embed(new)[0], model.item_vectors_[nearest].mean(axis=0) / model.eigenvalues_, atol=1e-9
    )


def test_repeats(cloud):
    first, again = (LaplacianEigenmaps(dim=3, seed=1).fit(*cloud).item_vectors_ for _ in "xy")
    assert np.array_equal(first, again)


def test_warns_and_refuses(cloud):
    X, graph = cloud
    with pytest.warns(UserWarning, match="2 components of 120, 120 points"):
        LaplacianEigenmaps(dim=2).fit(np.concatenate([X, X]), sp.block_diag([graph, graph]))
    with pytest.raises(TacitError, match="dim is 119, want at most 118"):
        LaplacianEigenmaps(dim=119).fit(X, graph)
    with pytest.raises(TacitError, match="k is 120"):
        LaplacianEigenmaps(dim=2, k=120).fit(X)
    with pytest.raises(NotFittedError):
        LaplacianEigenmaps().embed(X)
    model = LaplacianEigenmaps(dim=2).fit(X, graph)
    with pytest.raises(TacitError, match="point 1 has no neighbour"):
        model.extend(sp.csr_array(([1.0], ([0], [3])), shape=(2, 120)))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_saved_model_answers_with_the_same_bits(form, tmp_path):
    points = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    model = LaplacianEigenmaps(dim=3, k=8).fit(form(points))
    save(model, tmp_path / "model")
    back = load(tmp_path / "model", LaplacianEigenmaps)
    assert back.get_params() == model.get_params()
    assert np.array_equal(back.item_vectors_, model.item_vectors_)
    assert np.array_equal(back.embed(points[:9] + np.float32(0.1)), model.embed(points[:9] + np.float32(0.1)))
