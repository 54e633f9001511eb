"""`blend`: its score against a dense computation, what labels change, explanations, new items, stored models."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, StoreError, TacitError
from tacit.features.text.weighting import weigh
from tacit.retrieve import BlendRanker, Bm25Ranker
from tacit.retrieve.blend.members import MEMBERS
from tacit.retrieve.blend.training import TrainingQuery, learn_weights
from tacit.search.models import load, save
from tacit.store import Stored, load_model, save_model

N_DOCS, N_WORDS, N_TOPICS = 240, 90, 6


@pytest.fixture(scope="module")
def world():
    """Documents of six topics, titles of two or three of their words, and questions of a topic's words."""
    rng = np.random.default_rng(5)
    topic = np.arange(N_DOCS) % N_TOPICS
    shares = np.full((N_TOPICS, N_WORDS), 0.3)
    for number in range(N_TOPICS):
        shares[number, number * 12 : number * 12 + 12] = 3.0
    shares /= shares.sum(axis=1, keepdims=True)
    items = np.stack([rng.multinomial(rng.integers(8, 40), shares[t]) for t in topic])
    titles = np.stack([rng.multinomial(rng.integers(0, 4), row / row.sum()) for row in items])
    queries = np.stack([rng.multinomial(rng.integers(2, 9), shares[t % N_TOPICS]) for t in range(40)])
    rows, columns = np.nonzero((np.arange(40) % N_TOPICS)[:, None] == topic[None, :])
    kept = rng.random(len(rows)) < 0.3
    return {
        "items": sp.csr_array(items.astype(np.float32)),
        "titles": sp.csr_array(titles.astype(np.float32)),
        "queries": sp.csr_array(queries.astype(np.float32)),
        "pairs": Links(rows[kept], columns[kept], 40, N_DOCS),
        "topic": topic,
    }


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
    assert ranker.weights_[MEMBERS.index("residual")] > 0
    assert ranker.gate_ is not None
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
    weights = ranker.bm25_.weights_.toarray().astype(np.float64)
    counts = query.toarray().ravel().astype(np.float64)
    first = weights @ counts
    candidates = sorted(range(len(first)), key=lambda item: (-np.float32(first[item]), item))[:100]
    logs, plain = (weigh(query, ranker.idf_, tf).toarray().ravel() for tf in ("log", "raw"))
    members = {"bm25": (first, 0.0)}
    members["feedback"] = weights @ slow_feedback(weights, first, ranker.n_feedback, ranker.n_expansion), 12.0
    vector = logs @ ranker.latent_.concepts_.astype(np.float64)
    members["latent"] = ranker.latent_.item_vectors_ @ (vector / np.linalg.norm(vector)), 12.0
    if ranker.title_ is not None:
        members["title"] = ranker.title_.weights_.toarray() @ counts, 0.0
    if ranker.residual_ is not None:
        scores = ranker.residual_.scores(sp.csr_array(plain[None].astype(np.float32)))[0].astype(np.float64)
        members["residual"] = scores * slow_gate(ranker, scores, candidates), ranker.residual_length_
    n_words = np.count_nonzero(counts)
    spreads = {name: scores[candidates].std() for name, (scores, _) in members.items()}
    if ranker.residual_ is not None:
        spreads["residual"] = scores[candidates].std()
    return sum(
        slow_weight(ranker, name, n_words) * n_words / (n_words + half) * scores / spreads[name]
        for name, (scores, half) in members.items()
    )


def slow_weight(ranker, name, n_words):
    weight = float(ranker.weights_[MEMBERS.index(name)])
    if ranker.short_weights_ is None:
        return weight
    share = min(1, n_words / ranker.full_length_)
    return share * weight + (1 - share) * float(ranker.short_weights_[MEMBERS.index(name)])


