"""Worlds with one right answer, the model's formula in dense float64, and promises that hold to the bit."""

import itertools
import json

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import DivergedError, Links, NotFittedError, StoreError, TacitError, UsageError
from tacit.retrieve.margin import embedding_sgd
from tacit.retrieve.margin.base import block_for, passes_for
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.tasks import PairTask, TripleTask
from tacit.search.models import find_class
from tacit.store import Stored, blame, load_model, pack_estimator, save_model, unpack_estimator

FORMS = {
    "ssi-d": {"dim": 0, "identity": "learned"},
    "ssi-uu": {"items": "tied"},
    "ssi-uu-d": {"items": "tied", "identity": "learned", "n_words": 15},
    "ssi-uv": {},
    "ssi-uv-d": {"identity": "learned"},
    "ssi-uv-noi": {"identity": "none"},
    "ssi-uv-n": {"n_words": 15},
    "htr": {"items": "free", "identity": "none", "gamma": 1.0},
    "htr-gamma0": {"items": "free", "identity": "none"},
    "htr-identity": {"items": "free", "gamma": 0.5, "item_rate": 0.5},
    "htr-residual": {"items": "residual"},
    "htr-residual-n": {"items": "residual", "identity": "none", "n_words": 15},
}
ARRAYS = ("query_table_", "item_table_", "item_vectors_", "diagonal_")
EACH_FORM = pytest.mark.parametrize("name", FORMS)
TAKE_NEW_ITEMS = [name for name in FORMS if FORMS[name].get("items") != "free"]


def unit(rows):
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def random_rows(seed, n_rows=30, n_words=20):
    rng = np.random.default_rng(seed)
    return unit(rng.random((n_rows, n_words)) * (rng.random((n_rows, n_words)) < 0.3))


def random_links(seed, n_sources=30, n_targets=30, n=90):
    rng = np.random.default_rng(seed)
    sources, targets = rng.integers(0, n_sources, n), rng.integers(0, n_targets, n)
    kept = np.unique(np.column_stack([sources, targets])[sources != targets], axis=0)
    return Links(kept[:, 0], kept[:, 1], n_sources, n_targets)


def small(name="ssi-uv", **changes):
    return EmbeddingRanker(**{"dim": 6, "n_epochs": 2, "rate": 0.3, "margin": 0.2} | FORMS[name] | changes)


def bits(ranker):
    """All that was learned, byte by byte."""
    rows = ranker.items_
    arrays = [getattr(ranker, array) for array in ARRAYS] + [rows.indptr, rows.indices, rows.data]
    return [array.tobytes() for array in arrays], ranker.rate_, ranker.margin_, ranker.best_epoch_


@pytest.fixture(scope="module")
def fitted():
    """Every form fitted on one small world of links; do not change them."""
    rows, links = sp.csr_array(random_rows(0)), random_links(1)
    return {name: small(name).fit(rows, rows, links) for name in FORMS}


def loaded(ranker):
    """A ranker of its own with the same bits."""
    header, arrays = pack_estimator(ranker)
    return unpack_estimator(
        json.loads(json.dumps(header)), {key: array.copy() for key, array in arrays.items()}, find_class
    )


# What is learned.


def two_topics(seed, n_queries=24, n_items=16):
    """Queries of words 0 to 9, items of words 10 to 19, five for each topic: only learned vectors can join them."""
    rng = np.random.default_rng(seed)

    def rows(n, first):
        found, topic = np.zeros((n, 20)), np.arange(n) % 2
        for row in range(n):
            found[row, first + 5 * topic[row] + rng.choice(5, 3, replace=False)] = rng.random(3) + 0.5
        return sp.csr_array(unit(found)), topic

    (queries, query_topic), (items, item_topic) = rows(n_queries, 0), rows(n_items, 10)
    return queries, items, query_topic[:, None] == item_topic[None, :]


