"""Paired tests against scipy's own, Holm by hand, and the cases in which nothing differs."""

import json

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import TacitError, UsageError
from tacit.metrics import TESTS, compare, compare_systems, holm
from tacit.metrics.significance import share_of_random_flips

SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, n=st.integers(2, 80))
@settings(max_examples=40, deadline=None)
def test_t_and_wilcoxon_are_those_of_scipy(seed, n):
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, n))
    result = compare(a, b, n_resamples=10)
    assert result.t == pytest.approx(scipy.stats.ttest_rel(b, a).pvalue, rel=1e-9)
    assert result.wilcoxon == pytest.approx(scipy.stats.wilcoxon(b, a).pvalue, rel=1e-9)
    assert result.difference == pytest.approx(b.mean() - a.mean(), abs=1e-15)
    assert result.n_queries == n


@given(seed=SEEDS, n=st.integers(2, 9))
@settings(max_examples=25, deadline=None)
def test_all_sign_flips_of_few_queries_are_those_of_scipy(seed, n):
    rng = np.random.default_rng(seed)
    d = rng.integers(-3, 4, n) / 8  # zeros and equal sums among them; sums are exact, else scipy misses some
    expected = scipy.stats.permutation_test(
        (d,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    p = compare(np.zeros(n), d).randomization
    assert p == pytest.approx(expected.pvalue, abs=1e-12)


def test_random_sign_flips_come_near_the_exact_share_and_repeat():
    rng = np.random.default_rng(0)
    d = rng.normal(0.3, 1, 20)  # 2^20 flips: too many for 20,000 draws
    signs = ((np.arange(2**20)[:, None] >> np.arange(20)) & 1) * 2.0 - 1
    exact = (np.abs(signs @ d) >= abs(d.sum()) - 1e-12).mean()
    drawn = compare(np.zeros(20), d, n_resamples=20_000).randomization
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))
    assert drawn == compare(np.zeros(20), d, n_resamples=20_000).randomization
    assert drawn != compare(np.zeros(20), d, n_resamples=20_000, seed=1).randomization


def test_random_sign_flips_do_not_depend_on_how_they_are_cut_into_pieces():
    d = np.random.default_rng(3).normal(0.1, 1, 40)
    assert share_of_random_flips(d, 10_000, seed=0, cells_at_once=8000) == compare(np.zeros(40), d).randomization


def test_p_values_are_spread_evenly_where_nothing_differs():
    rng = np.random.default_rng(5)
    tests = [compare(*rng.normal(size=(2, 25)), n_resamples=500) for _ in range(400)]
    for name in TESTS:
        share = np.mean([getattr(test, name) < 0.1 for test in tests])
        assert 0.055 <= share <= 0.145  # 0.1 +- three binomial standard deviations of 400 trials


@pytest.mark.parametrize("n", [1, 2, 5, 100])
def test_equal_systems_have_p_one_in_every_test(n):
    values = np.linspace(0, 1, n)
    result = compare(values, values.copy())
    assert (result.difference, result.t, result.wilcoxon, result.randomization) == (0, 1, 1, 1)


def test_one_query_proves_nothing():
    result = compare([0.1], [0.9])
    assert (result.t, result.wilcoxon, result.randomization) == (1, 1, 1)


def test_the_same_gain_on_every_query():
    result = compare(np.zeros(4), np.full(4, 0.25))
    assert result.t == 0  # no spread at all
    assert result.wilcoxon == result.randomization == 2 / 2**4  # only all plus and all minus are as far out


def test_few_queries_that_differ_among_many_that_do_not():
    result = compare(np.zeros(50), np.r_[np.zeros(48), 0.2, 0.1])
    assert result.randomization == result.wilcoxon == 0.5  # 2 of the 4 flips of two differences
    assert np.isfinite(result.t)


