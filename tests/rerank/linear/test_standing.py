"""`standing` and its model: against scipy's and scikit-learn's solvers, the dense formula, an integral, and worlds."""

import json

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.linear_model import LogisticRegression

from tacit.core import Lists, StoreError, TacitError
from tacit.metrics import evaluate_rows
from tacit.rerank.gradient.ranker import BradleyTerryRanker
from tacit.rerank.linear.standing import LEVEL_PRECISION, VIEWS, Answers, OrdinalProblem, Parameters, StandingRanker
from tacit.rerank.list_columns import list_discounts
from tacit.rerank.rows import group_rows
from tacit.search import load, save


def some_rows(n_grades, with_pairs, seed=0):
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(40, 3)), np.repeat(np.arange(5), 8)
    y = np.clip(np.floor(X[:, 0] + rng.normal(size=40) + 1), 0, n_grades - 1)
    y[rng.random(40) < 0.4] = np.nan
    pairs = np.array([[0, 1], [9, 12], [33, 32]]) if with_pairs else None
    return group_rows(X, y, qid, pairs, np.array([1.0, 2.0, 0.5]) if with_pairs else None)


def problem(rows, decay, spread, start=(0, 0, 0), X=None):
    return OrdinalProblem(Answers.of(rows, rows.X if X is None else X), decay, spread, np.array(start, float))


def slow_loss(theta, rows, decay, spread, start=(0, 0, 0)):
    """The formula, answer by answer; theta is w, c, b, with a b for lists of no judged row too."""
    levels = np.unique(rows.y[~np.isnan(rows.y)])[1:]
    w, c, b = np.split(theta, [rows.X.shape[1], rows.X.shape[1] + len(levels)])
    loss = 0.5 * (decay * np.sum((w - start) ** 2) + b @ b + LEVEL_PRECISION * c @ c)
    for row, grade in enumerate(rows.y):
        for level, offset in zip(levels, c, strict=True):
            if not np.isnan(grade):
                logit = rows.X[row] @ w + offset + spread * b[rows.list_of[row]]
                loss += np.log1p(np.exp(-logit if grade >= level else logit))
    for better, worse, weight in zip(*rows.given, strict=True):
        loss += weight * np.log1p(np.exp(-(rows.X[better] - rows.X[worse]) @ w))
    return loss


def n_parameters(rows):
    return rows.X.shape[1] + len(np.unique(rows.y[~np.isnan(rows.y)])) - 1 + rows.n_lists


@pytest.mark.parametrize("n_grades", [2, 4])
@pytest.mark.parametrize("with_pairs", [False, True])
@pytest.mark.parametrize("start", [(0, 0, 0), (0.5, 0, -2)])
def test_the_fit_is_the_minimum_of_the_formula(n_grades, with_pairs, start):
    rows = some_rows(n_grades, with_pairs)
    best = minimize(slow_loss, np.zeros(n_parameters(rows)), (rows, 2.0, 1.3, start), tol=1e-10)
    np.testing.assert_allclose(problem(rows, 2.0, 1.3, start).solve().w, best.x[:3], atol=1e-4)


def test_two_grades_are_logistic_regression_with_a_column_for_each_list():
    rows, decay, spread = some_rows(2, False), 3.0, 0.8
    judged = ~np.isnan(rows.y)
    lists = spread * np.eye(rows.n_lists)[rows.list_of]
    table = np.hstack([rows.X / np.sqrt(decay), lists, np.full((len(rows.y), 1), LEVEL_PRECISION**-0.5)])
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(table[judged], rows.y[judged])
    ours = problem(rows, decay, spread).solve().w
    np.testing.assert_allclose(ours, theirs.coef_[0, :3] / np.sqrt(decay), atol=1e-5)


