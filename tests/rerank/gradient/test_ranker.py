"""Every gradient by finite differences, with places held fixed; worlds with one right answer; mistakes named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import DivergedError, Lists, TacitError, UsageError
from tacit.kernels.lambdas import add_pair_gradients
from tacit.metrics import evaluate_rows
from tacit.rerank import METHODS
from tacit.rerank.gradient import scorer_training
from tacit.rerank.gradient.expected_pairs import expected_pairs
from tacit.rerank.gradient.losses import NeighbourRegularizer, PairLoss, SwapLoss, parse_swap_measure
from tacit.rerank.gradient.neighbours import find_neighbours
from tacit.rerank.gradient.ranker import BradleyTerryRanker, LambdaRankRanker
from tacit.rerank.gradient.scorer_training import make_scorer, total_loss
from tacit.rerank.rows import Pairs, Rows, group_rows

MANY = settings(deadline=None, max_examples=15)


def random_rows(seed, n=16, n_features=4, given_pairs=None):
    rng = np.random.default_rng(seed)
    y = rng.choice([0, 1, 2, np.nan], n)
    y[:3], y[8:10] = [0, 2, 1], [1, 0]
    return group_rows(rng.normal(size=(n, n_features)), y, np.repeat([0, 1], n // 2), given_pairs)


class Frozen:
    """A source whose pair weights are those of one moment: what 'places held fixed' means."""

    def __init__(self, pairs, weight):
        self.pairs, self.weight = pairs, weight

    def add(self, scores, gradient):
        return add_pair_gradients(scores, self.pairs.better, self.pairs.worse, self.weight, gradient)


class FrozenNeighbours(NeighbourRegularizer):
    def freeze(self, scores):
        self.frozen = self.strengths(scores)
        self.strengths = lambda _: self.frozen
        return self


def check_gradient(scorer, theta, X, terms, frozen, h=1e-6):
    """The analytic gradient of the terms is the numerical one of their frozen forms."""
    _, gradient = total_loss(scorer, theta, X, terms, 0.3)
    for i in range(len(theta)):
        nudge = np.zeros_like(theta)
        nudge[i] = h
        above, below = (total_loss(scorer, theta + sign * nudge, X, frozen, 0.3)[0] for sign in (1, -1))
        assert gradient[i] == pytest.approx((above - below) / (2 * h), abs=2e-7)


@pytest.mark.parametrize("n_hidden", [0, 3])
@given(seed=st.integers(0, 2**32 - 1))
@MANY
def test_smooth_sources_by_finite_differences_through_both_scorers(n_hidden, seed):
    rows = random_rows(seed)
    scorer = make_scorer(4, n_hidden)
    theta = np.random.default_rng(seed).normal(size=len(scorer.start(np.random.default_rng(0))))
    near = find_neighbours(rows.starts, 3, vectors=rows.X)
    terms = [PairLoss(rows.pairs), PairLoss(expected_pairs(rows))]
    terms += [NeighbourRegularizer(near, rows.starts, 2.0, penalty=name) for name in ("preference", "quadratic")]
    check_gradient(scorer, theta, rows.X, terms, terms)


@pytest.mark.parametrize("measure", ["nDCG", "nDCG@3", "nDCG-exp", "nDCG-letor", "nDCG-letor@2", "MAP", "RR"])
@given(seed=st.integers(0, 2**32 - 1))
@MANY
def test_swap_weighted_sources_by_finite_differences_with_places_held_fixed(measure, seed):
    rows = random_rows(seed, given_pairs=np.array([[4, 5], [12, 11]]))
    scorer = make_scorer(4, 2)
    theta = np.random.default_rng(seed).normal(size=len(scorer.start(np.random.default_rng(0))))
    scores = scorer.scores(theta, rows.X)
    loss, near = SwapLoss(rows, measure), find_neighbours(rows.starts, 3, vectors=rows.X)
    terms = [loss, NeighbourRegularizer(near, rows.starts, 2.0, discounts=loss.discounts)]
    neighbours = FrozenNeighbours(near, rows.starts, 2.0, discounts=loss.discounts).freeze(scores)
    check_gradient(scorer, theta, rows.X, terms, [Frozen(rows.pairs, loss.weights(scores)), neighbours])


@pytest.mark.parametrize("positions", ["judged", "list"])
@pytest.mark.parametrize("measure", ["nDCG", "nDCG@3", "nDCG-exp", "nDCG-letor", "nDCG-letor@2", "MAP", "RR"])
@given(seed=st.integers(0, 2**32 - 1))
@MANY
def test_weights_are_what_a_swap_changes(positions, measure, seed):
    rows = random_rows(seed)
    scores = np.random.default_rng(seed).permutation(len(rows.y)).astype(float)
    loss = SwapLoss(rows, measure, positions=positions)
    judged = ~np.isnan(rows.y) | (positions == "list" and measure.startswith("nDCG"))

    def total(s):
        name = "AP" if measure == "MAP" else measure
        return evaluate_rows(rows.y[judged], s[judged], rows.list_of[judged], name).values[name].sum()

    for better, worse, weight in zip(rows.pairs.better, rows.pairs.worse, loss.weights(scores), strict=True):
        swapped = scores.copy()
        swapped[[better, worse]] = scores[[worse, better]]
        assert weight * loss.n_lists == pytest.approx(abs(total(swapped) - total(scores)), abs=1e-12)


@pytest.mark.parametrize("scores", [[0.0, 0, 0, 0], [2.0, 1, 3, 0], [0.0, 1, 3, 2], [3.0, 2, 1, 0]])
@pytest.mark.parametrize("measure", [LambdaRankRanker().measure, "nDCG"])
@pytest.mark.parametrize("positions", ["judged", "list"])
def test_two_judged_rows_of_different_grade_give_a_gradient(positions, measure, scores):
    for y in ([1, 0, np.nan, np.nan], [np.nan, 1, np.nan, 2], [0, 1]):
        rows = group_rows(np.arange(float(len(y)))[:, None], np.array(y), np.zeros(len(y)))
        gradient = np.zeros(len(y))
        SwapLoss(rows, measure, positions=positions).add(np.array(scores[: len(y)]), gradient)
        judged = ~np.isnan(y)
        assert (gradient[judged] != 0).all()
        assert (gradient[~judged] == 0).all()
    X = np.random.default_rng(0).normal(size=(4, 2))
    assert LambdaRankRanker(measure, positions, n_hidden=0, n_epochs=3).fit(X, [1, 0, -1, -1]).theta_.any()


def test_positions_matter_only_where_some_rows_are_unjudged():
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    few = np.where(rng.random(60) < 0.5, -1, y)
    for labels, same in ((y, True), (few, False)):
        found = [
            LambdaRankRanker(positions=positions, n_hidden=0, n_epochs=5).fit(X, labels, qid).theta_
            for positions in ("judged", "list")
        ]
        assert np.array_equal(*found) == same
    with pytest.raises(TacitError, match="positions is 'all', want one of judged, list"):
        LambdaRankRanker(positions="all").fit(X, y, qid)


def test_expected_pairs_average_the_loss_over_the_unknown_grade():
    """One unjudged row: the expectation over its grade of the loss of its pairs, written out."""
    y = np.array([0, 1, 2, 0, np.nan])
    rows = Rows(np.zeros((5, 1)), y, np.array([0, 5]), np.arange(5))
    scores = np.array([0.3, -0.2, 0.9, 0.1, 0.5])
    wanted = 0.0
    for grade, share in ((0, 0.5), (1, 0.25), (2, 0.25)):
        for i in range(4):
            if y[i] != grade:
                sign = 1 if y[i] > grade else -1
                wanted += share * np.log(1 + np.exp(-sign * (scores[i] - scores[4])))
    better, worse, weight = expected_pairs(rows)
    assert float(weight @ np.log(1 + np.exp(scores[worse] - scores[better]))) == pytest.approx(wanted)


def two_clusters(n=40):
    """Feature 0 says which of two tight clusters; only the first row of each is judged, and feature 1 misleads."""
    rng = np.random.default_rng(5)
    cluster = np.arange(n) % 2
    X = np.column_stack([cluster + rng.normal(0, 0.05, n), rng.normal(0, 1, n)])
    X[0, 1], X[1, 1] = -3, 3
    y = np.full(n, -1.0)
    y[:2] = [0, 1]
    return X, y, cluster


def test_neighbours_overrule_a_feature_that_only_the_judged_rows_speak_for():
    X, y, cluster = two_clusters()

    def right(beta):
        ranker = BradleyTerryRanker(n_hidden=0, beta=beta, l2=0.001, n_neighbours=4).fit(X, y)
        return evaluate_rows(cluster, ranker.predict(X), None, "AUC").means()["AUC"]

    assert right(0.0) < 0.95 < right(30.0)


def test_expected_pairs_learn_from_lists_whose_judged_rows_have_one_grade():
    X = np.tile([[0.0, 1], [1, 0], [0, 0], [0, 0]], (6, 1))
    y = np.tile([-1.0, 1, -1, -1], 6)
    qid = np.repeat(np.arange(6), 4)
    y[:4] = [1, -1, 0, -1]  # the only pair speaks for feature 1, five lists speak for feature 0
    weak, strong = (BradleyTerryRanker(n_hidden=0, expected=e).fit(X, y, qid).predict(np.eye(2)) for e in (0.0, 0.9))
    assert weak[0] < weak[1]
    assert strong[0] > strong[1]


@pytest.mark.parametrize("kind", [BradleyTerryRanker, LambdaRankRanker])
@pytest.mark.parametrize("n_hidden", [0, 3])
def test_orders_a_line_by_pairs_alone_by_grades_and_with_unjudged_lists(kind, n_hidden):
    X = np.linspace(-1, 1, 20)[:, None]
    qid = np.repeat([0, 1], 10)
    y = np.full(20, np.nan)
    pairs = np.array([[i + 1, i] for i in range(9)])
    for options in ({"y": y, "pairs": pairs}, {"y": np.where(qid == 0, np.arange(20), np.nan)}):
        ranker = kind(n_hidden=n_hidden, beta=0.1, l2=0.001, n_epochs=300).fit(X, qid=qid, **options)
        assert (np.diff(ranker.predict(X)) > 0).all()


def test_same_seed_same_bits_and_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(30, 3)), rng.integers(-1, 3, 30), np.repeat([0, 1, 2], 10)
    first, again = (LambdaRankRanker(beta=1.0, seed=3, n_epochs=20).fit(X, y, qid).predict(X) for _ in range(2))
    assert np.array_equal(first, again)
    order = rng.permutation(30)
    shuffled = LambdaRankRanker(beta=1.0, seed=3, n_epochs=20).fit(X[order], y[order], qid[order]).predict(X)
    np.testing.assert_allclose(shuffled, first, atol=1e-8)


def test_chooses_on_validation_only_where_there_is_one():
    X, y, cluster = two_clusters()
    lists = Lists(X, cluster.astype(float), np.array([0, len(X)]), ["1"], [""] * len(X))
    options = {"n_hidden": 0, "beta": (0.0, 30.0), "l2": 0.001, "n_neighbours": 4}
    chosen = BradleyTerryRanker(**options).fit(X, y, validation=lists).chosen()
    assert chosen["beta"] == 30
    assert 1 <= chosen["epoch"] <= 100
    assert BradleyTerryRanker(**options).fit(X, y).chosen()["beta"] == 0


@pytest.mark.parametrize("Ranker", [BradleyTerryRanker, LambdaRankRanker])
def test_content_and_similarities_say_who_is_near(Ranker):
    X, y = np.array([[2.0], [1], [0], [3]]), [0, 1, -1, -1]
    content = np.array([[0.0], [9], [9], [0]])
    ranker = Ranker(n_hidden=2, beta=50.0, n_neighbours=1)
    by_content = ranker.clone().fit(X, y, content=content).predict(X)
    table = (content == content.T).astype(float)
    assert np.array_equal(by_content, ranker.clone().fit(X, y, similarities=table).predict(X))
    assert not np.allclose(by_content, ranker.clone().fit(X, y).predict(X))  # by features others are near
    with pytest.raises(TacitError, match="content and similarities are both given"):
        BradleyTerryRanker().fit(X, y, content=content, similarities=table)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"beta": -1.0}, "beta is -1"), ({"n_neighbours": 0, "beta": 1.0}, "n_neighbours is 0"), ({"rate": 0}, "rate"),
        ({"beta": ()}, "beta is empty"), ({"expected": 2}, "expected is 2"), ({"scale": "rows"}, "scale"),
        ({"decorrelate": 1.5}, "decorrelate is 1.5"),
        ({"penalty": "cubic", "beta": 1.0}, "penalty"), ({"weighting": "x", "beta": 1.0}, "weighting"),
        ({"n_hidden": -1}, "n_hidden"), ({"n_epochs": 0}, "n_epochs"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(options, problem):
    with pytest.raises(TacitError, match=problem):
        BradleyTerryRanker(**options).fit(np.eye(3), [0, 1, -1])


def test_mistakes_in_data_are_named():
    with pytest.raises(TacitError, match="2 (are )?unjudged"):
        BradleyTerryRanker().fit(np.eye(3), [1, -1, -1])
    with pytest.warns(UserWarning, match="preferences that contradict a grade or each other: 2"):
        BradleyTerryRanker(n_epochs=2).fit(np.eye(3), [-1, -1, -1], pairs=np.array([[0, 1], [1, 0]]))
    with pytest.raises(DivergedError, match="epoch 2 at rate 1e\\+308"):
        BradleyTerryRanker(n_hidden=0, rate=1e308, l2=1.0).fit(np.eye(3) * 9, [0, 1, 2])


def test_constant_features_score_all_rows_alike():
    ranker = BradleyTerryRanker(beta=1.0).fit(np.ones((4, 2)), [0, 1, -1, -1])
    assert np.ptp(ranker.predict(np.ones((4, 2)))) == 0


@pytest.mark.parametrize("name", ["P@5", "AP@10", "AUC", "nDCG-judged"])
def test_measures_whose_swaps_are_unknown_are_refused(name):
    with pytest.raises(UsageError, match="want nDCG"):
        parse_swap_measure(name)


def test_a_pair_weight_counts_that_often():
    pairs = Pairs(np.array([0, 1]), np.array([1, 0]), np.array([3.0, 1.0]))
    gradient = np.zeros(2)
    PairLoss(pairs).add(np.zeros(2), gradient)
    assert gradient.tolist() == [-0.25, 0.25]


def printed_gradient(rows, scores, neighbours, beta, rank_sensitive):
    """-dC/ds of PREF's equations 7 and 8, or 16 and 17 with `rank_sensitive`, as double sums over rows."""
    gradient = np.zeros(len(scores))
    for start, stop in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        rank = np.argsort(np.argsort(-scores[start:stop], kind="stable"), kind="stable") + 1
        R, L = 1 / np.log2(1 + rank), 2.0 ** rows.y[start:stop] - 1
        best = np.sort(np.nan_to_num(L))[::-1] @ (1 / np.log2(1 + np.arange(1, stop - start + 1)))
        for i in range(stop - start):
            for j in range(stop - start):
                a, b = start + i, start + j
                P = 1 / (1 + np.exp(-(scores[a] - scores[b])))
                if abs(rows.y[a] - rows.y[b]) > 0:  # both judged, of different grades
                    swap = abs(L[i] * R[i] + L[j] * R[j] - L[i] * R[j] - L[j] * R[i]) / best if rank_sensitive else 1
                    gradient[a] -= swap * (float(rows.y[a] > rows.y[b]) - P)
                if j in neighbours[a] or i in neighbours[b]:
                    gradient[a] -= beta * (abs(R[i] - R[j]) if rank_sensitive else 1) / 5 * (0.5 - P)
    return gradient


