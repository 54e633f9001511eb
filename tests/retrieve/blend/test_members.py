"""A new member is one class and one line of `MEMBERS`; folders whose members or weights do not fit are refused."""

import math
import re
from copy import copy
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Collection, Links, StoreError, TacitError
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend import ranker as blend_ranker
from tacit.retrieve.blend.member import Limits, Member, names_of
from tacit.retrieve.explanation import Term, difference
from tacit.retrieve.factors import append_rows, factor_scores, make_factors
from tacit.search import Searcher, models
from tacit.search.models import load, save
from tacit.store import Stored, load_model, save_model

N_DOCS, N_WORDS, N_QUERIES, N_FIRST = 240, 90, 40, 15  # as in conftest.py; the first 15 items are relevant
WEIGHT = 0.5


class EarlyMember(Member):
    """Prefers items of small row number, whatever the query is."""

    _fitted: ClassVar = {"earliness_": "items one"}
    name: ClassVar[str] = "early"
    kept: ClassVar = staticmethod(np.asarray)  # dense or sparse

    @classmethod
    def fitted(cls, blend, items, data):
        made = cls()
        made.earliness_ = cls.kept(earliness(0, items.counts.shape[0]))
        return made

    def prior(self, blend, data):
        return WEIGHT

    def scores(self, block):
        return factor_scores(make_factors(self.earliness_), self.kept(np.ones((len(block.items), 1), np.float32)))

    def pairs(self, query):
        return [(make_factors(self.earliness_), self.kept(np.ones((1, 1), np.float32)))]

    def terms(self, query, a, b):
        return [Term("item", -1, -1, float(difference(self.earliness_, a, b)[0]))]

    def add(self, items):
        self.earliness_ = append_rows(self.earliness_, earliness(self.earliness_.shape[0], items.counts.shape[0]))


class SparseEarlyMember(EarlyMember):
    """The same by one word that all items have."""

    kept: ClassVar = staticmethod(sp.csr_array)


class MemoryMember(Member):
    """Knows the labels of its training queries by heart, and nothing about other queries."""

    name: ClassVar[str] = "memory"
    trains_on_pairs: ClassVar[bool] = True
    for_any_query: ClassVar[bool] = False

    @classmethod
    def fitted(cls, blend, items, data):
        if not data.has_pairs:
            return None
        made = cls()
        made.row_of = {row.tobytes(): number for number, row in enumerate(data.queries.toarray())}
        made.relevant = data.pairs.to_csr().toarray()
        return made

    def on(self, pairs, known):
        made = copy(self)
        made.relevant = known.to_csr().toarray()
        return made

    def tried_weights(self, data):
        return (1.0, 8.0)

    def scores(self, block):
        rows = [self.row_of[row.tobytes()] for row in block.typed.toarray()]
        return self.relevant[rows].astype(np.float32)

    def pairs(self, query):
        return [(make_factors(self.scores(query).T), np.ones((1, 1), np.float32))]

    def terms(self, query, a, b):
        return []

    def add(self, items):
        raise AssertionError("no test adds items to this member")  # every member must define it


class TrainedMember(MemoryMember):
    """The same, trained again for each fold of the queries."""

    @classmethod
    def fitted(cls, blend, items, data):
        return None

    @classmethod
    def is_trained(cls, blend, data):
        return True

    @classmethod
    def trained(cls, blend, items, data, pairs, validation, part):
        made = super().fitted(blend, items, data)
        made.part, made.known = part, np.unique(pairs.sources)
        return made.on(data.pairs, pairs)

    def leads(self, at_candidates, candidates):
        return at_candidates.max(axis=1).astype(np.float64)

    def calibrate(self, known, unseen):
        self.calls = len(known), len(unseen), float(unseen.max(initial=0))


