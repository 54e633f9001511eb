"""Choice of a fusion from judged queries that does not lose to the default.

Candidates are weights on a lattice, weights learned from pairs of documents (the same convex problem as the weights of
`blend`, with a prior at the default or at the better leg), and other normalisations with weights on a coarser lattice.

**Shrinkage.** Let m_c be the mean gain of candidate c over the default on n judged queries, and s_c its standard error:

    s_c^2 = (sum over queries of (d_q - m_c)^2 + 2 UNSEEN^2) / (n (n - 1))

The two differences of UNSEEN represent queries that are not in the sample, as in `advise`: ten queries that hardly
differ prove little. The true gain has the prior N(0, a_c^2 t^2), with a_c = 1 for the default's normalisation and OTHER
for others. The variance t^2 is estimated from the data (empirical Bayes): t^2 = sum of (m_c^2 - s_c^2) / sum of a_c^2,
or 0 if that is negative. The posterior of the gain is then normal with

    b_c = a_c^2 t^2 / (a_c^2 t^2 + s_c^2),   mean b_c m_c,   variance b_c s_c^2

**Choice.** The candidate with the largest (posterior mean - PRICE P(gain < 0)) is chosen if that is above 0; otherwise
the default is kept. So a small gain must be certain, and a large one may be less certain.

**Bagging.** The weights are the average of the best weights of the chosen normalisation in N_SAMPLES bootstrap samples
of the queries. nDCG jumps with single documents, so an average of good weights is better than the best of one sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from tacit.core import one_blas_thread
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.measured import Measured
from tacit.judge.fuse.normalizations import Family

if TYPE_CHECKING:
    from tacit.retrieve.weights import TrainingQuery

FEWEST_QUERIES = 5  # with fewer the default is kept
PRICE = 0.05  # of a loss, in units of the measure: the penalty for a certain loss of any size
OTHER = 0.5  # prior deviation of another normalisation, relative to the default's normalisation
UNSEEN = 0.05  # assumed difference on queries that are not in the sample
N_SAMPLES = 30  # bootstrap samples
LATTICE, COARSE = 70, 25  # maximum number of points of the lattices
EQUAL_ONLY = 1  # points of a family that has no weights
STRENGTHS = (10.0, 3.0)  # strength of the default as a prior, in queries; another prior has the first strength
N_PAIRS = 100  # pairs per query, evenly spaced among all
DEPTH = 50  # results of a leg that are candidates, as in `blend`


@dataclass(frozen=True)
class Option:
    """A family to search, and the maximum number of points of its lattice; 1 means equal weights only."""

    family: Family
    points: int = COARSE


@dataclass(frozen=True)
class Space:
    """The default and its alternatives.

    Parameters
    ----------
    default : Fusion
        Fusion without judgments.
    options : sequence of Option
        Families to search; the family of the default comes first.
    total : float, default=1
        Sum of the weights.
    """

    default: Fusion
    options: Sequence[Option]
    total: float = 1.0

    @cached_property
    def groups(self) -> list[list[Fusion]]:
        """Return the fusions of each family."""
        return [[self.make(option.family, weights) for weights in self._weights(option)] for option in self.options]

    def make(self, family: Family, weights: np.ndarray) -> Fusion:
        """Return a fusion with these weights, scaled to their sum; the default itself if it is equal."""
        scaled = weights * (self.total / weights.sum())
        return replace(self.default, family=family, weights=tuple(round(float(weight), 6) for weight in scaled))

    def _weights(self, option: Option) -> list[np.ndarray]:
        n = len(self.default.names)
        equal = np.full(n, 1 / n)
        if option.points <= EQUAL_ONLY:
            return [equal]
        found = lattice(n, option.points)
        return found if any(np.allclose(weights, equal) for weights in found) else [*found, equal]


def lattice(n: int, points: int) -> list[np.ndarray]:
    """Return weights that sum to 1, in steps of 1 / k, with the largest k up to 10 that gives at most `n` points.

    >>> [weights.tolist() for weights in lattice(2, 3)]
    [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    >>> len(lattice(2, 70)), len(lattice(3, 70)), len(lattice(4, 70))
    (11, 66, 56)
    """
    k = max((k for k in range(1, 11) if comb(k + n - 1, n - 1) <= points), default=1)
    if k == 1:
        return list(np.eye(n))
    return [np.array(steps) / k for steps in product(range(k + 1), repeat=n) if sum(steps) == k]


@dataclass
class Chooser:
    """Chooses fusions by their values on measured queries.

    Parameters
    ----------
    measured : Measured
        Judged queries and values of fusions.
    space : Space
        Default and candidates.
    """

    measured: Measured
    space: Space
    _gains: dict[int, np.ndarray] = field(default_factory=dict)
    _training: list[TrainingQuery] | None = None

    def choose(self, train: np.ndarray) -> Fusion:
        """Choose a fusion by the judgments of some queries only."""
        if len(train) < FEWEST_QUERIES:
            return self.space.default
        groups = [self._candidates(number, train) for number in range(len(self.space.options))]
        family = np.repeat(np.arange(len(groups)), [len(fusions) for fusions, _ in groups])
        worth = worth_of(np.concatenate([gains for _, gains in groups]), np.where(family > 0, OTHER, 1.0))
        best = int(np.argmax(worth))
        if worth[best] <= 0:
            return self.space.default
        fusions, gains = groups[family[best]]
        return self.space.make(fusions[0].family, bagged_weights(gains, fusions))

    def best_other(self, train: np.ndarray) -> Fusion:
        """Return the candidate with the highest mean except the default, whether or not its gain is certain."""
        found, best = self.space.default, -np.inf
        for number in range(len(self.space.options)):
            fusions, gains = self._candidates(number, train)
            for fusion, mean in zip(fusions, gains.mean(axis=1).tolist(), strict=True):
                if mean > best and fusion != self.space.default:
                    found, best = fusion, mean
        return found

    def _candidates(self, number: int, train: np.ndarray) -> tuple[list[Fusion], np.ndarray]:
        """Return fusions of one family, and their gains on some queries."""
        fusions = self.space.groups[number]
        if number not in self._gains:
            self._gains[number] = np.stack([self._gain(fusion) for fusion in fusions])
        gains = self._gains[number][:, train]
        option = self.space.options[number]
        if number or not option.family.is_linear or option.points <= EQUAL_ONLY:
            return fusions, gains
        learned = [self.space.make(option.family, weights) for weights in self._learned(option.family, train)]
        more = [fusion for fusion in dict.fromkeys(learned) if fusion not in fusions]
        added = np.array([self._gain(fusion)[train] for fusion in more]).reshape(len(more), len(train))
        return [*fusions, *more], np.concatenate([gains, added])

    def _gain(self, fusion: Fusion) -> np.ndarray:
        return self.measured.values(fusion) - self.measured.values(self.space.default)

    def _learned(self, family: Family, train: np.ndarray) -> list[np.ndarray]:
        if self._training is None:
            self._training = training_queries(self.measured, family)
        means = [self.measured.leg_values(leg)[train].mean() for leg in range(len(self.space.default.names))]
        priors = np.asarray(self.space.default.weights), np.eye(len(means))[int(np.argmax(means))]
        return learned_weights([self._training[query] for query in train.tolist()], priors)


def worth_of(gains: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the posterior mean of each candidate's gain, minus the price of a loss times its probability.

    Parameters
    ----------
    gains : ndarray of shape (n_candidates, n_queries)
        Gains over the default.
    scale : ndarray of shape (n_candidates,)
        Prior deviation of each candidate, relative to the default's normalisation.
    """
    from scipy.special import ndtr

    n, mean = gains.shape[1], gains.mean(axis=1)
    variance = (((gains - mean[:, None]) ** 2).sum(axis=1) + 2 * UNSEEN**2) / (n * (n - 1))
    prior = scale**2 * max(float((mean**2 - variance).sum() / (scale**2).sum()), 0.0)
    kept = prior / (prior + variance)
    expected, deviation = kept * mean, np.sqrt(kept * variance)
    loss = ndtr(np.divide(-expected, deviation, out=np.zeros(len(mean)), where=deviation > 0))
    return np.asarray(expected - PRICE * loss)


def bagged_weights(gains: np.ndarray, fusions: Sequence[Fusion]) -> np.ndarray:
    """Return the average of the best weights in bootstrap samples of the queries, as shares with two digits.

    Parameters
    ----------
    gains : ndarray of shape (n_fusions, n_queries)
        Gains over the default.
    fusions : sequence of Fusion
        Fusions of one family.
    """
    n, rng = gains.shape[1], np.random.default_rng(0)
    samples = rng.multinomial(n, np.full(n, 1 / n), size=N_SAMPLES)
    with one_blas_thread():
        best = np.argmax(samples @ gains.T, axis=1)
    mean = np.array([fusions[row].weights for row in best.tolist()]).mean(axis=0)
    return np.asarray((mean / mean.sum()).round(2))


def training_queries(measured: Measured, family: Family) -> list[TrainingQuery]:
    """Return normalised scores and grades of the first results of every leg, one for each measured query."""
    from tacit.retrieve.weights import TrainingQuery

    legs = measured.legs
    columns = measured.normalized(family)
    columns = columns / max(float(columns.std()), 1e-12)  # one scale for all normalisations and priors
    near = (np.nan_to_num(legs.ranks, nan=np.inf) <= DEPTH).any(axis=1)
    found = []
    for low, high in pairwise(legs.starts.tolist()):
        first = low + np.flatnonzero(near[low:high])
        grades = measured.grades[first]
        found.append(TrainingQuery(columns[first], grades, int(np.count_nonzero(grades > 0))))
    return found


def learned_weights(queries: Sequence[TrainingQuery], priors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return weights for each prior and strength, the default's prior first; empty if no judged documents differ.

    These are the functions of the weights of `blend`: compiled code, which other candidates do not need.
    """
    from tacit.retrieve.weights import fit_weights, preferences, weight_of_unjudged

    usable = [query for query in queries if query.is_usable]
    if not usable:
        return []
    unjudged = weight_of_unjudged(usable)
    pieces = [_fewer(*preferences(query, unjudged)) for query in usable]
    differences, importance = (np.concatenate([piece[part] for piece in pieces]) for part in (0, 1))
    choices = [(prior, strength) for prior in priors for strength in STRENGTHS[: 2 if prior is priors[0] else 1]]
    found = [fit_weights(differences, importance, prior, strength) for prior, strength in choices]
    return [weights for weights in found if weights.sum() > 0]


def _fewer(differences: np.ndarray, importance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most this many pairs of a query, with importances that sum to 1 again."""
    if len(importance) > N_PAIRS:
        kept = np.linspace(0, len(importance) - 1, N_PAIRS).round().astype(np.int64)
        differences, importance = differences[kept], importance[kept]
    return differences, importance / max(importance.sum(), 1e-300)
