"""`blend`: its score against a dense computation, what labels change, explanations, new items, stored models."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, StoreError, TacitError
from tacit.features.text.weighting import weigh
from tacit.retrieve import BlendRanker, Bm25Ranker
from tacit.retrieve.blend.member import names_of, scores_near
from tacit.retrieve.blend.titles import LEAST_COVERED, LEAST_UNIT
from tacit.search.models import load, save
from tacit.store import Stored, load_model, save_model

N_DOCS, N_WORDS, N_TOPICS = 240, 90, 6  # as in conftest.py


@pytest.fixture(scope="module")
def world(topics):
    return topics


@pytest.fixture(scope="module")
def plain(world):
    return BlendRanker(dim=8, n_expansion=6).fit(None, world["items"], titles=world["titles"])


@pytest.fixture(scope="module")
def learned(world):
    ranker = BlendRanker(dim=8, n_expansion=6, strength=1.0, residual=True, n_feedback=4)
    return ranker.fit(world["queries"], world["items"], world["pairs"], titles=world["titles"])


@pytest.fixture(scope="module")
def gated(world):
    """Relevant are the popular documents of the query's topic: `residual` has a weight, and a gate."""
    same = (np.arange(40) % N_TOPICS)[:, None] == world["topic"][None, :]
    pairs = Links(*np.nonzero(same & (np.random.default_rng(1).random(N_DOCS) < 0.4)), 40, N_DOCS)
    ranker = BlendRanker(dim=8, n_expansion=6, strength=1.0, n_feedback=4)
    ranker.fit(world["queries"], world["items"], pairs, titles=world["titles"])
    assert ranker.weights_["residual"] > 0
    assert ranker.member("residual").gate_ is not None
    return ranker


@pytest.fixture(scope="module")
def linked(world):
    """Learned from links between items of a topic: short queries have other weights than whole items."""
    sources = np.tile(np.arange(N_DOCS), 3)
    links = Links(sources, (sources + np.repeat([6, 30, 90], N_DOCS)) % N_DOCS, N_DOCS, N_DOCS)
    ranker = BlendRanker(dim=8, n_expansion=6, strength=1.0, n_feedback=4)
    return ranker.fit(world["items"], world["items"], links, queries_are_items=True, titles=world["titles"])


def slow_feedback(weights, first, n_best, n_words):
    """Expansion words of one query, one item and one word at a time."""
    order = sorted(range(len(first)), key=lambda item: (-first[item], item))[:n_best]
    order = [item for item in order if first[item] > 0]
    odds = {item: np.exp(first[item] - first[order[0]]) for item in order}
    found = dict.fromkeys(range(weights.shape[1]), 0.0)
    for item in order:
        length = np.sqrt(sum(float(value) ** 2 for value in weights[item]))
        for word in found:
            found[word] += odds[item] / sum(odds.values()) * float(weights[item, word]) / length
    best = sorted(found, key=lambda word: (-found[word], word))[:n_words]
    return np.array([found[word] if word in best else 0.0 for word in found])


def slow_scores(ranker, query):
    """Scores of all items for one query by dense arithmetic in float64."""
    weights = ranker.bm25.weights_.toarray().astype(np.float64)
    counts = query.toarray().ravel().astype(np.float64)
    first = weights @ counts
    candidates = sorted(range(len(first)), key=lambda item: (-np.float32(first[item]), item))[:100]
    logs, plain = (weigh(query, ranker.idf_, tf).toarray().ravel() for tf in ("log", "raw"))
    members = {"bm25": (first, 0.0)}
    members["feedback"] = weights @ slow_feedback(weights, first, ranker.n_feedback, ranker.n_expansion), 12.0
    latent, title, residual = (ranker.member(name) for name in ("latent", "title", "residual"))
    vector = logs @ latent.ranker_.concepts_.astype(np.float64)
    members["latent"] = latent.ranker_.item_vectors_ @ (vector / np.linalg.norm(vector)), 12.0
    if title is not None:
        members["title"] = title.ranker_.weights_.toarray() @ counts, 0.0
    if residual is not None:
        scores = residual.ranker_.scores(sp.csr_array(plain[None].astype(np.float32)))[0].astype(np.float64)
        members["residual"] = scores * slow_gate(residual, scores, candidates), residual.median_length_
    n_words = np.count_nonzero(counts)
    spreads = {name: scores[candidates].std() for name, (scores, _) in members.items()}
    if residual is not None:
        spreads["residual"] = scores[candidates].std()
    exact = slow_gains(ranker, query) * max(first.max() / first[candidates].std(), LEAST_UNIT)
    return slow_weight(ranker, "exact", n_words) * exact + sum(
        slow_weight(ranker, name, n_words) * n_words / (n_words + half) * scores / spreads[name]
        for name, (scores, half) in members.items()
    )


