"""How a blend learns from pairs: the member `residual` where there are enough, then the weights of all members."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import ClickedLinks, Links
from tacit.features.text.weighting import weigh
from tacit.retrieve.blend.gate import fit_gate
from tacit.retrieve.blend.members import MEMBERS, N_CANDIDATES, MemberScores, best_items, scores_near
from tacit.retrieve.blend.scoring import BlendScores
from tacit.retrieve.blend.training import N_FOLDS, TrainingQuery, gated, learn_weights, training_queries
from tacit.retrieve.blend.vectors import split_vectors
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.validation import HeldOut, held_out_queries, hold_out, sampled_queries

MIN_PAIRS = 200  # pairs that train `residual`
MAX_CROSS_FITTED = 500  # queries up to which weights are learned from all of them, each scored by a member without it
N_UNSEEN_FOLDS = 3  # parts of the queries, by item, that are held out in turn; of more than MANY queries only the first
MANY = 5_000
HELD_SHARE = 0.1  # share of more queries, or of links, that weights are learned from and that `residual` does not see
RESIDUAL_WEIGHTS = (2.0, 4.0, 8.0, 16.0)  # of `residual` beside the weights without labels, as priors to choose from
LINK_WEIGHTS = (*RESIDUAL_WEIGHTS, 32.0)  # the same for links, which train it best
SHORTEST = 0.05  # share of linked items that are shorter than a query for which learned weights count in full
RESERVE = 1e-3  # part of the weight of `vectors` that BM25 has at least, where the others have none


class BlendLearning(BlendScores):
    """The part of `BlendRanker` that learns from pairs."""

    dim: int
    strength: float | None
    residual: bool | None
    seed: int
    threads: int | None
    strength_: float | None
    _zeros: Links | None  # during `fit`
    _excess: sp.csr_array | None = None  # clicks beyond those of other items at the same rank, queries by items

    def _learn(self, queries: sp.csr_array, counts: sp.csr_array, pairs: Links, validation: Links | None) -> None:
        """Train the member `residual` where there are pairs enough, then the weights."""
        n_queries, unseen = len(np.unique(pairs.sources)), list[TrainingQuery]()
        if isinstance(pairs, ClickedLinks):
            shown, shape = pairs.shown, (pairs.n_sources, pairs.n_targets)
            self._excess = sp.csr_array((shown.excess(), (shown.queries, shown.items)), shape=shape)
        wanted = self._queries_are_items or len(pairs) >= MIN_PAIRS if self.residual is None else self.residual
        if not wanted or (validation is None and n_queries < 2):
            examples = self._examples(queries, pairs, None)
        elif validation is None and n_queries >= N_FOLDS and not self._queries_are_items:
            unseen = self._about_unseen_items(queries, counts, pairs, N_UNSEEN_FOLDS if n_queries <= MANY else 1)
            learn = self._cross_fitted if n_queries <= MAX_CROSS_FITTED else self._held_out
            examples = learn(queries, counts, pairs)
        else:
            examples = self._held_out(queries, counts, pairs, validation)
        names = self._judged_members(queries)
        if unseen:
            self.gate_ = fit_gate([query.lead for query in examples], [query.lead for query in unseen])
            examples, unseen = (gated(part, self.gate_, names.index("residual")) for part in (examples, unseen))
        present = [MEMBERS.index(name) for name in names]
        prior = self.weights_[present].astype(np.float64)
        tried = LINK_WEIGHTS if self._queries_are_items else RESIDUAL_WEIGHTS
        others = [np.where(np.array(names) == "residual", weight, prior) for weight in tried]
        others = others if "residual" in names else []
        learned, strength = learn_weights(examples, prior, self.strength, others, unseen)
        self.strength_ = None if math.isinf(strength) else strength
        if self._queries_are_items:
            self._keep_for_short_queries(queries, pairs)
        self.weights_[present] = learned
        if not self.weights_[:-1].any():  # a query without a vector is to have answers
            self.weights_[0] = RESERVE * self.weights_[-1]

    def _keep_for_short_queries(self, queries: sp.csr_array, pairs: Links) -> None:
        """Keep the weights without labels: what whole items taught about the weights says little of a few words."""
        words, _ = split_vectors(queries, self.n_features_)
        lengths = np.diff(words[np.unique(pairs.sources)].indptr)
        self.short_weights_ = self.weights_.copy()
        self.full_length_ = max(1.0, float(np.quantile(lengths, SHORTEST)))

    def _judged_members(self, queries: sp.csr_array) -> list[str]:
        """Members whose weight is learned: without vectors of the queries all but `vectors`."""
        joined = queries.shape[1] > self.n_features_
        return [name for name in MEMBERS if self._has(name) and (joined or name != "vectors")]

    def _cross_fitted(self, queries: sp.csr_array, counts: sp.csr_array, pairs: Links) -> list[TrainingQuery]:
        """Examples of all queries, each scored by a member that was trained without it; then train on all pairs."""
        sources = np.unique(pairs.sources)
        folds = np.random.default_rng(self.seed).permutation(len(sources)) % N_FOLDS
        fold_of = folds[np.searchsorted(sources, pairs.sources)]
        examples = list[TrainingQuery]()
        for fold in range(N_FOLDS):
            known = pairs.take(fold_of != fold)
            self._fit_residual(queries, counts, known, None, f"residual-{fold}")
            examples += self._examples(queries, pairs.take(fold_of == fold), known)
        self._fit_residual(queries, counts, pairs, None)
        return examples

    def _about_unseen_items(
        self, queries: sp.csr_array, counts: sp.csr_array, pairs: Links, n_folds: int
    ) -> list[TrainingQuery]:
        """Examples of queries scored by a member that was trained without them and without their relevant items."""
        folds, examples = folds_by_item(pairs, N_UNSEEN_FOLDS, self.seed), list[TrainingQuery]()
        for fold in range(n_folds):
            held = pairs.take(folds == fold)
            known = pairs.take((folds != fold) & ~np.isin(pairs.targets, held.targets))
            if len(held) and len(np.unique(known.sources)) > 1:
                self._fit_residual(queries, counts, known, None, f"unseen-{fold}")
                examples += self._examples(queries, held, known)
        return examples

    def _held_out(
        self, queries: sp.csr_array, counts: sp.csr_array, pairs: Links, validation: Links | None = None
    ) -> list[TrainingQuery]:
        """Train on most queries; examples of the others."""
        known, chosen = hold_out(pairs, HELD_SHARE, self.seed) if validation is None else (pairs, validation)
        self._fit_residual(queries, counts, known, chosen)
        return self._examples(queries, chosen, known)

    def _examples(self, queries: sp.csr_array, pairs: Links, known: Links | None) -> list[TrainingQuery]:
        """Candidates of the queries of some pairs, scored by the members as they are now."""
        same = self._queries_are_items
        held = held_out_queries(queries, pairs, known, queries_are_items=same, seed=self.seed, zeros=self._zeros)
        names = self._judged_members(queries)
        prior = self.weights_[[MEMBERS.index(name) for name in names]]
        found = list[TrainingQuery]()
        for block in held.blocks():
            members = list(self._member_scores(sp.csr_array(block.queries), block.excluded, names))
            found += training_queries(members, prior, block, self._leads_of(members, block))
        if isinstance(pairs, ClickedLinks) and pairs.shown.ordered:
            assert self._excess is not None
            excess = self._excess[sampled_queries(pairs, seed=self.seed)]
            return [query.of_clicks(excess[[row]].toarray().ravel()) for row, query in enumerate(found)]
        return found

    def _leads_of(self, members: Sequence[MemberScores], block: HeldOut) -> np.ndarray:
        """Leads of some queries, for the gate of `residual`; infinite without that member."""
        scores = {member.name: member.scores for member in members}
        if "residual" not in scores:
            return np.full(len(members[0].scores), math.inf)
        near, _ = best_items(scores["bm25"], block.excluded, N_CANDIDATES)
        return self._leads(scores_near(scores["residual"], near), near)

    def _fit_residual(
        self,
        queries: sp.csr_array,
        counts: sp.csr_array,
        pairs: Links,
        validation: Links | None,
        part: str = "residual",
    ) -> None:
        words, _ = split_vectors(queries, self.n_features_)
        asking, rows = weigh(words, self.idf_), weigh(counts, self.idf_)
        member = EmbeddingRanker(self.dim, items="residual", gamma=1.0, seed=self.seed, threads=self.threads)
        how: dict[str, Any] = {"queries_are_items": self._queries_are_items, "checkpoint": self._part(part)}
        self.residual_ = member.fit(asking, rows, pairs, validation, **how)
        self.named_ = np.zeros(counts.shape[0], np.float32)
        self.named_[pairs.targets] = 1
        lengths = np.diff(words[np.unique(pairs.sources)].indptr)
        self.residual_length_ = max(1.0, float(np.median(lengths)))


def folds_by_item(pairs: Links, n_folds: int, seed: int) -> np.ndarray:
    """Fold of each pair; queries with the same most frequent relevant item are in one fold.

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
