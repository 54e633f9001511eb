"""Worlds with one right answer, the exact map, repeatability, the model folder, and every refusal."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from tacit.core import DivergedError, NotFittedError, StoreError, TacitError, UsageError
from tacit.features import knn_graph
from tacit.retrieve.graph.embedding import GraphEmbedding
from tacit.retrieve.graph.features import make_map
from tacit.retrieve.graph.pairs import PairDraws, check_adjacency
from tacit.search import load, save


def two_moons(n=240, seed=0):
    """Two bent bands that a bridge of one edge joins; no straight line parts them."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, n)
    label = np.arange(n) % 2
    x = np.where(label, 1 - np.cos(angle), np.cos(angle))
    y = np.where(label, 0.4 - np.sin(angle), np.sin(angle))
    return np.stack([x, y], 1) + rng.normal(0, 0.05, (n, 2)), label


def joined(X, k=5):
    """The graph of neighbours, with its parts tied together by one edge each."""
    graph = knn_graph(X, k).tolil()
    _, parts = connected_components(graph, directed=False)
    for part in range(1, parts.max() + 1):
        other = int(np.argmax(parts == part))
        graph[0, other] = graph[other, 0] = 1.0
    return graph.tocsr()


@pytest.fixture(scope="module")
def moons():
    X, labels = two_moons()
    new, new_labels = two_moons(seed=9)
    return X, labels, joined(X), new, new_labels


@pytest.fixture(scope="module")
def fitted(moons):
    X, labels, graph, *_ = moons
    return GraphEmbedding(dim=8, n_centres=20, n_epochs=30, seed=1).fit(X, graph, labels=labels)


def test_new_points_fall_beside_their_band(moons, fitted):
    _, _, _, new, new_labels = moons
    assert np.mean(fitted.predict(new) != new_labels) < 0.02


def test_neighbours_end_nearer_than_others(moons, fitted):
    graph, V = moons[2], fitted.item_vectors_.astype(float)
    gaps = np.abs(V[:, None] - V[None]).sum(axis=2)
    near = gaps[graph.toarray() > 0].mean()
    far = gaps[graph.toarray() == 0].mean()
    assert near < 0.3 * far


def test_an_item_lies_near_its_own_image(moons, fitted):
    images = fitted.embed(moons[0])
    own = np.abs(images - fitted.item_vectors_).sum(axis=1)
    others = np.abs(images - np.roll(fitted.item_vectors_, 61, axis=0)).sum(axis=1)
    assert np.median(own) < 0.4 * np.median(others)


def test_loss_falls_and_every_epoch_is_told(fitted):
    losses = [epoch["loss"] for epoch in fitted.epochs_]
    assert len(losses) == 30
    assert losses[-1] < 0.6 * losses[0]
    assert fitted.best_epoch_ == 30


@pytest.mark.parametrize("features", ["linear", "rbf", "given"])
@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
def test_a_row_is_embedded_to_the_same_bits_alone(features, as_given):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(70, 9)), rng.normal(size=(131, 9))
    model = GraphEmbedding(dim=7, features=features, n_centres=23).fit(X, joined(X))
    together = model.embed(as_given(new))
    for i in range(len(new)):
        assert np.array_equal(together[i], model.embed(as_given(new[i : i + 1]))[0])
    assert np.array_equal(together[5:40], model.embed(as_given(new[5:40])))


@given(seed=st.integers(0, 2**32 - 1), width=st.integers(1, 40), n_centres=st.integers(1, 60))
@settings(max_examples=15, deadline=None)
def test_features_of_a_row_do_not_depend_on_the_rows_beside_it(seed, width, n_centres):
    rng = np.random.default_rng(seed)
    shape = make_map("rbf", n_centres, 0.3).fit(rng.normal(size=(50, width)).astype(np.float32))
    points = rng.normal(size=(9, width)).astype(np.float32)
    together = shape.rows(points).toarray()
    for i in range(9):
        assert np.array_equal(together[i], shape.rows(points[i : i + 1]).toarray()[0])
    np.testing.assert_allclose(np.square(together).sum(axis=1), 1, rtol=1e-5)