def slow_gains(ranker, query):
    """Gains of titles, item by item."""
    member, found = ranker.member("exact"), []
    values = member.values_.astype(np.float64)
    counts = query.toarray().ravel().astype(np.float64)
    asked = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * values
    for title in member.titles_.toarray().astype(np.float64):
        share = (title @ asked / np.linalg.norm(asked)) ** 2
        found.append(max(0.0, (share - LEAST_COVERED) / (1 - LEAST_COVERED)) ** 2)
    return np.array(found)


def member_scores(ranker, rows, names):
    """Name, scores of all items and factors of some members."""
    block = ranker.query_block(rows, None)
    for member in map(ranker.member, names):
        scores = member.scores(block)
        yield member.name, scores, member.factors(block, scores_near(scores, block.candidates))


def slow_weight(ranker, name, n_words):
    weight = ranker.weights_[name]
    if ranker.short_weights_ is None:
        return weight
    share = min(1, n_words / ranker.full_length_)
    return share * weight + (1 - share) * ranker.short_weights_[name]


def slow_gate(member, scores, candidates):
    """Probability that a query is about named items, candidate by candidate."""
    if member.gate_ is None:
        return 1.0
    best = {True: 0.0, False: 0.0}
    for item in candidates:
        named = bool(member.named_[item])
        best[named] = max(best[named], scores[item])
    if all(member.named_[item] for item in candidates):
        return 1.0
    slope, odds = (float(value) for value in member.gate_)
    return 1 / (1 + np.exp(-(slope * (best[True] - best[False]) + odds)))


@pytest.mark.parametrize("kind", ["plain", "learned", "gated", "linked"])
def test_scores_are_the_weighted_sum_of_scaled_members(kind, world, request):
    ranker = request.getfixturevalue(kind)
    for row in range(0, 40, 7):
        query = world["queries"][[row]]
        assert ranker.scores(query)[0] == pytest.approx(slow_scores(ranker, query), abs=2e-5)


def test_weights_learned_from_links_are_for_queries_as_long_as_items(plain, linked, world):
    lengths = np.diff(world["items"].indptr)
    assert linked.full_length_ == np.quantile(lengths, 0.05)
    assert {name: weight for name, weight in linked.short_weights_.items() if weight} == plain.weights_
    assert linked.weights_ != plain.weights_
    shares = np.array([0, linked.full_length_ / 2, linked.full_length_, 1000])
    assert set(linked.weights_) > {"bm25", "title"}
    for name, full in linked.weights_.items():
        short = plain.weights_.get(name, 0.0)
        assert linked._weight(name, shares) == pytest.approx([short, (short + full) / 2, full, full], rel=1e-6)


def test_words_of_titles_count_three_times(plain, world):
    counts = sp.csr_array(world["items"] + 2 * world["titles"])
    assert (plain.bm25.weights_ != Bm25Ranker().fit(None, counts).weights_).nnz == 0
    untitled = BlendRanker(dim=8).fit(None, world["items"])
    assert (untitled.bm25.weights_ != Bm25Ranker().fit(None, world["items"]).weights_).nnz == 0