@pytest.mark.parametrize("name", [name for name in FORMS if FORMS[name].get("dim") != 0])
def test_two_topics_are_told_apart_for_new_queries(name):
    queries, items, is_answer = two_topics(0)
    changes = {"n_words": None, "n_epochs": 25, "dim": 8}
    ranker = small(name, **changes).fit(queries, items, Links(*np.nonzero(is_answer), *is_answer.shape))
    fresh, _, fresh_answer = two_topics(1)
    best = ranker.rank(fresh, k=8).items
    assert np.take_along_axis(fresh_answer, best, axis=1).all()


def test_two_topics_are_told_apart_from_triples():
    queries, items, is_answer = two_topics(0)
    pairs = [(q, p, n) for q in range(24) for p, n in itertools.product(range(16), repeat=2) if is_answer[q, p]]
    triples = np.array([triple for triple in pairs if not is_answer[triple[0], triple[2]]])[::5]
    ranker = small("htr-residual", n_epochs=12).fit(queries, items, triples)
    fresh, _, fresh_answer = two_topics(1)
    assert np.take_along_axis(fresh_answer, ranker.rank(fresh, k=8).items, axis=1).all()
    assert [set(epoch) for epoch in ranker.epochs_] == [{"epoch", "loss", "rate", "accuracy"}] * 12
    assert ranker.epochs_[ranker.best_epoch_ - 1]["accuracy"] == 1


def test_two_dictionaries_are_joined_without_the_identity():
    queries, items, is_answer = two_topics(0)
    ranker = small("ssi-uv-noi", n_epochs=25, dim=8)
    ranker.fit(queries[:, :10], items[:, 9:], Links(*np.nonzero(is_answer), *is_answer.shape))
    fresh, _, fresh_answer = two_topics(1)
    assert np.take_along_axis(fresh_answer, ranker.rank(fresh[:, :10], k=8).items, axis=1).all()
    assert ranker.query_table_.shape == (10, 8)
    assert ranker.item_table_.shape == (11, 8)


def test_the_diagonal_learns_which_words_tell():
    """Answers share a word of the query's own; word 0 is loud, in every query and in wrong items only."""
    rng = np.random.default_rng(0)
    queries, items = np.zeros((20, 11)), np.zeros((20, 11))
    kinds = np.arange(20) % 10
    queries[np.arange(20), kinds + 1] = 0.4 + 0.2 * rng.random(20)
    items[np.arange(20), kinds + 1] = 0.4
    queries[:, 0] = 1
    items[10:, 0] = 1
    answers = Links(np.arange(20), kinds, 20, 20)
    ranker = small("ssi-d", n_epochs=20).fit(sp.csr_array(queries), sp.csr_array(items), answers)
    assert ranker.diagonal_[0] < 0.2 < 0.8 < ranker.diagonal_[1:].min()
    assert ranker.rank(queries, k=1).items[:, 0].tolist() == kinds.tolist()


def test_a_heavier_pair_ends_with_a_larger_margin():
    """Twins: two halves of the world are alike but for the weight of their pairs."""
    half = np.kron(np.eye(4), np.ones((4, 1)))  # 4 kinds of 4 queries each
    queries = np.kron(np.eye(2), half)
    items = np.eye(8)
    answers = np.argmax(queries, axis=1)
    weights = np.where(answers < 4, 4.0, 0.5)
    pairs = Links(np.arange(32), answers, 32, 8, weights)
    ranker = small("ssi-d", n_epochs=3, margin=5.0, rate=0.05).fit(queries, items, pairs)
    scores = ranker.scores(np.eye(8))
    assert np.diag(scores)[:4].min() > np.diag(scores)[4:].max() + 0.1


def test_a_pair_named_twice_is_a_pair_of_twice_the_weight():
    rows, links = sp.csr_array(random_rows(0)), random_links(1)
    twice = np.concatenate([np.arange(len(links)), np.arange(0, len(links), 3)])
    weights = np.ones(len(links))
    weights[::3] = 2
    weighted = Links(links.sources, links.targets, 30, 30, weights)
    assert bits(small().fit(rows, rows, links.take(twice))) == bits(small().fit(rows, rows, weighted))
    assert bits(small().fit(rows, rows, links)) != bits(small().fit(rows, rows, weighted))


