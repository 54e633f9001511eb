"""Member `vectors`: cosine similarity of vectors of another model.

    score(i) = u . (v_i - c),    c = mean of all v_i

u is the vector of the query and v_i the vector of item i, all of length 1. The score is the cosine minus its mean over
the items of `fit`. An item of several passages scores by its best passage. Subtracting the mean changes no ranking; an
item without a vector scores 0, and so ranks like an average item.

`vector_weight` determines the weight without labels from scores that are computed here (`measure_items`,
`measure_probes`). Without an encoder each query is also checked when it is asked. If labelled queries have vectors, the
weight is multiplied by their mean share instead, and then learned.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError
from tacit.core.estimator import copy_estimator
from tacit.features.text.weighting import weigh
from tacit.retrieve.approximate import NeighborGraph
from tacit.retrieve.blend.embeddings import LatentMember
from tacit.retrieve.blend.member import ItemRows, Member, QueryBlock, scores_near
from tacit.retrieve.blend.vector_weight import (
    TRIED,
    ByItems,
    ByProbes,
    Evidence,
    ItemTrial,
    ProbeTrial,
    agreement,
    full_agreement,
    heights,
    reciprocal_ranks,
    scores_by_halves,
)
from tacit.retrieve.blend.words import Bm25Member
from tacit.retrieve.explanation import Term
from tacit.retrieve.factors import DenseFactors, FactorPair, PassageFactors, best_items, factor_scores, scores_at
from tacit.retrieve.training_data import FEWEST_PROBES, Probes, TrainingData
from tacit.retrieve.vectors import join_vectors, spread_rows

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

N_PROBES = 100  # items used as queries for neighbours
N_NEAREST = 10  # first items by BM25 that the vectors of their query are compared with


class VectorsMember(Member):
    """Cosine similarity of given vectors.

    Attributes
    ----------
    vectors_ : ndarray of shape (n_passages, dim_of_vectors), float16
        Vectors of length 1, grouped by item.
    passages_ : ndarray of shape (n_items + 1,), int64, or None
        Offset of the first vector of each item; None means one vector for each item.
    centre_ : ndarray of shape (dim_of_vectors,), float32
        Mean of the vectors in `fit`.
    earned_ : float or None
        The measured weight without labels; None if the weight was given.
    agreeing_ : float or None
        Cosine of a query's vector and the mean vector of its first items by BM25 from which its vector counts in full;
        None means that all query vectors do, because the weight was measured with such vectors or given.
    is_judged_ : bool
        Whether labels came with query vectors. Then the mean share of these queries lowers the weight, in place of a
        check of each query.
    """

    _fitted: ClassVar = {
        "vectors_": "passages dimensions",
        "passages_": "?borders",
        "centre_": "dimensions",
        "graph_": "?estimator",
        "earned_": "?",
        "agreeing_": "?+",
        "is_judged_": "?",
    }
    _array_dtypes: ClassVar = ("float16", "float32", "int64")
    name: ClassVar[str] = "vectors"
    heading: ClassVar[str] = "Encoder"
    is_column: ClassVar[bool] = True
    needs_vectors: ClassVar[bool] = True
    for_any_query: ClassVar[bool] = False
    is_kept: ClassVar[bool] = True  # later training can give them a weight
    vectors_: np.ndarray
    passages_: np.ndarray | None
    centre_: np.ndarray
    graph_: NeighborGraph | None = None
    earned_: float | None = None
    agreeing_: float | None = None
    is_judged_: bool = False
    evidence: Evidence | None = None  # what the weight was measured from; not saved

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Store the vectors of the items; None if there are none."""
        if items.vectors is None:
            return None
        made = cls()
        made.vectors_, made.passages_ = items.vectors.astype(np.float16), data.passages
        n_vectors = max(1, int(np.count_nonzero(made.vectors_.any(axis=1))))
        made.centre_ = (made.vectors_.sum(axis=0, dtype=np.float64) / n_vectors).astype(np.float32)
        known = None if data.members is None else data.members.of_kind(cls)
        if isinstance(known, cls) and np.array_equal(known.vectors_, made.vectors_):
            made.earned_, made.agreeing_ = known.earned_, known.agreeing_
        return made

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter, or else measure it once all other members are fitted."""
        if blend.vectors is not None:
            return blend.vectors
        if self.earned_ is None:
            self.evidence = Evidence(measure_items(blend, self, data))
            if data.probes is not None and len(data.probes.rows) >= FEWEST_PROBES:
                self.evidence = self.evidence._replace(probes=measure_probes(blend, self, data, data.probes))
            self.earned_ = self.evidence.weight()
            self.agreeing_ = full_agreement(self.dim) if self.evidence.probes is None else None
        judged = None if self.agreeing_ is None else _judged_with_vectors(data, blend.n_features_)
        if judged is None:
            return self.earned_
        shares = [self.trust(blend.query_block(judged[block], None), np.empty(0)) for block in blend.blocks(judged)]
        self.is_judged_ = True
        return round(self.earned_ * float(np.concatenate(shares).mean()), 2)

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, float32 (n_queries, n_items)."""
        return factor_scores(self.centred, _vectors_of(block))

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the vectors of the items and of the query."""
        return [(self.centred, _vectors_of(query))]

    def trust(self, block: QueryBlock, at_candidates: np.ndarray) -> Any:
        """Return 1, or by the agreement of query vectors and words; the length of the query does not matter."""
        if self.agreeing_ is None or self.is_judged_:
            return np.ones(len(block.items))
        queries, vectors = _vectors_of(block).astype(np.float64) - self.centre_, self.centred.items
        first = (vectors[self._passages_of(items[items >= 0])] for items in _nearest(block))
        return np.array([agreement(query, found, self.agreeing_) for query, found in zip(queries, first, strict=True)])

    def _passages_of(self, items: np.ndarray) -> np.ndarray:
        """Return the rows of the vectors of some items."""
        if self.passages_ is None:
            return items
        sizes = np.diff(self.passages_)[items]
        return np.repeat(self.passages_[items] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())

    def best_vectors(self, asked: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Return the best vector of each item for one query vector, minus the mean."""
        vectors = self.centred.items
        if self.passages_ is None:
            return vectors[items]
        groups = (
            vectors[start:stop] for start, stop in zip(self.passages_[items], self.passages_[items + 1], strict=True)
        )
        return np.stack([group[np.argmax(group @ asked)] for group in groups])

    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Return one term."""
        found = scores_at(self.pairs(query), np.array([a] if b is None else [a, b])).astype(np.float64)
        return [Term("vector", -1, -1, float(found[0] - (found[1] if b is not None else 0)))]

    @cached_property
    def centred(self) -> DenseFactors:
        """Return the vectors minus their mean, float32; vectors of length 0 stay 0."""
        unit = self.vectors_.astype(np.float32)
        vectors = np.where(unit.any(axis=1, keepdims=True), unit - self.centre_, np.float32(0))
        return DenseFactors(vectors) if self.passages_ is None else PassageFactors(vectors, self.passages_)

    @property
    def vector_ranker(self) -> Any:
        """Return the member itself, which approximate search can use as a ranker; None with several passages."""
        return self if self.passages_ is None else None

    @property
    def item_factors(self) -> list[DenseFactors]:
        """Return the factors as those of a ranker."""
        return [self.centred]

    @property
    def n_items_(self) -> int:
        """Number of items."""
        return self.centred.n_items

    @property
    def dim(self) -> int:
        """Number of dimensions of the vectors."""
        return int(self.vectors_.shape[1])

    def add(self, items: ItemRows) -> None:
        """Append new items; items without a vector get the score of an average item."""
        n_new = items.counts.shape[0]
        more = np.zeros((n_new, self.dim), np.float16) if items.vectors is None else items.vectors.astype(np.float16)
        if self.passages_ is not None or items.passages is not None:
            old = np.arange(len(self.vectors_) + 1) if self.passages_ is None else self.passages_
            new = np.arange(n_new + 1) if items.passages is None else items.passages
            self.passages_ = np.concatenate([old, old[-1] + new[1:]])
        self.vectors_ = np.concatenate([self.vectors_, more])
        self._forget()

    def with_items(self, rows: np.ndarray) -> Self:
        """Return a copy that has some of the items."""
        made = super().with_items(rows)
        made.vectors_ = self.vectors_[self._passages_of(rows)]
        if self.passages_ is not None:
            made.passages_ = np.concatenate([[0], np.cumsum(np.diff(self.passages_)[rows])])
        if self.graph_ is not None:
            made.graph_ = self.graph_.with_items(rows)
        return made

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless each item has at least one vector."""
        if self.vectors_.dtype not in (np.float16, np.float32) or self.centre_.dtype != np.float32:
            raise TacitError("the vectors of member vectors are no numbers of 16 or 32 bits")
        n_passages, starts = len(self.vectors_), self.passages_
        if starts is None and n_passages != n_items:
            raise TacitError(f"member vectors is for {n_passages} items, want {n_items}")
        if starts is None:
            return
        if starts.dtype != np.int64 or len(starts) != n_items + 1 or starts[0] != 0 or starts[-1] != n_passages:
            raise TacitError(f"member vectors has {len(starts) - 1} items of {n_passages} passages, want {n_items}")
        if (np.diff(starts) < 1).any():
            raise TacitError("member vectors has an item without a passage, want at least one for each")


