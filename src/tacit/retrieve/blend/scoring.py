"""Scores of a fitted blend: all items, or some items by each member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, check_features
from tacit.features.text.weighting import weigh
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.blend.asked import keys_of, place_among
from tacit.retrieve.blend.feedback import expand_query
from tacit.retrieve.blend.gate import leads, probability
from tacit.retrieve.blend.members import (
    MEMBERS,
    N_CANDIDATES,
    AskedMember,
    BlendQuery,
    FirstItems,
    MemberScores,
    best_items,
    deviations,
    scores_near,
    trust,
)
from tacit.retrieve.blend.pruning import PRUNED_FROM, rank_row
from tacit.retrieve.blend.vectors import split_vectors
from tacit.retrieve.explanation import Term, difference, word_terms
from tacit.retrieve.factors import FactorPair, ItemFactors, SparseFactors, Words, factor_scores, scores_at, word_rows
from tacit.retrieve.latent.reconstruction import LearnedConcepts
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.lexical.cosine import CosineRanker
from tacit.retrieve.margin.embedding import EmbeddingRanker


class BlendScores(CollectionRanker):
    """The part of `BlendRanker` that scores, from its members and their weights."""

    n_feedback: int
    n_expansion: int
    half_length: float
    n_candidates: int | None
    threads: int | None
    bm25_: Bm25Ranker
    latent_: LearnedConcepts | None
    title_: Bm25Ranker | None
    residual_: EmbeddingRanker | None
    vectors_: CosineRanker | None
    weights_: np.ndarray
    short_weights_: np.ndarray | None
    full_length_: float | None
    residual_length_: float
    named_: np.ndarray | None
    gate_: np.ndarray | None
    asked_: sp.csr_array | None
    clicked_: sp.csr_array | None
    idf_: np.ndarray

    def _has(self, name: str) -> bool:
        return name == "feedback" or getattr(self, f"{name}_") is not None

    @property
    def vectors_dim(self) -> int:
        """Dimensions of the vectors of the items; 0 if none were given."""
        return 0 if self.vectors_ is None else self.vectors_.n_features_

    @property
    def uses_vectors(self) -> bool:
        """Whether the member `vectors` has a weight."""
        return "vectors" in self._used

    def _check_queries(self, queries: Features) -> Features:
        """Rows of word counts, with or without vectors beside them (`join_vectors`)."""
        width = self.n_features_ + self.vectors_dim
        joined = np.shape(queries)[1:] == (width,)
        return check_features("queries", queries, n_columns=width if joined else self.n_features_)

    def _member_scores(
        self, rows: sp.csr_array, skip: sp.csr_array | None, names: Sequence[str]
    ) -> Iterator[MemberScores]:
        """Scores of the named members, each with its factors, bm25 first; all scores exist for one block at a time."""
        rows, vectors = split_vectors(rows, self.n_features_)
        first, n_words = self.bm25_._scores(rows), np.diff(rows.indptr).astype(np.float64)
        candidates, best = best_items(first, skip, max(N_CANDIDATES, self.n_feedback))
        for name in _asked(names, vectors):
            if name == "bm25":
                scores = first
            elif name == "feedback":
                scores = self._feedback_scores(candidates, best)
            else:
                scores = getattr(self, f"{name}_")._scores(self._member_rows(name, rows, vectors))
            near = candidates[:, :N_CANDIDATES]
            at_near = scores_near(scores, near)
            shares = self._trust(name, n_words)
            if name == "residual" and self.gate_ is not None:
                shares = shares * probability(self._leads(at_near, near), self.gate_)
            yield MemberScores(name, scores, (shares / deviations(at_near, near >= 0)).astype(np.float32))

    def _trust(self, name: str, n_words: Any) -> Any:
        """Part of its weight that a member has by the length of one or many queries."""
        if name in ("bm25", "title"):
            return trust(name, n_words, 0.0)
        return trust(name, n_words, self.residual_length_ if name == "residual" else self.half_length)

    def _leads(self, scores: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """By how much `residual` scores the best named candidate of each query higher than the best other one."""
        assert self.named_ is not None
        return leads(scores, self.named_[candidates] > 0, candidates >= 0)

    def _feedback_scores(self, best: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Scores by the words of the best items."""
        words = [self._expansion(*query) for query in zip(best, scores, strict=True)]
        return factor_scores(self.bm25_._item_factors[0], word_rows(words, self.n_features_))

    def _expansion(self, best: np.ndarray, scores: np.ndarray) -> Words:
        """Words of the best items of one query."""
        n_best = self.n_feedback
        return expand_query(self.bm25_.weights_, best[:n_best], scores[:n_best], self.n_expansion)

    def _member_rows(self, name: str, rows: sp.csr_array, vectors: np.ndarray | None = None) -> Features:
        """Queries as a member reads them: counts, logarithmic tf-idf (latent), tf-idf (residual) or vectors."""
        if name == "vectors" and vectors is not None:
            return vectors
        return rows if name == "title" else weigh(rows, self.idf_, "log" if name == "latent" else "raw")

    @property
    def _used(self) -> list[str]:
        weights = self.weights_ if self.short_weights_ is None else self.weights_ + self.short_weights_
        return [name for name, weight in zip(MEMBERS, weights, strict=True) if weight]

    def _weights(self, name: str, n_words: Any) -> Any:
        """Weights of a member for queries of so many words, float32; one number where it is the same for all."""
        place = MEMBERS.index(name)
        if self.short_weights_ is None or self.full_length_ is None:
            return self.weights_[place]
        share = np.minimum(n_words / self.full_length_, 1).astype(np.float32)
        return (1 - share) * self.short_weights_[place] + share * self.weights_[place]

    def _scores(self, rows: Features, skip: sp.csr_array | None = None) -> np.ndarray:
        given = sp.csr_array(rows)
        n_words = np.diff(split_vectors(given, self.n_features_)[0].indptr)
        total: np.ndarray | None = None
        for name, scores, factors in self._member_scores(given, skip, self._used):
            scores *= (self._weights(name, n_words) * factors)[:, None]  # nobody else has these arrays
            total = scores if total is None else np.add(total, scores, out=total)
        assert total is not None  # a blend without any weight is refused
        if self.clicked_ is not None:
            words, _ = split_vectors(given, self.n_features_)
            for number, row in enumerate(total):
                known = self._known(one_row(words, number))
                if known is not None:
                    row += scores_at([known], np.arange(self.n_items_))
        return total

    def _known(self, words: sp.csr_array) -> FactorPair | None:
        """What clicks add to the scores of a query, as a product; None if it was not asked before."""
        place = None if self.clicked_ is None else place_among(self._place_of, words)
        return None if place is None or not len(place.indices) else (self._clicked_factors, place)

    @cached_property
    def _place_of(self) -> dict[bytes, int]:
        """Places of the queries that were asked before."""
        return {} if self.asked_ is None else {key: place for place, key in enumerate(keys_of(self.asked_))}

    @cached_property
    def _clicked_factors(self) -> SparseFactors:
        assert self.clicked_ is not None
        return SparseFactors(self.clicked_.tocsc(), self.clicked_)

    def _forget_factors(self) -> None:
        super()._forget_factors()
        for name in ("_place_of", "_clicked_factors"):
            self.__dict__.pop(name, None)

    def _rankers_by_vectors(self) -> list[CollectionRanker]:
        return [getattr(self, f"{name}_") for name in ("latent", "residual", "vectors") if name in self._used]

    def _rank_rows(self, rows: Features, skip: sp.csr_array, items: np.ndarray, scores: np.ndarray) -> None:
        """Fill items and scores (n_rows, k) with the best items of each query."""
        few = self.n_items_ < PRUNED_FROM * max(10, items.shape[1])
        if few and self.n_candidates is None and not self.graphs:
            super()._rank_rows(rows, skip, items, scores)
            return
        words, vectors = split_vectors(rows if sp.issparse(rows) else sp.csr_array(rows), self.n_features_)
        for row in range(rows.shape[0]):
            query = BlendQuery(one_row(words, row), None if vectors is None else vectors[[row]])
            rank_row(self, query, one_row(skip, row), items[row], scores[row])

    def _first_items(self, words: sp.csr_array, skip: sp.csr_array | None, n_first: int) -> FirstItems:
        """At least as many first items by BM25 as the other members need."""
        all_scores = self.bm25_._scores(words)
        return FirstItems(all_scores, *best_items(all_scores, skip, max(N_CANDIDATES, self.n_feedback, n_first)))

    def _asked_members(
        self, query: BlendQuery, names: Sequence[str], first: FirstItems, items: np.ndarray | None = None
    ) -> list[AskedMember]:
        """Members for one query, with their scores at the first items by BM25 (item 0 for -1) and at other items."""
        at = np.maximum(first.items[0], 0)
        at = at if items is None else np.concatenate([at, items])
        names = _asked(names, query.vectors)
        pairs = [self._pairs(name, query, first) for name in names]
        scores = np.empty((len(names), len(at)), np.float32)
        for number, name in enumerate(names):
            scores[number] = first.all_scores[0, at] if name == "bm25" else scores_at(pairs[number], at)
        near = first.items[:, :N_CANDIDATES]
        at_near = scores[:, : near.shape[1]]
        shares = np.array([self._trust(name, query.words.nnz) for name in names])
        if "residual" in names and self.gate_ is not None:
            place = names.index("residual")
            shares[place] *= probability(self._leads(at_near[[place]], near), self.gate_)[0]
        factors = (shares / deviations(at_near, near >= 0)).astype(np.float32)
        return [AskedMember(*member) for member in zip(names, pairs, scores, factors, strict=True)]

    def _pairs(self, name: str, query: BlendQuery, first: FirstItems) -> list[FactorPair]:
        """What the scores of a member for one query are products of."""
        if name in ("bm25", "feedback"):
            words = query.words if name == "bm25" else self._expansion(first.items[0], first.scores[0])
            return [(self.bm25_._item_factors[0], words)]
        member: CollectionRanker = getattr(self, f"{name}_")
        return list(zip(member._item_factors, member._query_factors(self._member_rows(name, *query)), strict=True))

    def member_scores_at(
        self, row: sp.csr_array, items: np.ndarray, names: Sequence[str] = MEMBERS
    ) -> dict[str, np.ndarray]:
        """Scores of the fitted members among `names` for one query and some items, in the common unit, float32."""
        query = BlendQuery(*split_vectors(sp.csr_array(row), self.n_features_))
        first = self._first_items(query.words, None, 0)
        members = self._asked_members(query, [name for name in names if self._has(name)], first, items)
        return {member.name: member.factor * member.scores[first.items.shape[1] :] for member in members}

    def scores_at(self, row: sp.csr_array, items: np.ndarray) -> np.ndarray:
        """Scores of some items for one query, float64, without what clicks add."""
        n_words = split_vectors(row, self.n_features_)[0].nnz
        found = self.member_scores_at(row, items, self._used)
        total = np.zeros(len(items))
        for name, scores in found.items():
            total += float(self._weights(name, n_words)) * scores
        return total

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return self.bm25_._item_factors

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        raise AssertionError("scores of a blend are no sum of fixed factors")

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        """Terms of each member, with its name; those of `feedback` are words of the first answers."""
        row, terms = sp.csr_array(query), list[Term]()
        n_words = split_vectors(row, self.n_features_)[0].nnz
        for member in self._member_scores(row, None, self._used):
            factor = float(self._weights(member.name, n_words)) * float(member.factors[0])
            found = self._terms_of(member.name, row, a, b)
            terms += [term._replace(value=factor * term.value, member=member.name) for term in found]
        known = self._known(split_vectors(row, self.n_features_)[0])
        gains = [] if known is None else scores_at([known], np.array([a] if b is None else [a, b])).tolist()
        change = sum(sign * gain for sign, gain in zip((1.0, -1.0), gains, strict=False))
        return [*terms, Term("clicks", -1, -1, change)] if change else terms

    def _terms_of(self, name: str, row: sp.csr_array, a: int, b: int | None) -> list[Term]:
        row, vectors = split_vectors(row, self.n_features_)
        if name == "vectors" and vectors is not None and self.vectors_ is not None:
            return [Term("vector", -1, -1, float(difference(self.vectors_.items_, a, b) @ vectors[0]))]
        if name == "feedback":
            best, scores = best_items(self.bm25_._scores(row), None, self.n_feedback)
            words = self._expansion(best[0], scores[0])
            return word_terms(words.indices, words.data.astype(np.float64), difference(self.bm25_.weights_, a, b))
        member: CollectionRanker = getattr(self, f"{name}_")
        return member._terms(row if name == "bm25" else self._member_rows(name, row), a, b)


def _asked(names: Iterable[str], vectors: np.ndarray | None) -> list[str]:
    """The members that answer: without vectors of the queries all but `vectors`."""
    return [name for name in names if name != "vectors" or vectors is not None]


def one_row(matrix: sp.csr_array, row: int) -> sp.csr_array:
    """One row as a matrix."""
    return matrix if matrix.shape[0] == 1 else matrix[[row]]
