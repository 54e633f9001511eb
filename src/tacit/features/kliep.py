"""KLIEP: the ratio of the density of test samples to the density of training samples, estimated directly.

w(x) = sum_b beta_b psi_b(x), psi_b(x) = exp(-|x - c_b|^2 / (2 sigma^2)) around centres c_b drawn from the test samples;

    maximise  mean over test of log w(x)   with  beta >= 0  and  mean over train of w(x) = 1,

a concave problem (Sugiyama et al. 2008). With gamma_b = beta_b mean psi_b(train) the constraints are the simplex. The
solver is sequential quadratic programming (Kim et al. 2018): projected gradient ascent on the quadratic approximation
around a point, then around its maximum, because ascent on the likelihood itself takes hundreds of steps. It stops when
the remaining gain is small; the gain is at most log max_b g_b for the gradient g at gamma. sigma is chosen by the
likelihood of held-out test samples.

Of two bandwidths the wider one is chosen unless the narrower one is better by more than a standard error. The widest
makes all weights 1, so samples of one distribution get weights near 1. The original procedure uses the bandwidth with
the highest likelihood (`cautious=False`). Bandwidths are at least a quarter of the median distance between test and
training samples, and centres far from all training samples are left out: otherwise the likelihood is unbounded where
there are no training samples. If both sets contain -x with every x, `mirrored` bases (psi(x) + psi(-x)) / 2 give the
same ratio at half the cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.core import TacitError, check_number, plural
from tacit.features.diffusion import squared_distances
from tacit.kernels.kliep import climb_quadratic

# Candidate bandwidths, as multiples of the median distance from test to training samples.
WIDTHS = (4.0, 2.0, 1.0, 0.5, 0.25)

# A centre is used if its mean basis value over training samples is at least this share of the largest such value.
LEAST_REACH = 1e-6

# Bounds of the remaining gain at which the ascent stops: in the final fit, and in the choice of the bandwidth.
TOLERANCE, LOOSE_TOLERANCE = 1e-6, 1e-3
MOST_STEPS, MOST_INNER_STEPS = 100, 500

# Lower bound of likelihoods, so that logarithms stay finite where all bases are 0.
LEAST_LIKELIHOOD = 1e-300


@dataclass(frozen=True)
class Kliep:
    """A fitted density ratio; called with samples (n, n_features), it returns their weights, float64 (n,).

    Parameters
    ----------
    centres : ndarray of shape (n_bases, n_features), float64
        Centres of the bases.
    beta : ndarray of shape (n_bases,), float64
        Coefficients of the bases.
    sigma : float
        Bandwidth.
    mirrored : bool, default=False
        Whether bases are symmetric in the sign of a sample.
    scores : dict, default={}
        Mean held-out log-likelihood of each candidate bandwidth.
    """

    centres: np.ndarray
    beta: np.ndarray
    sigma: float
    mirrored: bool = False
    scores: dict[float, float] = field(default_factory=dict)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return weights of samples."""
        return _basis(X, self.centres, self.sigma, self.mirrored) @ self.beta


