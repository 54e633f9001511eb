"""Weights of members from preferences: gradient, convexity, and worlds with one right answer."""

import math

import numpy as np
import pytest

from tacit.retrieve.blend.training import (
    Choice,
    TrainingQuery,
    choose_prior,
    learn_weights,
    preferences,
    weight_of_unjudged,
)
from tacit.retrieve.blend.weights import fit_weights, objective

PRIOR = np.array([1.0, 1.0, 1.0, 0.0])


def judged(rng, n_queries, informative, *, random=False):
    """Queries with candidates of normal scores; one in ten is relevant, by the informative members or at random."""
    queries = []
    for _ in range(n_queries):
        scores = rng.normal(size=(60, len(PRIOR)))
        utility = rng.normal(size=60) if random else scores @ informative + 0.5 * rng.normal(size=60)
        relevance = (utility > np.quantile(utility, 0.9)).astype(float)
        queries.append(TrainingQuery(scores, relevance, int(relevance.sum())))
    return queries


def test_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    given = rng.normal(size=(50, 4)), rng.random(50), PRIOR, 3.0
    weights = rng.random(4)
    _, gradient = objective(weights, *given)
    for place in range(4):
        step = np.eye(4)[place] * 1e-6
        slope = (objective(weights + step, *given)[0] - objective(weights - step, *given)[0]) / 2e-6
        assert gradient[place] == pytest.approx(slope, rel=1e-5)


def test_the_problem_is_convex():
    rng = np.random.default_rng(1)
    given = rng.normal(size=(50, 4)), rng.random(50), PRIOR, 3.0
    for _ in range(20):
        a, b = rng.normal(size=(2, 4))
        middle = objective((a + b) / 2, *given)[0]
        assert middle <= (objective(a, *given)[0] + objective(b, *given)[0]) / 2 + 1e-9


def test_no_other_weights_are_better():
    rng = np.random.default_rng(2)
    differences, importance = rng.normal(0.5, 1, (300, 4)), np.full(300, 1 / 30)
    found = fit_weights(differences, importance, PRIOR, 3.0)
    # The scale is given up at the end: along the ray of the found weights, the best point beats all others.
    best = min(objective(s * found, differences, importance, PRIOR, 3.0)[0] for s in np.linspace(0.01, 5, 2000))
    for _ in range(200):
        other = np.maximum(0, found * rng.random() * 2 + rng.normal(0, 0.3, 4))
        assert objective(other, differences, importance, PRIOR, 3.0)[0] > best - 1e-4


def test_a_member_of_noise_loses_its_weight():
    queries = judged(np.random.default_rng(3), 80, np.array([1.0, 1.0, 0.0, 0.0]))
    weights, strength = learn_weights(queries, PRIOR)
    assert not math.isinf(strength)
    assert weights[2] < 0.25 * weights[:2].min()  # 1 before
    assert weights[0] == pytest.approx(weights[1], rel=0.25)
    assert weights.sum() == pytest.approx(PRIOR.sum())


def test_a_member_without_weight_earns_one():
    queries = judged(np.random.default_rng(4), 80, np.array([0.3, 0.3, 0.3, 2.0]))
    weights, _ = learn_weights(queries, PRIOR)
    assert weights[3] == weights.max()


@pytest.mark.parametrize("n_queries", [3, 8, 30])
def test_random_labels_leave_the_prior_nearly_unchanged(n_queries):
    kept = 0
    for seed in range(10):
        queries = judged(np.random.default_rng(seed), n_queries, np.zeros(4), random=True)
        weights, _ = learn_weights(queries, PRIOR)
        cosine = weights @ PRIOR / np.linalg.norm(weights) / np.linalg.norm(PRIOR)
        kept += cosine > 0.95
    assert kept >= 8


def test_a_strong_prior_stays_and_a_weak_one_gives_way():
    queries = judged(np.random.default_rng(5), 40, np.array([0.0, 0.0, 2.0, 0.0]))
    strong, weak = (learn_weights(queries, PRIOR, strength)[0] for strength in (1e6, 0.1))
    assert strong == pytest.approx(PRIOR, abs=0.01)
    assert weak[2] > 0.8 * weak.sum()


def test_few_queries_choose_nothing():
    queries = judged(np.random.default_rng(6), 4, np.array([1.0, 0.0, 0.0, 0.0]))
    choices = [Choice(PRIOR, math.inf), Choice(PRIOR, 3.0)]
    assert choose_prior(queries, choices) is choices[0]


def test_queries_without_a_relevant_candidate_say_nothing():
    empty = TrainingQuery(np.ones((5, 4)), np.zeros(5), 2)
    weights, strength = learn_weights([empty] * 10, PRIOR)
    assert weights.tolist() == PRIOR.tolist()
    assert math.isinf(strength)


def test_preferences_are_all_pairs_of_a_larger_and_a_smaller_weight():
    query = TrainingQuery(np.array([[1.0], [2.0], [5.0]]), np.array([0.0, 3.0, 1.0]), 2)
    differences, importance = preferences(query)
    assert differences.ravel().tolist() == [1.0, -3.0, 4.0]
    assert importance == pytest.approx([0.5, 0.25, 0.25])  # ln 4, ln 4 - ln 2, ln 2


def test_unjudged_candidates_count_by_the_share_of_zeros_among_the_judged():
    query = TrainingQuery(np.arange(4.0)[:, None], np.array([2.0, 0.0, np.nan, 2.0]), 2)
    assert weight_of_unjudged([query]) == pytest.approx(1 / 3)
    differences, importance = preferences(query, 1 / 3)
    assert differences.ravel().tolist() == [-1.0, -2.0, 2.0, 1.0]
    assert importance == pytest.approx([3 / 8, 1 / 8, 3 / 8, 1 / 8])
    assert weight_of_unjudged([query._replace(relevance=np.array([1.0, np.nan, np.nan, 1.0]))]) == 1.0


def test_judged_zeros_outweigh_unjudged_candidates():
    """A member that ranks judged zeros low is right, although relevant documents are among the unjudged."""
    rng, queries = np.random.default_rng(7), []
    for _ in range(60):
        scores, relevance = rng.normal(size=(60, 4)), np.full(60, np.nan)
        relevant = scores[:, 1] > 0.5
        judged = np.concatenate([rng.permutation(np.flatnonzero(mask))[:6] for mask in (relevant, ~relevant)])
        relevance[judged] = relevant[judged]
        scores[:, 2] += 2.0 * ~np.isnan(relevance)  # finds what was judged, relevant or not
        queries.append(TrainingQuery(scores, relevance, int(relevant.sum())))
    blind = [query._replace(relevance=np.where(query.relevance > 0, 1.0, np.nan)) for query in queries]
    with_zeros, without = (learn_weights(part, PRIOR, 1.0)[0] for part in (queries, blind))
    assert with_zeros[1] / with_zeros[2] > 1.15 * without[1] / without[2]


def test_a_prior_that_the_labels_support_is_taken():
    trained = np.array([1.0, 1.0, 1.0, 8.0])
    for support, wanted in ((np.array([0.3, 0.3, 0.3, 4.0]), trained), (np.array([1.0, 1.0, 1.0, 0.0]), PRIOR)):
        queries = judged(np.random.default_rng(8), 40, support)
        weights, _ = learn_weights(queries, PRIOR, math.inf, [trained])
        np.testing.assert_array_equal(weights, wanted)
