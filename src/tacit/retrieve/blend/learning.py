"""Learns the weights of a blend from pairs: scores the candidates of judged queries, then calls `retrieve.weights`.

The candidates of a query are the first items by the blend without labels and by every member. Members trained on pairs
fit their training queries too well. They are therefore cross-fitted: a member trained without the query scores its
candidates. There are three ways, depending on the number of queries:

    cross_fitted   five folds of queries, for up to 500 queries
    held_out       one tenth of the queries, for more of them and for links
    unseen         folds by item: neither the query nor its relevant items were in training

Items graded by a program are among the pairs that train members, weighted by the trust in the program. In the
examples these grades are assumed, not judged, so they never decide the choice of weights.

For clicks with a logged order, the other shown items are the negatives. Candidates that were not shown are left out,
because clicks contain no information about them.

Weights learned from links apply to queries as long as whole items. For shorter queries they are mixed with the weights
without labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import ClickedLinks, Links, ProgramLinks
from tacit.retrieve.blend.member import ItemRows, Member, names_of, scores_near
from tacit.retrieve.factors import best_items
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.validation import HeldOut, held_out_queries, hold_out, sampled_queries
from tacit.retrieve.vectors import split_vectors
from tacit.retrieve.weights import N_FOLDS, TrainingQuery, learn_weights

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

N_FIRST_OF_EACH = 50  # candidates taken from the blend and from each member
MAX_CROSS_FITTED = 500  # up to this number of queries, weights are learned from all of them
N_UNSEEN_FOLDS = 3  # folds by item, each held out in turn; only the first with more than MANY_QUERIES
MANY_QUERIES = 5_000
SHORT_SHARE = 0.05  # quantile of linked items' lengths from which learned weights count in full
RESERVE = 1e-3  # weight of BM25 relative to the members that need vectors, if no other member has a weight
HELD_SHARE = 0.1  # share of queries (many, or links) used to learn weights and withheld from training


class Example(NamedTuple):
    """Candidates of one query.

    Attributes
    ----------
    query : TrainingQuery
        Their scores and relevance.
    items : ndarray of shape (n_candidates,), int64
        The candidates.
    leads : ndarray of shape (n_members,), float64
        What each member's share of its weight depends on (`Member.leads`).
    """

    query: TrainingQuery
    items: np.ndarray
    leads: np.ndarray

    def of_clicks(self, excess: np.ndarray) -> Example:
        """Return the example without candidates that were not shown; `excess` covers all items."""
        shown = ~np.isnan(self.query.relevance)
        items, query = self.items[shown], self.query
        query = query._replace(scores=query.scores[shown], relevance=query.relevance[shown], excess=excess[items])
        return self._replace(query=query, items=items)

    def of_program(self, program: ProgramLinks, row: int) -> Example:
        """Return the example with a program's grades as assumed, not judged; `row` is the row of the query."""
        mine = program.take(program.sources == row)
        assumed, trust = np.full(program.n_targets, np.nan), np.zeros(program.n_targets)
        assumed[mine.targets], trust[mine.targets] = mine.weights, mine.trust
        graded, query = ~np.isnan(assumed[self.items]), self.query
        relevance = np.where(graded, np.nan, query.relevance)
        n_relevant = query.n_relevant - len(mine.relevant())
        known = query._replace(relevance=relevance, n_relevant=n_relevant)
        return self._replace(query=known._replace(assumed=assumed[self.items], trust=trust[self.items]))