def _vectors_of(block: QueryBlock) -> np.ndarray:
    assert block.vectors is not None
    return block.vectors


def _nearest(block: QueryBlock) -> np.ndarray:
    """Return the first items by BM25 of each query; -1 where there are no more that share a word."""
    return np.where(block.scores > 0, block.items, -1)[:, :N_NEAREST]


def _judged_with_vectors(data: TrainingData, n_words: int) -> sp.csr_array | None:
    """Return the rows of labelled queries that have vectors; None if there are none."""
    if not data.has_pairs or data.queries_are_items or data.queries.shape[1] == n_words:
        return None
    rows = sp.csr_array(data.queries)[np.unique(data.pairs.sources)]
    judged = rows[np.diff(sp.csr_array(rows[:, n_words:]).indptr) > 0]
    return judged if judged.shape[0] else None


def measure_items(blend: BlendRanker, member: VectorsMember, data: TrainingData) -> ByItems:
    """Measure vectors with some items as queries."""
    assert data.vectors is not None
    items, n_items = sp.csr_array(data.items), data.items.shape[0]
    if n_items <= N_NEAREST + 1:
        return ByItems()
    own = spread_rows(n_items, N_PROBES)
    rows = join_vectors(items[own], data.vectors[own if data.passages is None else data.passages[own]])
    skip = sp.csr_array((np.ones(len(own), bool), (np.arange(len(own)), own)), shape=(len(own), n_items))
    latent, trials = blend.of_kind(LatentMember), list[ItemTrial]()
    for at_rows in blend.blocks(rows):
        block = blend.query_block(rows[at_rows], skip[at_rows])
        found = [part.scores(block) for part in (member, latent) if part is not None]
        near, *words = (scores_near(scores, block.candidates) for scores in (*found, block.all_scores))
        known = (block.candidates >= 0) & (words[-1] > 0)
        words.append(_cosines(block, items, block.candidates))
        words += [_products(reference[own[at_rows]], reference, block.candidates) for reference in data.references]
        halves = [
            scores_by_halves(query, member.centre_, member.best_vectors(query, np.maximum(candidates, 0)))
            for query, candidates in zip(_vectors_of(block), block.candidates, strict=True)
        ]
        above = heights(_nearest(block), found, own[at_rows])
        trials.append(ItemTrial(near, words, known, np.stack(halves, axis=1), above))
    return ByItems.of(trials)