class LastMember(EarlyMember):
    """Prefers the first result of the blend of all others to any query."""

    name: ClassVar[str] = "last"

    @classmethod
    def fitted(cls, blend, items, data):
        return None

    @classmethod
    def fitted_last(cls, blend, data):
        made = cls()
        made.weights = dict(blend.weights_)
        made.earliness_ = np.zeros((blend.n_items_, 1), np.float32)
        made.earliness_[blend.rank(data.items[[7]], 1).items[0]] = 1
        return made


class OverfittedMember(MemoryMember):
    """The same, if it were measured on the queries that it was trained on."""

    def on(self, pairs, known):
        return self


def earliness(start, n_items):
    return (1 / np.sqrt(1 + np.arange(start, start + n_items, dtype=np.float32)))[:, None]


@pytest.fixture(scope="module")
def world(topics):
    return topics


@pytest.fixture(scope="module")
def plain(world):
    return BlendRanker(dim=8, n_expansion=6).fit(None, world["items"])


def register(patch, kind):
    """The line that adds a member to the blend."""
    patch.setattr(blend_ranker, "MEMBERS", (*blend_ranker.MEMBERS, kind))


@pytest.fixture(params=[EarlyMember, SparseEarlyMember])
def registered(request, monkeypatch):
    register(monkeypatch, request.param)
    return request.param


@pytest.fixture(scope="module")
def blends(world, plain):
    made = {}
    for kind in (EarlyMember, SparseEarlyMember):
        with pytest.MonkeyPatch.context() as patch:
            register(patch, kind)
            made[kind] = BlendRanker(dim=8, n_expansion=6).fit(None, world["items"], members=plain)
    return made


@pytest.fixture
def blend(blends, registered):
    assert names_of(blends[registered].members_) == ["bm25", "latent", "feedback", "early"]
    return blends[registered]


@pytest.fixture
def changeable(blend, tmp_path):
    save(blend, tmp_path / "model")
    return load(tmp_path / "model", BlendRanker)


def test_members_say_what_their_terms_are_about(blend, world):
    assert all(kind.heading for kind in blend_ranker.MEMBERS if kind.__module__.startswith("tacit."))
    best = blend.rank(world["queries"][:1], 1).items[0, 0]
    terms = blend.explain(world["queries"][[0]], best).terms
    headings = {term.member: term.heading for term in terms}
    assert {name: headings[name] for name in ("bm25", "early")} == {"bm25": "Words", "early": "early"}


def slow_part(ranker, rows, weight):
    """What the member adds, in the unit of the others."""
    values = ranker.member("early").earliness_
    values = (values.toarray() if sp.issparse(values) else values)[:, 0].astype(np.float64)
    first, found = ranker.bm25.scores(rows), np.zeros((rows.shape[0], len(values)))
    for row in range(rows.shape[0]):
        candidates = np.argsort(-first[row], kind="stable")[:100]
        found[row] = weight * values / values[candidates].std()
    return found


def test_its_score_is_added_in_the_common_unit(blend, plain, world):
    assert blend.weights_ == plain.weights_ | {"early": WEIGHT}
    wanted = plain.scores(world["queries"]) + slow_part(blend, world["queries"], WEIGHT)
    assert blend.scores(world["queries"]) == pytest.approx(wanted, abs=2e-5)
    assert not blend.scores(sp.csr_array((1, N_WORDS), dtype=np.float32)).any(), "a query without known words"


@pytest.mark.parametrize("weight", [WEIGHT, 30.0])
@pytest.mark.parametrize("n_skipped", [0, 60])
def test_ranks_by_bounds_and_in_blocks_have_the_same_bits(blend, world, weight, n_skipped, monkeypatch):
    monkeypatch.setattr(blend, "weights_", blend.weights_ | {"early": weight})
    skip = sp.csr_array(np.tile(np.arange(N_DOCS) % 17 < n_skipped / 15, (N_QUERIES, 1)))
    scores = blend.scores(world["queries"], exclude=skip)
    order = np.argsort(np.where(skip.toarray(), np.inf, -scores), axis=1, kind="stable")[:, :12]
    for n_items, n_bytes in ((0, 1 << 25), (300, 1 << 25), (300, 4 * N_DOCS * 3)):
        monkeypatch.setattr(blend, "limits", Limits(per_result=n_items))
        monkeypatch.setattr(blend, "block_bytes", n_bytes)
        for threads in (1, 3):
            found = blend.rank(world["queries"], 12, exclude=skip, threads=threads)
            assert np.array_equal(found.items, order)
            assert np.array_equal(found.scores, np.take_along_axis(scores, order, axis=1))