@given(steps=st.lists(st.integers(-3, 3), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_ties_and_zeros_never_give_a_warning_or_a_nan(steps):
    result = compare(np.zeros(len(steps)), np.array(steps) / 10, n_resamples=100)
    assert all(0 <= getattr(result, name) <= 1 for name in TESTS)


def test_holm_by_hand():
    # Sorted .005 .01 .03 .04: times 4, 3, 2, 1 = .02 .03 .06 .04; never falling: .02 .03 .06 .06.
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.5]), [1, 1])  # 2 * .5 = 1, then at least that
    assert holm([0.2]).tolist() == [0.2]
    assert holm([]).tolist() == []


@given(p_values=st.lists(st.floats(0, 1), max_size=12))
@settings(max_examples=60, deadline=None)
def test_holm_rejects_exactly_what_the_step_down_procedure_rejects(p_values):
    for alpha in (0.01, 0.05, 0.3):
        rejected, m = set(), len(p_values)
        for step, i in enumerate(sorted(range(m), key=p_values.__getitem__)):
            if p_values[i] * (m - step) > alpha:
                break
            rejected.add(i)
        assert set(np.flatnonzero(holm(p_values) <= alpha)) == rejected


@pytest.mark.parametrize("bad", [[-0.1], [1.1, 0.5], [float("nan")]])
def test_holm_refuses_what_is_no_probability(bad):
    with pytest.raises(TacitError, match="outside 0 to 1"):
        holm(bad)


def three_systems():
    rng = np.random.default_rng(2)
    base = rng.random(30)
    return {"low": base, "high": base + 0.3 + rng.normal(0, 0.1, 30), "mid": base + 0.1 + rng.normal(0, 0.1, 30)}


@pytest.mark.parametrize("test", sorted(TESTS))
def test_all_pairs_name_the_better_system_and_are_corrected_together(test):
    values = three_systems()
    found = compare_systems(values, "AP", test)
    assert [(c.better, c.worse) for c in found] == [("high", "low"), ("mid", "low"), ("high", "mid")]
    raw = [getattr(compare(values[c.worse], values[c.better]), test) for c in found]
    np.testing.assert_allclose([c.p_raw for c in found], raw)
    np.testing.assert_allclose([c.p for c in found], holm(raw))
    assert all(c.difference > 0 and c.n_queries == 30 and c.test == test for c in found)


def test_a_baseline_leaves_out_the_other_pairs():
    found = compare_systems(three_systems(), "AP", baseline="mid")
    assert [(c.better, c.worse) for c in found] == [("mid", "low"), ("high", "mid")]
    assert compare_systems({"only": [0.1, 0.2]}, "AP", baseline="only") == []


def test_of_a_loss_less_is_better():
    found = compare_systems(three_systems(), "rank_loss")[0]
    assert (found.better, found.worse) == ("low", "high")
    assert found.difference == pytest.approx(-0.3, abs=0.1)


def test_equal_means_keep_the_order_given_and_the_report_is_plain_json():
    found = compare_systems({"b": [0.5, 0.5], "a": [0.5, 0.5]}, "MAP")[0]
    assert json.loads(json.dumps(found.to_dict())) == {"better": "b", "worse": "a", "metric": "MAP", "p": 1.0}


def test_wrong_use_is_refused():
    with pytest.raises(UsageError, match=r"test is 'wilcox', want one of .*did you mean 'wilcoxon'"):
        compare_systems(three_systems(), "AP", "wilcox")
    with pytest.raises(UsageError, match="baseline is 'bm25', want one of low, high, mid"):
        compare_systems(three_systems(), "AP", baseline="bm25")
    with pytest.raises(TacitError, match="'b' has values of 2 queries, 'a' of 3; want the same"):
        compare_systems({"a": [1, 2, 3], "b": [1, 2]}, "AP")
    with pytest.raises(TacitError, match="values of 'other' hold NaN or infinity for query 1"):
        compare([1, 2], [1, np.nan])
    with pytest.raises(TacitError, match="values of 'baseline' have shape"):
        compare([], [])
    with pytest.raises(TacitError, match="n_resamples is 0"):
        compare([1, 2], [1, 3], n_resamples=0)
    with pytest.raises(TacitError, match="values have no system"):
        compare_systems({}, "AP")
