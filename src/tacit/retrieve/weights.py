"""Learns the weights of ranking members from judged queries: pure functions from arrays to weights.

The input is one `TrainingQuery` per judged query: scores of its candidates by every member, and their relevance. The
functions are used for a blend (`retrieve.blend`) and for the results of several search engines (`judge.fuse`).

**Preferences.** A candidate of larger weight (grade, confidence of a click) should rank above every candidate of
smaller weight. The difference of ln(1 + weight) is the importance of the pair; the pairs of a query sum to 1. Unjudged
candidates rank with the judged negatives but count less: their importance is multiplied by the share of negatives among
the judged candidates of all queries. If only relevant items were judged, unjudged candidates count in full, because no
other assumption about them is possible. Relevant items that are not among the candidates are ignored. Otherwise the
high-ranked candidates would count as errors of the members, whatever the weights.

**A program's grades.** A candidate without a human judgment can have an `assumed` grade: the grade that people would
give, estimated from a program's grade, with the trust in it. The importance of a pair is multiplied by the trust in
both grades. This happens after the pairs are scaled to the sum of 1, so a query with a program's grades alone counts
less than one query. Such grades are used for training, never for evaluation or for choosing a prior.

**Weights.** The weights are

    argmin over w >= 0 of  sum_k c_k ln(1 + exp(-w . x_k)) + (w - w0)' P (w - w0) / 2
    P = strength (I - u u') + SCALE_STRENGTH u u',  u = w0 / |w0|

x_k is row k of `differences`: the score of the better candidate minus the worse one's, for each member. c_k is
its importance. w0 are the weights used without labels, which are the centre of the prior. Orthogonal to w0, the prior
counts as much as `strength` queries. Along w0 it is weaker: a longer w gives the same ranking and only reflects how
consistent the labels are. It is not 0, because random labels would shrink w to 0, where chance decides the direction.

**Choice of the prior.** Five-fold cross-validation over queries chooses the strength and, if there are several, the
prior. A prior may also be kept unchanged. The choice with the highest average precision is used if it gains more than
1.5 standard errors over the first prior; otherwise the first prior is kept. Two further conditions can apply:

- `unseen` queries, about items that a trained member has not seen. On these, a choice may lose a quarter of the first
  prior's gain over the first member (BM25). Only members by words count in this gain: an encoder's gain is much larger,
  and a quarter of it is too much to lose.
- clicks (`excess`): the estimated relevance contains part of the shown order, so weights that repeat that order seem
  right even with random clicks. A choice must also agree better, with the same certainty, with the clicks that items
  got in excess of other items at the same rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.core import one_blas_thread
from tacit.metrics.formulas import average_precision

STRENGTHS = (math.inf, 100.0, 10.0, 3.0)  # strongest first; infinity keeps the weights of the prior
SCALE_STRENGTH = 3.0
SURE = 1.5  # minimum gain of learned weights, in standard errors
MOST_LOST = 0.25  # share of the gain of the first prior over the first member that may be lost on `unseen` queries
N_FOLDS = 5  # with fewer queries, the weights are not changed
MAX_POSITIVES = 20  # maximum per query; the ones with the largest weights
MAX_PAIRS = 500  # maximum per query, spread evenly over all


class TrainingQuery(NamedTuple):
    """Scores of the candidates of one query.

    Attributes
    ----------
    scores : ndarray of shape (n_candidates, n_members), float64
        Scaled scores, so that the score of the blend is `scores @ weights`.
    relevance : ndarray of shape (n_candidates,)
        Weight of each relevant candidate, 0 where it was judged not relevant, NaN where it is unjudged.
    n_relevant : int
        Number of relevant items of the query, candidates or not.
    excess : ndarray of shape (n_candidates,), float64, or None, default=None
        For clicks: the clicks on the candidate in excess of other items at the same rank (`Shown.excess`).
    assumed, trust : ndarray of shape (n_candidates,), float64, or None, default=None
        For a program's grades: the grade that people would give, NaN if there is none, and the trust in it.
    """

    scores: np.ndarray
    relevance: np.ndarray
    n_relevant: int
    excess: np.ndarray | None = None
    assumed: np.ndarray | None = None
    trust: np.ndarray | None = None

    @property
    def is_usable(self) -> bool:
        """Whether some candidates, not all, are relevant."""
        return 0 < int(np.count_nonzero(self.relevance > 0)) < len(self.relevance)

    @property
    def is_assumed(self) -> bool:
        """Whether all grades of its candidates come from a program."""
        return self.assumed is not None and not self.is_usable and bool((self.assumed > 0).any())


def learn_weights(
    queries: Sequence[TrainingQuery],
    prior: np.ndarray,
    strength: float | None = None,
    others: Sequence[np.ndarray] = (),
    unseen: Sequence[TrainingQuery] = (),
    by_words: Sequence[bool] | None = None,
) -> tuple[np.ndarray, float]:
    """Learn the weights; return them and the strength of the prior that was used.

    Parameters
    ----------
    queries : sequence of TrainingQuery
        Candidates and their relevance.
    prior : ndarray of shape (n_members,)
        Weights without labels.
    strength : float or None, default=None
        Strength of the prior, in queries; None means chosen by cross-validation.
    others : sequence of ndarray of shape (n_members,), default=()
        Further priors to choose from.
    unseen : sequence of TrainingQuery, default=()
        Candidates of queries about unseen items. The first member is the baseline (BM25).
    by_words : sequence of bool or None, default=None
        Whether each member scores by words; None means that all do.
    """
    usable, guard = ([query for query in part if query.is_usable] for part in (queries, unseen))
    if not usable:
        return prior.copy(), math.inf
    strengths = STRENGTHS if strength is None else (strength,)
    choices = [Choice(p, s) for s in strengths for p in (prior, *others)]
    assumed = [query for query in queries if query.is_assumed]
    floor = _least_on_unseen(guard, prior, by_words)
    chosen, strength = choose_prior(usable, choices, guard, floor, assumed)
    return fit_weights(*_pairs([*usable, *assumed]), chosen, strength), strength


class Choice(NamedTuple):
    """A prior and its strength."""

    prior: np.ndarray
    strength: float


def choose_prior(
    queries: Sequence[TrainingQuery],
    choices: Sequence[Choice],
    unseen: Sequence[TrainingQuery] = (),
    floor: float = 0.0,
    assumed: Sequence[TrainingQuery] = (),
) -> Choice:
    """Return the best safe choice by cross-validation if it is significantly better than the first; else the first.

    A safe choice has at least `floor` as its sum of average precision on `unseen` queries.

    `assumed` queries are used for training in every fold, and never for evaluation.
    """
    if len(choices) == 1 or len(queries) < N_FOLDS:
        return choices[0]
    values, guard = (np.empty((len(choices), len(part))) for part in (queries, unseen))
    agreed = None if queries[0].excess is None else np.empty_like(values)
    for fold in range(N_FOLDS):
        pairs = _pairs([*(query for place, query in enumerate(queries) if place % N_FOLDS != fold), *assumed])
        for row, choice in enumerate(choices):
            weights = fit_weights(*pairs, *choice)
            for found, part in ((values, queries), (guard, unseen)):
                found[row, fold::N_FOLDS] = [precision_of(query, weights) for query in part[fold::N_FOLDS]]
            if agreed is not None:
                agreed[row, fold::N_FOLDS] = [agreement(query, weights) for query in queries[fold::N_FOLDS]]
    safe = [row for row in range(len(choices)) if row == 0 or guard[row].sum() >= floor]
    best = max(safe, key=lambda row: values[row].mean())
    sure = _is_sure(values[best] - values[0]) and (agreed is None or _is_sure(agreed[best] - agreed[0]))
    return choices[best if sure else 0]


def _is_sure(gains: np.ndarray) -> bool:
    return bool(gains.mean() > SURE * gains.std(ddof=1) / math.sqrt(len(gains)))


def _least_on_unseen(unseen: Sequence[TrainingQuery], first: np.ndarray, by_words: Sequence[bool] | None) -> float:
    """Return the minimum sum of average precision of a choice of weights; see the module."""
    bm25 = np.eye(len(first))[0]
    words = first if by_words is None else np.where(by_words, first, 0.0)
    found, by_bm25, of_words = (
        float(np.array([precision_of(query, weights) for query in unseen]).sum()) for weights in (first, bm25, words)
    )
    return found - MOST_LOST * max(0.0, of_words - by_bm25)


def _pairs(queries: Sequence[TrainingQuery]) -> tuple[np.ndarray, np.ndarray]:
    """Return the differences and importance of all pairs."""
    unjudged = weight_of_unjudged(queries)
    pieces = [preferences(query, unjudged) for query in queries]
    differences, importance = (np.concatenate([piece[part] for piece in pieces]) for part in (0, 1))
    return differences, importance


def weight_of_unjudged(queries: Sequence[TrainingQuery]) -> float:
    """Return the weight of an unjudged candidate as the worse one: the share of judged negatives, or 1 if none."""
    n_zeros = sum(int(np.count_nonzero(query.relevance == 0)) for query in queries)
    n_relevant = sum(int(np.count_nonzero(query.relevance > 0)) for query in queries)
    return n_zeros / (n_zeros + n_relevant) if n_zeros else 1.0


def preferences(query: TrainingQuery, unjudged: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return score differences, better minus worse candidate, of all pairs; their importance sums to 1 before trust."""
    relevance, program = query.relevance, np.ones(len(query.relevance))
    if query.assumed is not None and query.trust is not None:
        graded = np.isnan(relevance) & ~np.isnan(query.assumed)
        relevance, program = np.where(graded, query.assumed, relevance), np.where(graded, query.trust, 1.0)
    known = np.log1p(np.nan_to_num(relevance))
    trust = np.where(np.isnan(relevance), unjudged, 1.0)
    better = np.argsort(-known, kind="stable")[: min(MAX_POSITIVES, np.count_nonzero(known))]
    importance = np.maximum(known[better][:, None] - known[None, :], 0) * trust
    rows, worse = np.nonzero(importance)
    if len(rows) > MAX_PAIRS:
        chosen = np.linspace(0, len(rows) - 1, MAX_PAIRS).round().astype(np.int64)
        rows, worse = rows[chosen], worse[chosen]
    differences, kept = query.scores[better[rows]] - query.scores[worse], importance[rows, worse]
    return differences, kept * program[better[rows]] * program[worse] / max(kept.sum(), 1e-300)


