"""Simulated candidates of `tacit advise`: the weights of `blend` learned repeatedly from stored scores.

Scores of the members bm25, latent, feedback and title are computed once. The member `residual`, which is trained on the
judgments themselves, is replaced by a model that can be trained thousands of times: the cosine of query and document,
plus the mean similarity of the document to the relevant documents of the training queries, weighted by the similarity
of these queries. It is used like `residual`: from 200 pairs on, scored for learning by members that were trained
without the query, and with the same further priors.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit

from tacit.experiments.collections.question_task import QuestionTask
from tacit.features.text.weighting import weigh
from tacit.retrieve import BlendRanker, Bm25Ranker
from tacit.retrieve.blend.embeddings import MIN_PAIRS
from tacit.retrieve.blend.embeddings import TRIED as RESIDUAL_WEIGHTS
from tacit.retrieve.blend.learning import N_FIRST_OF_EACH
from tacit.retrieve.blend.member import deviations, length_trust, scores_near
from tacit.retrieve.blend.titles import TITLE_B, TitleMember
from tacit.retrieve.factors import best_items
from tacit.retrieve.weights import (
    N_FOLDS,
    SCALE_STRENGTH,
    STRENGTHS,
    SURE,
    TrainingQuery,
    learn_weights,
    preferences,
)

MEASURE = "nDCG@10"
TOLERANCE = 1e-3  # of weights, whose sum is 8 and more
DISCOUNTS = 1 / np.log2(np.arange(2, 12))


@dataclass(frozen=True, eq=False)
class World:
    """Scores of a collection by query: of the members (queries, members, items), of BM25, and the cosine.

    `firsts` are the best items of the label-free blend and of each member, `pools` also those of BM25; `near` are the
    first items by the member bm25, `items` tf-idf rows, `likeness` cosines of queries, `lengths` their words.
    """

    members: np.ndarray
    bm25: np.ndarray
    cosine: np.ndarray
    firsts: list[np.ndarray]
    pools: list[np.ndarray]
    near: np.ndarray
    relevant: list[np.ndarray]
    prior: np.ndarray
    items: sp.csr_array
    likeness: np.ndarray
    lengths: np.ndarray

    @cached_property
    def known(self) -> np.ndarray:
        """Return queries with a relevant item."""
        return np.array([row for row, items in enumerate(self.relevant) if len(items)])

    @cached_property
    def label_free(self) -> dict[str, np.ndarray]:
        """Return values of the label-free systems, on all known queries with their real judgments."""
        relevant, everybody = [self.relevant[row] for row in self.known], np.arange(len(self.known))
        systems = [Simulated(name, self, self.known, relevant) for name in ("bm25", "blend")]
        return {system.name: system.values(everybody[:0], everybody)[MEASURE] for system in systems}


def make_world(task: QuestionTask) -> World:
    """Compute the scores of all documents for all queries."""
    read = task.read(BlendRanker(), stem=True)
    queries, items, titles = read.queries(task.queries.full_texts()), read.items, read.further().get("titles")
    blend = BlendRanker(threads=1).fit(None, items, titles=titles)
    if titles is not None and titles.nnz:  # as with labels
        title = TitleMember()
        title.ranker_ = Bm25Ranker(b=TITLE_B).fit(None, titles)
        blend.put(title)
    block, parts = blend.query_block(queries, None), list[np.ndarray]()
    for member in blend.members_:
        scores = member.scores(block)
        parts.append(member.factors(block, scores_near(scores, block.candidates))[:, None] * scores)
    prior = np.array([blend.weights_.get(member.name, 0.0) for member in blend.members_])
    total = sum(weight * part for weight, part in zip(prior.astype(np.float32), parts, strict=True))
    bm25 = Bm25Ranker().fit(None, items).scores(queries)
    firsts, pools = (
        np.hstack([best_items(part, None, N_FIRST_OF_EACH)[0] for part in (total, *parts, *more)])
        for more in ((), (bm25,))
    )
    asking, rows = (weigh(part, blend.idf_) for part in (queries, blend.with_titles(items, titles)))
    relevant = [np.flatnonzero(row >= 1) for row in task._grades(np.arange(len(task.queries)))]
    return World(
        np.stack(parts, axis=1), bm25, (asking @ rows.T).toarray(), *([np.unique(row[row >= 0]) for row in found]
        for found in (firsts, pools)), block.candidates, relevant, prior, rows, (asking @ asking.T).toarray(),
        np.diff(queries.indptr).astype(np.float64),
    )  # fmt: skip


class Fitted(NamedTuple):
    """Weights of the members, with `residual` last if it was trained, and its training rows."""

    weights: np.ndarray
    train: np.ndarray | None = None


class Simulated:
    """A candidate of `advise` on some queries with their relevant items; see `judge.advise.procedure`."""

    def __init__(self, name: str, world: World, queries: np.ndarray, relevant: list[np.ndarray]) -> None:
        self.name, self.world, self.queries, self.relevant = name, world, queries, relevant
        self.learns = name == "blend+labels"
        self._fits: dict[bytes, Fitted] = {}

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Return values of some queries, with weights learned from others."""
        fitted = self.fitted(train)
        return {MEASURE: np.array([self.value(self.queries[row], self.relevant[row], fitted) for row in test])}

    def value(self, query: int, relevant: np.ndarray, fitted: Fitted | None) -> float:
        """Return nDCG@10 of binary judgments; None: of bm25."""
        scores = self.world.bm25[query] if fitted is None else self.scores(query, fitted)
        found = np.isin(best_items(scores[None], None, 10)[0][0], relevant)
        return float((found * DISCOUNTS[: len(found)]).sum() / max(DISCOUNTS[: max(len(relevant), 1)].sum(), 1e-12))

    def scores(self, query: int, fitted: Fitted) -> np.ndarray:
        """Return scores of all items, float32."""
        members, weights = self.world.members[query], fitted.weights.astype(np.float32)
        scores = weights[: len(members)] @ members
        if fitted.train is not None and weights[-1]:
            scores += weights[-1] * self.residual_scores(query, fitted.train)
        return scores

    def residual_scores(self, query: int, train: np.ndarray) -> np.ndarray:
        """Return scores of the member trained on some queries, on the scale of the blend."""
        world, rows = self.world, self.queries[train]
        likeness = world.likeness[query, rows]
        learned = likeness @ self._similarity[train] / max(likeness.sum(), 1e-12)
        scores, half = (world.cosine[query] + learned)[None], float(np.median(world.lengths[rows]))
        near = world.near[[query]]
        spread = deviations(scores_near(scores, near), near >= 0)[0]
        return scores[0] * np.float32(length_trust(world.lengths[query], half) / spread)

    def fitted(self, train: np.ndarray) -> Fitted | None:
        """Return the weights, learned from some queries if the candidate learns; None: bm25."""
        if not self.learns:
            return None if self.name == "bm25" else Fitted(self.world.prior)
        if train.tobytes() not in self._fits:
            self._fits[train.tobytes()] = self._learn(train)
        return self._fits[train.tobytes()]

    def _learn(self, train: np.ndarray) -> Fitted:
        trained = sum(len(self.relevant[row]) for row in train) >= MIN_PAIRS
        prior = np.append(self.world.prior, [0.0] * trained)
        others = [np.append(self.world.prior, weight) for weight in RESIDUAL_WEIGHTS] if trained else []
        examples, queries = self.examples(train, trained=trained)
        return Fitted(learn(examples, queries, prior, others), train if trained else None)

    def examples(self, train: np.ndarray, *, trained: bool) -> tuple[list[TrainingQuery], list[int]]:
        """Return usable examples, each scored by a member trained without its query, and their queries."""
        distinct, number = np.unique(self.queries[train], return_inverse=True)
        folds = (np.random.default_rng(0).permutation(len(distinct)) % N_FOLDS)[number] if trained else None
        examples, queries = list[TrainingQuery](), list[int]()
        for place in range(len(train)) if folds is None else np.argsort(folds, kind="stable"):
            query, relevant = int(self.queries[train[place]]), self.relevant[train[place]]
            items, scores = self.world.firsts[query], self.world.members[query]
            if folds is not None:
                residual = self.residual_scores(query, train[folds != folds[place]])
                items = np.union1d(items, best_items(residual[None], None, N_FIRST_OF_EACH)[0][0])
                scores = np.vstack([scores, residual])
            relevance = np.where(np.isin(items, relevant), 1.0, np.nan)
            if 0 < np.count_nonzero(relevance > 0) < len(items):
                examples.append(TrainingQuery(scores[:, items].T.astype(np.float64), relevance, len(relevant)))
                queries.append(query)
        return examples, queries

    @cached_property
    def _similarity(self) -> np.ndarray:
        """Return the mean cosine of the relevant items of each query to all items, float32."""
        rows = np.repeat(np.arange(len(self.relevant)), [len(items) for items in self.relevant])
        which = np.concatenate(self.relevant).astype(np.int64)
        sizes = np.maximum([len(items) for items in self.relevant], 1)
        mean = sp.csr_array((1 / sizes[rows], (rows, which)), shape=(len(sizes), self.world.items.shape[0]))
        return np.asarray((mean @ self.world.items @ self.world.items.T).toarray(), np.float32)


