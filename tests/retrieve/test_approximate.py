"""Approximate search: near to exact search on learned vectors, the same bits each time, sound after changes."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Collection, MissingExtraError, StoreError, TacitError, UsageError
from tacit.retrieve import METHODS, Bm25Ranker, EmbeddingRanker, LsiRanker, NeighborGraph
from tacit.search import Searcher, load

pytest.importorskip("faiss", reason="an index is built by faiss: pip install 'tacit-rank[ann]'")


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(40, 16))
    found = centers[rng.integers(0, 40, 2000)] + 0.5 * rng.normal(size=(2000, 16))
    return (found * rng.lognormal(0, 0.3, (2000, 1))).astype(np.float32)


@pytest.fixture(scope="module")
def graph(vectors):
    return NeighborGraph(n_links=8).fit(vectors)


def recall(graph, vectors, queries):
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    found = [graph.search(vectors, query, 64)[:10] for query in queries]
    return np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, exact, strict=True)])


def test_most_of_the_exact_answers_are_found(graph, vectors):
    assert recall(graph, vectors, vectors[::40]) > 0.97


def test_the_same_vectors_give_the_same_graph(graph, vectors):
    again = NeighborGraph(n_links=8).fit(vectors)
    for name in ("neighbors_", "offsets_", "entry_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(graph, name))


def test_removed_items_are_passed_and_added_ones_are_found(vectors):
    graph = NeighborGraph(n_links=8).fit(vectors)
    kept = np.setdiff1d(np.arange(2000), np.arange(0, 2000, 5))
    graph = graph.with_items(kept)
    assert recall(graph, vectors[kept], vectors[::40]) > 0.95
    now = np.concatenate([vectors[kept], 3 * vectors[:1]])
    graph.check_rows(len(now))
    assert len(now) - 1 in graph.search(now, vectors[0], 5)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("neighbors_", lambda a: np.where(a == a.max(), a.max() + 1, a).astype(np.int32)),
        ("neighbors_", lambda a: a.astype(np.int64)),
        ("neighbors_", lambda a: np.where(a < 0, -2, a).astype(np.int32)),
        ("offsets_", lambda a: a[:-1]),
        ("offsets_", lambda a: np.concatenate([a[:1], a[1:] + 8])),
        ("entry_", lambda a: 2000),
        ("n_links", lambda a: 7),
    ],
)
def test_a_graph_that_points_outside_is_refused(graph, name, change):
    damaged = NeighborGraph(n_links=8)
    damaged.__dict__.update(vars(graph))
    setattr(damaged, name, change(getattr(graph, name)))
    with pytest.raises(TacitError):
        damaged._check_loaded()


def test_a_link_to_a_node_without_that_level_is_refused(graph):
    damaged = NeighborGraph(n_links=8)
    damaged.__dict__.update(vars(graph))
    sizes = np.diff(graph.offsets_)
    high, low = np.flatnonzero(sizes > 16)[0], np.flatnonzero(sizes == 16)[0]
    damaged.neighbors_ = graph.neighbors_.copy()
    damaged.neighbors_[graph.offsets_[high] + 16] = low
    with pytest.raises(TacitError, match="across levels"):
        damaged._check_loaded()


def test_a_graph_for_other_items_is_refused(graph, rows):
    ranker = LsiRanker(dim=8).fit(None, rows)
    ranker.graph_ = graph
    with pytest.raises(TacitError, match="does not fit"):
        ranker.rank(rows[:2])
    ranker = LsiRanker(dim=8).fit(None, rows)
    ranker.graph_ = Bm25Ranker().fit(None, rows)
    with pytest.raises(StoreError, match="want a NeighborGraph"):
        ranker.rank(rows[:2])


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    topics = rng.integers(0, 10, 300)
    counts = rng.poisson(0.1, (300, 100)) + rng.poisson(1.0, (300, 100)) * (np.arange(100) // 10 == topics[:, None])
    return sp.csr_array(counts.astype(np.float32))


def test_words_and_vectors_both_give_candidates(rows):
    from tacit.core import Links

    targets = (np.arange(300) + 10) % 300
    ranker = EmbeddingRanker(8, items="residual", n_epochs=2).fit(None, rows, Links(np.arange(300), targets, 300, 300))
    exact = ranker.rank(rows[:50])
    ranker.build_graph(rows[:50])
    found = ranker.rank(rows[:50])
    assert ranker.graph_.recall_ == np.mean(
        [np.isin(a, b).mean() for a, b in zip(exact.items, found.items, strict=True)]
    )
    assert ranker.graph_.recall_ > 0.95
    assert ranker.graph_.n_measured_ == 50
    same = found.items == exact.items
    np.testing.assert_allclose(found.scores[same], exact.scores[same], rtol=1e-5, atol=1e-6)


def test_the_breadth_is_the_smallest_that_finds_enough(rows, monkeypatch):
    ranker, asked = LsiRanker(dim=8).fit(None, rows), []
    monkeypatch.setattr("tacit.retrieve.approximate.BREADTHS", (2, 4, 300))
    search = NeighborGraph.search
    monkeypatch.setattr(
        NeighborGraph, "search", lambda self, *given: asked.append(self.breadth_) or search(self, *given)
    )
    ranker.build_graph(rows[:50], n_links=2, build_breadth=4)
    graph = ranker.graph_
    tried = list(dict.fromkeys(asked))
    assert tried == [2, 4, 300][: len(tried)]
    assert graph.breadth_ == tried[-1]
    assert graph.recall_ >= 0.98 or tried[-1] == 300
    assert LsiRanker(dim=8).fit(None, rows).build_graph(rows[:50], breadth=7).graph_.breadth_ == 7


def test_excluded_items_are_left_out(rows):
    ranker = LsiRanker(dim=8).fit(None, rows).build_graph(rows[:20])
    own = sp.eye_array(20, 300, format="csr", dtype=bool)
    assert not (ranker.rank(rows[:20], exclude=own).items == np.arange(20)[:, None]).any()


def test_a_ranker_without_vectors_says_so(rows):
    with pytest.raises(UsageError, match="Bm25Ranker does not score by one vector"):
        Bm25Ranker().fit(None, rows).build_graph(rows[:2])


def test_without_faiss_the_extra_is_named(vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"tacit-rank\[ann\]"):
        NeighborGraph().fit(vectors)


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(2)
    words = np.array([f"word{n}" for n in range(400)])
    texts = [" ".join(words[(rng.integers(0, 20) * 20 + rng.integers(0, 25, 30)) % 400]) for _ in range(200)]
    return Collection([f"d{n}" for n in range(200)], [text.split()[0] for text in texts], texts)


def test_blend_combines_candidates_and_keeps_the_graph(documents, tmp_path):
    searcher = Searcher(ann=True, dim=16).fit(documents)
    approximate = [(hit.id, hit.score) for hit in searcher.search("word3 word27 word50")]
    assert searcher.ranker_.graphs[0].recall_ > 0.95
    searcher.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.ranker_.graphs[0].recall_ == searcher.ranker_.graphs[0].recall_
    assert [(hit.id, hit.score) for hit in loaded.search("word3 word27 word50")] == approximate
    exact = [(hit.id, hit.score) for hit in Searcher(dim=16).fit(documents).search("word3 word27 word50")]
    assert [doc_id for doc_id, _ in approximate] == [doc_id for doc_id, _ in exact]
    loaded.remove([approximate[0][0]])
    loaded.add(Collection(["new"], [""], ["word3 word27 word50"]))
    found = [hit.id for hit in loaded.search("word3 word27 word50")]
    assert found[0] == "new"
    assert approximate[0][0] not in found


def test_after_removal_ranking_by_the_graph_is_that_of_all_vectors(rows):
    ranker = LsiRanker(dim=8).fit(None, rows).build_graph(rows[:20])
    ranker.remove_items(np.arange(0, 150, 2))
    found = ranker.rank(rows[:50])
    assert found.items.max() < ranker.n_items_ == 225
    ranker.graph_ = None
    ranker._forget_factors()
    exact = ranker.rank(rows[:50])
    shares = [np.isin(a, b).mean() for a, b in zip(exact.items, found.items, strict=True)]
    assert np.mean(shares) > 0.95


@pytest.mark.parametrize("method", sorted(METHODS))
def test_whether_an_index_can_be_built_is_known_before_training(method):
    ranker = METHODS[method].make()
    if ranker.by_words or ranker.by_word_pairs:
        with pytest.raises(UsageError, match="does not score by one vector"):
            ranker.check_graph()
    else:
        ranker.check_graph()


def test_a_searcher_refuses_an_index_before_it_trains(documents, monkeypatch):
    for cannot in ({"method": "bm25"}, {"method": "blend", "rerank": "standing"}):
        with pytest.raises(UsageError, match=r"does not score|two stages"):
            Searcher(ann=True, **cannot).fit(documents)
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr("tacit.search.rows.TextRows.read", None)  # no text is read
    with pytest.raises(MissingExtraError, match=r"tacit-rank\[ann\]"):
        Searcher(ann=True).fit(documents)
