"""Learning the weights of a blend from queries with relevant items.

Candidates of a query are the first items by the blend without labels and by every member. A candidate of larger weight
(grade, confidence of a click) should stand above every candidate of smaller weight; the difference of ln(1 + weight) is
the importance of the pair, and the pairs of a query sum to 1. Unjudged candidates stand with the judged zeros, but
count less: by the share of zeros among the judged candidates of all queries. That they are worse at all is an
assumption, the only one possible where judgments name relevant items alone; they then count in full.
Of clicks with the shown order, the other items that were shown are the zeros, and candidates that were not shown are
left out: clicks say nothing of them. The estimated relevance has a part of the shown order in it, so that weights which
repeat that order seem right even by random clicks. A choice must therefore agree more, and as surely, with the clicks
that items got beyond others at the same rank.
Relevant items that no member ranks high are left out: against them the high-ranked candidates would say that the
members are wrong, whatever the weights.

The prior and its strength are chosen by five-fold cross-validation over queries. Priors are the weights without labels
and, for a member that was trained on the same labels, some weights of that member beside them; a prior may also be kept
as it is. The choice with the highest average precision is taken if it gains more than 1.5 standard errors over the
weights without labels; otherwise these are kept. A member that was trained on labels knows the items that they name,
and ranks these above items that are new to it. So a choice must also keep three quarters of what the weights without
labels gain over BM25 on queries about unseen items: those whose relevant items, all of them, were left out of the
training.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tacit.retrieve.blend.gate import probability
from tacit.retrieve.blend.members import MemberScores, best_items
from tacit.retrieve.blend.weights import fit_weights
from tacit.retrieve.validation import HeldOut

STRENGTHS = (math.inf, 100.0, 10.0, 3.0)  # strongest first; infinity keeps the weights of the prior
N_FIRST = 50  # items by the blend and by each member that are candidates
SURE = 1.5  # standard errors that learned weights must gain
KEPT = 0.75  # of the gain over BM25 without labels, on queries about unseen items
N_FOLDS = 5  # fewer queries than that leave the weights as they are
MAX_POSITIVES = 20  # of a query; those of largest weight
MAX_PAIRS = 500  # of a query, spread evenly over all


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
    lead : float, default=inf
        By how much the member `residual` prefers items that pairs name (see `gate`).
    items : ndarray of shape (n_candidates,), int64, or None, default=None
        The candidates.
    excess : ndarray of shape (n_candidates,), float64, or None, default=None
        Of clicks: how many more the candidate got than other items at the same rank (`Shown.excess`).
    """

    scores: np.ndarray
    relevance: np.ndarray
    n_relevant: int
    lead: float = math.inf
    items: np.ndarray | None = None
    excess: np.ndarray | None = None

    @property
    def is_usable(self) -> bool:
        """Whether some candidates, not all, are relevant."""
        return 0 < int(np.count_nonzero(self.relevance > 0)) < len(self.relevance)

    def of_clicks(self, excess: np.ndarray) -> TrainingQuery:
        """The same without candidates that were not shown, of which clicks say nothing; `excess` is of all items."""
        shown = ~np.isnan(self.relevance)
        items = np.asarray(self.items)[shown]
        return self._replace(
            scores=self.scores[shown], relevance=self.relevance[shown], items=items, excess=excess[items]
        )


def training_queries(
    members: Sequence[MemberScores], weights: np.ndarray, block: HeldOut, leads: np.ndarray
) -> Iterator[TrainingQuery]:
    """The candidates of a few queries with their scores by every member; `weights` are those without labels."""
    scores = [member.factors[:, None] * member.scores for member in members]
    blend = sum((weight * part for weight, part in zip(weights, scores, strict=True)), np.zeros_like(scores[0]))
    firsts = [best_items(part, block.excluded, N_FIRST)[0] for part in (blend, *scores)]
    for row in range(len(blend)):
        items = np.unique(np.concatenate([first[row] for first in firsts]))
        items = items[items >= 0]
        relevant, zeros = (part[[row]].toarray().ravel() for part in (block.relevant, block.zeros))
        candidates = np.stack([part[row, items].astype(np.float64) for part in scores], axis=1)
        relevance = np.where((relevant > 0) | zeros, relevant, np.nan)[items]
        yield TrainingQuery(candidates, relevance, int(np.count_nonzero(relevant)), float(leads[row]), items)


def gated(queries: Sequence[TrainingQuery], gate: np.ndarray, member: int) -> list[TrainingQuery]:
    """The same queries, with the scores of a member times P(named | lead)."""
    found = list[TrainingQuery]()
    for query, share in zip(queries, probability(np.array([query.lead for query in queries]), gate), strict=True):
        scores = query.scores.copy()
        scores[:, member] *= share
        found.append(query._replace(scores=scores))
    return found


def learn_weights(
    queries: Sequence[TrainingQuery],
    prior: np.ndarray,
    strength: float | None = None,
    others: Sequence[np.ndarray] = (),
    unseen: Sequence[TrainingQuery] = (),
) -> tuple[np.ndarray, float]:
    """The weights, and the strength of the prior that was used.

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
        Candidates of queries about unseen items; the first member is BM25.
    """
    usable, guard = ([query for query in part if query.is_usable] for part in (queries, unseen))
    if not usable:
        return prior.copy(), math.inf
    strengths = STRENGTHS if strength is None else (strength,)
    chosen, strength = choose_prior(usable, [Choice(p, s) for s in strengths for p in (prior, *others)], guard)
    return fit_weights(*_pairs(usable), chosen, strength), strength