def test_its_terms_are_part_of_explanations(blend, world):
    query = world["queries"][[3]]
    scores, part = blend.scores(query)[0].astype(np.float64), slow_part(blend, query, WEIGHT)[0]
    for a, b in ((5, None), (5, 200), (7, 0)):
        found = blend.explain(query, a, b)
        own = [term.value for term in found.terms if term.member == "early"]
        assert own == pytest.approx([part[a] - (0 if b is None else part[b])], abs=1e-5)
        assert found.total == pytest.approx(scores[a] - (0 if b is None else scores[b]), abs=1e-5)


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.usefixtures("registered")
def test_judged_queries_learn_its_weight(world, plain, right):
    """Relevant are the first items, or of all others those that have the words of the query."""
    firsts = np.tile(np.arange(N_DOCS) < N_FIRST, (N_QUERIES, 1))
    best = plain.rank(world["queries"], 5, exclude=sp.csr_array(firsts)).items
    sources, targets = np.nonzero(firsts) if right else (np.repeat(np.arange(N_QUERIES), 5), best.ravel())
    pairs = Links(sources, targets, N_QUERIES, N_DOCS)
    learned = BlendRanker(dim=8, n_expansion=6, residual=False, strength=0.1)
    learned.fit(world["queries"], world["items"], pairs, members=plain)
    share = learned.weights_.get("early", 0.0) / sum(learned.weights_.values())
    if right:
        assert share > 7 / 17, "1 / 17 before"
        assert (learned.rank(world["queries"], 5).items < N_FIRST).mean() > 0.9
    else:
        assert share < 0.01
        assert (learned.member("early") is None) == (share == 0)


@pytest.mark.parametrize("kind", [MemoryMember, OverfittedMember])
def test_a_member_that_learns_from_labels_is_measured_on_other_queries(kind, plain, world, monkeypatch):
    register(monkeypatch, kind)
    pairs = world["pairs"]
    noise = Links(pairs.sources, np.random.default_rng(0).permutation(pairs.targets), N_QUERIES, N_DOCS)
    learned = BlendRanker(dim=8, n_expansion=6, residual=False)
    learned.fit(world["queries"], world["items"], noise, members=plain)
    assert (learned.weights_.get("memory", 0.0) > 0) == (kind is OverfittedMember)


def test_pairs_train_a_member_without_the_queries_that_measure_it(plain, world, monkeypatch):
    register(monkeypatch, TrainedMember)
    trained, train = [], TrainedMember.trained.__func__

    def record(cls, *given):
        trained.append(train(cls, *given))
        return trained[-1]

    monkeypatch.setattr(TrainedMember, "trained", classmethod(record))
    learned = BlendRanker(dim=8, n_expansion=6, residual=False, strength=0.1)
    learned.fit(world["queries"], world["items"], world["pairs"], members=plain)
    folds = [f"memory-unseen-{fold}" for fold in range(3)] + [f"memory-fold-{fold}" for fold in range(5)]
    assert [member.part for member in trained] == [*folds, "memory-final"]
    known = [set(member.known.tolist()) for member in trained[3:]]
    assert [set.union(*known[:5]), set.intersection(*known[:5])] == [set(range(N_QUERIES)), set()]
    assert known[5] == set(range(N_QUERIES))
    assert trained[-1].calls == (N_QUERIES, N_QUERIES, 0.0), "it has no score for queries left out of its training"
    assert "memory" not in learned.weights_, "a memory is of no use for other queries"


