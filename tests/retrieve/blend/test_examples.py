"""What a blend learns from pairs: which members and priors, from which examples, and what labels gain."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links
from tacit.retrieve import BlendRanker
from tacit.retrieve.blend.learning import Learner
from tacit.retrieve.weights import learn_weights

N_DOCS, N_TOPICS = 240, 6  # as in conftest.py


@pytest.fixture(scope="module")
def world(topics):
    return topics


def test_few_judged_queries_leave_the_weights(world):
    queries, pairs = world["queries"][:4], world["pairs"].take(world["pairs"].sources < 4)
    pairs = Links(pairs.sources, pairs.targets, 4, N_DOCS)
    ranker = BlendRanker(dim=8, residual=False).fit(queries, world["items"], pairs)
    assert ranker.weights_ == {"bm25": 1, "latent": 4, "feedback": 3}
    assert ranker.strength_ is None


def test_links_train_a_member_that_counts_little_for_short_queries(world):
    rng = np.random.default_rng(0)
    sources = np.repeat(np.arange(N_DOCS), 3)
    targets = (sources + 1 + N_TOPICS * rng.integers(0, 40, len(sources))) % N_DOCS  # words of another topic
    links = Links(sources, targets, N_DOCS, N_DOCS)
    ranker = BlendRanker(dim=8, strength=0.1).fit(world["items"], world["items"], links)
    assert ranker.member("residual").median_length_ == pytest.approx(np.median(np.diff(world["items"].indptr)), abs=1)
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
        .weights_
        for given, judged in ((pairs, None), (graded, None), (pairs, zeros.take(kept)))
    ]
    assert found[0] != found[1]
    assert found[0] != found[2]


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["popular", "random"])
def test_few_judged_queries_earn_the_residual_a_weight_where_they_say_more_than_words(labels, world):
    """Relevant are the popular documents of the query's topic: words name the topic, only judged queries the others."""
    rng = np.random.default_rng(1)
    same = (np.arange(40) % N_TOPICS)[:, None] == world["topic"][None, :]
    relevant = same & (rng.random(N_DOCS) < 0.4) if labels == "popular" else rng.random(same.shape) < 0.05
    pairs = Links(*np.nonzero(relevant), 40, N_DOCS)
    assert len(pairs) >= 200
    ranker = BlendRanker(dim=8, n_expansion=6, threads=1).fit(world["queries"], world["items"], pairs)
    plain = BlendRanker(dim=8, n_expansion=6).fit(None, world["items"])
    if labels == "popular":
        found, before = (
            relevant[np.arange(40)[:, None], one.rank(world["queries"], 5).items] for one in (ranker, plain)
        )
        assert ranker.weights_["residual"] > 0
        assert found.mean() > before.mean() + 0.2
    else:
        assert ranker.weights_.get("residual", 0) < 0.2


@pytest.fixture
def trained(monkeypatch):
    """Part and pairs of every training of `residual`; only the first is done, its member stands for all."""
    done, train = [], Learner.train

    def record(learner, pairs, validation, part="final"):
        if not done:
            train(learner, pairs, validation, part)
        done.append((part, pairs))

    monkeypatch.setattr(Learner, "train", record)
    return done


def test_priors_with_a_weight_of_the_residual_are_tried(world, trained, monkeypatch):
    tried = []

    def learn(examples, prior, strength, others, unseen, by_words):
        tried.append((prior, others, unseen))
        assert all(by_words)
        return learn_weights(examples, prior, strength, others, unseen, by_words)

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
    assert np.isfinite(list(ranker.weights_.values())).all()


def test_queries_about_unseen_items_are_scored_by_a_member_without_these_items(world, trained, monkeypatch):
    asked, examples = [], Learner.examples

    def record_examples(learner, pairs, known):
        asked.append(pairs)
        return examples(learner, pairs, known)

    monkeypatch.setattr(Learner, "examples", record_examples)
    query = np.arange(20)  # four have the first item in common, and two of different fours the second
    pairs = Links(np.tile(query, 2), np.concatenate([query // 4, 10 + query % 10]), 40, N_DOCS)
    BlendRanker(dim=8, n_expansion=6, residual=True).fit(world["queries"], world["items"], pairs)
    unseen = [(known, held) for (part, known), held in zip(trained, asked, strict=False) if part.startswith("unseen")]
    assert len(unseen) == 3
    for known, held in unseen:
        assert not np.intersect1d(known.targets, held.targets).size
        assert not np.intersect1d(known.sources, held.sources).size