class Choice(NamedTuple):
    """A prior and its strength."""

    prior: np.ndarray
    strength: float


def choose_prior(
    queries: Sequence[TrainingQuery], choices: Sequence[Choice], unseen: Sequence[TrainingQuery] = ()
) -> Choice:
    """The best safe choice by cross-validation, if it is better than the first beyond chance; else the first."""
    if len(choices) == 1 or len(queries) < N_FOLDS:
        return choices[0]
    values, guard = (np.empty((len(choices), len(part))) for part in (queries, unseen))
    agreed = None if queries[0].excess is None else np.empty_like(values)
    for fold in range(N_FOLDS):
        pairs = _pairs([query for place, query in enumerate(queries) if place % N_FOLDS != fold])
        for row, choice in enumerate(choices):
            weights = fit_weights(*pairs, *choice)
            for found, part in ((values, queries), (guard, unseen)):
                found[row, fold::N_FOLDS] = [average_precision(query, weights) for query in part[fold::N_FOLDS]]
            if agreed is not None:
                agreed[row, fold::N_FOLDS] = [agreement(query, weights) for query in queries[fold::N_FOLDS]]
    floor = _least_on_unseen(guard[0], unseen)
    safe = [row for row in range(len(choices)) if row == 0 or guard[row].sum() >= floor]
    best = max(safe, key=lambda row: values[row].mean())
    sure = _is_sure(values[best] - values[0]) and (agreed is None or _is_sure(agreed[best] - agreed[0]))
    return choices[best if sure else 0]


def _is_sure(gains: np.ndarray) -> bool:
    return bool(gains.mean() > SURE * gains.std(ddof=1) / math.sqrt(len(gains)))


def _least_on_unseen(first: np.ndarray, unseen: Sequence[TrainingQuery]) -> float:
    """Sum of average precision that a choice needs: part of the way from BM25 to the first choice, or less."""
    bm25 = sum(average_precision(query, np.eye(query.scores.shape[1])[0]) for query in unseen)
    return min(float(first.sum()), bm25 + KEPT * (float(first.sum()) - bm25))


def _pairs(queries: Sequence[TrainingQuery]) -> tuple[np.ndarray, np.ndarray]:
    """Differences and importance of all pairs."""
    unjudged = weight_of_unjudged(queries)
    pieces = [preferences(query, unjudged) for query in queries]
    differences, importance = (np.concatenate([piece[part] for piece in pieces]) for part in (0, 1))
    return differences, importance


def weight_of_unjudged(queries: Sequence[TrainingQuery]) -> float:
    """Weight of an unjudged candidate as a worse one: the share of zeros among the judged, or 1 if there are none."""
    n_zeros, n_relevant = (sum(int(np.count_nonzero(test)) for test in tests) for tests in (
        [query.relevance == 0 for query in queries], [query.relevance > 0 for query in queries],
    ))  # fmt: skip
    return n_zeros / (n_zeros + n_relevant) if n_zeros else 1.0


def preferences(query: TrainingQuery, unjudged: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Differences of scores, better less worse candidate, for all pairs; their importance sums to 1."""
    known = np.log1p(np.nan_to_num(query.relevance))
    trust = np.where(np.isnan(query.relevance), unjudged, 1.0)
    better = np.argsort(-known, kind="stable")[: min(MAX_POSITIVES, np.count_nonzero(known))]
    importance = np.maximum(known[better][:, None] - known[None, :], 0) * trust
    rows, worse = np.nonzero(importance)
    if len(rows) > MAX_PAIRS:
        chosen = np.linspace(0, len(rows) - 1, MAX_PAIRS).round().astype(np.int64)
        rows, worse = rows[chosen], worse[chosen]
    differences, kept = query.scores[better[rows]] - query.scores[worse], importance[rows, worse]
    return differences, kept / max(kept.sum(), 1e-300)


def average_precision(query: TrainingQuery, weights: np.ndarray) -> float:
    """Average precision of the candidates; relevant items that are no candidates count as not found.

    >>> query = TrainingQuery(np.array([[3.0], [2.0], [1.0]]), np.array([1.0, 0.0, 1.0]), 4)
    >>> round(average_precision(query, np.ones(1)), 3)
    0.417
    """
    order = np.argsort(-(query.scores @ weights), kind="stable")
    ranks = 1 + np.flatnonzero(query.relevance[order] > 0)
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / query.n_relevant)


def agreement(query: TrainingQuery, weights: np.ndarray) -> float:
    """Mean product of the candidates' standardized scores and the clicks that they got beyond others at their rank.

    >>> query = TrainingQuery(np.array([[3.0], [2.0], [1.0]]), np.ones(3), 3, excess=np.array([0.5, 0.0, -0.5]))
    >>> round(agreement(query, np.ones(1)), 3), round(agreement(query, -np.ones(1)), 3)
    (0.408, -0.408)
    """
    assert query.excess is not None
    scores = query.scores @ weights
    spread = float(scores.std())
    return float(((scores - scores.mean()) * query.excess).mean()) / spread if spread else 0.0
