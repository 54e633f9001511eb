"""Ranking by bounds gives the items and the bits of ranking all scores."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links
from tacit.features.text.weighting import weigh
from tacit.kernels.topk import top_k_rows
from tacit.retrieve import BlendRanker, Bm25Ranker, EmbeddingRanker, LearnedConcepts
from tacit.retrieve.approximate import NeighborGraph
from tacit.retrieve.blend import pruning
from tacit.retrieve.blend.embeddings import LatentMember, ResidualMember
from tacit.retrieve.blend.member import Limits, names_of
from tacit.retrieve.blend.titles import TitleMember
from tacit.retrieve.vectors import join_vectors

N_DOCS, N_WORDS, N_QUERIES, DIM = 400, 80, 12, 7
PRUNED = Limits(candidates=20, per_result=0)


@pytest.fixture(scope="module")
def world():
    """Documents of five topics; some twice, some without words or vectors; queries with and without words."""
    rng = np.random.default_rng(3)
    topic = rng.integers(0, 5, N_DOCS)
    rates = np.where(np.arange(N_WORDS) // 16 == topic[:, None], 0.4, 0.05)
    items = rng.poisson(rates).astype(np.float32)
    items[200:300] = items[100:200]
    items[350:] = 0
    vectors = rng.normal(size=(N_DOCS, DIM)).astype(np.float32) + 2 * np.eye(5, DIM)[topic]
    vectors[200:300], vectors[340:] = vectors[100:200], 0
    queries = rng.poisson(np.where(np.arange(N_WORDS) // 16 == np.arange(N_QUERIES)[:, None] % 5, 0.4, 0.02))
    queries[0], queries[1] = 0, np.arange(N_WORDS) == 5
    titles = items * (rng.random(items.shape) < 0.2)
    sources, targets = np.nonzero(
        (np.arange(N_QUERIES)[:, None] % 5 == topic) & (rng.random((N_QUERIES, N_DOCS)) < 0.2)
    )
    return {
        "items": sp.csr_array(items),
        "titles": sp.csr_array(titles.astype(np.float32)),
        "queries": sp.csr_array(queries.astype(np.float32)),
        "vectors": vectors.astype(np.float32),
        "pairs": Links(sources, targets, N_QUERIES, N_DOCS),
    }


@pytest.fixture(scope="module")
def blend(world):
    """A blend with all members; tests set their weights."""
    idf = np.ones(N_WORDS, np.float32)
    latent, title, residual = LatentMember(12.0), TitleMember(), ResidualMember()
    latent.ranker_ = LearnedConcepts(6, n_epochs=1).fit(None, weigh(world["items"], idf, "log"))
    made = BlendRanker(6, n_expansion=9, n_feedback=5, vectors=1.0)
    others = BlendRanker()
    others.members_ = [latent]
    made.fit(None, world["items"], vectors=world["vectors"], members=others)
    title.ranker_ = Bm25Ranker(b=0.5).fit(None, world["titles"])
    asking, rows = weigh(world["queries"], made.idf_), weigh(world["items"], made.idf_)
    residual.ranker_ = EmbeddingRanker(6, items="residual", n_epochs=1).fit(asking, rows, world["pairs"])
    residual.median_length_, residual.named_ = 4.0, None
    made.put(residual)
    made.put(title)
    assert names_of(made.members_) == ["bm25", "latent", "feedback", "title", "residual", "vectors"]
    return made


@pytest.fixture
def pruned(blend, monkeypatch):
    """Any number of items is enough to rank by bounds; units come from 20 candidates."""
    monkeypatch.setattr(blend, "limits", PRUNED)


def weighted(blend, weights):
    """Weights by name."""
    return dict(zip(names_of(blend.members_), map(float, weights), strict=True))


def by_all_scores(ranker, rows, k, exclude):
    items, scores = np.empty((rows.shape[0], k), np.int64), np.empty((rows.shape[0], k), np.float32)
    skip = sp.csr_array((rows.shape[0], ranker.n_items_), dtype=bool) if exclude is None else exclude
    top_k_rows(ranker.score_rows(rows, skip), skip.indptr, skip.indices, items, scores)
    return items, scores


def check(ranker, rows, exclude=None, ks=(1, 10, 60, N_DOCS)):
    for k in ks:
        found, (items, scores) = ranker.rank(rows, k, exclude=exclude), by_all_scores(ranker, rows, k, exclude)
        assert np.array_equal(found.items, items), k
        assert np.array_equal(found.scores, scores), k


WEIGHTS = [
    (1, 4, 3, 0, 0, 0),
    (1, 2, 3, 0.5, 2, 1),
    (0, 3, 0, 0, 0, 2),
    (1, 0, 0, 0, 0, 0),
    (0.2, 0, 5, 1, 0, 0),
    (0, 0, 1, 0, 4, 0),
]


@pytest.mark.parametrize("compared", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.usefixtures("pruned")
def test_answers_have_the_bits_of_all_scores(blend, world, weights, compared, monkeypatch):
    monkeypatch.setattr(blend, "limits", PRUNED._replace(compared=compared))
    monkeypatch.setattr(blend, "weights_", weighted(blend, weights))
    check(blend, world["queries"])
    check(blend, join_vectors(world["queries"], world["vectors"][:N_QUERIES]))
    for share in (0.3, 0.97, 1.0):
        exclude = sp.csr_array(np.random.default_rng(1).random((N_QUERIES, N_DOCS)) < share)
        check(blend, world["queries"], exclude, ks=(10,))


@pytest.mark.usefixtures("pruned")
def test_the_gate_of_residual_keeps_the_bits(blend, world, monkeypatch):
    monkeypatch.setattr(blend, "weights_", weighted(blend, WEIGHTS[1]))
    before = blend.scores(world["queries"])
    residual = blend.member("residual")
    monkeypatch.setattr(residual, "named_", (np.arange(N_DOCS) % 3 == 0).astype(np.float32))
    monkeypatch.setattr(residual, "gate_", np.array([2.0, -0.5], np.float32))
    assert not np.array_equal(blend.scores(world["queries"]), before)
    check(blend, world["queries"])
    check(blend, world["queries"], sp.csr_array(np.random.default_rng(1).random((N_QUERIES, N_DOCS)) < 0.3), ks=(10,))


@pytest.mark.usefixtures("pruned")
def test_weights_by_length_keep_the_bits(blend, world, monkeypatch):
    monkeypatch.setattr(blend, "weights_", weighted(blend, WEIGHTS[5]))
    monkeypatch.setattr(blend, "short_weights_", weighted(blend, WEIGHTS[0]))
    monkeypatch.setattr(blend, "full_length_", 6.0)
    used = blend._used(blend.query_block(world["queries"], None))
    assert names_of(used) == ["bm25", "latent", "feedback", "residual"]
    check(blend, world["queries"])


@pytest.mark.usefixtures("pruned")
def test_most_items_are_not_scored(blend, world, monkeypatch):
    monkeypatch.setattr(blend, "weights_", weighted(blend, WEIGHTS[0]))
    n_scored, totals_at = [], pruning._totals_at
    monkeypatch.setattr(pruning, "_totals_at", lambda *given: n_scored.append(len(given[1])) or totals_at(*given))
    blend.rank(world["queries"][2:], 5)
    assert np.median(n_scored) < N_DOCS / 8
    n_scored.clear()
    for row in range(2, N_QUERIES):
        blend.rank_among(world["queries"][[row]], np.arange(0, N_DOCS, 2), 5)
    assert np.median(n_scored) < N_DOCS / 8


@pytest.mark.parametrize("one_in", [0, 10_000])  # without and with bounds
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.usefixtures("pruned")
def test_the_best_of_some_items_have_the_bits_of_all_scores(blend, world, weights, one_in, monkeypatch):
    monkeypatch.setattr(blend, "limits", PRUNED._replace(one_in=one_in))
    monkeypatch.setattr(blend, "weights_", weighted(blend, weights))
    rng = np.random.default_rng(2)
    for share in (0.01, 0.3, 1.0):
        items, rows = np.flatnonzero(rng.random(N_DOCS) < share), world["queries"][2:]
        scores = blend.scores(rows)
        for row, k in zip(range(rows.shape[0]), (1, 5, 20, N_DOCS) * 3, strict=False):
            found, found_scores = blend.rank_among(rows[[row]], items, k)
            wanted = sorted(items.tolist(), key=lambda item, row=row: (-scores[row, item], item))[:k]
            assert found.tolist() == wanted
            assert np.array_equal(found_scores, scores[row, wanted])


@pytest.mark.usefixtures("pruned")
def test_sketches_are_made_before_a_query_needs_them(blend, world, monkeypatch):
    monkeypatch.setattr(blend, "weights_", weighted(blend, WEIGHTS[0]))
    vectors = blend.member("latent").ranker_.item_factors[0]
    vectors.__dict__.pop("_sketch", None)
    blend.prepare(world["queries"][[2]])
    assert "_sketch" in vars(vectors)


@pytest.mark.usefixtures("pruned")
def test_candidates_are_the_first_by_bm25(blend, world, monkeypatch):
    monkeypatch.setattr(blend, "weights_", weighted(blend, WEIGHTS[1]))
    exclude = sp.csr_array(np.random.default_rng(1).random((N_QUERIES, N_DOCS)) < 0.3)
    monkeypatch.setattr(blend, "n_candidates", 50)
    found = blend.rank(world["queries"], 10, exclude=exclude)
    first, scores = (
        blend.bm25.rank(world["queries"], 50, exclude=exclude).items,
        blend.scores(world["queries"], exclude=exclude),
    )
    for row in range(N_QUERIES):
        best = sorted(first[row], key=lambda item: (-scores[row, item], item))[:10]
        assert found.items[row].tolist() == best
        assert np.array_equal(found.scores[row], scores[row, best])
    monkeypatch.setattr(blend, "n_candidates", N_DOCS)
    assert np.array_equal(blend.rank(world["queries"], 10).items, by_all_scores(blend, world["queries"], 10, None)[0])


@pytest.mark.usefixtures("pruned")
def test_a_graph_finds_most_of_the_best_with_the_same_bits(blend, world, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(blend, "weights_", weighted(blend, WEIGHTS[2]))
    searched, rows = [], join_vectors(world["queries"], world["vectors"][:N_QUERIES])[2:]
    exact, scores = by_all_scores(blend, rows, 5, None)[0], blend.scores(rows)
    blend.build_graph(rows, n_links=4, breadth=20)
    search = NeighborGraph.search
    monkeypatch.setattr(NeighborGraph, "search", lambda *given: searched.append(given) or search(*given))
    check(blend, rows, ks=(5,))
    assert not searched
    blend.limits = PRUNED._replace(compared=0.0, very_many=0)
    found = blend.rank(rows, 5)
    assert len(searched) == 2 * len(found.items)
    assert np.mean([len(np.intersect1d(a, b)) / 5 for a, b in zip(found.items, exact, strict=True)]) > 0.8
    assert np.array_equal(found.scores, np.take_along_axis(scores, found.items, axis=1))
    for name in ("latent", "vectors"):
        blend.member(name).vector_ranker.graph_ = None
    blend._forget_factors()


@pytest.mark.usefixtures("pruned")
def test_bounds_follow_the_items(blend, world, monkeypatch):
    monkeypatch.setattr(blend, "limits", PRUNED._replace(compared=0.0))
    changed = blend.with_items(np.arange(5, N_DOCS, 2))
    check(changed, world["queries"], ks=(10,))
    changed.add_items(world["items"][:40], titles=world["titles"][:40], vectors=5 * world["vectors"][:40])
    check(changed, world["queries"], ks=(10,))