@pytest.mark.parametrize("with_pairs", [False, True])
def test_the_evidence_is_laplaces_formula_with_the_whole_hessian(with_pairs):
    rows, decay, spread = some_rows(3, with_pairs), 2.0, 1.3
    best = minimize(slow_loss, np.zeros(n_parameters(rows)), (rows, decay, spread), tol=1e-12).x
    hessian = approx_fprime(best, lambda at: approx_fprime(at, slow_loss, 1e-5, rows, decay, spread), 1e-4)
    precision = np.r_[np.full(3, decay), np.full(2, LEVEL_PRECISION), np.ones(rows.n_lists)]
    wanted = 0.5 * (np.log(precision).sum() - np.linalg.slogdet(hessian)[1]) - slow_loss(best, rows, decay, spread)
    assert problem(rows, decay, spread).solve().log_evidence == pytest.approx(wanted, abs=0.01)


def test_the_evidence_is_near_the_integral():
    """One feature, one list, two grades: w, c and b on a fine grid, times their priors."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=12)
    rows = group_rows(x[:, None], (x + rng.normal(size=12) > 0).astype(float), np.zeros(12, int))
    w, c, b = np.meshgrid(np.linspace(-4, 4, 81), np.linspace(-6, 6, 81), np.linspace(-4, 4, 41), indexing="ij")
    logits = w[..., None] * x + (c + 0.5 * b)[..., None]
    fit = np.logaddexp(0, np.where(rows.y > 0, -logits, logits)).sum(axis=-1)
    log_priors = -0.5 * (2 * w**2 + LEVEL_PRECISION * c**2 + b**2) + 0.5 * np.log(2 * LEVEL_PRECISION)
    cell = (8 / 80) * (12 / 80) * (8 / 40)
    integral = np.log(np.exp(log_priors - fit).sum() * cell) - 1.5 * np.log(2 * np.pi)
    assert problem(rows, 2.0, 0.5, (0,)).solve().log_evidence == pytest.approx(integral, abs=0.1)


def test_a_step_that_leads_too_far_is_shortened():
    case = problem(some_rows(3, True), 2.0, 1.3)
    start = Parameters(np.zeros(3), np.zeros(2), np.zeros(case.answers.n_lists))
    step, gain, _ = case.newton_step(start)
    far = Parameters(100 * step.w, 100 * step.c, 100 * step.b)
    there, after = case.line_search(start, far, case.loss(start))
    assert after == case.loss(there) < case.loss(start) < case.loss(start.moved(far, 1.0))
    assert gain > 0


def test_the_spread_of_scores_is_that_of_the_prior():
    """Weights drawn from the prior give scores that spread so far within lists."""
    X, y, qid, _ = world(0, bent)
    rows = group_rows(X, y, qid)
    ranker = StandingRanker("features", score_spread=0.6).fit(X, y, qid)
    scaled = (X - ranker.center_) / ranker.spread_
    centred = scaled - np.array([scaled[qid == number].mean(axis=0) for number in qid])
    decay = 1 / (0.6**2 / np.mean((centred**2).sum(axis=1)))
    np.testing.assert_allclose(ranker.coef_, problem(rows, decay, 1.5, (0, 0), scaled).solve().w, atol=1e-9)


def test_validation_chooses_the_spread_only_where_it_is_clearly_for_one():
    """Relevant is x0 - x1. Strong decay keeps to x0, which goes with the grade; a weak one finds the difference."""
    rng = np.random.default_rng(0)
    noise, qid = rng.normal(size=(600, 1)), np.repeat(np.arange(30), 20)
    signal = rng.normal(size=(600, 1))
    X, y = np.hstack([signal + 2 * noise, 2 * noise]), (signal[:, 0] > 0.5).astype(float)
    rows = group_rows(X, y, qid)
    clear = Lists(rows.X, rows.y, rows.starts, [str(number) for number in range(30)], [""] * 600)
    unclear = Lists(rows.X, np.where(np.arange(600) < 20, rows.y, np.nan), rows.starts, clear.query_ids, clear.doc_ids)
    assert len(np.unique(rows.y[:20])) == 2
    few = np.where(np.arange(600) % 20 < 3, y, np.nan)
    spreads = (0.01, 3.0)
    assert StandingRanker("features", spreads).fit(X, few, qid).score_spread_ == 0.01
    assert StandingRanker("features", spreads).fit(X, few, qid, validation=clear).score_spread_ == 3.0
    assert StandingRanker("features", spreads[::-1]).fit(X, few, qid, validation=clear).score_spread_ == 3.0
    alike = StandingRanker("features", (1.0, 1.01)).fit(X, few, qid, validation=unclear)
    assert alike.score_spread_ == 1.0


def test_pairs_alone_are_bradley_terry():
    rng = np.random.default_rng(2)
    X, qid = rng.normal(size=(30, 3)), np.repeat(np.arange(3), 10)
    pairs = np.array([[0, 1], [2, 3], [11, 10], [25, 28], [15, 14]])
    rows = group_rows(X, np.full(30, np.nan), qid, pairs)
    w = problem(rows, 5 * 0.2, 1.5).solve().w  # a sum over five pairs here, a mean there
    center, spread = X.mean(axis=0), X.std(axis=0)
    theirs = BradleyTerryRanker(n_hidden=0, l2=0.2, rate=0.01, n_epochs=4000).fit(
        X * spread + center, np.full(30, np.nan), qid, pairs
    )
    scaled = (X * spread + center - theirs.center_) / theirs.spread_
    gaps = scaled[pairs[:, 0]] - scaled[pairs[:, 1]]
    best = minimize(lambda v: np.log1p(np.exp(-gaps @ v)).mean() + 0.1 * v @ v, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(theirs.theta_, best, atol=1e-3)
    plain = X[pairs[:, 0]] - X[pairs[:, 1]]
    own = minimize(lambda v: np.log1p(np.exp(-plain @ v)).mean() + 0.1 * v @ v, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(w, own, atol=1e-5)


def world(seed, add_curvature, n_lists=60, n_rows=15, n_judged=2):
    """Relevance by two hidden values; each list shows them in a way of its own, and two rows of a list are judged."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_lists), n_rows)
    hidden = rng.random((len(qid), 2))
    grades = (hidden.sum(axis=1) + 0.05 * rng.normal(size=len(qid)) > 1.3).astype(float)
    y = np.where(np.arange(len(qid)) % n_rows < n_judged, grades, np.nan)
    return add_curvature(rng, hidden, qid), y, qid, grades