# The formula, and bits.


@EACH_FORM
def test_scores_are_the_formula_on_the_fitted_tables(name, fitted):
    ranker, rows = fitted[name], random_rows(0).astype(np.float64)
    queries = random_rows(7, 5).astype(np.float64)
    u = queries[:, : len(ranker.query_table_)] @ ranker.query_table_.astype(np.float64)
    expected = u @ ranker.item_vectors_.astype(np.float64).T + (queries * ranker.diagonal_) @ rows.T
    np.testing.assert_allclose(ranker.scores(sp.csr_array(queries)), expected, atol=1e-5)
    if FORMS[name].get("items") not in ("free", "residual"):
        z = rows[:, : len(ranker.item_table_)] @ ranker.item_table_.astype(np.float64)
        np.testing.assert_allclose(ranker.item_vectors_, z, atol=1e-5)
    if FORMS[name].get("identity") == "none":
        assert not ranker.diagonal_.any()
    elif FORMS[name].get("identity", "fixed") == "fixed":
        assert (ranker.diagonal_ == 1).all()


@EACH_FORM
def test_threads_and_repetition_do_not_change_a_bit(name, fitted):
    rows, links = sp.csr_array(random_rows(0)), random_links(1)
    for threads in (1, 4, 8):
        again = small(name, threads=threads).fit(rows, rows, links)
        assert bits(again) == bits(fitted[name])
        assert again.epochs_ == fitted[name].epochs_


def test_another_seed_gives_another_model(fitted):
    rows = sp.csr_array(random_rows(0))
    assert bits(small(seed=1).fit(rows, rows, random_links(1))) != bits(fitted["ssi-uv"])


@EACH_FORM
def test_sparse_and_dense_features_give_the_same_bits(name, fitted):
    rows = random_rows(0)
    before = rows.copy()
    dense = small(name).fit(rows, rows, random_links(1))
    assert bits(dense) == bits(fitted[name])
    assert np.array_equal(rows, before)
    queries = random_rows(7, 5)
    assert np.array_equal(dense.scores(queries), fitted[name].scores(queries))
    np.testing.assert_allclose(dense.scores(queries), dense.scores(sp.csr_array(queries)), atol=1e-6)


def test_items_are_the_queries_where_it_is_said_or_seen(fitted):
    rows, links = sp.csr_array(random_rows(0)), random_links(1)
    assert bits(small().fit(None, rows, links)) == bits(fitted["ssi-uv"])
    assert bits(small().fit(rows.copy(), rows, links, queries_are_items=True)) == bits(fitted["ssi-uv"])
    apart = bits(small().fit(rows.copy(), rows, links))
    assert apart != bits(fitted["ssi-uv"])  # an item is then a negative of itself
    assert bits(small().fit(rows, rows, links, queries_are_items=False)) == apart
    with pytest.raises(TacitError, match="29 rows and items 30"):
        small().fit(rows[:29], rows, links, queries_are_items=True)


@EACH_FORM
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_query_has_the_same_vector_alone_and_in_company(name, form, fitted):
    queries, ranker = form(random_rows(7, 9)), fitted[name]
    together = ranker.embed_queries(queries)
    assert together.shape == (9, ranker.dim)
    assert together.dtype == np.float32
    for row in range(9):
        assert np.array_equal(ranker.embed_queries(queries[row : row + 1])[0], together[row])


@EACH_FORM
def test_renumbering_the_items_renumbers_the_scores(name, fitted):
    """Of a fitted model: training on pairs draws items by number, so only what is learned is indifferent."""
    ranker, order = loaded(fitted[name]), np.random.default_rng(3).permutation(30)
    ranker.items_, ranker.item_vectors_ = ranker.items_[order], ranker.item_vectors_[order]
    queries = sp.csr_array(random_rows(7, 5))
    assert np.array_equal(ranker.scores(queries), fitted[name].scores(queries)[:, order])