@dataclass
class Learner:
    """Learns the weights of a blend from the pairs of one `fit`; members trained on pairs are put into the blend.

    Parameters
    ----------
    blend : BlendRanker
        The blend, with the weights without labels.
    items : ItemRows
        Its items.
    data : TrainingData
        Pairs, judged negatives, and queries with their vectors.
    """

    blend: BlendRanker
    items: ItemRows
    data: TrainingData

    def learn(self) -> None:
        """Train and calibrate the members that pairs train, then learn the weights."""
        blend, data = self.blend, self.data
        examples, unseen = self.make()
        members = judged_members(blend, data)
        for place, member in enumerate(members):
            member.calibrate(*(np.array([example.leads[place] for example in part]) for part in (examples, unseen)))
        before, names = {name: blend.weights_.get(name, 0.0) for name in names_of(blend.members_)}, names_of(members)
        prior = np.array([before[name] for name in names])
        tried = {member.name: some for member in reversed(members) if (some := member.tried_weights(data))}
        priors, guard = further_priors(names, prior, tried), scaled(unseen, members)
        by_words = [not member.needs_vectors for member in members]
        learned, strength = learn_weights(scaled(examples, members), prior, blend.strength, priors, guard, by_words)
        blend.strength_ = None if math.isinf(strength) else strength
        if data.queries_are_items:
            self._keep_for_short_queries(before)
        weights = before | dict(zip(names, learned.tolist(), strict=True))
        for member in blend.members_:
            if not member.learns_weight:  # it keeps its share of the sum of the weights
                weights[member.name] = before[member.name] * learned.sum() / prior.sum()
        blend.weights_ = {name: single(weight) for name, weight in weights.items()}
        self._reserve_for_words()

    def _reserve_for_words(self) -> None:
        """Give BM25 a small weight if only members that need vectors have one."""
        members, weights = self.blend.members_, self.blend.weights_
        if not any(weights[member.name] for member in members if member.for_any_query):
            others = sum(weights[member.name] for member in members if member.needs_vectors)
            weights[members[0].name] = single(np.float32(RESERVE) * np.float32(others))

    def _keep_for_short_queries(self, weights: dict[str, float]) -> None:
        """Keep the weights without labels, because weights learned on whole items may not suit short queries."""
        words, _ = split_vectors(sp.csr_array(self.data.queries), self.blend.n_features_)
        lengths = np.diff(words[np.unique(self.data.pairs.sources)].indptr)
        self.blend.short_weights_ = weights
        self.blend.full_length_ = max(1.0, float(np.quantile(lengths, SHORT_SHARE)))

    def make(self) -> tuple[list[Example], list[Example]]:
        """Return the examples of judged queries, and the examples of queries about unseen items."""
        pairs, validation = self.data.pairs, self.data.validation
        n_queries = len(np.unique(pairs.sources))
        if not (self.trainees or self._trained()) or (validation is None and n_queries < 2):
            return self.examples(pairs, None), []
        if validation is None and n_queries >= N_FOLDS and not self.data.queries_are_items:
            unseen = self.unseen(N_UNSEEN_FOLDS if n_queries <= MANY_QUERIES else 1)
            return (self.cross_fitted() if n_queries <= MAX_CROSS_FITTED else self.held_out()), unseen
        return self.held_out(), []

    @cached_property
    def trainees(self) -> list[type[Member]]:
        """Classes of the members that pairs train."""
        return [kind for kind in self.blend.member_kinds() if kind.is_trained(self.blend, self.data)]

    def cross_fitted(self) -> list[Example]:
        """Return examples of all queries, each scored by a member trained without it; then train on all pairs."""
        pairs, examples = self.data.pairs, list[Example]()
        sources = np.unique(pairs.sources)
        folds = np.random.default_rng(self.blend.seed).permutation(len(sources)) % N_FOLDS
        fold_of = folds[np.searchsorted(sources, pairs.sources)]
        for fold in range(N_FOLDS):
            known = pairs.take(fold_of != fold)
            self.train(known, None, f"fold-{fold}")
            examples += self.examples(pairs.take(fold_of == fold), known)
        self.train(pairs, None)
        return examples

    def unseen(self, n_folds: int) -> list[Example]:
        """Return examples scored by a member trained without these queries and without their relevant items."""
        pairs, examples = self.data.pairs, list[Example]()
        folds = folds_by_item(pairs, N_UNSEEN_FOLDS, self.blend.seed)
        for fold in range(n_folds):
            held = pairs.take(folds == fold)
            known = pairs.take((folds != fold) & ~np.isin(pairs.targets, held.targets))
            if len(held) and len(np.unique(known.sources)) > 1:
                self.train(known, None, f"unseen-{fold}")
                examples += self.examples(held, known)
        return examples

    def held_out(self) -> list[Example]:
        """Train on most queries; return examples of the others."""
        pairs, chosen = self.data.pairs, self.data.validation
        known, chosen = hold_out(pairs, HELD_SHARE, self.blend.seed) if chosen is None else (pairs, chosen)
        self.train(known, chosen)
        return self.examples(chosen, known)

    def train(self, pairs: Links, validation: Links | None, part: str = "final") -> None:
        """Train members on some pairs, and replace those in the blend."""
        for kind in self.trainees:
            of_checkpoint = f"{kind.name}-{part}"
            self.blend.put(kind.trained(self.blend, self.items, self.data, pairs, validation, of_checkpoint))

    def examples(self, pairs: Links, known: Links | None) -> list[Example]:
        """Score the candidates of the queries of some pairs; members trained on pairs use `known` alone."""
        if known is None:
            return self._scored(pairs, known)
        trained = self._trained()
        for member in trained:
            self.blend.put(member.on(self.data.pairs, known))
        found = self._scored(pairs, known)
        for member in trained:
            self.blend.put(member)
        return found

    def _trained(self) -> list[Member]:
        return [member for member in self.blend.members_ if member.trains_on_pairs]

    def _scored(self, pairs: Links, known: Links | None) -> list[Example]:
        data, seed = self.data, self.blend.seed
        queries, same = sp.csr_array(data.queries), data.queries_are_items
        held = held_out_queries(queries, pairs, known, queries_are_items=same, seed=seed, zeros=data.zeros)
        found = [example for block in held.blocks() for example in self._of_block(block)]
        if isinstance(pairs, ClickedLinks) and pairs.shown.ordered:
            excess = self._excess()[sampled_queries(pairs, seed=seed)]
            return [example.of_clicks(excess[[row]].toarray().ravel()) for row, example in enumerate(found)]
        if data.program is not None:
            rows = sampled_queries(pairs, seed=seed).tolist()
            return [example.of_program(data.program, row) for row, example in zip(rows, found, strict=True)]
        return found

    def _excess(self) -> sp.csr_array:
        """Return the clicks in excess of other items at the same rank, queries by items."""
        shown = self.data.pairs.shown
        shape = (self.data.pairs.n_sources, self.data.pairs.n_targets)
        return sp.csr_array((shown.excess(), (shown.queries, shown.items)), shape=shape)

    def _of_block(self, held: HeldOut) -> Iterator[Example]:
        blend, members = self.blend, judged_members(self.blend, self.data)
        block = blend.query_block(sp.csr_array(held.queries), held.excluded)
        leads, scores = list[np.ndarray](), list[np.ndarray]()
        for member in members:
            own = member.scores(block)
            near = scores_near(own, block.candidates)
            leads.append(member.leads(near, block.candidates))
            scores.append(member.factors(block, near)[:, None] * own)
        prior = [np.float32(blend.weights_.get(member.name, 0.0)) for member in members]
        total = sum((weight * part for weight, part in zip(prior, scores, strict=True)), np.zeros_like(scores[0]))
        firsts = [best_items(part, held.excluded, N_FIRST_OF_EACH)[0] for part in (total, *scores)]
        for row in range(len(total)):
            items = np.unique(np.concatenate([first[row] for first in firsts]))
            yield _example(items[items >= 0], scores, held, row, np.array([part[row] for part in leads]))


