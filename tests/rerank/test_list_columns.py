"""Columns of a scorer: quantiles by counting, decorrelation against matrix powers and against another solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import fractional_matrix_power
from scipy.optimize import minimize
from scipy.stats import rankdata

from tacit.metrics import evaluate_rows
from tacit.rerank.gradient.ranker import BradleyTerryRanker, center_and_spread
from tacit.rerank.gradient.scorer_training import is_ahead, make_scorer
from tacit.rerank.list_columns import LEAST_SPREAD, decorrelation, list_quantiles, list_ranks, scale_within_lists
from tacit.rerank.rows import group_rows


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_quantiles_count_the_rows_of_the_list_below_and_half_of_those_alike(seed):
    rng = np.random.default_rng(seed)
    X, lists = rng.integers(0, 4, (20, 2)).astype(float), rng.integers(0, 3, 20)
    found = list_quantiles(X, lists)
    for row, column in np.ndindex(X.shape):
        own = X[lists == lists[row], column]
        above_of = np.mean(own < X[row, column]) + np.mean(own == X[row, column]) / 2
        assert found[row, column] == pytest.approx((above_of - 0.5) * np.sqrt(12))


def metric_of(X, lists, power):
    """C^power of the module, by a general matrix power."""
    centred = X - np.array([X[lists == number].mean(axis=0) for number in lists])
    C = centred.T @ centred / len(X)
    C = C / (np.trace(C) / len(C)) + LEAST_SPREAD * np.eye(len(C))
    M = fractional_matrix_power(C, power)
    return M / (np.trace(M) / len(M))


@pytest.mark.parametrize("power", [0.3, 0.5, 1.0])
def test_decay_after_turning_is_decay_in_the_metric(power):
    rng = np.random.default_rng(0)
    X, lists = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4)), np.repeat([0, 1, 2], 10)
    back = np.linalg.inv(decorrelation(X, lists, power))
    np.testing.assert_allclose(back.T @ back, metric_of(X, lists, power), atol=1e-9)


def test_a_fit_minimises_the_loss_with_decay_in_the_metric_of_all_rows():
    rng = np.random.default_rng(1)
    X, qid = rng.normal(size=(24, 3)) @ rng.normal(size=(3, 3)), np.repeat([0, 1], 12)
    y = np.where(np.arange(24) % 3 == 0, rng.integers(0, 3, 24), np.nan)
    ranker = BradleyTerryRanker(n_hidden=0, l2=0.2, decorrelate=0.5, rate=0.01, n_epochs=4000).fit(X, y, qid)
    rows = group_rows(X, y, qid)
    center, spread = center_and_spread(X)
    table = (X - center) / spread
    gaps, M = table[rows.pairs.better] - table[rows.pairs.worse], metric_of(table, qid, 0.5)
    best = minimize(lambda w: np.mean(np.log1p(np.exp(-gaps @ w))) + 0.1 * w @ M @ w, np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(ranker.theta_, best.x, atol=1e-4)


@pytest.mark.parametrize("n_hidden", [0, 2])
def test_absorbed_parameters_score_as_before_the_turn(n_hidden):
    rng = np.random.default_rng(2)
    scorer, X, turn = make_scorer(3, n_hidden), rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
    theta = rng.normal(size=len(scorer.start(rng)))
    np.testing.assert_allclose(scorer.scores(scorer.absorb(theta, turn), X), scorer.scores(theta, X @ turn))


def test_quantiles_make_lists_comparable_whose_features_are_bent_each_in_its_own_way():
    """Relevance is the sum of two hidden values; each list shows either through a power of its own."""
    rng = np.random.default_rng(3)
    qid = np.repeat(np.arange(60), 15)
    hidden = rng.random((len(qid), 2))
    X = hidden ** np.exp(rng.normal(0, 1.5, (60, 2)))[qid]
    grades = (hidden.sum(axis=1) > 1.2).astype(float)
    y = np.where(np.arange(len(qid)) % 15 < 4, grades, np.nan)

    def right(scale):
        ranker = BradleyTerryRanker(n_hidden=0, l2=0.01, scale=scale).fit(X, y, qid)
        return evaluate_rows(grades, ranker.predict(X, qid), qid, "AUC").means()["AUC"]

    assert right("quantiles") > right("global") + 0.02


def test_constant_columns_stay_where_they_are():
    X, lists = np.ones((4, 2)), np.array([0, 0, 1, 1])
    assert np.array_equal(decorrelation(X, lists, 0.5), np.eye(2))
    assert np.array_equal(list_quantiles(X, lists), np.zeros((4, 2)))


def test_a_setting_is_ahead_only_beyond_its_standard_error():
    rng = np.random.default_rng(4)
    parts = rng.random(50) / 50
    assert not is_ahead(parts, parts)
    noise = rng.normal(0, 0.01, 50)
    noise -= noise.mean()
    error = np.sqrt(50) * noise.std()  # of the sum over lists
    assert not is_ahead(parts + noise + 0.9 * error / 50, parts)
    assert is_ahead(parts + noise + 1.1 * error / 50, parts)


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_ranks_are_those_of_scipy_list_by_list(seed):
    rng = np.random.default_rng(seed)
    X, lists = rng.integers(0, 4, (20, 2)).astype(float), rng.integers(0, 3, 20)
    found = list_ranks(X, lists)
    for number in np.unique(lists):
        assert np.array_equal(found[lists == number], rankdata(X[lists == number], axis=0))


@pytest.mark.parametrize("scale", ["zscore", "minmax"])
@pytest.mark.parametrize("share_missing", [0.0, 0.3])
def test_scaling_within_lists_uses_the_known_values_of_each_list(scale, share_missing):
    rng = np.random.default_rng(3)
    X, lists = rng.normal(size=(40, 3)), rng.integers(0, 5, 40)
    X[:, 2] = lists  # constant in each list
    X[rng.random(X.shape) < share_missing] = np.nan
    found = scale_within_lists(X, lists, scale)
    for row, column in np.ndindex(X.shape):
        mates = X[lists == lists[row], column]
        mates = mates[~np.isnan(mates)]
        if np.isnan(X[row, column]):
            assert np.isnan(found[row, column])
        elif np.ptp(mates) == 0:
            assert found[row, column] == 0
        elif scale == "zscore":
            assert found[row, column] == pytest.approx((X[row, column] - mates.mean()) / mates.std())
        else:
            assert found[row, column] == pytest.approx((X[row, column] - mates.min()) / np.ptp(mates))
    assert scale_within_lists(X, lists, None) is X