def bent(rng, hidden, qid):
    return hidden ** np.exp(rng.normal(0, 1.5, (qid.max() + 1, 2)))[qid]


def stretched(rng, hidden, qid):
    """Another unit and zero in each list; a few rows far away, which quantiles would hide, are what is relevant."""
    return rng.lognormal(0, 1, (qid.max() + 1, 2))[qid] * hidden**8 + rng.normal(0, 3, (qid.max() + 1, 2))[qid]


def auc(ranker, X, y, qid, grades):
    return evaluate_rows(grades, ranker.fit(X, y, qid).predict(X, qid), qid, "AUC").means()["AUC"]


@pytest.mark.parametrize("add_curvature", [bent, stretched])
def test_unjudged_rows_make_lists_comparable(add_curvature):
    case = world(0, add_curvature)
    assert auc(StandingRanker(), *case) > auc(StandingRanker(view="features"), *case) + 0.02
    assert auc(StandingRanker(), *case) > auc(BradleyTerryRanker(n_hidden=0), *case) + 0.02


@pytest.mark.parametrize("add_curvature", [bent, stretched])
def test_the_evidence_takes_the_view_that_ranks_better(add_curvature):
    case = world(1, add_curvature, n_lists=150)
    found = {view: auc(StandingRanker(view=view), *case) for view in ("quantiles", "places")}
    assert StandingRanker().fit(*case[:3]).view_ == max(found, key=found.get)


def test_lists_without_a_second_grade_teach_too():
    X, y, qid, grades = world(2, bent, n_judged=1)
    y[qid == 0] = grades[qid == 0]  # the only list with a pair
    assert len(np.unique(grades[qid == 0])) == 2
    alone = qid == 0
    one = StandingRanker().fit(X[alone], y[alone], qid[alone]).predict(X, qid)
    assert auc(StandingRanker(), X, y, qid, grades) > evaluate_rows(grades, one, qid, "AUC").means()["AUC"] + 0.01