def test_rbf_features_are_the_kernel_of_the_nearest_centres():
    rng = np.random.default_rng(0)
    centres, x = rng.normal(size=(30, 3)).astype(np.float32), rng.normal(size=(1, 3)).astype(np.float32)
    squares = np.square(centres - x).sum(axis=1)
    wanted = np.exp(-squares / (2 * 0.8**2))
    wanted[np.argsort(squares)[10:]] = 0
    found = make_map("rbf", 10, 0.8).fit(centres).rows(x).toarray()[0]
    np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), rtol=1e-4, atol=1e-6)
    as_it_is = make_map("rbf", 10, 0.8, "none").fit(centres).rows(x).toarray()[0]
    np.testing.assert_allclose(as_it_is, wanted, rtol=1e-4, atol=1e-6)


def test_same_seed_same_bits_for_any_number_of_threads(moons):
    X, labels, graph, new, _ = moons
    first, again, other = (
        GraphEmbedding(dim=5, n_centres=20, seed=seed, threads=threads).fit(X, graph, labels=labels)
        for seed, threads in ((3, 1), (3, 4), (4, 1))
    )
    assert np.array_equal(first.item_vectors_, again.item_vectors_)
    assert np.array_equal(first.embed(new), again.embed(new))
    assert not np.array_equal(first.item_vectors_, other.item_vectors_)


def test_the_margin_of_the_l1_loss_is_a_unit_of_length(moons):
    X, _, graph, *_ = moons
    one, four = (GraphEmbedding(dim=4, n_centres=20, margin=m).fit(X, graph).item_vectors_ for m in (1.0, 4.0))
    assert np.array_equal(4 * one, four)  # by a power of two: no rounding


def test_squares_part_the_bands_too(moons):
    X, labels, graph, new, new_labels = moons
    model = GraphEmbedding(dim=8, n_centres=20, n_epochs=30, loss="l2", rate=0.05).fit(X, graph, labels=labels)
    assert np.mean(model.predict(new) != new_labels) < 0.05


def test_linear_map_parts_what_a_line_parts():
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    X = rng.normal(size=(200, 6)) + 4 * labels[:, None]
    model = GraphEmbedding(dim=5, features="linear", n_epochs=20)
    model.fit(X[:150], joined(X[:150]), labels=labels[:150])
    assert np.mean(model.predict(X[150:]) != labels[150:]) < 0.05


def test_validation_keeps_the_best_epoch(moons):
    X, labels, graph, new, new_labels = moons
    model = GraphEmbedding(dim=3, n_centres=20, n_epochs=8)
    model.fit(X, graph, labels=labels, validation=(new, new_labels))
    errors = [epoch["error"] for epoch in model.epochs_]
    assert model.best_epoch_ == 1 + int(np.argmin(errors))
    assert np.mean(model.predict(new) != new_labels) == min(errors)


@pytest.mark.parametrize("features", ["rbf", "linear"])
def test_a_saved_model_answers_with_the_same_bits(moons, tmp_path, features):
    X, labels, graph, new, _ = moons
    model = GraphEmbedding(dim=4, features=features, n_centres=20, size="sum").fit(X, graph, labels=labels)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert np.array_equal(back.embed(new), model.embed(new))
    assert np.array_equal(back.predict(new), model.predict(new))
    assert back.get_params() == model.get_params()
    assert back.best_epoch_ == model.best_epoch_


def test_a_foreign_folder_is_refused(tmp_path):
    with pytest.raises(StoreError):
        load(tmp_path / "nothing")


def test_text_labels_are_not_saved(moons, tmp_path):
    X, labels, graph, *_ = moons
    model = GraphEmbedding(dim=2, n_centres=5, n_epochs=1).fit(X, graph, labels=np.array(["a", "b"])[labels])
    with pytest.raises(UsageError, match="labels"):
        save(model, tmp_path / "model")