def learn(examples: list[TrainingQuery], queries: list[int], prior: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """Return the weights of `learn_weights`, for all priors and strengths; copies of a query are in one fold."""
    if not examples:
        return prior
    pieces = [preferences(example) for example in examples]
    priors = np.array([p for _ in STRENGTHS for p in (prior, *others)])
    strengths = np.repeat(STRENGTHS, 1 + len(others))
    number = {query: place for place, query in enumerate(dict.fromkeys(queries))}
    folds = np.array([number[query] % N_FOLDS for query in queries])
    values, start = np.zeros((len(priors), len(examples))), solve(pieces, priors, strengths, priors)
    for fold in range(N_FOLDS) if len(examples) >= N_FOLDS else ():
        weights = solve([pieces[place] for place in np.flatnonzero(folds != fold)], priors, strengths, start)
        for place in np.flatnonzero(folds == fold):
            relevance, n_relevant = examples[place].relevance, examples[place].n_relevant
            values[:, place] = precisions(weights @ examples[place].scores.T, relevance, n_relevant)
    best = int(np.argmax(values.mean(axis=1)))
    gains = values[best] - values[0]
    sure = best and gains.mean() > SURE * gains.std(ddof=1) / math.sqrt(len(gains))
    return start[best] if sure else prior


def solve(
    pieces: list[tuple[np.ndarray, np.ndarray]], priors: np.ndarray, strengths: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Solve the problem of `fit_weights` for every prior and strength: projected Newton steps, halved on a rise."""
    found, finite = priors.copy(), np.isfinite(strengths)
    if not pieces or not finite.any():
        return found
    x, importance = (np.concatenate([piece[part] for piece in pieces]).astype(np.float32) for part in (0, 1))
    problem = _Problem(x, importance, priors[finite], strengths[finite])
    best, step = start[finite], np.zeros_like(priors[finite])
    lowest = np.full(len(best), np.inf)
    gradient, curvature = np.empty_like(best), np.empty((*best.shape, best.shape[1]))
    for _ in range(60):
        weights = np.maximum(best + step, 0.0)
        value, new_gradient, new_curvature = problem.at(weights)
        better = value <= lowest + 1e-5
        moved = np.where(np.isinf(lowest), np.inf, np.abs(weights - best).max(axis=1))
        best, lowest = np.where(better[:, None], weights, best), np.where(better, value, lowest)
        gradient = np.where(better[:, None], new_gradient, gradient)
        curvature = np.where(better[:, None, None], new_curvature, curvature)
        if moved.max() < TOLERANCE:
            break
        free = ~((best == 0) & (gradient > 0))  # the others stay at their bound
        both = free[:, :, None] & free[:, None, :]
        newton = -np.linalg.solve(
            np.where(both, curvature, np.eye(best.shape[1])), np.where(free, gradient, 0.0)[:, :, None]
        )[:, :, 0]
        step = np.where(better[:, None], newton, step / 2)
    sums = best.sum(axis=1, keepdims=True)
    found[finite] = np.where(sums > 0, best * (priors[finite].sum(axis=1, keepdims=True) / sums), priors[finite])
    return found


class _Problem:
    """Values, gradients and curvatures of the same pairs with several priors and strengths."""

    def __init__(self, x: np.ndarray, importance: np.ndarray, priors: np.ndarray, strengths: np.ndarray) -> None:
        self.x, self.importance, self.priors = x, importance, priors
        n = priors.shape[1]
        self.products = (x[:, :, None] * x[:, None, :]).reshape(len(x), n * n)
        unit = priors / np.linalg.norm(priors, axis=1, keepdims=True)
        along = (SCALE_STRENGTH - strengths)[:, None, None] * unit[:, :, None] * unit[:, None, :]
        self.penalty = strengths[:, None, None] * np.eye(n) + along

    def at(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute them at each row of weights."""
        n, margins = weights.shape[1], weights.astype(np.float32) @ self.x.T
        away = weights - self.priors
        pull = np.einsum("kij,kj->ki", self.penalty, away)
        small = np.exp(-np.abs(margins))
        value = (np.log(1 + small) + np.maximum(-margins, 0)) @ self.importance + (away * pull).sum(axis=1) / 2
        share = np.where(margins > 0, small, 1) / (1 + small)
        slope = share * self.importance
        curvature = ((slope - slope * share) @ self.products).reshape(-1, n, n)
        return value, pull - slope @ self.x, self.penalty + curvature


@njit(cache=True)
def precisions(scores: np.ndarray, relevance: np.ndarray, n_relevant: int) -> np.ndarray:
    """Return average precision of candidates by each row of scores, as `weights.precision_of`."""
    values = np.zeros(len(scores))
    for row in range(len(scores)):
        found = 0
        for rank, item in enumerate(np.argsort(-scores[row], kind="mergesort")):
            if relevance[item] > 0:
                found += 1
                values[row] += found / (rank + 1)
    return values / n_relevant


def check_learner(world: World) -> None:
    """Raise unless the weights equal those of `learn_weights`, on the real judgments."""
    known = world.known[:40]
    system = Simulated("blend+labels", world, known, [world.relevant[row] for row in known])
    for train in (np.arange(len(known)), np.arange(0, len(known), 2)):
        for trained in (False, True):
            examples, queries = system.examples(train, trained=trained)
            prior = np.append(world.prior, [0.0] * trained)
            others = [np.append(world.prior, weight) for weight in RESIDUAL_WEIGHTS] if trained else []
            wanted = learn_weights(examples, prior, others=others)[0]
            np.testing.assert_allclose(learn(examples, queries, prior, others), wanted, atol=0.02, rtol=0.01)