@pytest.mark.parametrize("name", ["ssbt-printed", "sslambdarank-printed", "bt-printed", "lambdarank-printed"])
def test_one_step_of_the_printed_recipes_is_that_of_the_equations(name):
    rows = random_rows(4, n=24)
    ranker = METHODS[name].make(n_epochs=1, rate=0.02, seed=3)
    beta = max(ranker.beta) if isinstance(ranker.beta, tuple) else 0.0
    ranker.set_params(beta=beta).fit(rows.X, rows.y, rows.list_of)
    X = (rows.X - rows.X.mean(axis=0)) / rows.X.std(axis=0)
    neighbours = []
    for start, stop in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        for row in range(start, stop):
            distance = ((X[start:stop] - X[row]) ** 2).sum(axis=1)
            distance[row - start] = np.inf
            neighbours.append(set(np.argsort(distance, kind="stable")[:5].tolist()))
    scorer = make_scorer(4, 3)
    theta = scorer.start(np.random.default_rng(3))
    gradient = printed_gradient(rows, scorer.scores(theta, X), neighbours, beta, "lambda" in name)
    step = scorer.backward(theta, X, gradient)
    moved = theta - 0.02 * step / (np.abs(step) + 1e-8)  # Adam's first step
    np.testing.assert_allclose(ranker.theta_, moved, atol=1e-9)