@EACH_FORM
def test_a_model_folder_keeps_every_bit(name, fitted, tmp_path):
    ranker, queries = fitted[name], random_rows(7, 5)
    header, arrays = pack_estimator(ranker)
    save_model(tmp_path / "model", Stored("Ranker", header, arrays))
    stored = load_model(tmp_path / "model", kinds={"Ranker"})
    back = unpack_estimator(stored.params, stored.arrays, find_class)
    assert bits(back) == bits(ranker)
    assert back.get_params(deep=False) == ranker.get_params(deep=False)
    assert back.chosen() == ranker.chosen()
    for form in (queries, sp.csr_array(queries)):
        assert np.array_equal(back.scores(form), ranker.scores(form))
        assert np.array_equal(back.rank(form, 7).items, ranker.rank(form, 7).items)
    assert back.explain(queries[:1], 3, 4).terms == ranker.explain(queries[:1], 3, 4).terms
    if name in TAKE_NEW_ITEMS:
        new = sp.csr_array(random_rows(8, 2))
        assert np.array_equal(back.add_items(new).item_vectors_[30:], ranker.embed_items(new))


# New items.


@pytest.mark.parametrize("name", TAKE_NEW_ITEMS)
def test_new_items_are_ranked_at_once_and_old_scores_do_not_move(name, fitted):
    ranker, queries = loaded(fitted[name]), sp.csr_array(random_rows(7, 5))
    before, new = ranker.scores(queries), random_rows(8, 4)
    assert ranker.add_items(sp.csr_array(new[:3])).add_items(sp.csr_array(new[3:])) is ranker
    after = ranker.scores(queries)
    assert ranker.n_items_ == 34
    assert np.array_equal(after[:, :30], before)
    table = ranker.item_table_.astype(np.float64)
    vectors = new[:, : len(table)].astype(np.float64) @ table
    np.testing.assert_allclose(ranker.item_vectors_[30:], vectors, atol=1e-6)
    u = ranker.embed_queries(queries).astype(np.float64)
    expected = u @ vectors.T + queries.toarray() * ranker.diagonal_ @ new.T.astype(np.float64)
    np.testing.assert_allclose(after[:, 30:], expected, atol=1e-5)


@pytest.mark.parametrize("name", ["ssi-d", "ssi-uu", "ssi-uu-d", "ssi-uv", "ssi-uv-noi", "ssi-uv-n"])
def test_a_new_item_scores_as_if_it_had_been_there(name, fitted):
    """Where words alone make the vector, a copy of an old item has its scores to the bit."""
    ranker, rows, queries = loaded(fitted[name]), sp.csr_array(random_rows(0)), random_rows(7, 5)
    scores = ranker.add_items(rows).scores(queries)
    assert np.array_equal(scores[:, 30:], scores[:, :30])


def test_a_new_item_without_words_scores_nothing(fitted):
    ranker = loaded(fitted["htr-residual"]).add_items(np.zeros((1, 20)))
    assert not ranker.scores(random_rows(7, 5))[:, 30].any()


@pytest.mark.parametrize("name", [name for name in FORMS if name not in TAKE_NEW_ITEMS])
def test_free_vectors_take_no_new_items(name, fitted):
    for call in (fitted[name].add_items, fitted[name].embed_items):
        with pytest.raises(UsageError, match="learned for each item"):
            call(random_rows(8, 1))
    assert fitted[name].n_items_ == 30


def test_new_items_of_another_width_leave_the_model_as_it_was(fitted):
    ranker = loaded(fitted["htr-residual"])
    with pytest.raises(TacitError, match="19 features, want 20"):
        ranker.add_items(random_rows(8, 2, n_words=19))
    assert bits(ranker) == bits(fitted["htr-residual"])


# Rows without words, and mistakes.