@pytest.mark.parametrize("share", [1.0, 0.0])
def test_its_share_lowers_the_scores_that_its_weight_is_learned_from(share, plain, world, monkeypatch):
    register(monkeypatch, TrainedMember)
    monkeypatch.setattr(TrainedMember, "on", lambda self, pairs, known: self)  # knows the queries left out, too
    monkeypatch.setattr(TrainedMember, "share", lambda self, leads: np.where(leads > 0, share, 1.0))
    learned = BlendRanker(dim=8, n_expansion=6, residual=False, strength=0.1)
    learned.fit(world["queries"], world["items"], world["pairs"], members=plain)
    assert (learned.weights_.get("memory", 0.0) > 0) == (share == 1)


def test_a_member_made_from_the_finished_blend_has_weight_1(plain, world, monkeypatch):
    register(monkeypatch, LastMember)
    found = BlendRanker(dim=8, n_expansion=6).fit(None, world["items"], members=plain)
    last = found.member("last")
    assert last.weights == plain.weights_
    assert found.weights_ == plain.weights_ | {"last": 1.0}
    assert last.earliness_[plain.rank(world["items"][[7]], 1).items[0]] == 1


def test_new_and_removed_items(changeable, plain, world, tmp_path):
    before = changeable.scores(world["queries"])
    values = changeable.member("early").earliness_
    changeable.remove_items([0, 1, 100])
    kept = np.setdiff1d(np.arange(N_DOCS), [0, 1, 100])
    assert abs(changeable.member("early").earliness_ - values[kept]).sum() == 0
    changeable.add_items(world["items"][:2])
    assert changeable.member("early").earliness_.shape == (N_DOCS - 1, 1)
    save(plain, tmp_path / "plain")
    other = load(tmp_path / "plain", BlendRanker).remove_items([0, 1, 100]).add_items(world["items"][:2])
    wanted = other.scores(world["queries"]) + slow_part(changeable, world["queries"], WEIGHT)
    assert changeable.scores(world["queries"]) == pytest.approx(wanted, abs=2e-5)
    assert changeable.scores(world["queries"]).shape != before.shape


def test_it_is_saved_and_loaded_where_it_is_registered(blend, changeable, world, tmp_path, monkeypatch):
    assert np.array_equal(changeable.scores(world["queries"]), blend.scores(world["queries"]))
    assert changeable.weights_ == blend.weights_
    with monkeypatch.context() as patch:
        patch.setattr(blend_ranker, "MEMBERS", blend_ranker.MEMBERS[:-1])
        with pytest.raises(StoreError, match="EarlyMember' is no estimator that this version knows"):
            load(tmp_path / "model")


def test_members_of_another_blend_are_taken_over(blend, world):
    alone = BlendRanker(dim=8, n_expansion=6).fit(None, world["items"])
    again = BlendRanker(dim=8, n_expansion=6).fit(None, world["items"], members=blend)
    for found in (alone, again):
        assert np.array_equal(found.scores(world["queries"]), blend.scores(world["queries"]))
    before = blend.scores(world["queries"])
    again.add_items(world["items"][:3]).remove_items([4])
    assert np.array_equal(blend.scores(world["queries"]), before), "what one blend adds, the other does not have"


@pytest.mark.usefixtures("registered")
def test_a_searcher_answers_with_it(tmp_path):
    texts = ["a cat and a dog", "soup of onions", "the dog barks", "a cat purrs", "onions and salt", "dog soup"]
    documents = Collection([f"d{row}" for row in range(6)], [""] * 6, texts)
    searcher = Searcher(dim=2).fit(documents)
    assert searcher.ranker_.member("early") is not None
    searcher.save(tmp_path / "model")
    hits = searcher.search("cat dog", k=6)
    assert Searcher.load(tmp_path / "model").search("cat dog", k=6) == hits
    searcher.add(Collection(["new"], [""], ["cat dog cat dog"])).remove(["d0"])
    assert {hit.id for hit in searcher.search("cat dog", k=6)} >= {"new", "d2", "d3"}