def test_sums_give_beta_the_meaning_of_the_paper():
    """With twice the lists, both sums double; the same gradient up to this factor, whatever the number of pairs."""
    rows = random_rows(1)
    near = find_neighbours(rows.starts, 3, vectors=rows.X)
    scores = np.linspace(0, 1, len(rows.y))
    summed, meant = np.zeros(len(scores)), np.zeros(len(scores))
    NeighbourRegularizer(near, rows.starts, 2.0, mean=False).add(scores, summed)
    NeighbourRegularizer(near, rows.starts, 2.0).add(scores, meant)
    np.testing.assert_allclose(summed, meant * near.strength.sum())
    assert PairLoss(rows.pairs, mean=False).weight.sum() == len(rows.pairs)


def test_settings_are_chosen_by_the_measure_of_select():
    """Feature 1 puts the one row of grade 2 on top, feature 0 orders most pairs; neighbours speak for feature 0."""
    X, y, _ = two_clusters()
    table = np.array([[0.0, 6.0], *[[1.0, 0.0]] * 5, *[[0.0, 4.0]] * 5])
    lists = Lists(table, np.repeat([2.0, 1.0, 0.0], [1, 5, 5]), np.array([0, 11]), ["1"], [""] * 11)
    options = {"n_hidden": 0, "beta": (30.0, 0.0), "l2": 0.001, "n_neighbours": 4}
    for select, beta in (("pairs", 30.0), ("nDCG-exp-judged@1", 0.0)):
        assert BradleyTerryRanker(**options, select=select).fit(X, y, validation=lists).beta_ == beta
    for wrong, problem in (("rank_loss", "a loss"), ("nothing", "measure")):
        with pytest.raises(UsageError, match=problem):
            BradleyTerryRanker(select=wrong).fit(X, y)


@pytest.mark.parametrize("expected", [0.0, 0.5])
def test_expected_pairs_count_on_validation_lists_only_where_they_are_learned_from(expected, monkeypatch):
    X, y, _ = two_clusters()
    lists = Lists(X, np.where(y < 0, np.nan, y), np.array([0, len(X)]), ["1"], [""] * len(X))
    seen = []
    monkeypatch.setattr(scorer_training, "expected_pairs", lambda rows: seen.append(rows) or expected_pairs(rows))
    BradleyTerryRanker(n_hidden=0, beta=1.0, expected=expected, n_epochs=2).fit(X, y, validation=lists)
    assert bool(seen) == bool(expected)
