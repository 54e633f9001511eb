"""Member `vectors`: cosine similarity of vectors of another model, and the weight they get without labels.

    score(i) = u . (v_i - c),    c = mean of all v_i

u is the vector of the query and v_i the vector of item i, all of length 1. The score is the cosine minus its mean over
the items of `fit`. An item of several passages scores by its best passage. Subtracting the mean changes no ranking; an
item without a vector scores 0, and so ranks like an average item.

The quality of vectors is unknown before they are measured. Three measurements determine their weight without labels.
All use queries cut out of items (`Probes`): a title or a sentence, for which the item itself is the relevant result.

1. *Retrieval quality.* rho is the mean reciprocal rank by vectors divided by that of BM25, each minus its expected
   value by chance.
2. *New information.* R2 is the share of the variance of their scores, over the first items by BM25, that is explained
   by scores computed from words: BM25, the member `latent`, the cosine of tf-idf, and two truncated singular value
   decompositions of the same words (`references`). Vectors made from the same words, such as LSI, are explained.
3. *Largest harmless weight.* m is the largest weight that does not lower the mean reciprocal rank of BM25 and `latent`
   with titles as queries. If there are few titles, or titles are names that words do not find, m is the largest weight
   that keeps .9 of the mean reciprocal rank with sentences as queries, because words find sentences too easily.

    weight = min(m / 2, 8 min(1, rho / .9)^6 clip((.75 - R2) / .15, 0, 1))

Random vectors, and item vectors of another model than the query vectors, find nothing and get weight 0. LSI is
explained and gets weight 0. The rank of an item is the worse of two: with its vector as given, and with its vector
computed without the query. This also detects given vectors of another model than the encoder.

Without an encoder there are no such queries, and whole items are the queries instead. a is the mean share of the 10
nearest other items by BM25 that are also among the 10 nearest by vectors; b is the same for `latent`. The share
expected by chance is subtracted from each. Then

    weight = min(1, a / (.8 b))^4 clip((.75 - R2) / .15, 0, 1)

The weight is smaller because the quality of query vectors is unknown. Both rules were chosen on ten collections
(docs/results/questions.md).
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError
from tacit.core.estimator import copy_estimator
from tacit.features.text.weighting import weigh
from tacit.retrieve.blend.concepts import LatentMember
from tacit.retrieve.blend.member import ItemRows, Member, QueryBlock, scores_near
from tacit.retrieve.blend.words import Bm25Member
from tacit.retrieve.explanation import Term
from tacit.retrieve.factors import DenseFactors, FactorPair, PassageFactors, best_items, factor_scores, scores_at
from tacit.retrieve.neighbor_graph import NeighborGraph
from tacit.retrieve.training_data import FEWEST_PROBES, TrainingData
from tacit.retrieve.vectors import join_vectors, spread_rows

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

MOST, MOST_UNSEEN = 8.0, 1.0  # maximum weights, with and without query vectors
ENOUGH, ENOUGH_SHARED = 0.9, 0.8  # as a share of BM25's reciprocal rank, and of the neighbours of `latent`
STEEPNESS, STEEPNESS_SHARED = 6, 4
KNOWN, FADING = 0.75, 0.15  # R2 from which the weight is 0, and the width of its rise below it
TRIED = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # weights tried on probes
SAFE = 0.5  # share of the largest harmless weight that is used
KEPT_OF_SENTENCES = 0.9  # share of the reciprocal rank to keep if there are too few titles
READABLE = 0.5  # minimum reciprocal rank of titles, relative to sentences
N_PROBES = 100  # items used as queries for neighbours
N_NEAREST = 10
LEAST_SPAN, USUAL_SPAN = 0.1, 0.5  # minimum of b, and its value without a member `latent`
FEWEST_CANDIDATES = 10  # minimum number of candidates of a query that counts in R2


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
    """

    _fitted: ClassVar = {
        "vectors_": "passages dimensions",
        "passages_": "?borders",
        "centre_": "dimensions",
        "graph_": "?estimator",
        "earned_": "?",
    }
    _array_dtypes: ClassVar = ("float16", "float32", "int64")
    name: ClassVar[str] = "vectors"
    needs_vectors: ClassVar[bool] = True
    for_any_query: ClassVar[bool] = False
    is_kept: ClassVar[bool] = True  # later training can give them a weight
    vectors_: np.ndarray
    passages_: np.ndarray | None
    centre_: np.ndarray
    graph_: NeighborGraph | None = None
    earned_: float | None = None

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Store the vectors of the items; None if there are none."""
        if items.vectors is None:
            return None
        made = cls()
        made.vectors_, made.passages_ = items.vectors.astype(np.float16), data.passages
        made.centre_ = mean_vector(made.vectors_)
        known = None if data.members is None else data.members.member(cls.name)
        if isinstance(known, cls) and np.array_equal(known.vectors_, made.vectors_):
            made.earned_ = known.earned_
        return made

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter, or the measured weight."""
        if blend.vectors is not None:
            return blend.vectors
        if self.earned_ is None:
            by_probes = data.probes is not None and len(data.probes.rows) >= FEWEST_PROBES
            self.earned_ = (
                earned_by_probes(*measure_probes(blend, self, data))
                if by_probes
                else earned_by_neighbours(*measure_neighbours(blend, self, data))
            )
        return self.earned_

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, float32 (n_queries, n_items)."""
        return factor_scores(self.item_factors, _asked(block))

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the vectors of the items and of the query."""
        return [(self.item_factors, _asked(query))]

    def trust(self, block: QueryBlock, at_candidates: np.ndarray) -> Any:
        """Return 1, because vectors of short queries are as good as those of long queries."""
        return np.ones(len(block.items))

    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Return one term."""
        found = scores_at(self.pairs(query), np.array([a] if b is None else [a, b])).astype(np.float64)
        return [Term("vector", -1, -1, float(found[0] - (found[1] if b is not None else 0)))]

    @cached_property
    def item_factors(self) -> DenseFactors:
        """Return the vectors minus their mean, float32."""
        vectors = centred(self.vectors_.astype(np.float32), self.centre_)
        return DenseFactors(vectors) if self.passages_ is None else PassageFactors(vectors, self.passages_)

    @property
    def vector_ranker(self) -> Any:
        """Return the member itself, which approximate search can use as a ranker; None with several passages."""
        return self if self.passages_ is None else None

    @property
    def _item_factors(self) -> list[DenseFactors]:
        return [self.item_factors]

    @property
    def n_items_(self) -> int:
        """Number of items."""
        return self.item_factors.n_items

    def given(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return vectors of length 1, float32, and the offset of each item's first vector (None: one for each)."""
        return self.vectors_.astype(np.float32), self.passages_

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
        kept = rows
        if self.passages_ is not None:
            sizes = np.diff(self.passages_)[rows]
            made.passages_ = np.concatenate([[0], np.cumsum(sizes)])
            kept = np.repeat(self.passages_[rows] - made.passages_[:-1], sizes) + np.arange(sizes.sum())
        made.vectors_ = self.vectors_[kept]
        if self.graph_ is not None:
            made.graph_ = copy(self.graph_)
            made.graph_.remove(rows)
        made._forget()
        return made

    def _forget(self) -> None:
        self.__dict__.pop("item_factors", None)

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