# Folders that were changed by hand


@pytest.fixture(scope="module")
def stored(plain, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain") / "model"
    save(plain, folder)
    return load_model(folder)


def arranged(stored, order):
    """The members at these places, in this order."""
    headers, prefixes = stored.params["estimators"]["members_"], [f"members_/{old}/" for old in order]
    arrays = {name: array for name, array in stored.arrays.items() if not name.startswith("members_/")}
    for new, prefix in enumerate(prefixes):
        found = {name.removeprefix(prefix): array for name, array in stored.arrays.items() if name.startswith(prefix)}
        arrays |= {f"members_/{new}/{name}": array for name, array in found.items()}
    return with_members(Stored(stored.kind, stored.params, arrays), [headers[old] for old in order])


def with_members(stored, headers):
    params = stored.params | {"estimators": stored.params["estimators"] | {"members_": headers}}
    return Stored(stored.kind, params, stored.arrays)


def with_member(stored, place, **header):
    """One member with other entries of its header."""
    headers = list(stored.params["estimators"]["members_"])
    headers[place] = headers[place] | header
    return with_members(stored, headers)


def with_numbers(stored, **numbers):
    return Stored(stored.kind, stored.params | {"numbers": stored.params["numbers"] | numbers}, stored.arrays)


def refusal(stored, monkeypatch):
    """The one line that refuses a folder."""
    monkeypatch.setattr(models, "load_model", lambda path, **how: stored)
    with pytest.raises(StoreError) as refused:
        load("folder", BlendRanker)
    assert str(refused.value).startswith("folder: ")
    assert "\n" not in str(refused.value)
    return str(refused.value)


WANTED = "want some of Bm25Member, ContentMember, SpellingMember, LatentMember, FeedbackMember, TitleMember"


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ([], r"members are \[\]"),
        ([1, 2], r"members are \['LatentMember', 'FeedbackMember'\]"),
        ([1, 0, 2], r"members are \['LatentMember', 'Bm25Member', 'FeedbackMember'\]"),
        ([0, 2, 1], r"members are \['Bm25Member', 'FeedbackMember', 'LatentMember'\]"),
        ([0, 0, 1, 2], r"members are \['Bm25Member', 'Bm25Member', 'LatentMember', 'FeedbackMember'\]"),
        ([0, 1, 1, 2], r"members are \['Bm25Member', 'LatentMember', 'LatentMember', 'FeedbackMember'\]"),
    ],
)
def test_members_missing_twice_or_in_another_order_are_refused(stored, order, found, monkeypatch):
    assert re.search(f"{found}, {WANTED}", refusal(arranged(stored, order), monkeypatch))


def test_a_member_that_has_a_weight_must_be_there(stored, monkeypatch):
    message = refusal(arranged(stored, [0, 2]), monkeypatch)
    assert "member latent has a weight, but is not in the model" in message


@pytest.mark.parametrize("headers", [None, {}, "x", 3, [None], [3], [[]], [{}], [{"class": "Path"}], [{"class": []}]])
def test_members_that_are_no_list_of_members_are_refused(stored, headers, monkeypatch):
    assert refusal(with_members(stored, headers), monkeypatch)


def test_a_ranker_in_place_of_a_member_is_refused(stored, monkeypatch):
    headers = list(stored.params["estimators"]["members_"])
    headers[1] = headers[1]["estimators"]["ranker_"]
    moved = {name.replace("members_/1/ranker_/", "members_/1/"): array for name, array in stored.arrays.items()}
    message = refusal(with_members(Stored(stored.kind, stored.params, moved), headers), monkeypatch)
    assert "members are ['Bm25Member', 'LearnedConcepts', 'FeedbackMember'], want some of" in message