def slow_gate(ranker, scores, candidates):
    """Probability that a query is about named items, candidate by candidate."""
    if ranker.gate_ is None:
        return 1.0
    best = {True: 0.0, False: 0.0}
    for item in candidates:
        named = bool(ranker.named_[item])
        best[named] = max(best[named], scores[item])
    if all(ranker.named_[item] for item in candidates):
        return 1.0
    slope, odds = (float(value) for value in ranker.gate_)
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
    assert np.array_equal(linked.short_weights_, plain.weights_)
    assert not np.array_equal(linked.weights_, plain.weights_)
    shares = np.array([0, linked.full_length_ / 2, linked.full_length_, 1000])
    for place, name in enumerate(MEMBERS):
        short, full = plain.weights_[place], linked.weights_[place]
        assert linked._weights(name, shares) == pytest.approx([short, (short + full) / 2, full, full], rel=1e-6)


def test_words_of_titles_count_three_times(plain, world):
    counts = sp.csr_array(world["items"] + 2 * world["titles"])
    assert (plain.bm25_.weights_ != Bm25Ranker().fit(None, counts).weights_).nnz == 0
    untitled = BlendRanker(dim=8).fit(None, world["items"])
    assert (untitled.bm25_.weights_ != Bm25Ranker().fit(None, world["items"]).weights_).nnz == 0


def test_the_weight_of_other_members_grows_with_the_length_of_the_query(plain):
    factors = []
    for n_words in (1, 12):
        query = sp.csr_array((np.ones(n_words), (np.zeros(n_words, int), np.arange(n_words))), shape=(1, N_WORDS))
        query = query.astype(np.float32)
        candidates = np.argsort(-plain.bm25_.scores(query)[0], kind="stable")[:100]
        _, latent = plain._member_scores(query, None, ["bm25", "latent"])
        factors.append(latent.factors[0] * latent.scores[0, candidates].astype(np.float64).std())
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
    for member in ranker._member_scores(query, None, ranker._used):
        weight = ranker._weights(member.name, query.nnz) * member.factors[0]
        found = sum(term.value for term in two.terms if term.member == member.name)
        assert found == pytest.approx(weight * (member.scores[0, a] - member.scores[0, b]), abs=1e-5)
    assert set(ranker._used) - {"title"} <= {term.member for term in two.terms} <= set(ranker._used)


def test_members_without_weight_are_not_kept(world):
    ranker = BlendRanker(dim=8, latent=0.0, feedback=0.0).fit(None, world["items"])
    assert ranker.latent_ is None
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
    assert np.array_equal(removed.named_, gated.named_[:-2])
    added = removed.add_items(world["items"][-2:], titles=world["titles"][-2:])
    again, before = (found.bm25_.scores(world["queries"]) for found in (added, learned))
    assert again == pytest.approx(before, rel=1e-6)
    assert added.rank(world["queries"], k=10).items.max() < N_DOCS
    assert np.array_equal(added.named_, [*gated.named_[:-2], 0, 0]), "no pair names a new item"


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


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2, 2, 0, 3], "member residual has a weight"),
        ([1, -2, 2, 0, 0], "numbers >= 0"),
        ([0] * 5, "not all of them 0"),
    ],
)
def test_weights_that_do_not_fit_are_refused(plain, tmp_path, weights, message):
    save(plain, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    arrays = dict(stored.arrays) | {"weights_": np.array(weights, np.float32)}
    save_model(tmp_path / "changed", Stored(stored.kind, stored.params, arrays))
    with pytest.raises(StoreError, match=message):
        load(tmp_path / "changed", BlendRanker)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gate_": np.zeros(3, np.float32)}, r"gate_ and named_ have the shapes \(3,\) and \(240,\), want \(2,\)"),
        ({"named_": np.zeros(9, np.float32)}, r"the shapes \(2,\) and \(9,\), want \(2,\) and \(240,\)"),
        ({"named_": None}, "the gate of member residual is incomplete"),
        ({"gate_": np.array([np.nan, 0], np.float32)}, "not finite|NaN|nan"),
        ({"short_weights_": np.ones(6, np.float32)}, "one of short_weights_ and full_length_, want both or none"),
    ],
)
def test_a_gate_or_short_weights_that_do_not_fit_are_refused(gated, tmp_path, changed, message):
    save(gated, tmp_path / "model")
    stored = load_model(tmp_path / "model")
    arrays = {name: array for name, array in (dict(stored.arrays) | changed).items() if array is not None}
    save_model(tmp_path / "changed", Stored(stored.kind, stored.params, arrays))
    with pytest.raises(StoreError, match=message):
        load(tmp_path / "changed", BlendRanker)


