"""Weights of members from preferences: gradient, convexity, and worlds with one right answer."""

import math

import numpy as np
import pytest

from tacit.retrieve.weights import (
    Choice,
    TrainingQuery,
    _least_on_unseen,
    choose_prior,
    fit_weights,
    learn_weights,
    objective,
    precision_of,
    preferences,
    weight_of_unjudged,
)

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


def test_a_quarter_of_the_gain_by_words_may_be_lost_on_unseen_items():
    scores = np.array([[1.0, 0.0], [0.0, 2.0]])  # BM25 ranks the relevant item second (AP 1/2), the sum of both first
    query, prior = TrainingQuery(scores, np.array([0.0, 1.0]), 1), np.ones(2)
    assert _least_on_unseen([query], prior, None) == 0.875
    assert _least_on_unseen([query], prior, [True, True]) == 0.875
    assert _least_on_unseen([query], prior, [True, False]) == 1, "nothing of the gain by an encoder may be lost"
    worse = query._replace(scores=-scores)
    assert _least_on_unseen([worse], prior, None) == 0.5, "no choice needs more than the first has"


@pytest.mark.parametrize("by_rank", [True, False])
def test_what_repeats_the_shown_order_alone_changes_no_weight(by_rank):
    """The second member is right of all clicks; the first is the shown order, of which random clicks are no proof."""
    rng, n_shown = np.random.default_rng(0), 10
    queries = []
    for _ in range(40):
        order, taste = np.linspace(2, -2, n_shown), rng.normal(size=n_shown)
        excess = np.zeros(n_shown) if by_rank else 0.5 * taste
        relevance = np.where(order + (0 if by_rank else 2 * taste) > 0.5, 1.0, 0.0)
        scores = np.stack([order, taste], axis=1)
        queries.append(
            TrainingQuery(scores, relevance, int(relevance.sum()), excess=excess + rng.normal(0, 0.1, n_shown))
        )
    prior = np.array([1.0, 4.0]) if by_rank else np.array([4.0, 1.0])
    weights, strength = learn_weights(queries, prior)
    assert np.array_equal(weights, prior) == by_rank
    assert np.isinf(strength) == by_rank
    plain = [query._replace(excess=None) for query in queries]
    assert not np.array_equal(learn_weights(plain, prior)[0], prior)


def test_a_programs_grades_count_by_their_trust_and_are_never_measured_by():
    scores = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 2.0], [0.0, 3.0]])
    nothing = np.full(4, np.nan)
    judged = TrainingQuery(scores, np.array([2.0, 0, 1, 0]), 2)
    for trust in (1.0, 0.5):
        assumed = TrainingQuery(scores, nothing, 0, assumed=judged.relevance, trust=np.full(4, trust))
        assert assumed.is_assumed
        assert not assumed.is_usable
        differences, importance = preferences(assumed)
        np.testing.assert_allclose(differences, preferences(judged)[0])
        np.testing.assert_allclose(importance, trust**2 * preferences(judged)[1])
        assert precision_of(assumed, np.ones(2)) == 0  # nothing is known to be relevant
    mixed = TrainingQuery(scores, np.array([2.0, np.nan, np.nan, 0]), 1, assumed=np.array([0.0, 1, np.nan, 5]),
                          trust=np.full(4, 0.5))  # fmt: skip
    differences, importance = preferences(mixed)
    ln2, ln3 = np.log(2), np.log(3)
    whole = (ln3 - ln2) + ln3 + ln3 + ln2 + ln2  # 1 above 2, 3 and 4; 2 above 3 and 4
    expected = {1: 0.5 * (ln3 - ln2) + 0.5 * ln2, 2: ln3 + 0.5 * ln2, 3: ln3}  # by the distance of the two
    for distance, value in expected.items():
        assert importance[differences[:, 0] == distance].sum() == pytest.approx(value / whole)


def test_a_program_alone_changes_no_weight():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(12, 2))
    query = TrainingQuery(scores, np.full(12, np.nan), 0, assumed=(scores[:, 1] > 0) * 1.0, trust=np.ones(12))
    weights, strength = learn_weights([query] * 20, np.array([1.0, 0.1]))
    assert weights.tolist() == [1.0, 0.1]
    assert math.isinf(strength)