@EACH_FORM
def test_rows_without_words_do_no_harm(name):
    rows, links = random_rows(0), random_links(1)
    rows[[2, 11, 29]] = 0
    ranker = small(name).fit(rows, rows, links)
    scores = ranker.scores(rows)
    assert np.isfinite(scores).all()
    assert not scores[[2, 11, 29]].any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": -1}, "dim is -1"),
        ({"dim": 2.5}, "dim is 2.5"),
        ({"items": "fre"}, "items is 'fre'.*did you mean 'free'"),
        ({"identity": "learn"}, "identity is 'learn'"),
        ({"gamma": -1}, "gamma is -1"),
        ({"gamma": 1.0}, "gamma is 1 with items='mapped'"),
        ({"gamma": 1.0, "items": "tied"}, "gamma is 1 with items='tied'"),
        ({"item_rate": float("nan")}, "item_rate is nan"),
        ({"rate": 0}, "rate is 0, want a number > 0"),
        ({"margin": float("inf")}, "margin is inf"),
        ({"margin": "wide"}, "margin is 'wide'"),
        ({"n_words": 0}, "n_words is 0"),
        ({"n_epochs": 0}, "n_epochs is 0"),
        ({"threads": 0}, "threads is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": "x"}, "seed is 'x'"),
    ],
)
def test_refuses_parameters_that_cannot_be(changes, message):
    rows = random_rows(0)
    with pytest.raises(TacitError, match=message):
        small(**changes).fit(rows, rows, random_links(1))


@pytest.mark.parametrize("name", ["ssi-uu", "ssi-uv", "ssi-uv-d", "ssi-d", "htr", "htr-identity", "htr-residual"])
def test_forms_of_one_dictionary_refuse_two(name):
    with pytest.raises(TacitError, match="30 features and items 20|20 features and items 30|two dictionaries"):
        small(name, n_words=None).fit(random_rows(0, n_words=30), random_rows(1), random_links(1))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_refuses_features_that_are_not_finite(bad, fitted):
    rows, broken = random_rows(0), random_rows(0)
    broken[4, 3] = bad
    for queries, items in ((broken, rows), (rows, broken), (broken, broken)):
        with pytest.raises(TacitError, match="NaN or infinity in row 4"):
            small().fit(queries, items, random_links(1))
    for call in (fitted["ssi-uv"].add_items, fitted["ssi-uv"].embed_queries, fitted["ssi-uv"].scores):
        with pytest.raises(TacitError, match="NaN or infinity in row 4"):
            call(broken)


def test_refuses_rows_of_another_width_and_calls_before_fit(fitted):
    for call in (fitted["ssi-uv"].add_items, fitted["ssi-uv"].embed_queries, fitted["ssi-uv"].scores):
        with pytest.raises(TacitError, match="19 features, want 20"):
            call(random_rows(0, n_words=19))
    for method in ("embed_queries", "embed_items", "add_items", "scores", "rank"):
        with pytest.raises(NotFittedError):
            getattr(EmbeddingRanker(), method)(random_rows(0))


# Divergence.


def test_an_absurd_rate_is_named_with_its_epoch():
    rows = sp.csr_array(random_rows(0))
    with pytest.raises(DivergedError, match=r"epoch 2 at rate 5e\+11, after 1e\+12 had failed too"):
        small(rate=1e12, n_epochs=6).fit(rows, rows, random_links(1))


@pytest.mark.parametrize("name", ["ssi-uv", "ssi-uu", "htr", "htr-residual"])
def test_an_epoch_that_breaks_is_undone_and_the_rate_halved_once(name, monkeypatch):
    rows, epoch, calls = sp.csr_array(random_rows(0)), PairTask.epoch, []

    def breaks_in_its_second(self, trainer, rng, rates):
        loss = epoch(self, trainer, rng, rates)
        calls.append((rates, trainer.tables.queries.copy()))
        if len(calls) == 2:
            trainer.tables.queries[0, 0] = np.inf
        return loss

    monkeypatch.setattr(PairTask, "epoch", breaks_in_its_second)
    ranker = small(name, rate=0.2, n_epochs=4).fit(rows, rows, random_links(1))
    rates = [given for given, _ in calls]
    np.testing.assert_allclose(rates, [(0.2, 0.15), (0.15, 0.1), (0.05, 0.025), (0.025, 0)], atol=1e-12)
    assert [found["epoch"] for found in ranker.epochs_] == [1, 3, 4]
    assert ranker.rate_ == 0.1
    moved = [np.abs(table - calls[0][1]).max() for _, table in calls]
    assert 0 < moved[2] < moved[1]  # the third epoch went on from the first, by a smaller step than the one undone
    assert np.isfinite(ranker.scores(rows)).all()
    if name == "ssi-uu":
        assert np.array_equal(ranker.item_table_, ranker.query_table_)  # still tied after the way back