def test_the_weight_of_other_members_grows_with_the_length_of_the_query(plain):
    factors = []
    for n_words in (1, 12):
        query = sp.csr_array((np.ones(n_words), (np.zeros(n_words, int), np.arange(n_words))), shape=(1, N_WORDS))
        query = query.astype(np.float32)
        candidates = np.argsort(-plain.bm25.scores(query)[0], kind="stable")[:100]
        _, scores, own = next(member_scores(plain, query, ["latent"]))
        factors.append(own[0] * scores[0, candidates].astype(np.float64).std())
    assert factors == pytest.approx([1 / 13, 1 / 2], rel=1e-5)


@pytest.mark.parametrize("kind", ["plain", "learned", "gated", "linked"])
def test_explanations_add_up_by_member_and_word(kind, world, request):
    ranker = request.getfixturevalue(kind)
    query = world["queries"][[3]]
    scores = ranker.scores(query)[0].astype(np.float64)
    a, b = np.argsort(-scores)[[0, 60]]
    one, two = ranker.explain(query, a), ranker.explain(query, a, b)
    assert one.total == pytest.approx(scores[a], abs=1e-5)
    assert two.total == pytest.approx(scores[a] - scores[b], abs=1e-5)
    used = names_of(ranker._used(ranker.query_block(query, None)))
    for name, own, factors in member_scores(ranker, query, used):
        weight = ranker._weight(name, query.nnz) * factors[0]
        found = sum(term.value for term in two.terms if term.member == name)
        assert found == pytest.approx(weight * (own[0, a] - own[0, b]), abs=1e-5)
    assert set(used) - {"title"} <= {term.member for term in two.terms} <= set(used)


def test_members_without_weight_are_not_kept(world):
    ranker = BlendRanker(dim=8, latent=0.0, feedback=0.0).fit(None, world["items"])
    assert names_of(ranker.members_) == ["bm25", "feedback"]
    bm25 = Bm25Ranker().fit(None, world["items"])
    ours, theirs = (found.rank(world["queries"], k=50).items for found in (ranker, bm25))
    assert np.array_equal(ours, theirs)


def test_excluded_items_give_no_words_and_no_scale(plain, world):
    query = world["queries"][[0]]
    best = plain.rank(query, k=30).items[0]
    exclude = sp.csr_array((np.ones(30, bool), (np.zeros(30, int), best)), shape=(1, N_DOCS))
    without = BlendRanker(dim=8, n_expansion=6).fit(None, world["items"], titles=world["titles"]).remove_items(best)
    kept = np.setdiff1d(np.arange(N_DOCS), best)
    assert np.array_equal(plain.scores(query, exclude=exclude)[0, kept], without.scores(query)[0])


def test_removed_items_leave_and_added_items_come_back(world, learned, gated, tmp_path):
    save(gated, tmp_path / "model")
    ranker = load(tmp_path / "model", BlendRanker)
    removed = ranker.remove_items([N_DOCS - 2, N_DOCS - 1])
    assert removed.n_items_ == N_DOCS - 2
    named = gated.member("residual").named_
    assert np.array_equal(removed.member("residual").named_, named[:-2])
    added = removed.add_items(world["items"][-2:], titles=world["titles"][-2:])
    again, before = (found.bm25.scores(world["queries"]) for found in (added, learned))
    assert again == pytest.approx(before, rel=1e-6)
    assert added.rank(world["queries"], k=10).items.max() < N_DOCS
    assert np.array_equal(added.member("residual").named_, [*named[:-2], 0, 0]), "no pair names a new item"


def test_new_items_bring_new_words(world, learned, tmp_path):
    save(learned, tmp_path / "model")
    ranker = load(tmp_path / "model", BlendRanker)
    wide = sp.csr_array(([2.0, 1.0], ([0, 0], [N_WORDS + 1, 3])), shape=(1, N_WORDS + 2), dtype=np.float32)
    ranker.add_items(wide)
    asked = sp.csr_array(([1.0], ([0], [N_WORDS + 1])), shape=(1, N_WORDS + 2), dtype=np.float32)
    assert ranker.rank(asked, k=1).items.tolist() == [[N_DOCS]]
    assert ranker.idf_[N_WORDS + 1] == pytest.approx(np.log(N_DOCS + 1), rel=1e-6)