class TestGraphs:
    def test_parts_are_named(self):
        graph = sp.block_diag([np.ones((4, 4)), np.ones((3, 3)), np.zeros((1, 1))])
        with pytest.warns(UserWarning, match="3 components of 4, 3, 1 points; points without a neighbour: 1"):
            check_adjacency(graph, 8)

    def test_isolated_points_are_still_embedded(self):
        X = np.array([[0.0], [1.0], [2.0], [50.0]])
        graph = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
        with pytest.warns(UserWarning, match="without a neighbour"):
            model = GraphEmbedding(dim=3, n_epochs=200).fit(X, graph)
        assert model.nearest(X[3:]).tolist() == [3]

    @pytest.mark.parametrize(
        ("graph", "words"),
        [
            (np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]), r"not symmetric.*\(0, 1\) but not \(1, 0\)"),
            (np.zeros((3, 3)), "no edge"),
            (np.eye(3), "no edge"),
            (np.ones((2, 2)), "shape"),
            (np.full((3, 3), np.nan), "NaN"),
        ],
    )
    def test_unfit_graphs_are_refused(self, graph, words):
        with pytest.raises(TacitError, match=words):
            GraphEmbedding().fit(np.arange(3.0)[:, None], graph)

    def test_far_pairs_are_never_neighbours_nor_one_point(self):
        graph = check_adjacency(joined(np.random.default_rng(0).normal(size=(30, 2))), 30)
        near, far = PairDraws(graph, 0.5).epoch(np.random.default_rng(0))
        dense = graph.toarray() + np.eye(30)
        assert not dense[far[:, 0], far[:, 1]].any()
        assert dense[near[:, 0], near[:, 1]].all()
        assert np.mean(near[:, 0] == near[:, 1]) == pytest.approx(0.5, abs=0.01)

    def test_without_a_share_every_own_pair_is_as_frequent_as_an_edge(self):
        graph = check_adjacency(joined(np.random.default_rng(0).normal(size=(30, 2))), 30)
        near, _ = PairDraws(graph, None).epoch(np.random.default_rng(0))
        pairs, times = np.unique(near, axis=0, return_counts=True)
        assert (times == 1).all()
        assert len(pairs) == graph.nnz + 30

    def test_a_full_graph_has_no_far_pairs(self):
        graph = check_adjacency(np.ones((4, 4)), 4)
        _, far = PairDraws(graph, 0.0).epoch(np.random.default_rng(0))
        assert (far[:, 0] == far[:, 1]).all()
        GraphEmbedding(dim=2).fit(np.arange(4.0)[:, None], np.ones((4, 4)))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"dim": 0}, "dim"),
        ({"k": 20}, "k is 20, but the number of points is 20"),
        ({"rate": 0}, "rate"),
        ({"margin": -1}, "margin"),
        ({"gamma": float("nan")}, "gamma"),
        ({"own_share": 1.0}, "own_share"),
        ({"features": "poly"}, "features"),
        ({"loss": "l3"}, "loss"),
        ({"size": "area"}, "size"),
        ({"sigma": 0.0}, "sigma"),
        ({"n_centres": 0}, "n_centres"),
    ],
)
def test_refuses_parameters(parameters, words):
    with pytest.raises(TacitError, match=words):
        GraphEmbedding(**parameters).fit(np.arange(20.0)[:, None])


def test_refuses_points():
    with pytest.raises(TacitError, match="NaN or infinity in row 2"):
        GraphEmbedding(k=1).fit([[0.0], [1.0], [np.nan]])
    with pytest.raises(TacitError, match="most neighbours in X are equal"):
        GraphEmbedding(k=2).fit(np.ones((9, 3)))
    with pytest.raises(TacitError, match="constant"):
        GraphEmbedding(k=2, features="linear").fit(np.ones((9, 3)))
    with pytest.raises(TacitError, match="labels has shape"):
        GraphEmbedding(k=2).fit(np.arange(9.0)[:, None], labels=[1, 2])


def test_constant_features_beside_others_do_no_harm(moons):
    X, labels, graph, new, new_labels = moons
    wide, new_wide = (np.hstack([points, np.full((len(points), 2), 3.0)]) for points in (X, new))
    model = GraphEmbedding(dim=8, n_centres=20, n_epochs=30).fit(wide, graph, labels=labels)
    assert np.mean(model.predict(new_wide) != new_labels) < 0.05


def test_says_what_is_missing(moons, fitted):
    with pytest.raises(NotFittedError):
        GraphEmbedding().embed([[0.0]])
    with pytest.raises(TacitError, match="3 features, want 2"):
        fitted.embed(np.zeros((1, 3)))
    unlabelled = GraphEmbedding(dim=2, n_epochs=1).fit(moons[0], moons[2])
    with pytest.raises(UsageError, match="labels"):
        unlabelled.predict(moons[3])
    with pytest.raises(UsageError, match="labels"):
        unlabelled.fit(moons[0], moons[2], validation=(moons[3], moons[4]))


def test_divergence_names_epoch_and_rate(moons):
    model = GraphEmbedding(dim=3, loss="l2", rate=50.0)
    with pytest.raises(DivergedError, match=r"epoch 1 at rate 50;"):
        model.fit(moons[0], moons[2])