def test_a_rate_that_fails_is_saved_by_its_half(monkeypatch):
    """The bar is set between what the two rates make of the tables, so that only the half stays below."""
    rows, links = sp.csr_array(random_rows(0)), random_links(1)

    def fit(rate, n_epochs):
        return small("ssi-d", rate=rate, margin=5.0, n_epochs=n_epochs).fit(rows, rows, links)

    fails, holds = (np.abs(fit(rate, 1).diagonal_).max() for rate in (64.0, 16.0))
    assert holds < fails
    monkeypatch.setattr(embedding_sgd, "LARGEST_ENTRY", (holds + fails) / 2)
    saved = fit(64.0, 2)  # its second epoch has half of half the rate
    assert saved.rate_ == 32.0
    assert [found["epoch"] for found in saved.epochs_] == [2]
    assert np.abs(saved.diagonal_).max() < (holds + fails) / 2


def test_a_single_epoch_that_breaks_is_an_error_too():
    rows = sp.csr_array(random_rows(0))
    with pytest.raises(DivergedError, match="epoch 1"):
        small(rate=1e12, n_epochs=1).fit(rows, rows, random_links(1))


# Validation.


def test_the_tables_are_those_of_the_best_epoch(monkeypatch):
    rows, seen, values = sp.csr_array(random_rows(0)), [], iter([0.1, 0.9, 0.3, 0.9])

    def scripted(self, ranker):
        seen.append((bits_of(ranker), ranker.score_rows(rows)))
        return {"MAP": np.array([next(values)]), "rank_loss": np.array([0.5])}

    def bits_of(ranker):
        return [getattr(ranker, array).tobytes() for array in ARRAYS]

    monkeypatch.setattr(PairTask, "values", scripted)
    for name in ("htr-residual", "ssi-uu-d", "htr"):
        seen.clear()
        values = iter([0.1, 0.9, 0.3, 0.9])
        ranker = small(name, n_epochs=4).fit(rows, rows, random_links(1))
        assert ranker.best_epoch_ == 2
        assert bits_of(ranker) == seen[1][0]
        assert len({tuple(found) for found, _ in seen}) == 4
        assert np.array_equal(ranker.scores(rows), seen[1][1])
        assert [epoch["MAP"] for epoch in ranker.epochs_] == [0.1, 0.9, 0.3, 0.9]


def test_each_epoch_reports_its_loss_and_measures():
    queries, items, is_answer = two_topics(0)
    ranker = small(n_epochs=8).fit(queries, items, Links(*np.nonzero(is_answer), *is_answer.shape))
    assert [epoch["epoch"] for epoch in ranker.epochs_] == list(range(1, 9))
    assert all(set(epoch) == {"epoch", "loss", "rate", "MAP", "rank_loss"} for epoch in ranker.epochs_)
    assert ranker.epochs_[-1]["loss"] < 0.5 * ranker.epochs_[0]["loss"]
    assert ranker.epochs_[ranker.best_epoch_ - 1]["MAP"] == max(epoch["MAP"] for epoch in ranker.epochs_)
    assert [epoch["rate"] for epoch in ranker.epochs_] == pytest.approx([0.3 * (8 - n) / 8 for n in range(8)])


