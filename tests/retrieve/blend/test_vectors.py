"""The member `vectors`: its score, the weight that it earns without labels, queries and items without a vector."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, StoreError, TacitError
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend.member import Limits
from tacit.retrieve.blend.vector_weight import TRIED, harmless_weight
from tacit.retrieve.blend.vectors import measure_items
from tacit.retrieve.training_data import Probes
from tacit.retrieve.vectors import check_vectors, join_vectors
from tacit.search.models import load, save
from tacit.store import Stored, load_model, save_model

N_DOCS, N_QUERIES, N_WORDS, N_TOPICS, DIM = 240, 40, 90, 6, 96


@pytest.fixture(scope="module")
def world():
    """Documents and queries of six topics by words; vectors of the topic with noise, far from the origin."""
    rng = np.random.default_rng(5)
    topic, asked = np.arange(N_DOCS) % N_TOPICS, np.arange(N_QUERIES) % N_TOPICS
    shares = np.full((N_TOPICS, N_WORDS), 0.3)
    for number in range(N_TOPICS):
        shares[number, number * 12 : number * 12 + 12] = 3.0
    shares /= shares.sum(axis=1, keepdims=True)
    items = np.stack([rng.multinomial(rng.integers(8, 40), shares[t]) for t in topic])
    queries = np.stack([rng.multinomial(rng.integers(3, 9), shares[t]) for t in asked])
    places = rng.normal(size=(N_TOPICS, DIM)) + 3.0  # cosines of all pairs are high
    vectors, query_vectors = (places[of] + 0.5 * rng.normal(size=(len(of), DIM)) for of in (topic, asked))
    return {
        "items": sp.csr_array(items.astype(np.float32)),
        "queries": sp.csr_array(queries.astype(np.float32)),
        "vectors": vectors,
        "query_vectors": query_vectors,
        "joined": join_vectors(sp.csr_array(queries.astype(np.float32)), query_vectors),
        "random": rng.normal(size=(N_DOCS, DIM)),
        "topic": topic,
        "asked": asked,
    }


def fit(world, name="vectors", **params):
    return BlendRanker(dim=8, **params).fit(None, world["items"], vectors=world[name])


@pytest.fixture(scope="module")
def ranker(world):
    return fit(world)


@pytest.fixture(scope="module")
def plain(world):
    return BlendRanker(dim=8).fit(None, world["items"])


def cosines(world):
    query, item = (world[name] / np.linalg.norm(world[name], axis=1)[:, None] for name in ("query_vectors", "vectors"))
    return query @ item.T


def test_the_score_is_that_of_the_others_and_the_cosine_in_their_unit(world, ranker, plain):
    without, found = plain.scores(world["queries"]), ranker.scores(world["joined"])
    exact, first = cosines(world), ranker.bm25.scores(world["queries"])
    for row in range(0, N_QUERIES, 7):
        candidates = np.argsort(-first[row], kind="stable")[:100]
        unit = 1 / exact[row, candidates].std()
        wanted = ranker.weights_["vectors"] * unit * (exact[row] - exact[row].mean())
        assert found[row] - without[row] == pytest.approx(wanted, abs=2e-2)  # vectors are kept in 16 bits


def test_vectors_that_agree_with_words_earn_a_weight_and_random_ones_none(world, ranker):
    assert list(ranker.weights_.items())[:3] == [("bm25", 1), ("latent", 4), ("feedback", 3)]
    assert 0.2 < ranker.weights_["vectors"] <= 6
    assert fit(world, "random").weights_["vectors"] < 0.02
    assert fit(world, "random", vectors=3.0).weights_["vectors"] == 3


def test_without_an_encoder_each_query_vector_is_checked_by_the_words_of_its_query(world, ranker, plain, tmp_path):
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(DIM, DIM)))[0]
    turned = join_vectors(world["queries"], world["query_vectors"] @ turn)
    member = ranker.member("vectors")
    shares = [member.trust(ranker.query_block(rows, None), None) for rows in (world["joined"], turned)]
    assert shares[0].mean() > 0.9
    assert shares[1].mean() < 0.05
    out_of_place = shares[1] == 0
    assert np.array_equal(ranker.scores(turned)[out_of_place], plain.scores(world["queries"])[out_of_place])
    save(ranker, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").scores(turned), ranker.scores(turned))
    assert fit(world, vectors=2.0).member("vectors").agreeing_ is None  # a weight by hand is for all queries


def test_what_halves_of_the_dimensions_do_not_share_earns_nothing(world):
    """Averages of random word vectors look new, and are words with noise."""
    words = np.random.default_rng(8).normal(size=(N_WORDS, DIM))
    averages = world["items"] @ words
    found = measure_items(*_measured(world, averages))
    known = measure_items(*_measured(world, world["vectors"]))
    assert found.reliability < 0.35 < 0.6 < known.reliability
    assert BlendRanker(dim=8).fit(None, world["items"], vectors=averages).weights_["vectors"] == 0


def _measured(world, vectors):
    blend = BlendRanker(dim=8).fit(None, world["items"], vectors=vectors)
    unit = check_vectors("vectors", vectors, N_DOCS)
    return (
        blend,
        blend.member("vectors"),
        SimpleNamespace(items=world["items"], vectors=unit, passages=None, references=()),
    )


def test_labels_with_query_vectors_replace_the_check_of_each_query(world):
    pairs = Links(np.arange(N_QUERIES), np.arange(N_QUERIES), N_QUERIES, N_DOCS)
    ranker = BlendRanker(dim=8).fit(world["joined"], world["items"], pairs, vectors=world["vectors"])
    member = ranker.member("vectors")
    assert member.is_judged_
    assert (member.trust(ranker.query_block(world["joined"], None), None) == 1).all()
    again = BlendRanker(dim=8).fit(None, world["items"], vectors=world["vectors"], members=ranker)
    assert not again.member("vectors").is_judged_
    assert again.weights_ == fit(world).weights_


def test_probes_see_that_queries_are_in_another_space(world):
    rows = np.arange(0, N_DOCS, 3)
    for name, wanted in (("vectors", True), ("random", False)):
        asked = join_vectors(world["items"][rows], world[name][rows])
        unit = check_vectors("vectors", world["vectors"][rows], len(rows))
        probes = Probes(rows, asked, world["items"][rows], None, unit, np.ones(len(rows), bool))
        blend = BlendRanker(dim=8).fit(None, world["items"], vectors=world["vectors"], probes=probes)
        found = blend.weights_["vectors"]
        assert (found > 0.2) == wanted
        assert (found < 0.02) != wanted


def test_given_vectors_of_another_model_than_the_encoder_are_found_out(world):
    """The encoder knows queries and altered items, but the items have vectors of something else."""
    rows = np.arange(0, N_DOCS, 3)
    asked = join_vectors(world["items"][rows], world["vectors"][rows])
    unit = check_vectors("vectors", world["vectors"][rows], len(rows))
    probes = Probes(rows, asked, world["items"][rows], None, unit, np.ones(len(rows), bool))
    blend = BlendRanker(dim=8).fit(None, world["items"], vectors=world["random"], probes=probes)
    assert blend.weights_["vectors"] < 0.02


def test_the_harmless_weight_is_read_from_titles_or_from_sentences():
    falling = np.linspace(0.9, 0.3, 1 + len(TRIED))[:, None]
    flat, low = np.full_like(falling, 0.8), np.full_like(falling, 0.1)
    titles = np.repeat([True, False], 30)

    def of(by_title, by_sentence):
        return harmless_weight(np.hstack([np.repeat(by_title, 30, 1), np.repeat(by_sentence, 30, 1)]), titles)

    assert of(flat, falling) == TRIED[-1]
    assert 0 < of(falling, flat) < of(low, falling) < 1  # titles keep .97; if words do not find them, sentences keep .9
    assert harmless_weight(np.repeat(falling, 30, 1), np.zeros(30, bool)) == of(low, falling)


def test_a_query_without_a_vector_is_answered_as_without_the_member(world, ranker, plain):
    wanted = plain.rank(world["queries"], k=20)
    nothing = join_vectors(world["queries"], np.zeros((N_QUERIES, DIM)))
    for rows in (world["queries"], nothing):
        found = ranker.rank(rows, k=20)
        assert np.array_equal(found.items, wanted.items)
        assert np.array_equal(found.scores, wanted.scores)
    half = join_vectors(world["queries"], world["query_vectors"] * (np.arange(N_QUERIES) % 2)[:, None])
    mixed, full = ranker.scores(half), ranker.scores(world["joined"])
    assert np.array_equal(mixed[::2], plain.scores(world["queries"])[::2])
    assert np.array_equal(mixed[1::2], full[1::2])


def test_a_query_without_known_words_is_answered_by_its_vector(world, ranker):
    rows = join_vectors(sp.csr_array((N_QUERIES, N_WORDS), dtype=np.float32), world["query_vectors"])
    best = ranker.rank(rows, k=5).items
    assert (world["topic"][best] == world["asked"][:, None]).mean() > 0.9


def test_bits_do_not_depend_on_threads_and_company(world, ranker):
    one, two = (ranker.rank(world["joined"], k=30, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.scores, two.scores)
    alone = ranker.rank(world["joined"][[7]], k=30)
    assert np.array_equal(alone.scores[0], one.scores[7])


def test_explanations_have_one_term_of_vectors_and_add_up(world, ranker):
    query, scores = world["joined"][[3]], ranker.scores(world["joined"][[3]])[0].astype(np.float64)
    a, b = np.argsort(-scores)[[0, 60]]
    for other, total in ((None, scores[a]), (b, scores[a] - scores[b])):
        found = ranker.explain(query, a, other)
        assert found.total == pytest.approx(total, abs=1e-5)
        assert [term.kind for term in found.terms if term.member == "vectors"] == ["vector"]
    assert "vectors" not in {term.member for term in ranker.explain(world["queries"][[3]], a).terms}


def test_the_gain_of_vectors_is_no_gain_by_words(world, monkeypatch):
    told = []
    monkeypatch.setattr(
        "tacit.retrieve.blend.learning.learn_weights", lambda _, prior, *rest: told.append(rest[-1]) or (prior, np.inf)
    )
    pairs = Links(np.arange(N_QUERIES), np.arange(N_QUERIES), N_QUERIES, N_DOCS)
    ranker = BlendRanker(dim=8, vectors=2.0).fit(world["joined"], world["items"], pairs, vectors=world["vectors"])
    judged = [member.name for member in ranker.members_ if member.learns_weight]
    assert dict(zip(judged, told[0], strict=True)) == {name: name != "vectors" for name in judged}


def test_pairs_learn_the_weight_from_queries_with_vectors(world):
    """Words say nothing of what is relevant, vectors say all."""
    rng = np.random.default_rng(0)
    kind = rng.permutation(N_DOCS) % 4
    places = 3 * rng.normal(size=(4, 16))
    vectors, asked = places[kind] + rng.normal(size=(N_DOCS, 16)), places[np.arange(N_QUERIES) % 4]
    pairs = Links(*np.nonzero((np.arange(N_QUERIES) % 4)[:, None] == kind[None, :]), N_QUERIES, N_DOCS)
    params = {"dim": 8, "residual": False, "strength": 0.1}
    rows = join_vectors(world["queries"], asked)
    learned = BlendRanker(**params).fit(rows, world["items"], pairs, vectors=vectors)
    assert learned.n_features_ == N_WORDS
    assert learned.weights_["vectors"] > 0.5 * sum(learned.weights_.values())
    assert any(
        weight for name, weight in learned.weights_.items() if name != "vectors"
    )  # a query without a vector has answers
    assert learned.rank(world["queries"], k=5).scores.any()
    silent = BlendRanker(**params).fit(world["queries"], world["items"], pairs, vectors=vectors)
    without = BlendRanker(**params).fit(world["queries"], world["items"], pairs)
    assert {name: weight for name, weight in silent.weights_.items() if name != "vectors"} == without.weights_


def test_links_ask_with_the_vectors_of_the_items(world):
    sources = np.repeat(np.arange(N_DOCS), 3)
    targets = (sources + N_TOPICS * np.tile([1, 2, 3], N_DOCS)) % N_DOCS
    links = Links(sources, targets, N_DOCS, N_DOCS)
    ranker = BlendRanker(dim=8, residual=False, strength=1.0)
    ranker.fit(world["items"], world["items"], links, vectors=world["vectors"])
    assert ranker.weights_["vectors"] not in (0, fit(world).weights_["vectors"])


def test_items_come_and_go(world, ranker):
    old = BlendRanker(dim=8, vectors=1.0).fit(None, world["items"][:200], vectors=world["vectors"][:200])
    centre, before = old.member("vectors").centre_, old.scores(world["joined"])
    old.add_items(world["items"][200:], vectors=world["vectors"][200:])
    unit = world["vectors"] / np.linalg.norm(world["vectors"], axis=1)[:, None]
    assert old.member("vectors").centred.items == pytest.approx(unit - centre, abs=1e-3)
    old.remove_items(np.arange(200, N_DOCS))
    assert np.array_equal(old.scores(world["joined"]), before)
    old.add_items(world["items"][200:])
    assert not old.member("vectors").centred.items[200:].any()  # as an average item
    with pytest.raises(TacitError, match=f"vectors have 3 dimensions, want {DIM}"):
        old.add_items(world["items"][:2], vectors=np.ones((2, 3)))
    with pytest.raises(TacitError, match="vectors have 1 row, want 2"):
        old.add_items(world["items"][:2], vectors=np.ones((1, DIM)))
    with pytest.raises(TacitError, match="the ranker has no vectors"):
        BlendRanker(dim=8).fit(None, world["items"]).add_items(world["items"][:1], vectors=np.ones((1, DIM)))


def test_an_item_without_a_vector_stands_among_the_average_ones(world):
    vectors = world["vectors"].copy()
    vectors[7] = 0
    ranker = BlendRanker(dim=8, vectors=1.0).fit(None, world["items"], vectors=vectors)
    member = ranker.member("vectors").scores(ranker.query_block(world["joined"], None))
    assert (member[:, 7] == 0).all()
    assert np.abs(member.mean(axis=1)).max() < 1e-3 * np.abs(member).max()


def test_saving_and_loading(world, ranker, tmp_path):
    save(ranker, tmp_path / "model")
    again = load(tmp_path / "model", BlendRanker)
    assert np.array_equal(again.scores(world["joined"]), ranker.scores(world["joined"]))


def test_a_checkpoint_knows_the_vectors(world, ranker, tmp_path):
    found = BlendRanker(dim=8).fit(None, world["items"], vectors=world["vectors"], checkpoint=tmp_path / "state")
    assert np.array_equal(found.scores(world["joined"]), ranker.scores(world["joined"]))
    with pytest.raises(TacitError, match="other"):
        BlendRanker(dim=8).fit(None, world["items"], vectors=world["random"], checkpoint=tmp_path / "state")


@pytest.mark.parametrize("changed", ["centre_", "vectors_"])
def test_vectors_that_do_not_fit_are_refused(changed, ranker, tmp_path):
    save(ranker, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    arrays, name = dict(stored.arrays), f"members_/{len(ranker.members_) - 1}/{changed}"
    arrays[name] = arrays[name][:10].copy()
    save_model(tmp_path / "model", Stored(stored.kind, stored.params, arrays))
    with pytest.raises(StoreError, match="member vectors is for 10 items, want 240|'centre_' is float32 of shape"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((3, 4)), "vectors have 3 rows, want 240"),
        (np.ones((N_DOCS, 0)), "vectors have 0 dimensions, want at least 1"),
        (np.full((N_DOCS, 4), np.nan), "vectors contains NaN or infinity in row 0"),
        (sp.csr_array((N_DOCS, 4)), "vectors are sparse, want a dense array"),
    ],
)
def test_wrong_vectors_are_refused(vectors, message, world):
    with pytest.raises(TacitError, match=message):
        BlendRanker(dim=8).fit(None, world["items"], vectors=vectors)


def test_queries_of_another_width_are_refused(world, ranker, plain):
    for found, rows in ((ranker, join_vectors(world["queries"], np.ones((N_QUERIES, 3)))), (plain, world["joined"])):
        with pytest.raises(TacitError, match="features, want 90 as in fit"):
            found.rank(rows)
    pairs = Links(np.array([0]), np.array([0]), N_QUERIES, N_DOCS)
    wrong = join_vectors(world["queries"], np.ones((N_QUERIES, 3)))
    with pytest.raises(TacitError, match=f"features, want {N_WORDS + DIM} as in fit"):
        BlendRanker(dim=8).fit(wrong, world["items"], pairs, vectors=world["vectors"])


def test_approximate_search_finds_by_vectors(world):
    pytest.importorskip("faiss")
    ranker = BlendRanker(dim=8, vectors=1.0).fit(None, world["items"], vectors=world["vectors"])
    exact = ranker.rank(world["joined"], k=10)
    ranker.build_graph(world["joined"])
    assert len(ranker.graphs) == 2
    found = ranker.rank(world["joined"], k=10)
    assert (found.items == exact.items).mean() > 0.9
    assert found.scores == pytest.approx(exact.scores, abs=1e-4)
    assert ranker.rank(world["queries"], k=10).items.shape == (N_QUERIES, 10)


@pytest.mark.parametrize("weight", [0.5, 20.0])
def test_ranking_by_bounds_is_that_of_all_scores(weight):
    """Many items, some of them twice or without a vector, and queries with and without words and vectors."""
    rng = np.random.default_rng(0)
    counts = sp.csr_array((rng.random((6000, 60)) < 0.05).astype(np.float32))
    vectors = rng.normal(size=(6000, 24)) + 1
    vectors[::7], vectors[1::11] = 0, vectors[3]
    ranker = BlendRanker(dim=8, vectors=weight, n_expansion=10).fit(None, counts, vectors=vectors)
    words = sp.csr_array((rng.random((12, 60)) < 0.06).astype(np.float32) * (np.arange(12) != 5)[:, None])
    rows = join_vectors(words.astype(np.float32), rng.normal(size=(12, 24)) * (np.arange(12) % 4 != 3)[:, None])
    exact = ranker.scores(rows)
    for k in (1, 10, 300):
        found = ranker.rank(rows, k)
        order = np.argsort(-exact, axis=1, kind="stable")[:, :k]
        assert np.array_equal(found.items, order)
        assert np.array_equal(found.scores, np.take_along_axis(exact, order, axis=1))


def test_an_item_scores_by_its_best_passage(world, tmp_path):
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 4, N_DOCS)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    vectors = np.repeat(world["vectors"], sizes, axis=0) + rng.normal(0, 0.3, (int(starts[-1]), DIM))
    ranker = BlendRanker(dim=8, vectors=1.0).fit(None, world["items"], vectors=vectors, passages=starts)
    member = ranker.member("vectors")
    found = member.scores(ranker.query_block(world["joined"], None))
    asked = world["query_vectors"] / np.linalg.norm(world["query_vectors"], axis=1)[:, None]
    exact = asked @ (member.vectors_.astype(np.float64) - member.centre_).T
    for item in range(0, N_DOCS, 17):
        assert found[:, item] == pytest.approx(exact[:, starts[item] : starts[item + 1]].max(axis=1), abs=1e-5)
    wanted = ranker.scores(world["joined"])
    explained = ranker.explain(world["joined"][[0]], 3, 8).total
    assert explained == pytest.approx(float(wanted[0, 3]) - float(wanted[0, 8]), abs=1e-4)
    save(ranker, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").scores(world["joined"]), wanted)
    ranker.remove_items([0, 5]).add_items(world["items"][[0]], vectors=vectors[:2], passages=np.array([0, 2]))
    kept = np.setdiff1d(np.arange(N_DOCS), [0, 5])
    again = ranker.member("vectors").scores(ranker.query_block(world["joined"], None))
    assert np.array_equal(again[:, : len(kept)], found[:, kept])
    with pytest.raises(TacitError, match="passages have 3 borders, want 241, rising from 0"):
        BlendRanker(dim=8).fit(None, world["items"], vectors=vectors, passages=np.array([0, 1, 2]))


def test_pruning_with_passages_keeps_the_bits(world, monkeypatch):
    starts = np.arange(0, 2 * N_DOCS + 1, 2)
    vectors = np.repeat(world["vectors"], 2, axis=0) + np.random.default_rng(4).normal(0, 0.2, (2 * N_DOCS, DIM))
    ranker = BlendRanker(dim=8, vectors=2.0).fit(None, world["items"], vectors=vectors, passages=starts)
    wanted = ranker.rank(world["joined"], k=7)
    ranker.limits = Limits(per_result=0)
    found = ranker.rank(world["joined"], k=7)
    assert np.array_equal(found.items, wanted.items)
    assert np.array_equal(found.scores, wanted.scores)


def test_vectors_that_other_words_explain_earn_nothing(world):
    """A rotation of given references is explained by them whole, however well it finds."""
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(DIM, DIM)))[0]
    unit = (world["vectors"] / np.linalg.norm(world["vectors"], axis=1)[:, None]).astype(np.float32)
    given = {"vectors": unit @ turn, "references": [unit - unit.mean(axis=0)]}
    assert BlendRanker(dim=8).fit(None, world["items"], **given).weights_["vectors"] == 0
    assert BlendRanker(dim=8).fit(None, world["items"], vectors=unit @ turn).weights_["vectors"] > 0.2