def fit_kliep(
    train: np.ndarray,
    test: np.ndarray,
    *,
    n_bases: int = 100,
    sigmas: Sequence[float] | None = None,
    n_folds: int = 5,
    groups: np.ndarray | None = None,
    mirrored: bool = False,
    centres: np.ndarray | None = None,
    cautious: bool = True,
    seed: int = 0,
) -> Kliep:
    """Fit the density ratio of test to training samples.

    Parameters
    ----------
    train : ndarray of shape (n, n_features), float64
        Training samples.
    test : ndarray of shape (m, n_features), float64
        Test samples.
    n_bases : int, default=100
        Number of centres.
    sigmas : sequence of float, default=None
        Bandwidths to choose from; None uses multiples of the median distance.
    n_folds : int, default=5
        Folds of test samples for the choice of the bandwidth.
    groups : ndarray of shape (m, g), int, default=None
        Groups of each test sample. Samples of one group are held out together; a sample with groups in several folds is
        used neither for fitting nor for measuring.
    mirrored : bool, default=False
        Whether both sets contain -x with every x.
    centres : ndarray of shape (n_bases, n_features), default=None
        Centres of the bases; None draws test samples.
    cautious : bool, default=True
        Use the widest bandwidth within one standard error of the best, instead of the best.
    seed : int, default=0
        Random seed.

    Returns
    -------
    Kliep

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> train, test = rng.normal(0, 1, (500, 1)), rng.normal(1, 0.5, (300, 1))
    >>> ratio = fit_kliep(train, test)
    >>> weights = ratio(train)
    >>> round(float(weights.mean()), 6), bool(ratio(np.array([[1.0]]))[0] > 1 > ratio(np.array([[-1.0]]))[0])
    (1.0, True)
    """
    _check_samples(train, test)
    check_number("n_bases", n_bases, low=1, whole=True)
    check_number("n_folds", n_folds, low=2, whole=True)
    rng = np.random.default_rng(seed)
    if centres is None:
        centres = test[np.sort(rng.choice(len(test), min(n_bases, len(test)), replace=False))]
    table = _Distances(train, test, centres, mirrored)
    widths = [float(s) for s in sigmas] if sigmas is not None else [table.median * width for width in WIDTHS]
    folds = _folds(groups if groups is not None else np.arange(len(test))[:, None], n_folds, rng)
    sigma, scores = _choose_sigma(table, sorted(widths, reverse=True), folds, cautious)
    A, reach, used = table.design(sigma)
    beta = np.zeros(len(centres))
    beta[used] = maximise_likelihood(A) / reach
    return Kliep(centres, beta, sigma, mirrored, scores)


def maximise_likelihood(A: np.ndarray, tolerance: float = TOLERANCE, start: np.ndarray | None = None) -> np.ndarray:
    """Return gamma on the simplex that maximises mean log (A gamma) up to the tolerance; A: (n, n_bases), >= 0.

    >>> maximise_likelihood(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).round(3).tolist()
    [0.667, 0.333]
    """
    n_bases = A.shape[1]
    gamma = np.full(n_bases, 1 / n_bases) if start is None else start.copy()
    likely = A @ gamma
    for _ in range(MOST_STEPS):
        gradient = A.T @ (1 / np.maximum(likely, LEAST_LIKELIHOOD)) / len(A)
        left = float(np.log(gradient.max()))
        if left <= tolerance:
            break
        goal = _quadratic_maximum(A, likely, gradient, gamma, 0.1 * left)
        share, new_likely = _step_upwards(likely, A @ goal)
        if share == 0:
            break
        gamma, likely = gamma + share * (goal - gamma), new_likely
    return gamma


def _quadratic_maximum(
    A: np.ndarray, likely: np.ndarray, gradient: np.ndarray, gamma: np.ndarray, tolerance: float
) -> np.ndarray:
    """Return the maximum on the simplex of the likelihood's quadratic approximation around gamma."""
    active = np.flatnonzero((gamma > 0) | (gradient > 1))  # the others would stay 0
    ratios = (A[:, active] / np.maximum(likely, LEAST_LIKELIHOOD)[:, None]).astype(np.float32)
    curvature = (ratios.T @ ratios / np.float32(len(A))).astype(np.float64)
    goal, found = np.zeros(len(gamma)), gamma[active] / gamma[active].sum()
    climb_quadratic(curvature, gradient[active] + curvature @ found, found, MOST_INNER_STEPS, tolerance)
    goal[active] = found
    return goal