def test_the_choice_follows_the_validation_pairs_that_are_given():
    rows, links, other = sp.csr_array(random_rows(0)), random_links(1), random_links(2)
    other = other.take(~np.isin(other.sources * 30 + other.targets, links.sources * 30 + links.targets))
    ranker = small(n_epochs=3).fit(rows, rows, links, other)
    scores = ranker.scores(rows)
    known, relevant = links.to_csr().toarray() > 0, other.to_csr().toarray() > 0
    precisions = []
    for query in np.flatnonzero(relevant.any(axis=1)):
        candidates = [i for i in range(30) if i != query and not known[query, i]]
        ranked = sorted(candidates, key=lambda i: (-scores[query, i], i))
        places = [place for place, item in enumerate(ranked, start=1) if relevant[query, item]]
        precisions.append(np.mean([hit / place for hit, place in enumerate(places, start=1)]))
    assert ranker.epochs_[ranker.best_epoch_ - 1]["MAP"] == pytest.approx(np.mean(precisions))


@pytest.mark.parametrize(("rate", "margin"), [(0.1, 0.1), (0.3, 0.77)])
@pytest.mark.parametrize("factors", [(0.5, 2.0), (2.0, 0.5), (1.0, 1.0)])
def test_tuning_takes_the_best_of_the_grid_in_short_runs(factors, rate, margin, monkeypatch):
    wanted = factors[0] * rate, factors[1] * margin
    rows, epoch, n_epochs = sp.csr_array(random_rows(0)), PairTask.epoch, []

    def counted(self, trainer, rng, rates):
        n_epochs.append(rates)
        return epoch(self, trainer, rng, rates)

    def nearness(self, ranker):
        gap = abs(ranker.rate_ - wanted[0]) + abs(ranker.margin_ - wanted[1])
        return {"MAP": np.array([-gap]), "rank_loss": np.array([0.5])}

    monkeypatch.setattr(PairTask, "epoch", counted)
    monkeypatch.setattr(PairTask, "values", nearness)
    ranker = small(tune=True, rate=rate, margin=margin, n_epochs=9).fit(rows, rows, random_links(1))
    assert (ranker.rate_, ranker.margin_) == wanted
    assert len(n_epochs) == 5 * 3 + 9


def test_tuning_passes_over_rates_that_diverge(monkeypatch):
    monkeypatch.setattr("tacit.retrieve.margin.base.TUNED_FACTORS", (1e13, 1.0, 1e14))
    rows = sp.csr_array(random_rows(0))
    assert small(tune=True, rate=0.1, n_epochs=6).fit(rows, rows, random_links(1)).rate_ == 0.1


def test_small_sets_are_visited_more_often_in_smaller_blocks():
    assert [block_for(n) for n in (1, 100, 320, 10**6)] == [4, 4, 10, 64]
    assert [passes_for(n) for n in (1, 100, 10**6)] == [75, 3, 1]
    assert TripleTask.target == "accuracy"


# States that do not fit together.


def with_arrays(**changes):
    return lambda header, arrays: (header, arrays | changes)


def without(name):
    return lambda header, arrays: (header, {key: array for key, array in arrays.items() if key != name})


def with_header(**changes):
    return lambda header, arrays: (header | changes, arrays)


def with_params(**changes):
    return lambda header, arrays: (header | {"params": header["params"] | changes}, arrays)


def table(*shape, dtype=np.float32):
    return np.full(shape, 0.5, dtype)


