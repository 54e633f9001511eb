"""The member `residual`: its gate against scikit-learn, and what it does for queries about new items."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from tacit.core import Links
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend.embeddings import RIDGE, fit_gate, leads, probability
from tacit.retrieve.blend.member import scores_near

N_TOPICS, N_EACH = 24, 6  # half of the topics have judged queries


@pytest.fixture(scope="module")
def world():
    """Each topic is a document with a word of its own; queries have words of the topic that other documents have.

    A query has two of the three words that its topic is asked with, and half of the time the word of the document.
    """
    rng, common = np.random.default_rng(3), np.arange(4 * N_TOPICS, 4 * N_TOPICS + 40)
    items = np.zeros((N_TOPICS, 4 * N_TOPICS + 40), np.float32)
    queries = np.zeros((N_TOPICS * N_EACH, items.shape[1]), np.float32)
    topic = np.repeat(np.arange(N_TOPICS), N_EACH)
    for number in range(N_TOPICS):
        items[number, 4 * number] = 2
        items[number, rng.choice(common, 8)] += 1
        for word in range(1, 4):
            others = np.setdiff1d(np.arange(N_TOPICS), number)
            items[rng.choice(others, 2, replace=False), 4 * number + word] += 1
    for row, number in enumerate(topic):
        queries[row, 4 * number + 1 + rng.choice(3, 2, replace=False)] = 1
        queries[row, 4 * number] = rng.random() < 0.5
        queries[row, rng.choice(common, 2)] += 1
    return sp.csr_array(items), sp.csr_array(queries), topic


@pytest.fixture(scope="module")
def fitted(world):
    items, queries, topic = world
    judged = np.flatnonzero((topic < N_TOPICS // 2) & (np.arange(len(topic)) % N_EACH > 0))
    pairs = Links(judged, topic[judged], len(topic), N_TOPICS)
    return BlendRanker(dim=8, residual=True, seed=1).fit(queries, items, pairs)


def test_leads_one_candidate_at_a_time():
    rng = np.random.default_rng(0)
    scores, named, known = rng.normal(size=(30, 7)), rng.random((30, 7)) < 0.7, rng.random((30, 7)) < 0.8
    found = leads(scores, named, known)
    for row in range(30):
        places = [place for place in range(7) if known[row, place]]
        best, other = (max([scores[row, p] for p in places if named[row, p] == kind] + [0]) for kind in (True, False))
        expected = best - other if any(not named[row, p] for p in places) else np.inf
        assert found[row] == pytest.approx(expected)


def test_the_fit_is_logistic_regression():
    rng = np.random.default_rng(1)
    named, unseen = rng.normal(0.4, 0.3, 80), rng.normal(0.0, 0.2, 30)
    x = np.concatenate([named, unseen])
    oracle = LogisticRegression(C=1 / (2 * RIDGE), tol=1e-10)
    oracle.fit(x[:, None] / x.std(), np.arange(110) < 80, sample_weight=np.repeat([1 / 80, 1 / 30], [80, 30]))
    slope, odds = fit_gate(named, unseen)
    assert slope == pytest.approx(oracle.coef_[0, 0] / x.std(), rel=1e-3)
    assert odds == pytest.approx(oracle.intercept_[0], rel=1e-3)


def test_queries_whose_candidates_are_all_named_count_in_full_and_make_others_rarer():
    finite = fit_gate([0.5, 0.6, 0.4], [0.1, 0.0, 0.5])
    mixed = fit_gate([0.5, 0.6, 0.4] + [np.inf] * 30, [0.1, 0.0, 0.5])
    assert probability(np.array([0.5]), mixed)[0] < probability(np.array([0.5]), finite)[0]
    assert probability(np.array([np.inf, -np.inf]), mixed)[0] == 1
    never = fit_gate([np.inf] * 5, [0.1, 0.2])
    assert probability(np.array([0.3]), never)[0] < 1e-3
    assert np.isfinite(fit_gate([np.inf], [np.inf])).all()


def test_leads_that_say_nothing_say_half():
    gate = fit_gate([0.2] * 9, [0.2] * 5)
    assert probability(np.array([0.2, 5.0]), gate).tolist() == pytest.approx([0.5, 0.5], abs=0.01)
    assert fit_gate([0.0, 0.1], [0.9, 1.0])[0] == 0, "a lead of named items never speaks against them"


def test_labels_help_where_they_name_items_and_do_no_harm_elsewhere(fitted, world):
    items, queries, topic = world
    plain = BlendRanker(dim=8, seed=1).fit(None, items)
    new = np.arange(len(topic)) % N_EACH == 0
    assert fitted.weights_["residual"] > 0
    for kind, gain in ((topic < N_TOPICS // 2, 0.2), (topic >= N_TOPICS // 2, -0.03)):
        rows = np.flatnonzero(new & kind) if gain > 0 else np.flatnonzero(kind)
        ranks = [
            1 + (one.scores(queries[rows]) > one.scores(queries[rows])[np.arange(len(rows)), topic[rows], None]).sum(1)
            for one in (fitted, plain)
        ]
        assert (1 / ranks[0]).mean() > (1 / ranks[1]).mean() + gain


def test_a_query_about_new_items_counts_residual_less(fitted, world):
    _, queries, topic = world
    factors = {}
    for name, rows in (("named", topic < N_TOPICS // 2), ("new", topic >= N_TOPICS // 2)):
        block, member = fitted.query_block(queries[np.flatnonzero(rows)], None), fitted.member("residual")
        scores = member.scores(block)
        own = member.factors(block, scores_near(scores, block.candidates))
        factors[name] = np.median(own * scores.std(axis=1))
    assert factors["new"] < factors["named"] / 2


def test_links_between_items_have_no_gate(world, monkeypatch):
    items, _, _ = world
    pairs = Links(np.arange(N_TOPICS - 1), np.arange(1, N_TOPICS), N_TOPICS, N_TOPICS)
    monkeypatch.setattr("tacit.retrieve.blend.learning.learn_weights", lambda _, prior, *rest: (prior + 1, 1.0))
    ranker = BlendRanker(dim=4, residual=True).fit(items, items, pairs, queries_are_items=True)
    member = ranker.member("residual")
    assert (member.gate_, member.named_) == (None, None)


def test_the_items_of_all_judgments_are_named(fitted):
    assert fitted.member("residual").named_.tolist() == [1.0] * (N_TOPICS // 2) + [0.0] * (N_TOPICS // 2)


def test_weights_are_learned_from_gated_scores(world, monkeypatch):
    items, queries, topic = world
    given, found = [], []

    def learn(queries, prior, strength, others, unseen, by_words):
        given.extend([*queries, *unseen])
        return prior, np.inf

    def gate(named, unseen):
        found.extend([*named, *unseen])
        return np.array([0.0, -50.0], np.float32)

    monkeypatch.setattr("tacit.retrieve.blend.embeddings.fit_gate", gate)
    monkeypatch.setattr("tacit.retrieve.blend.learning.learn_weights", learn)
    pairs = Links(np.arange(60), topic[:60], len(topic), N_TOPICS)
    BlendRanker(dim=4, residual=True).fit(queries, items, pairs)
    closed = [query for query, lead in zip(given, found, strict=True) if np.isfinite(lead)]
    assert closed
    assert max(np.abs(query.scores[:, -1]).max() for query in closed) < 1e-15
    assert min(np.abs(query.scores[:, 0]).max() for query in closed) > 0.1
