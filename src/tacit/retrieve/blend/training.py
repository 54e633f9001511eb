"""Learning the weights of a blend from queries with relevant items.

Candidates of a query are the first items by the blend without labels and by every member. A relevant candidate should
stand above every other one; that other candidates are worse is an assumption where judgments name relevant items only.
Relevant items that no member ranks high are left out: against them the high-ranked candidates would say that the
members are wrong, whatever the weights.

The strength of the prior is chosen by five-fold cross-validation over queries: the strongest prior whose average
precision is at most one standard error below the best. The prior itself is one of the choices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tacit.retrieve.blend.members import MemberScores, best_items
from tacit.retrieve.blend.weights import fit_weights
from tacit.retrieve.validation import HeldOut

STRENGTHS = (math.inf, 100.0, 10.0, 3.0)  # strongest first; infinity keeps the weights of the prior
N_FIRST = 50  # items by the blend and by each member that are candidates
N_FOLDS = 5  # fewer queries than that leave the weights as they are
MAX_POSITIVES = 20  # of a query; those of largest weight


class TrainingQuery(NamedTuple):
    """Scores of the candidates of one query.

    Attributes
    ----------
    scores : ndarray of shape (n_candidates, n_members), float64
        Scaled scores, so that the score of the blend is `scores @ weights`.
    relevance : ndarray of shape (n_candidates,)
        Weight of each relevant candidate, 0 for all others.
    n_relevant : int
        Number of relevant items of the query, candidates or not.
    """

    scores: np.ndarray
    relevance: np.ndarray
    n_relevant: int


def training_queries(members: Sequence[MemberScores], weights: np.ndarray, block: HeldOut) -> Iterator[TrainingQuery]:
    """The candidates of a few queries with their scores by every member; `weights` are those without labels."""
    scores = [member.factors[:, None] * member.scores for member in members]
    blend = sum((weight * part for weight, part in zip(weights, scores, strict=True)), np.zeros_like(scores[0]))
    firsts = [best_items(part, block.excluded, N_FIRST)[0] for part in (blend, *scores)]
    for row in range(len(blend)):
        items = np.unique(np.concatenate([first[row] for first in firsts]))
        items = items[items >= 0]
        relevant = block.relevant[[row]].toarray().ravel()
        candidates = np.stack([part[row, items].astype(np.float64) for part in scores], axis=1)
        yield TrainingQuery(candidates, relevant[items].astype(np.float64), int(np.count_nonzero(relevant)))


def learn_weights(
    queries: Sequence[TrainingQuery], prior: np.ndarray, strength: float | None = None
) -> tuple[np.ndarray, float]:
    """The weights and the strength of the prior that was used; `strength` None chooses it."""
    usable = [query for query in queries if 0 < np.count_nonzero(query.relevance) < len(query.relevance)]
    if not usable:
        return prior.copy(), math.inf
    if strength is None:
        strength = choose_strength(usable, prior)
    return _fit(usable, prior, strength), strength


def choose_strength(queries: Sequence[TrainingQuery], prior: np.ndarray) -> float:
    """The strongest prior within one standard error of the best, by cross-validation."""
    if len(queries) < N_FOLDS:
        return math.inf
    values = np.empty((len(STRENGTHS), len(queries)))
    for fold in range(N_FOLDS):
        train = [query for place, query in enumerate(queries) if place % N_FOLDS != fold]
        for row, strength in enumerate(STRENGTHS):
            weights = _fit(train, prior, strength)
            for place in range(fold, len(queries), N_FOLDS):
                values[row, place] = average_precision(queries[place], weights)
    losses = values[np.argmax(values.mean(axis=1))] - values
    errors = losses.std(axis=1, ddof=1) / math.sqrt(len(queries))
    return STRENGTHS[int(np.argmax(losses.mean(axis=1) <= errors))]


def _fit(queries: Sequence[TrainingQuery], prior: np.ndarray, strength: float) -> np.ndarray:
    if math.isinf(strength):
        return prior.copy()
    pieces = [preferences(query) for query in queries]
    differences, importance = (np.concatenate([piece[part] for piece in pieces]) for part in (0, 1))
    return fit_weights(differences, importance, prior, strength)


def preferences(query: TrainingQuery) -> tuple[np.ndarray, np.ndarray]:
    """Differences of scores, relevant less other candidate, for all pairs; their importance sums to 1."""
    better = np.argsort(-query.relevance, kind="stable")[: min(MAX_POSITIVES, np.count_nonzero(query.relevance))]
    worse = np.flatnonzero(query.relevance == 0)
    differences = query.scores[better][:, None, :] - query.scores[worse][None, :, :]
    shares = query.relevance[better] / query.relevance[better].sum()
    importance = np.repeat(shares / len(worse), len(worse))
    return differences.reshape(-1, query.scores.shape[1]), importance


def average_precision(query: TrainingQuery, weights: np.ndarray) -> float:
    """Average precision of the candidates; relevant items that are no candidates count as not found.

    >>> query = TrainingQuery(np.array([[3.0], [2.0], [1.0]]), np.array([1.0, 0.0, 1.0]), 4)
    >>> round(average_precision(query, np.ones(1)), 3)
    0.417
    """
    order = np.argsort(-(query.scores @ weights), kind="stable")
    ranks = 1 + np.flatnonzero(query.relevance[order])
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / query.n_relevant)