HOSTILE = {
    "wider vectors of items": with_arrays(item_vectors_=table(30, 7)),
    "more vectors than items": with_arrays(item_vectors_=table(31, 6)),
    "a shorter table of queries": with_arrays(query_table_=table(19, 6)),
    "a longer table of queries": with_arrays(query_table_=table(21, 6)),
    "a narrower table of queries": with_arrays(query_table_=table(20, 5)),
    "a shorter table of items": with_arrays(item_table_=table(19, 6)),
    "a longer table of items": with_arrays(item_table_=table(21, 6)),
    "no table of items in a form that has one": with_arrays(item_table_=table(0, 6)),
    "a flat table": with_arrays(query_table_=table(120)),
    "a shorter diagonal": with_arrays(diagonal_=table(19)),
    "a table in float64": with_arrays(item_table_=table(20, 6, dtype=np.float64)),
    "a table with NaN": with_arrays(query_table_=table(20, 6) * np.float32(np.nan)),
    "no vectors": without("item_vectors_"),
    "no items": without("items_/indices"),
    "items in dense form": lambda header, arrays: (
        header,
        {k: a for k, a in arrays.items() if not k.startswith("items_/")} | {"items_": table(30, 20)},
    ),
    "a table in sparse form": lambda header, arrays: (
        header,
        {k: a for k, a in arrays.items() if k != "query_table_"}
        | {k.replace("items_", "query_table_"): a for k, a in small_csr("items_").items()},
    ),
    "vectors of items in sparse form": lambda header, arrays: (
        header,
        {k: a for k, a in arrays.items() if k != "item_vectors_"} | small_csr("item_vectors_", 30),
    ),
    "more features than columns": with_header(n_features=21),
    "fewer features than columns": with_header(n_features=19),
    "features that are no number": with_header(n_features="20"),
    "an unknown class": with_header(**{"class": "Pickle"}),
    "a number that is a text": with_header(numbers={"best_epoch_": "1", "rate_": 0.1, "margin_": 0.1}),
    "a missing number": with_header(numbers={"rate_": 0.1, "margin_": 0.1}),
    "a parameter that is unknown": with_params(colour="red"),
    "a word cut that the tables do not have": with_params(n_words=12),
    "another width in the parameters": with_params(dim=7),
    "an unknown form": with_params(items="mapt"),
    "a form whose tables are others": with_params(items="free"),
    "an unknown identity": with_params(identity="some"),
}


def small_csr(prefix, n_rows=20):
    rows = sp.csr_array(table(n_rows, 6))
    shape = np.array(rows.shape, np.int64)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": shape}
    return {f"{prefix}/{part}": array for part, array in parts.items()}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_states_that_do_not_fit_together_are_refused(change, fitted):
    header, arrays = pack_estimator(fitted["ssi-uv"])
    unpack_estimator(header, arrays, find_class)
    with pytest.raises(StoreError), blame("model"):
        unpack_estimator(*change(header, arrays), find_class)


@pytest.mark.parametrize("recipe", ["mined", "printed"])
def test_a_start_by_words_gives_each_item_the_vector_of_its_words(recipe):
    rows = sp.csr_array(random_rows(0, n_rows=200, n_words=60))
    links = Links([0, 1], [1, 2], 200, 200)  # items 3 and on are in no pair
    margin = {"mined": 0.2, "printed": 1.0}[recipe]
    ranker = small("htr-gamma0", dim=40, start="words", recipe=recipe, margin=margin, n_epochs=1, rate=1e-9, decay=0.0)
    ranker.fit(rows, rows, links)
    np.testing.assert_allclose(ranker.item_vectors_, rows @ ranker.query_table_, atol=1e-5)
    assert ranker.query_table_.std() == pytest.approx(40**-0.5, rel=0.05)
    # Scores are cosines up to the error of a random projection, about 1 / sqrt(dim).
    assert np.corrcoef(ranker.scores(rows).ravel(), (rows @ rows.T).toarray().ravel())[0, 1] > 0.6
    mapped = small("ssi-uv-noi", start="words", n_epochs=1, rate=1e-9, decay=0.0).fit(rows, rows, links)
    np.testing.assert_allclose(mapped.item_table_, mapped.query_table_, atol=1e-5)


def test_a_missing_table_of_two_dictionaries_is_refused():
    """What is missing must not be read from the other side: a loop would run over its end."""
    pairs = random_links(1)
    ranker = small("ssi-uv-noi").fit(random_rows(0), random_rows(1, n_words=12), pairs)
    header, arrays = pack_estimator(ranker)
    with pytest.raises(StoreError), blame("model"):
        unpack_estimator(header, arrays | {"item_table_": table(0, 6)}, find_class)