def _step_upwards(likely: np.ndarray, goal: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the share of the step that increases the likelihood, halved from 1; 0 if there is none."""
    value, share = _mean_log(likely), 1.0
    while share > 1e-8:
        new = likely + share * (goal - likely)
        if _mean_log(new) > value:
            return share, new
        share /= 2
    return 0.0, likely


def _mean_log(likely: np.ndarray) -> float:
    return float(np.log(np.maximum(likely, LEAST_LIKELIHOOD)).mean())


class _Distances:
    """Squared distances of samples to the centres, computed once for all bandwidths."""

    def __init__(self, train: np.ndarray, test: np.ndarray, centres: np.ndarray, mirrored: bool) -> None:
        sides = (centres, -centres) if mirrored else (centres,)
        self.train = [squared_distances(train, side) for side in sides]
        self.test = [squared_distances(test, side) for side in sides]
        self.median = float(np.sqrt(np.median(self.train[0]))) or 1.0

    def design(self, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return basis values of test samples divided by their means on train, those means, and the bases in use."""
        reach = _gaussians(self.train, sigma).mean(axis=0)
        used = reach >= LEAST_REACH * reach.max()
        if not used.any() or reach.max() <= 0:
            raise TacitError(f"sigma is {sigma:g}, too narrow: no training sample is near a test sample")
        return np.ascontiguousarray(_gaussians(self.test, sigma)[:, used] / reach[used]), reach[used], used


def _choose_sigma(
    table: _Distances, widths: Sequence[float], folds: Sequence[tuple[np.ndarray, np.ndarray]], cautious: bool
) -> tuple[float, dict[float, float]]:
    """Return the widest bandwidth whose held-out likelihood is the best, or within one standard error of it."""
    if len(widths) == 1 or not folds:
        return widths[0], {}
    held_out = np.array([_held_out(table, sigma, folds) for sigma in widths])
    means = held_out.mean(axis=1)
    best = int(np.argmax(means))
    for width, values in zip(widths, held_out, strict=True):
        behind = held_out[best] - values
        if behind.mean() <= (behind.std(ddof=1) / np.sqrt(len(behind)) if cautious else 0.0):
            return width, dict(zip(widths, means.tolist(), strict=True))
    raise AssertionError("the best bandwidth is within an error of itself")


def _held_out(table: _Distances, sigma: float, folds: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the mean log weight of the held-out test samples, fold by fold."""
    A, _, _ = table.design(sigma)
    values, gamma = [], None
    for fitted, measured in folds:
        gamma = maximise_likelihood(A[fitted], LOOSE_TOLERANCE, gamma)  # warm start from the last fold
        values.append(_mean_log(A[measured] @ gamma))
    return np.array(values)


def _folds(groups: np.ndarray, n_folds: int, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (fitted, measured) samples of each fold; empty if fewer than two folds have both."""
    names, code = np.unique(groups, return_inverse=True)
    fold_of = (rng.permutation(len(names)) % n_folds)[code.reshape(groups.shape)]
    folds = [
        (np.flatnonzero((fold_of != f).all(axis=1)), np.flatnonzero((fold_of == f).all(axis=1))) for f in range(n_folds)
    ]
    filled = [fold for fold in folds if len(fold[0]) and len(fold[1])]
    return filled if len(filled) > 1 else []


def _basis(X: np.ndarray, centres: np.ndarray, sigma: float, mirrored: bool) -> np.ndarray:
    sides = (centres, -centres) if mirrored else (centres,)
    return _gaussians([squared_distances(X, side) for side in sides], sigma)


def _gaussians(squared: Sequence[np.ndarray], sigma: float) -> np.ndarray:
    values = np.exp(squared[0] / (-2 * sigma * sigma))
    for other in squared[1:]:
        values = (values + np.exp(other / (-2 * sigma * sigma))) / len(squared)
    return values


def _check_samples(train: np.ndarray, test: np.ndarray) -> None:
    if train.ndim != 2 or test.ndim != 2 or train.shape[1] != test.shape[1]:
        raise TacitError(f"train has shape {train.shape}, test {test.shape}; want samples of the same features")
    if not len(train) or not len(test):
        raise TacitError(f"train has {plural(len(train), 'sample')}, test {len(test)}; want at least one each")
    if not (np.isfinite(train).all() and np.isfinite(test).all()):
        raise TacitError("train or test contains NaN or infinity, want finite numbers")