def test_stored_models_score_the_same_bits(world, learned, plain, gated, linked, tmp_path):
    for number, ranker in enumerate((learned, plain, gated, linked)):
        save(ranker, tmp_path / str(number))
        again = load(tmp_path / str(number), BlendRanker)
        assert np.array_equal(again.scores(world["queries"]), ranker.scores(world["queries"]))
        assert again.strength_ == ranker.strength_


def changed(ranker, folder, numbers, arrays):
    """Save a ranker with other numbers (None: without it) and arrays of its member `residual`."""
    save(ranker, folder / "model")
    stored = load_model(folder / "model")
    params = stored.params | {"numbers": stored.params["numbers"] | numbers}
    params["numbers"] = {name: value for name, value in params["numbers"].items() if value is not None}
    member = names_of(ranker.members_).index("residual") if arrays else 0
    kept = dict(stored.arrays) | {f"members_/{member}/{name}": array for name, array in arrays.items()}
    kept = {name: array for name, array in kept.items() if array is not None}
    save_model(folder / "changed", Stored(stored.kind, params, kept))
    return folder / "changed"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"bm25": 1, "latent": 2, "feedback": 2, "residual": 3}, "member residual has a weight"),
        ({"bm25": 1, "latent": -2, "feedback": 2}, "numbers >= 0"),
        ({"bm25": 0, "latent": 0, "feedback": 0}, "not all of them 0"),
    ],
)
def test_weights_that_do_not_fit_are_refused(plain, tmp_path, weights, message):
    with pytest.raises(StoreError, match=message):
        load(changed(plain, tmp_path, {"weights_": weights}, {}), BlendRanker)


@pytest.mark.parametrize(
    ("numbers", "arrays", "message"),
    [
        ({}, {"gate_": np.zeros(3, np.float32)}, r"have the shapes \(3,\) and \(240,\), want \(2,\)"),
        ({}, {"named_": np.zeros(9, np.float32)}, r"the shapes \(2,\) and \(9,\), want \(2,\) and \(240,\)"),
        ({}, {"named_": None}, "the gate of member residual is incomplete"),
        ({}, {"gate_": np.array([np.nan, 0], np.float32)}, "not finite|NaN|nan"),
        ({"short_weights_": {"bm25": 1}}, {}, "one of short_weights_ and full_length_, want both or none"),
        ({"full_length_": 5.0}, {}, "one of short_weights_ and full_length_, want both or none"),
    ],
)
def test_a_gate_or_short_weights_that_do_not_fit_are_refused(gated, tmp_path, numbers, arrays, message):
    with pytest.raises(StoreError, match=message):
        load(changed(gated, tmp_path, numbers, arrays), BlendRanker)


def test_titles_of_another_shape_are_refused(world):
    with pytest.raises(TacitError, match=r"titles have shape \(2, 90\), want the shape of the items, \(240, 90\)"):
        BlendRanker().fit(None, world["items"], titles=world["titles"][:2])


@pytest.mark.parametrize(("name", "value"), [("latent", -1), ("n_feedback", 0), ("strength", 0), ("title_weight", 1.5)])
def test_wrong_parameters_are_named(world, name, value):
    with pytest.raises(TacitError, match=f"{name} is {value}"):
        BlendRanker(**{name: value}).fit(None, world["items"])


def test_a_query_of_unknown_words_scores_zero(plain):
    assert not plain.scores(sp.csr_array((1, N_WORDS), dtype=np.float32)).any()


def test_one_item_is_enough():
    ranker = BlendRanker().fit(None, sp.csr_array(np.ones((1, 2), np.float32)))
    assert ranker.rank(np.ones((1, 2), np.float32)).items.tolist() == [[0]]
    assert np.isfinite(ranker.scores(np.ones((1, 2), np.float32))).all()


def test_scores_of_members_at_some_items(world, learned):
    row, items = world["queries"][[3]], np.array([0, 5, 239])
    found = learned.member_scores_at(row, items, names_of(learned.members_))
    assert list(found) == [name for name in names_of(learned.members_) if name != "exact"]  # it is no title
    for name, scores, factors in member_scores(learned, row, list(found)):
        assert found[name] == pytest.approx(factors[0] * scores[0, items], abs=1e-5)
