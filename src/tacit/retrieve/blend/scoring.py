"""Scores of a fitted blend: all items, the candidates of approximate search, or some items by each member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, check_features
from tacit.features.text.weighting import weigh
from tacit.retrieve.approximate import QueryTerms, find_candidates, query_terms, score_items
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.blend.feedback import expand_queries
from tacit.retrieve.blend.members import MEMBERS, N_CANDIDATES, MemberScores, best_items, scaled
from tacit.retrieve.blend.vectors import split_vectors
from tacit.retrieve.explanation import Term, difference, sparse_row, word_terms
from tacit.retrieve.factors import ItemFactors, factor_scores
from tacit.retrieve.latent.reconstruction import LearnedConcepts
from tacit.retrieve.lexical.bm25 import Bm25Ranker
from tacit.retrieve.lexical.cosine import CosineRanker
from tacit.retrieve.margin.embedding import EmbeddingRanker


class BlendScores(CollectionRanker):
    """The part of `BlendRanker` that scores, from its members and their weights."""

    n_feedback: int
    n_expansion: int
    half_length: float
    bm25_: Bm25Ranker
    latent_: LearnedConcepts | None
    title_: Bm25Ranker | None
    residual_: EmbeddingRanker | None
    vectors_: CosineRanker | None
    weights_: np.ndarray
    residual_length_: float
    idf_: np.ndarray

    def _has(self, name: str) -> bool:
        return name == "feedback" or getattr(self, f"{name}_") is not None

    @property
    def vectors_dim(self) -> int:
        """Dimensions of the vectors of the items; 0 if none were given."""
        return 0 if self.vectors_ is None else self.vectors_.n_features_

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
            yield scaled(name, scores, candidates[:, :N_CANDIDATES], n_words, self._half_length(name))

    def _half_length(self, name: str) -> float:
        return {"bm25": 0.0, "title": 0.0, "residual": self.residual_length_}.get(name, self.half_length)

    def _feedback_scores(self, best: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Scores by the words of the best items."""
        n_best = self.n_feedback
        words = expand_queries(self.bm25_.weights_, self._norms, best[:, :n_best], scores[:, :n_best], self.n_expansion)
        return factor_scores(self.bm25_._item_factors[0], words)

    def _member_rows(self, name: str, rows: sp.csr_array, vectors: np.ndarray | None = None) -> Features:
        """Queries as a member reads them: counts, logarithmic tf-idf (latent), tf-idf (residual) or vectors."""
        if name == "vectors" and vectors is not None:
            return vectors
        return rows if name == "title" else weigh(rows, self.idf_, "log" if name == "latent" else "raw")

    @cached_property
    def _norms(self) -> np.ndarray:
        """Lengths of the rows of BM25 weights."""
        weights = self.bm25_.weights_
        return np.sqrt(np.asarray(weights.multiply(weights).sum(axis=1), np.float64).ravel())

    @property
    def _used(self) -> list[str]:
        return [name for name, weight in zip(MEMBERS, self.weights_, strict=True) if weight]

    def _scores(self, rows: Features, skip: sp.csr_array | None = None) -> np.ndarray:
        parts = self._member_scores(sp.csr_array(rows), skip, self._used)
        total: np.ndarray | None = None
        for name, scores, factors in parts:
            scores *= (self.weights_[MEMBERS.index(name)] * factors)[:, None]  # nobody else has these arrays
            total = scores if total is None else np.add(total, scores, out=total)
        assert total is not None  # a blend without any weight is refused
        return total

    def _rankers_by_vectors(self) -> list[CollectionRanker]:
        return [getattr(self, f"{name}_") for name in ("latent", "residual", "vectors") if name in self._used]

    def _score_candidates(self, row: Features, skip: sp.csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Items that some member finds, and their weighted sums."""
        rows, vectors = split_vectors(sp.csr_array(row), self.n_features_)
        vectors = vectors if vectors is not None and vectors.any() else None
        names, n_best = _asked(self._used, vectors), max(N_CANDIDATES, k)
        first, n_words = self.bm25_._scores(rows), np.diff(rows.indptr).astype(np.float64)
        best, best_scores = best_items(first, skip, max(N_CANDIDATES, self.n_feedback))
        terms, found = dict[str, QueryTerms](), [best[best >= 0]]
        for name in names:
            terms[name] = self._query_terms(name, rows, vectors, first, best, best_scores)
            found.append(find_candidates(getattr(self, f"{name}_", self.bm25_), terms[name], n_best))
        candidates = np.unique(np.concatenate(found))
        places = np.searchsorted(candidates, best[best >= 0][:N_CANDIDATES])[None]
        totals = np.zeros(len(candidates), np.float32)
        for name in names:
            scores = score_items(getattr(self, f"{name}_", self.bm25_), terms[name], candidates)
            factors = scaled(name, scores[None], places, n_words, self._half_length(name)).factors
            totals += scores * self.weights_[MEMBERS.index(name)] * factors[0]
        return candidates, totals

    def _query_terms(
        self,
        name: str,
        rows: sp.csr_array,
        vectors: np.ndarray | None,
        first: np.ndarray,
        best: np.ndarray,
        best_scores: np.ndarray,
    ) -> QueryTerms:
        """What a member knows of one query: scores by words, and a vector."""
        if name == "bm25":
            return QueryTerms(first, None)
        if name == "feedback":
            return QueryTerms(self._feedback_scores(best, best_scores), None)
        return query_terms(getattr(self, f"{name}_"), self._member_rows(name, rows, vectors))

    def member_scores_at(
        self, row: sp.csr_array, items: np.ndarray, names: Sequence[str] = MEMBERS
    ) -> dict[str, np.ndarray]:
        """Scores of the fitted members among `names` for one query and some items, in the common unit, float32."""
        rows, vectors = split_vectors(sp.csr_array(row), self.n_features_)
        found = dict[str, np.ndarray]()
        first, n_words = self.bm25_._scores(rows), np.diff(rows.indptr).astype(np.float64)
        best, best_scores = best_items(first, None, max(N_CANDIDATES, self.n_feedback))
        known = best[best >= 0][:N_CANDIDATES]
        for name in _asked(filter(self._has, names), vectors):
            terms = self._query_terms(name, rows, vectors, first, best, best_scores)
            at = score_items(getattr(self, f"{name}_", self.bm25_), terms, np.concatenate([known, items]))
            factors = scaled(name, at[None], np.arange(len(known))[None], n_words, self._half_length(name)).factors
            found[name] = factors[0] * at[len(known) :]
        return found

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return self.bm25_._item_factors

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        raise AssertionError("scores of a blend are no sum of fixed factors")

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        """Terms of each member, with its name; those of `feedback` are words of the first answers."""
        row, terms = sp.csr_array(query), list[Term]()
        for member in self._member_scores(row, None, self._used):
            factor = float(self.weights_[MEMBERS.index(member.name)]) * float(member.factors[0])
            found = self._terms_of(member.name, row, a, b)
            terms += [term._replace(value=factor * term.value, member=member.name) for term in found]
        return terms

    def _terms_of(self, name: str, row: sp.csr_array, a: int, b: int | None) -> list[Term]:
        row, vectors = split_vectors(row, self.n_features_)
        if name == "vectors" and vectors is not None and self.vectors_ is not None:
            return [Term("vector", -1, -1, float(difference(self.vectors_.items_, a, b) @ vectors[0]))]
        if name == "feedback":
            best, scores = best_items(self.bm25_._scores(row), None, self.n_feedback)
            words = expand_queries(self.bm25_.weights_, self._norms, best, scores, self.n_expansion)
            return word_terms(*sparse_row(words), difference(self.bm25_.weights_, a, b))
        member: CollectionRanker = getattr(self, f"{name}_")
        return member._terms(row if name == "bm25" else self._member_rows(name, row), a, b)

    def _forget_factors(self) -> None:
        super()._forget_factors()
        self.__dict__.pop("_norms", None)


def _asked(names: Iterable[str], vectors: np.ndarray | None) -> list[str]:
    """The members that answer: without vectors of the queries all but `vectors`."""
    return [name for name in names if name != "vectors" or vectors is not None]