def _example(items: np.ndarray, scores: Sequence[np.ndarray], held: HeldOut, row: int, leads: np.ndarray) -> Example:
    relevant, zeros = (part[[row]].toarray().ravel() for part in (held.relevant, held.zeros))
    candidates = np.stack([part[row, items].astype(np.float64) for part in scores], axis=1)
    relevance = np.where((relevant > 0) | zeros, relevant, np.nan)[items]
    return Example(TrainingQuery(candidates, relevance, int(np.count_nonzero(relevant))), items, leads)


def judged_members(blend: BlendRanker, data: TrainingData) -> list[Member]:
    """Return the members whose weights are learned; members that need vectors only if the queries have vectors."""
    joined = data.queries.shape[1] > blend.n_features_
    learned = [member for member in blend.members_ if member.learns_weight]
    return [member for member in learned if joined or not member.needs_vectors]


def scaled(examples: Sequence[Example], members: Sequence[Member]) -> list[TrainingQuery]:
    """Return the queries of some examples, with the scores of each member multiplied by its share."""
    leads = np.array([example.leads for example in examples]).reshape(-1, len(members))
    shares = np.stack([member.share(part) for member, part in zip(members, leads.T, strict=True)], axis=1)
    queries = [example.query for example in examples]
    return [query._replace(scores=query.scores * row) for query, row in zip(queries, shares, strict=True)]


def folds_by_item(pairs: Links, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each pair; queries with the same most frequent relevant item share a fold.

    >>> pairs = Links(np.array([0, 1, 2, 2, 3]), np.array([5, 5, 4, 5, 6]), 4, 7)
    >>> folds_by_item(pairs, 2, seed=0).tolist()
    [0, 0, 0, 0, 1]
    """
    frequency = np.bincount(pairs.targets)
    order = np.lexsort((pairs.targets, -frequency[pairs.targets], pairs.sources))
    sources, first = np.unique(pairs.sources[order], return_index=True)
    items, number = np.unique(pairs.targets[order][first], return_inverse=True)
    folds = np.random.default_rng(seed).permutation(len(items)) % n_folds
    return folds[number][np.searchsorted(sources, pairs.sources)]


def further_priors(names: Sequence[str], prior: np.ndarray, tried: Mapping[str, Sequence[float]]) -> list[np.ndarray]:
    """Return priors in which members trained on labels have a weight, separately and together.

    >>> [found.tolist() for found in further_priors(["bm25", "similar"], np.array([1.0, 0.0]), {"similar": [2.0, 4.0]})]
    [[1.0, 2.0], [1.0, 4.0]]
    """
    places = [names.index(name) for name in tried if name in names]
    found = list[np.ndarray]()
    for weights in product(*((0.0, *tried[names[place]]) for place in places)):
        if any(weights):
            found.append(prior.copy())
            found[-1][places] = weights
    return found


def some_queries(program: ProgramLinks, pairs: Links, seed: int) -> ProgramLinks:
    """Return the grades of queries with pairs, and of as many other queries as can be cross-fitted."""
    judged = np.unique(pairs.sources)
    others = np.setdiff1d(program.relevant().sources, judged)
    n_others = max(0, MAX_CROSS_FITTED - len(judged))
    if len(others) > n_others:
        others = np.random.default_rng(seed).choice(others, n_others, replace=False)
    return program.take(np.isin(program.sources, np.concatenate([judged, others])))


def single(weight: float | np.floating) -> float:
    """Return a weight rounded to float32, as stored in a model folder."""
    return float(np.float32(weight))
