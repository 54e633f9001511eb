"""KLIEP against densratio and against what is known of its maximum; the guards hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import TacitError
from tacit.features.kliep import fit_kliep, maximise_likelihood


def samples(seed=0, n=400, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(0.4, 0.7, size=(n // 2, d))


@pytest.mark.parametrize(("n_bases", "sigma", "apart"), [(5, 0.7, 0.01), (50, 0.7, 0.15), (50, 1.0, 0.15)])
def test_is_at_least_as_likely_as_densratio_on_equal_terms(n_bases, sigma, apart):
    densratio = pytest.importorskip("densratio").densratio
    train, test = samples(0, d=2)
    np.random.seed(0)  # noqa: NPY002 densratio draws from it
    theirs = densratio(test, train, method="KLIEP", sigma=sigma, kernel_num=n_bases, verbose=False)
    ours = fit_kliep(train, test, sigmas=[sigma], centres=theirs.kernel_info.centers)
    their_weights, our_weights = theirs.compute_density_ratio(train).ravel(), ours(train)
    assert np.log(ours(test)).mean() >= np.log(theirs.compute_density_ratio(test).ravel()).mean() - 1e-6
    assert our_weights.mean() == pytest.approx(their_weights.mean()) == pytest.approx(1)
    # With many bases densratio stops before the maximum, so weights differ more there.
    assert np.abs(our_weights - their_weights).mean() < apart
    assert np.corrcoef(our_weights, their_weights)[0, 1] > 0.98


def test_chooses_the_bandwidth_that_densratio_chooses_or_a_wider_one():
    densratio = pytest.importorskip("densratio").densratio
    train, test = samples(3, n=1500)
    np.random.seed(0)  # noqa: NPY002
    sigmas = np.array([0.1, 0.5, 1.0, 5.0])
    theirs = densratio(test, train, method="KLIEP", sigma_range=sigmas, kernel_num=50, verbose=False)
    ours = fit_kliep(train, test, sigmas=sigmas.tolist(), centres=theirs.kernel_info.centers)
    assert ours.sigma >= theirs.kernel_info.sigma
    assert ours.sigma < 5


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_no_basis_is_left_to_gain_from_at_the_maximum(seed):
    rng = np.random.default_rng(seed)
    A = rng.random((40, 12)) ** 4
    gamma = maximise_likelihood(A)
    gradient = (A / (A @ gamma)[:, None]).mean(axis=0)
    assert gamma.min() >= 0
    assert gamma.sum() == pytest.approx(1)
    assert np.log(gradient.max()) <= 1e-6  # bounds the distance to the best value
    other = rng.dirichlet(np.ones(12))
    assert np.log(A @ gamma).mean() >= np.log(A @ other).mean() - 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_samples_of_one_distribution_get_weights_near_one(seed):
    rng = np.random.default_rng(seed)
    train, test = rng.normal(size=(800, 5)), rng.normal(size=(300, 5))
    weights = fit_kliep(train, test, seed=seed)(train)
    assert weights.std() < 0.35
    assert np.abs(weights - 1).mean() < 0.25
    same = fit_kliep(train, train[:300], seed=seed)(train)
    assert np.abs(same - 1).mean() < 0.25


def test_a_narrow_bandwidth_is_never_chosen_where_train_is_far():
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(300, 8)), rng.normal(4, 0.01, size=(100, 8))
    ratio = fit_kliep(train, test)
    assert ratio.sigma >= min(ratio.scores)
    weights = ratio(train)
    assert np.isfinite(weights).all()
    assert weights.mean() == pytest.approx(1)
    with pytest.raises(TacitError, match="too narrow"):
        fit_kliep(train, test, sigmas=[1e-3])


def test_mirrored_bases_equal_both_orders_on_both_sides():
    rng = np.random.default_rng(1)
    train, test = rng.normal(size=(200, 3)), rng.normal(0.5, 0.6, size=(60, 3))
    both = fit_kliep(
        np.concatenate([train, -train]),
        np.concatenate([test, -test]),
        sigmas=[1.0],
        centres=np.concatenate([test[:20], -test[:20]]),
    )
    half = fit_kliep(train, test, sigmas=[1.0], centres=test[:20], mirrored=True)
    np.testing.assert_allclose(half(train), both(train), rtol=0.02)
    np.testing.assert_allclose(half(train), half(-train))


def test_weights_find_the_side_where_the_test_samples_are():
    rng = np.random.default_rng(0)
    train, test = rng.uniform(-1, 1, (600, 1)), rng.uniform(0, 1, (300, 1))
    weights = fit_kliep(train, test)(train)
    right = train[:, 0] > 0
    assert weights[right].mean() > 3 * weights[~right].mean()


def test_groups_are_held_out_together_and_few_samples_have_no_folds():
    train, test = samples()
    groups = np.repeat(np.arange(10), 20)[:, None]
    assert len(fit_kliep(train, test, groups=groups).scores) == 5
    assert fit_kliep(train, test[:1]).scores == {}
    assert fit_kliep(train, test, groups=np.zeros((200, 1), int)).scores == {}


@pytest.mark.parametrize(
    ("train", "test", "problem"),
    [
        (np.zeros((3, 2)), np.zeros((3, 1)), "same features"),
        (np.zeros((0, 2)), np.zeros((3, 2)), "at least one"),
        (np.full((3, 2), np.nan), np.zeros((3, 2)), "NaN"),
    ],
)
def test_bad_samples_are_told(train, test, problem):
    with pytest.raises(TacitError, match=problem):
        fit_kliep(train, test)


def test_without_caution_the_bandwidth_is_that_of_the_highest_likelihood():
    train, test = samples(0, n=80, d=2)
    sigmas = [2.0, 1.5, 1.1, 0.8, 0.6, 0.45]
    best, wide = (fit_kliep(train, test, sigmas=sigmas, cautious=cautious) for cautious in (False, True))
    assert best.sigma == max(best.scores, key=best.scores.get)
    assert wide.scores == best.scores
    assert wide.sigma > best.sigma