def test_titles_of_another_shape_are_refused(world):
    with pytest.raises(TacitError, match=r"titles have shape \(2, 90\), want that of the items, \(240, 90\)"):
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


def test_few_judged_queries_leave_the_weights(world):
    queries, pairs = world["queries"][:4], world["pairs"].take(world["pairs"].sources < 4)
    pairs = Links(pairs.sources, pairs.targets, 4, N_DOCS)
    ranker = BlendRanker(dim=8, residual=False).fit(queries, world["items"], pairs)
    assert ranker.weights_.tolist() == [1, 4, 3, 0, 0, 0]
    assert ranker.strength_ is None


def test_links_train_a_member_that_counts_little_for_short_queries(world):
    rng = np.random.default_rng(0)
    sources = np.repeat(np.arange(N_DOCS), 3)
    targets = (sources + 1 + N_TOPICS * rng.integers(0, 40, len(sources))) % N_DOCS  # words of another topic
    links = Links(sources, targets, N_DOCS, N_DOCS)
    ranker = BlendRanker(dim=8, strength=0.1).fit(world["items"], world["items"], links)
    assert ranker.residual_ is not None
    assert ranker.residual_length_ == pytest.approx(np.median(np.diff(world["items"].indptr)), abs=1)
    best = ranker.rank(world["items"], k=5, exclude=sp.csr_array(np.eye(N_DOCS, dtype=bool))).items
    assert np.mean(world["topic"][best] == (world["topic"][:, None] + 1) % N_TOPICS) > 0.5  # without links 0