def precision_of(query: TrainingQuery, weights: np.ndarray) -> float:
    """Return the average precision of the candidates; relevant items that are not candidates count as not found."""
    return average_precision(query.scores @ weights, query.relevance, query.n_relevant)


def agreement(query: TrainingQuery, weights: np.ndarray) -> float:
    """Return the mean product of the candidates' standardized scores and their excess clicks at their rank.

    >>> query = TrainingQuery(np.array([[3.0], [2.0], [1.0]]), np.ones(3), 3, excess=np.array([0.5, 0.0, -0.5]))
    >>> round(agreement(query, np.ones(1)), 3), round(agreement(query, -np.ones(1)), 3)
    (0.408, -0.408)
    """
    assert query.excess is not None
    scores = query.scores @ weights
    spread = float(scores.std())
    return float(((scores - scores.mean()) * query.excess).mean()) / spread if spread else 0.0


def fit_weights(differences: np.ndarray, importance: np.ndarray, prior: np.ndarray, strength: float) -> np.ndarray:
    """Return the weights, scaled to the sum of the prior.

    Parameters
    ----------
    differences : ndarray of shape (n_pairs, n_members), float64
        Scores of the better item minus scores of the worse item.
    importance : ndarray of shape (n_pairs,)
        Weights of the pairs; they sum to 1 for each query.
    prior : ndarray of shape (n_members,)
        Weights without labels, not all of them 0.
    strength : float
        Strength of the prior, in queries; infinity keeps the prior.

    Examples
    --------
    >>> good_and_noise = np.array([[1.0, 1.0], [1.0, -1.0]] * 20)
    >>> fit_weights(good_and_noise, np.full(40, 1.0), np.ones(2), 3.0).round(2)
    array([1.66, 0.34])
    """
    if math.isinf(strength):
        return prior.copy()
    from scipy.optimize import minimize

    start = prior / max(prior.sum(), 1e-12)
    with one_blas_thread():  # few members: threads would only wait for each other
        found = minimize(
            objective, start, (differences, importance, prior, strength), jac=True, method="L-BFGS-B",
            bounds=[(0, None)] * len(prior), options={"maxiter": 200, "ftol": 1e-9, "gtol": 1e-6},
        )  # fmt: skip
    total = found.x.sum()
    weights: np.ndarray = found.x * (prior.sum() / total) if total > 0 else prior.copy()
    return weights


def objective(
    weights: np.ndarray, differences: np.ndarray, importance: np.ndarray, prior: np.ndarray, strength: float
) -> tuple[float, np.ndarray]:
    """Return value and gradient of the objective."""
    margins = differences @ weights
    unit = prior / np.linalg.norm(prior)
    away = weights - prior
    along = unit @ away
    pull = strength * away + (SCALE_STRENGTH - strength) * along * unit
    small = np.exp(-np.abs(margins))  # one exponential for value and gradient, without overflow
    value = importance @ (np.log1p(small) + np.maximum(-margins, 0)) + away @ pull / 2
    slope = -importance * np.where(margins > 0, small, 1) / (1 + small)
    return float(value), differences.T @ slope + pull