def _asked(block: QueryBlock) -> np.ndarray:
    assert block.vectors is not None
    return block.vectors


def centred(unit: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return the vectors minus the mean of all; vectors of length 0 stay 0."""
    found: np.ndarray = np.where(unit.any(axis=1, keepdims=True), unit - centre, np.float32(0))
    return found


def mean_vector(unit: np.ndarray) -> np.ndarray:
    """Return the mean of the nonzero vectors, float32."""
    n_vectors = max(1, int(np.count_nonzero(unit.any(axis=1))))
    return (unit.sum(axis=0, dtype=np.float64) / n_vectors).astype(np.float32)


def earned_by_probes(rho: float, r2: float, harmless: float = TRIED[-1]) -> float:
    """Return the weight from reciprocal ranks, explained variance, and the largest harmless weight.

    >>> earned_by_probes(1.1, 0.4), earned_by_probes(0.45, 0.4), earned_by_probes(1.3, 0.8)
    (8.0, 0.12, 0.0)
    >>> earned_by_probes(1.1, 0.4, harmless=3.0)
    1.5
    """
    most = MOST * min(1.0, max(rho, 0.0) / ENOUGH) ** STEEPNESS * _newness(r2)
    return round(min(most, SAFE * harmless), 2)


def harmless_weight(ranks: np.ndarray, of_title: np.ndarray) -> float:
    """Return the largest harmless weight, from reciprocal ranks (n_weights, n_probes).

    Titles decide, unless there are few or they are not sentences of words, such as names of functions. BM25 finds such
    titles much less often than sentences.
    """
    by_title, by_sentence = ranks[:, of_title], ranks[:, ~of_title]
    if by_title.shape[1] >= FEWEST_PROBES and by_title[0].mean() >= READABLE * _mean_or_0(by_sentence[0]):
        return largest_harmless(by_title.mean(axis=1), float(by_title[0].mean()))
    kept = by_sentence if by_sentence.shape[1] else by_title
    return largest_harmless(kept.mean(axis=1), KEPT_OF_SENTENCES * float(kept[0].mean()))


def _mean_or_0(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0


def largest_harmless(means: np.ndarray, least: float) -> float:
    """Return the largest weight whose mean reciprocal rank is at least `least`, by linear interpolation.

    `means` are the mean reciprocal ranks at weight 0 and at the weights of `TRIED`.

    >>> largest_harmless(np.array([0.5, 0.6, 0.6, 0.6, 0.4, 0.3, 0.2]), 0.5), largest_harmless(np.zeros(7), 0.1)
    (3.0, 0.0)
    """
    weights = (0.0, *TRIED)
    last = next((place for place in reversed(range(len(weights))) if means[place] >= least), None)
    if last is None or last == len(weights) - 1:
        return 0.0 if last is None else weights[-1]
    share = (means[last] - least) / (means[last] - means[last + 1])
    return float(weights[last] + share * (weights[last + 1] - weights[last]))


def earned_by_neighbours(ratio: float, r2: float) -> float:
    """Return the weight from shared neighbours and explained variance.

    >>> earned_by_neighbours(0.8, 0.4), earned_by_neighbours(0.1, 0.1)
    (1.0, 0.0)
    """
    return round(MOST_UNSEEN * min(1.0, max(ratio, 0.0) / ENOUGH_SHARED) ** STEEPNESS_SHARED * _newness(r2), 2)


def _newness(r2: float) -> float:
    return float(np.clip((KNOWN - r2) / FADING, 0, 1)) if np.isfinite(r2) else 0.0


def measure_probes(blend: BlendRanker, member: VectorsMember, data: TrainingData) -> tuple[float, float, float]:
    """Return rho, R2 and the largest harmless weight on queries cut out of items, each scored without its query."""
    probes, ranks, explained = data.probes, list[np.ndarray](), list[float]()
    assert probes is not None
    altered = ItemRows(blend._with_titles(probes.counts, probes.titles), probes.titles, probes.vectors, blend.idf_)
    parts = [part for part in (blend.of_kind(Bm25Member), blend.of_kind(LatentMember), member) if part is not None]
    weights = [np.float32(part.prior(blend, data)) for part in parts[:-1]]
    cut = [_of_items(part, altered) for part in parts]
    for block in blend._blocks(probes.queries):
        asked = blend.query_block(probes.queries[block], None)
        rows, own, at = np.arange(len(asked.items)), probes.rows[block], np.arange(block.start, block.stop)
        found = [part.scores(asked) for part in parts]
        bm25 = cut[0].ranker_  # type: ignore[attr-defined]
        small = QueryBlock(
            asked.words,
            asked.vectors,
            asked.idf,
            bm25,
            bm25._scores(asked.words),
            asked.items,
            asked.scores,
            asked.typed,
        )
        as_given = found[-1][rows, own].copy()
        for scores, part in zip(found, cut, strict=True):
            scores[rows, own] = part.scores(small)[rows, at]
        found[-1][rows, own] = np.minimum(found[-1][rows, own], as_given)
        candidates = best_items(found[0], None, asked.candidates.shape[1])[0]
        tfidf = _cosines(asked, sp.csr_array(data.items), candidates, own, sp.csr_array(probes.counts)[at])
        near = [np.take_along_axis(scores, np.maximum(candidates, 0), axis=1) for scores in found]
        known = [
            _products(asks[at], items, candidates, own, cut_items[at])
            for (asks, cut_items), items in zip(probes.references, data.references, strict=True)
        ]
        explained += _r2_of_rows([*near[:-1], tfidf, *known], near[-1], candidates >= 0)
        *words, vectors = (
            scores * part.factors(asked, scores_near(scores, asked.candidates))[:, None]
            for scores, part in zip(found, parts, strict=True)
        )
        total = sum((weight * scores for weight, scores in zip(weights, words, strict=True)), np.float32(0))
        tried = (total + np.float32(weight) * vectors for weight in (0.0, *TRIED))
        ranks.append(np.stack([_reciprocal_ranks(scores, own) for scores in (found[-1], found[0], *tried)]))
    values = np.concatenate(ranks, axis=1)
    by_vectors, by_bm25 = values[:2].mean(axis=1)
    chance = float(np.mean(1 / np.arange(1, 1 + data.items.shape[0])))
    rho = float((by_vectors - chance) / max(by_bm25 - chance, 1e-9))
    return rho, _mean(explained), harmless_weight(values[2:], probes.of_title)


def measure_neighbours(blend: BlendRanker, member: VectorsMember, data: TrainingData) -> tuple[float, float]:
    """Return the ratio a / b of shared neighbours, and R2, with some items as queries."""
    assert data.vectors is not None
    items, n_items = sp.csr_array(data.items), data.items.shape[0]
    if n_items <= N_NEAREST + 1:
        return 0.0, 1.0
    own = spread_rows(n_items, N_PROBES)
    first = own if data.passages is None else data.passages[own]
    rows = join_vectors(items[own], data.vectors[first])
    skip = sp.csr_array((np.ones(len(own), bool), (np.arange(len(own)), own)), shape=(len(own), n_items))
    latent, shares, explained = blend.of_kind(LatentMember), list[np.ndarray](), list[float]()
    for block in blend._blocks(rows):
        asked = blend.query_block(rows[block], skip[block])
        parts = [part.scores(asked) for part in (latent, member) if part is not None]
        shares.append(shared_neighbours(asked.all_scores, parts, skip[block]))
        candidates = asked.candidates
        at = np.maximum(candidates, 0)
        near = [np.take_along_axis(scores, at, axis=1) for scores in (asked.all_scores, *parts)]
        near.insert(-1, _cosines(asked, items, candidates))
        for reference in data.references:
            near.insert(-1, _products(reference[own[block]], reference, candidates))
        known = np.take_along_axis(asked.all_scores, at, axis=1) > 0
        explained += _r2_of_rows(near[:-1], near[-1], (candidates >= 0) & known)
    found = np.concatenate(shares)
    known_shares = found[~np.isnan(found[:, 0])]
    if not len(known_shares):
        return 0.0, 1.0
    beyond = known_shares.mean(axis=0) - N_NEAREST / n_items
    span = max(float(beyond[0]), LEAST_SPAN) if len(beyond) > 1 else USUAL_SPAN
    return float(beyond[-1]) / span, _mean(explained)


def _of_items(member: Member, items: ItemRows) -> Member:
    """Return a member with other items in place of its own."""
    made = copy_estimator(member).with_items(np.empty(0, np.int64))
    made.add(items)
    return made


def _cosines(
    asked: QueryBlock,
    items: sp.csr_array,
    candidates: np.ndarray,
    own: np.ndarray | None = None,
    altered: sp.csr_array | None = None,
) -> np.ndarray:
    """Return tf-idf cosines of queries and candidates; item `own` of each query has an altered row, if given."""
    rows, found = asked.weighed("log"), np.zeros(candidates.shape, np.float32)
    for number, places in enumerate(np.maximum(candidates, 0)):
        found[number] = (weigh(items[places], asked.idf, "log") @ rows[[number]].T).toarray().ravel()
        if own is not None and altered is not None:
            score = (weigh(altered[[number]], asked.idf, "log") @ rows[[number]].T).toarray()[0, 0]
            found[number, places == own[number]] = score
    return found


def _products(
    queries: np.ndarray,
    items: np.ndarray,
    candidates: np.ndarray,
    own: np.ndarray | None = None,
    altered: np.ndarray | None = None,
) -> np.ndarray:
    """Return products of query and candidate vectors; item `own` of each query has an altered vector, if given."""
    found = np.einsum("qd,qcd->qc", queries, items[np.maximum(candidates, 0)])
    if own is not None and altered is not None:
        found = np.where(candidates == own[:, None], np.einsum("qd,qd->q", queries, altered)[:, None], found)
    return found


def _r2_of_rows(known: list[np.ndarray], scores: np.ndarray, there: np.ndarray) -> list[float]:
    """Return the share of the variance of each row of scores that other scores explain by least squares."""
    found = list[float]()
    for row, mask in enumerate(there):
        y = scores[row, mask].astype(np.float64)
        if len(y) < FEWEST_CANDIDATES or y.var() <= 1e-12:
            continue
        columns = np.stack([np.ones(len(y)), *(part[row, mask].astype(np.float64) for part in known)], axis=1)
        rest = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
        found.append(1 - float(rest.var() / y.var()))
    return found


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else 1.0


def _reciprocal_ranks(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return 1 / rank of one item of each query; of equal scores the smaller item number ranks first."""
    wanted = np.take_along_axis(scores, own[:, None], axis=1)
    above = (scores > wanted).sum(axis=1)
    ties = ((scores == wanted) & (np.arange(scores.shape[1])[None] < own[:, None])).sum(axis=1)
    found: np.ndarray = 1.0 / (1 + above + ties)
    return found


def shared_neighbours(by_words: np.ndarray, others: list[np.ndarray], own: sp.csr_array) -> np.ndarray:
    """Return the share of each query's best items by words that other scores also rank best; NaN if there are none.

    >>> words, other = np.array([[0.0, 3.0, 2.0, 0.0]], np.float32), np.array([[9.0, 1.0, 0.0, 0.0]], np.float32)
    >>> shared_neighbours(words, [other], sp.csr_array(np.array([[True, False, False, False]])))
    array([[1.]])
    """
    wanted, positive = best_items(by_words, own, N_NEAREST)
    found = [best_items(scores, own, N_NEAREST)[0] for scores in others]
    shares = np.full((len(wanted), len(others)), np.nan)
    for row, known in enumerate((wanted >= 0) & (positive > 0)):
        if known.any():
            shares[row] = [np.isin(wanted[row, known], items[row]).mean() for items in found]
    return shares