def test_grades_and_judged_zeros_reach_the_weights(world):
    """The same pairs with other weights, and with zeros beside them, give other weights of members."""
    pairs = world["pairs"]
    graded = Links(pairs.sources, pairs.targets, 40, N_DOCS, 1.0 + 7 * (pairs.targets // N_TOPICS % 3 == 0))
    wrong = np.unique(pairs.sources)
    zeros = Links(np.repeat(wrong, 20), np.tile(np.arange(20), len(wrong)), 40, N_DOCS)
    kept = world["topic"][zeros.targets] != zeros.sources % N_TOPICS
    found = [
        BlendRanker(dim=8, residual=False, strength=0.1)
        .fit(world["queries"], world["items"], given, titles=world["titles"], zeros=judged)
        .weights_.tolist()
        for given, judged in ((pairs, None), (graded, None), (pairs, zeros.take(kept)))
    ]
    assert found[0] != found[1]
    assert found[0] != found[2]


def test_scores_of_members_at_some_items(world, learned):
    row, items = world["queries"][[3]], np.array([0, 5, 239])
    found = learned.member_scores_at(row, items)
    assert list(found) == [name for name in MEMBERS if learned._has(name)]
    for name, scores, factors in learned._member_scores(row, None, list(found)):
        assert found[name] == pytest.approx(factors[0] * scores[0, items], abs=1e-5)


@pytest.mark.parametrize("labels", ["popular", "random"])
def test_few_judged_queries_earn_the_residual_a_weight_where_they_say_more_than_words(labels, world):
    """Relevant are the popular documents of the query's topic: words name the topic, only judged queries the others."""
    rng = np.random.default_rng(1)
    same = (np.arange(40) % N_TOPICS)[:, None] == world["topic"][None, :]
    relevant = same & (rng.random(N_DOCS) < 0.4) if labels == "popular" else rng.random(same.shape) < 0.05
    pairs = Links(*np.nonzero(relevant), 40, N_DOCS)
    assert len(pairs) >= 200
    ranker = BlendRanker(dim=8, n_expansion=6).fit(world["queries"], world["items"], pairs)
    plain = BlendRanker(dim=8, n_expansion=6).fit(None, world["items"])
    weights = dict(zip(MEMBERS, ranker.weights_, strict=True))
    if labels == "popular":
        found, before = (
            relevant[np.arange(40)[:, None], one.rank(world["queries"], 5).items] for one in (ranker, plain)
        )
        assert weights["residual"] > 0
        assert found.mean() > before.mean() + 0.2
    else:
        assert weights["residual"] < 0.2


def test_priors_with_a_weight_of_the_residual_are_tried(world, monkeypatch):
    tried = []

    def learn(examples, prior, strength, others, unseen):
        tried.append((prior, others, unseen))
        return learn_weights(examples, prior, strength, others, unseen)

    monkeypatch.setattr("tacit.retrieve.blend.learning.learn_weights", learn)
    pairs = Links(np.arange(40) % 20, np.arange(40), 40, N_DOCS)
    for residual in (True, False):
        BlendRanker(dim=8, n_expansion=6, residual=residual).fit(world["queries"], world["items"], pairs)
    (prior, others, unseen), (_, none, not_asked) = tried
    assert len(unseen) == 20, "every query was scored by a member that had not seen its items"
    assert not_asked == []
    assert [float(other[-1]) for other in others] == [2.0, 4.0, 8.0, 16.0]
    assert all(np.array_equal(other[:-1], prior[:-1]) for other in others)
    assert len(none) == 0


def test_queries_that_share_all_their_items_can_be_learned_from(world):
    pairs = Links(np.repeat(np.arange(5), 2), np.tile(np.arange(2), 5), 40, N_DOCS)
    ranker = BlendRanker(dim=8, n_expansion=6, residual=True).fit(world["queries"], world["items"], pairs)
    assert np.isfinite(ranker.weights_).all()


def test_a_member_that_knows_only_the_items_of_its_labels_gets_no_weight():
    """On queries like those of training the last member is right; on queries about unseen items it is wrong."""
    rng, prior = np.random.default_rng(0), np.array([1.0, 0.0])

    def make(residual):
        """Two candidates: BM25 ranks the relevant one, the first, above the other in two of three queries."""
        right = rng.random() < 2 / 3
        scores = np.array([[1.0 if right else 0.0, residual], [0.0 if right else 1.0, -residual]])
        return TrainingQuery(scores, np.array([1.0, 0.0]), 1)

    seen, harmed, unharmed = ([make(residual) for _ in range(60)] for residual in (1.0, -1.0, 0.0))
    others = [np.array([1.0, 2.0])]
    kept, _ = learn_weights(seen, prior, None, others, harmed)
    np.testing.assert_array_equal(kept, prior)
    for unseen in ([], seen, unharmed):
        assert learn_weights(seen, prior, None, others, unseen)[0][1] > 1


def test_queries_about_unseen_items_are_scored_by_a_member_without_these_items(world, monkeypatch):
    trained, asked = [], []
    fit, examples = BlendRanker._fit_residual, BlendRanker._examples

    def record_fit(ranker, queries, counts, pairs, validation, part="residual"):
        trained.append((part, pairs))
        fit(ranker, queries, counts, pairs, validation, part)

    def record_examples(ranker, queries, pairs, known):
        asked.append(pairs)
        return examples(ranker, queries, pairs, known)

    monkeypatch.setattr(BlendRanker, "_fit_residual", record_fit)
    monkeypatch.setattr(BlendRanker, "_examples", record_examples)
    query = np.arange(20)  # four have the first item in common, and two of different fours the second
    pairs = Links(np.tile(query, 2), np.concatenate([query // 4, 10 + query % 10]), 40, N_DOCS)
    BlendRanker(dim=8, n_expansion=6, residual=True).fit(world["queries"], world["items"], pairs)
    unseen = [(known, held) for (part, known), held in zip(trained, asked, strict=False) if part.startswith("unseen")]
    assert len(unseen) == 3
    for known, held in unseen:
        assert not np.intersect1d(known.targets, held.targets).size
        assert not np.intersect1d(known.sources, held.sources).size