def measure_probes(blend: BlendRanker, member: VectorsMember, data: TrainingData, probes: Probes) -> ByProbes:
    """Measure vectors on queries cut out of items, each scored without its query."""
    cut_counts = blend.with_titles(probes.counts, probes.titles)
    cut_items = ItemRows(cut_counts, blend.idf_, titles=probes.titles, vectors=probes.vectors)
    members = [part for part in (blend.of_kind(Bm25Member), blend.of_kind(LatentMember), member) if part is not None]
    weights = [np.float32(part.prior(blend, data)) for part in members[:-1]]
    bm25, *others = (_of_items(part, cut_items) for part in members)
    items, counts, trials = sp.csr_array(data.items), sp.csr_array(probes.counts), list[ProbeTrial]()
    for at_rows in blend.blocks(probes.queries):
        block = blend.query_block(probes.queries[at_rows], None)
        rows, own, at = np.arange(len(block.items)), probes.rows[at_rows], np.arange(at_rows.start, at_rows.stop)
        found = [part.scores(block) for part in members]
        by_cut = replace(block, bm25=bm25.ranker_, all_scores=bm25.ranker_.score_rows(block.words))
        as_given = found[-1][rows, own].copy()
        for scores, part in zip(found, (bm25, *others), strict=True):
            scores[rows, own] = part.scores(by_cut)[rows, at]
        found[-1][rows, own] = np.minimum(found[-1][rows, own], as_given)

        candidates = best_items(found[0], None, block.candidates.shape[1])[0]
        *words, near = (scores_near(scores, candidates) for scores in found)
        of_cut = _cosines(block, counts[at], rows[:, None])[:, 0]
        words.append(_with_own(_cosines(block, items, candidates), candidates, own, of_cut))
        for (queries, of_items), reference in zip(probes.references, data.references, strict=True):
            of_cut = np.einsum("qd,qd->q", queries[at], of_items[at])
            words.append(_with_own(_products(queries[at], reference, candidates), candidates, own, of_cut))

        *parts, vectors = (
            scores * part.factors(block, scores_near(scores, block.candidates))[:, None]
            for scores, part in zip(found, members, strict=True)
        )
        total = sum((weight * scores for weight, scores in zip(weights, parts, strict=True)), np.float32(0))
        tried = (total + np.float32(weight) * vectors for weight in (0.0, *TRIED))
        ranks = np.stack([reciprocal_ranks(scores, own) for scores in (found[-1], found[0], *tried)])
        trials.append(ProbeTrial(near, words, candidates >= 0, ranks))
    return ByProbes.of(trials, probes.of_title, items.shape[0])


def _of_items(member: Any, items: ItemRows) -> Any:
    """Return a member with these items instead of its own."""
    made = copy_estimator(member).with_items(np.empty(0, np.int64))
    made.add(items)
    return made


def _cosines(block: QueryBlock, items: sp.csr_array, candidates: np.ndarray) -> np.ndarray:
    """Return the tf-idf cosines of queries and their candidates."""
    rows, found = block.weighed("log"), np.zeros(candidates.shape, np.float32)
    for row, places in enumerate(np.maximum(candidates, 0)):
        found[row] = (weigh(items[places], block.idf, "log") @ rows[[row]].T).toarray().ravel()
    return found


def _products(queries: np.ndarray, items: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return the products of query vectors and the vectors of their candidates."""
    found: np.ndarray = np.einsum("qd,qcd->qc", queries, items[np.maximum(candidates, 0)])
    return found


def _with_own(near: np.ndarray, candidates: np.ndarray, own: np.ndarray, of_own: np.ndarray) -> np.ndarray:
    """Return scores of candidates in which item `own` of each query has another score."""
    return np.where(candidates == own[:, None], of_own[:, None], near)