def test_a_member_with_a_ranker_of_another_class_is_refused(stored, monkeypatch):
    headers = stored.params["estimators"]["members_"]
    other = {"ranker_": headers[0]["estimators"]["ranker_"]}
    arrays = {name: array for name, array in stored.arrays.items() if not name.startswith("members_/1/")}
    bm25 = {name: array for name, array in stored.arrays.items() if name.startswith("members_/0/")}
    arrays |= {name.replace("members_/0/", "members_/1/"): array for name, array in bm25.items()}
    changed = with_member(Stored(stored.kind, stored.params, arrays), 1, estimators=other)
    assert "member latent is a Bm25Ranker, want a LearnedConcepts" in refusal(changed, monkeypatch)
    changed = with_member(stored, 1, estimators={"ranker_": None})
    assert "the header of an estimator is not what tacit writes" in refusal(changed, monkeypatch)


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("value", [-12.0, math.nan, math.inf, "x", None])
def test_a_length_that_cannot_divide_is_refused(stored, place, value, monkeypatch):
    params = stored.params["estimators"]["members_"][place]["params"] | {"half_length": value}
    assert "half_length is" in refusal(with_member(stored, place, params=params), monkeypatch)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"bm25": 1.0, "latent": 4.0}, "weights are given for bm25, latent, want them for bm25, latent, feedback"),
        ({"bm25": 1.0, "latent": "4", "feedback": 3.0}, "latent is '4', want a number"),
        ({"bm25": 1.0, "latent": None, "feedback": 3.0}, "latent is None, want a number"),
        ({"bm25": 1.0, "latent": math.inf, "feedback": 3.0}, "latent is inf, want a number"),
        ({"bm25": 1.0, "latent": -4.0, "feedback": 3.0}, "want numbers >= 0"),
        ({"bm25": 0.0, "latent": 0.0, "feedback": 0}, "not all of them 0"),
        ({"bm25": 1, "latent": 4, "feedback": 3, "early": 2}, "member early has a weight, but is not in the model"),
        ({}, "not all of them 0"),
        ([1.0, 4.0, 3.0], "want a table"),
        ("bm25", "want a table"),
        (None, "want a table"),
    ],
)
def test_weights_that_do_not_fit_the_members_are_refused(stored, weights, message, monkeypatch):
    assert message in refusal(with_numbers(stored, weights_=weights), monkeypatch)
    if isinstance(weights, dict) and "feedback" in weights:
        short = with_numbers(stored, short_weights_=weights, full_length_=9.0)
        assert message in refusal(short, monkeypatch)


@pytest.mark.parametrize("name", ["bm25", "latent", "feedback"])
def test_a_weight_of_nan_is_refused(stored, name, tmp_path):
    weights = stored.params["numbers"]["weights_"] | {name: math.nan}
    with pytest.raises(TacitError, match=f"weights_.{name} is nan, want a finite number"):
        save_model(tmp_path / "model", with_numbers(stored, weights_=weights))
    save_model(tmp_path / "model", stored)
    header = tmp_path / "model" / "model.json"
    text = header.read_text()
    changed = re.sub(rf'("weights_": {{[^}}]*"{name}": )[0-9.]+', r"\1NaN", text)
    assert changed.count("NaN") == 1
    header.write_text(changed)
    with pytest.raises(StoreError) as refused:
        load(tmp_path / "model")
    assert "NaN" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("length", [0, -1.0, math.nan, "x"])
def test_a_full_length_that_cannot_divide_is_refused(stored, length, monkeypatch):
    short = stored.params["numbers"]["weights_"]
    assert "full_length_" in refusal(with_numbers(stored, short_weights_=short, full_length_=length), monkeypatch)


def test_a_folder_that_is_put_together_again_is_whole(stored, plain, world, monkeypatch):
    """The helpers of these tests change nothing by themselves."""
    monkeypatch.setattr(models, "load_model", lambda path, **how: arranged(stored, [0, 1, 2]))
    assert np.array_equal(load("folder").scores(world["queries"]), plain.scores(world["queries"]))
