"""Sums over all pairs, written out, are the oracle of potentials, margins and steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels import boosting

SEEDS = st.integers(0, 2**32 - 1)


def random_levels(rng):
    """Scores, levels and lists in the kernel's form, and all pairs of them."""
    list_levels = np.cumsum([0, *rng.integers(2, 4, rng.integers(1, 4))])
    level_starts = np.cumsum([0, *rng.integers(1, 4, list_levels[-1])])
    level_of = np.repeat(np.arange(list_levels[-1]), np.diff(level_starts))
    list_of = np.searchsorted(list_levels, level_of, side="right")
    n_rows = len(level_of)
    pairs = [
        (i, j) for i in range(n_rows) for j in range(n_rows) if list_of[i] == list_of[j] and level_of[i] < level_of[j]
    ]
    return level_starts, list_levels, np.array(pairs)


def potentials_of(n_rows, pairs, shares):
    found = np.zeros(n_rows)
    for (i, j), share in zip(pairs, shares / shares.sum(), strict=True):
        found[i] += share
        found[j] -= share
    return found


@given(seed=SEEDS, scale=st.sampled_from([0.0, 1.0, 30.0]))
@settings(max_examples=40, deadline=None)
def test_graded_potentials_are_the_sums_over_pairs(seed, scale):
    rng = np.random.default_rng(seed)
    level_starts, list_levels, pairs = random_levels(rng)
    scores = rng.normal(0, scale, level_starts[-1])
    found = np.empty(len(scores))
    log_sum = boosting.graded_potentials(scores, level_starts, list_levels, found)
    shares = np.exp(scores[pairs[:, 1]] - scores[pairs[:, 0]])
    np.testing.assert_allclose(found, potentials_of(len(scores), pairs, shares), atol=1e-12)
    np.testing.assert_allclose(log_sum, np.log(shares.sum()), atol=1e-12 * max(1, scale))


def test_no_score_is_too_large_for_potentials():
    scores, found = np.array([9000.0, 5000.0, 1000.0]), np.empty(3)
    log_sum = boosting.graded_potentials(scores, np.array([0, 1, 2, 3]), np.array([0, 3]), found)
    assert log_sum == pytest.approx(-4000 + np.log(2))  # two pairs 4000 apart; the one 8000 apart is nothing
    assert found.tolist() == pytest.approx([0.5, 0.0, -0.5])


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_pair_potentials_and_steps(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_pairs, weight = 6, 12, float(rng.normal())
    better, worse = rng.integers(0, n_rows, (2, n_pairs))
    shares, importance, fires = rng.random(n_pairs) + 0.1, rng.random(n_pairs), rng.random(n_rows) < 0.5
    pairs, gaps = np.stack([better, worse], 1), weight * (fires[better].astype(float) - fires[worse])
    flags, plain, costly, found = fires.view(np.int8), shares.copy(), shares.copy(), np.empty(n_rows)
    total = boosting.step_pairs(better, worse, flags, weight, plain, found)
    np.testing.assert_allclose(plain, shares * np.exp(-gaps))
    np.testing.assert_allclose(found, potentials_of(n_rows, pairs, plain), atol=1e-12)
    assert total == pytest.approx(plain.sum())
    total = boosting.step_costly_pairs(better, worse, importance, flags, weight, costly, found)
    cost = np.where(gaps < 0, 0.5 + 0.5 * importance, 0.5 - 0.5 * importance)
    np.testing.assert_allclose(costly, shares * np.exp(-cost * gaps))
    np.testing.assert_allclose(found, potentials_of(n_rows, pairs, costly), atol=1e-12)
    assert total == pytest.approx(costly.sum())


@pytest.mark.parametrize("costly", [False, True])
def test_a_pair_never_dies(costly):
    shares, found, fires = np.array([1.0, 1e-300]), np.empty(3), np.array([0, 1, 0], np.int8)
    better, worse, importance = np.array([0, 1]), np.array([1, 2]), np.zeros(2)
    if costly:
        boosting.step_costly_pairs(better, worse, importance, fires, 1.0, shares, found)
    else:
        boosting.step_pairs(better, worse, fires, 1.0, shares, found)
    assert shares[1] == boosting.LEAST_SHARE


@given(seed=SEEDS, kind=st.sampled_from([np.uint8, np.uint16, np.uint32]))
@settings(max_examples=40, deadline=None)
def test_best_cuts_are_those_of_the_largest_margin(seed, kind):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 10))
    n_cuts = rng.integers(0, 5, n_features)
    codes = np.stack([rng.integers(0, n + 1, 9) for n in n_cuts]).astype(kind)
    potentials = rng.normal(size=9)
    cuts, margins, sums = np.full(n_features, -1), np.full(n_features, np.nan), np.empty((n_features, 6))
    boosting.best_cuts(codes, n_cuts, potentials, 0, n_features, sums, cuts, margins)
    for f in range(n_features):
        wanted = [potentials[codes[f] > cut].sum() for cut in range(n_cuts[f])]
        assert abs(margins[f]) == pytest.approx(np.abs(wanted).max() if wanted else 0.0)
        assert not wanted or wanted[cuts[f]] == pytest.approx(margins[f])


def test_of_equal_cuts_the_lowest_wins():
    cuts, margins = np.zeros(1, int), np.zeros(1)
    codes, potentials, sums = np.array([[0, 3]], np.uint8), np.array([-0.5, 0.5]), np.empty((1, 4))
    boosting.best_cuts(codes, np.array([3]), potentials, 0, 1, sums, cuts, margins)
    assert (cuts[0], margins[0]) == (0, 0.5)


def test_stumps_fire_above_their_threshold_and_never_on_missing_values():
    X, scores = np.array([[1.0, 5.0], [np.nan, 5.0], [2.0, 4.0]]), np.zeros(3)
    boosting.add_stumps(X, np.array([0, 1]), np.array([1.0, 4.0]), np.array([0.5, -2.0]), scores)
    assert scores.tolist() == [-2.0, -2.0, 0.5]