def test_units_of_features_change_nothing_but_unjudged_rows_do():
    X, y, qid, _ = world(3, bent)
    scores = StandingRanker().fit(X, y, qid).predict(X, qid)
    other = X * np.array([1024.0, 1 / 512])
    np.testing.assert_allclose(StandingRanker().fit(other, y, qid).predict(other, qid), scores, atol=1e-8)
    judged = ~np.isnan(y)
    without = StandingRanker().fit(X[judged], y[judged], qid[judged]).predict(X, qid)
    assert np.abs(without - scores).max() > 0.01


def test_discounts_are_those_of_places():
    X, lists = np.array([[3.0], [1.0], [2.0], [2.0], [9.0]]), np.array([0, 0, 0, 0, 1])
    plain = 1 / np.log2(1 + np.array([1, 4, 2.5, 2.5]))
    np.testing.assert_allclose(list_discounts(X, lists)[:4, 0], (plain - plain.mean()) / plain.std())
    assert list_discounts(X, lists)[4, 0] == 0


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"view": "all"}, "view"),
        ({"score_spread": 0}, "score_spread"),
        ({"score_spread": (0.3, 1e9)}, "score_spread"),
        ({"list_spread": -1}, "list_spread"),
        ({"start": 2}, "start"),
        ({"start": 0, "start_weight": np.nan}, "start_weight"),
    ],
)
def test_wrong_parameters_are_named(params, named):
    X, y, qid, _ = world(0, bent)
    with pytest.raises(TacitError, match=named):
        StandingRanker(**params).fit(X, y, qid)


@pytest.mark.parametrize("score_spread", [1e-3, 1e3])
@pytest.mark.parametrize("list_spread", [0, 1e3])
def test_the_extremes_of_spreads_still_rank(score_spread, list_spread):
    """The grades can be told apart without error, so that only decay keeps weights finite."""
    X = np.arange(12.0)[:, None] * [1, 1]
    scores = StandingRanker("features", score_spread, list_spread).fit(X, [0] * 6 + [1] * 6).predict(X)
    assert (np.diff(scores) > 0).all()


def test_few_labels_change_the_order_of_a_good_feature_a_little():
    """One list, three judged rows, ten features: the first ranks well, and one of the others helps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    grades = (X[:, 0] + 0.5 * X[:, 1] > 0.8).astype(float)
    y = np.where(np.arange(200) < 3, grades, np.nan)
    y[np.flatnonzero(grades)[0]] = 1
    qid = np.zeros(200, int)
    from_feature = auc(StandingRanker(start=0), X, y, qid, grades)
    assert from_feature > auc(StandingRanker(), X, y, qid, grades) + 0.1
    assert from_feature > evaluate_rows(grades, X[:, 0], qid, "AUC").means()["AUC"] - 0.02
    turned = StandingRanker(start=0, start_weight=-1.0).fit(X, y, qid).predict(X, qid)
    assert np.corrcoef(turned, X[:, 0])[0, 1] < 0


def test_rows_that_do_not_differ_are_all_alike():
    ranker = StandingRanker().fit(np.ones((4, 2)), [0, 1, -1, -1], [0, 0, 0, 0])
    assert np.array_equal(ranker.predict(np.ones((3, 2))), np.zeros(3))


@pytest.mark.parametrize("wrong", ["view", "width"])
def test_a_stored_model_whose_parts_do_not_fit_is_refused(tmp_path, wrong):
    X, y, qid, _ = world(0, bent)
    ranker = StandingRanker().fit(X, y, qid)
    if wrong == "view":
        ranker.view_ = "from-above"
    else:
        ranker.coef_ = np.zeros(len(VIEWS[ranker.view_]) * 2 + 1)
    save(ranker, tmp_path / "model")
    assert json.loads(next((tmp_path / "model").glob("*.json")).read_text())
    with pytest.raises(StoreError, match="view_|coef_"):
        load(tmp_path / "model")
