"""Member `vectors`: cosine similarity of vectors of another model, and the weight they get without labels.

    score(i) = u . (v_i - c),    c = mean of all v_i

u is the vector of the query and v_i the vector of item i, all of length 1. The score is the cosine minus its mean over
the items of `fit`. An item of several passages scores by its best passage. Subtracting the mean changes no ranking; an
item without a vector scores 0, and so ranks like an average item.

The quality of vectors is unknown before they are measured, and determines their weight without labels. Some items are
used as queries for other items, and the vectors' scores of the first items by BM25 are compared with scores computed
from words: BM25, the member `latent`, the cosine of tf-idf, and two truncated singular value decompositions of the same
words (`references`).

1. *New information.* R2 is the share of the variance of their scores that the scores from words explain. Vectors made
   from the same words, such as LSI, are explained.
2. *Reliability.* r is the correlation of what is left, between two halves of the dimensions (after a rotation that
   mixes them), where c . v_i is explained too. What a good encoder knows is in both halves. What is left of random
   vectors, of averages of random word vectors and of LSI is mostly noise, which the halves do not share.
3. *Sharpness.* z is how far the 10 nearest items by BM25 are above all other items by vectors, in standard deviations,
   divided by the same for `latent`.

With an encoder, queries are also cut out of items (`Probes`): a title or a sentence, for which the item itself is the
relevant result. rho is the mean reciprocal rank by vectors divided by that of BM25, each minus its expected value by
chance; R2 is measured on these queries; m is the largest weight that keeps .97 of the mean reciprocal rank of BM25 and
`latent` with titles as queries. If there are few titles, or titles are names that words do not find, m is the largest
weight that keeps .9 of the mean reciprocal rank with sentences as queries, because words find sentences too easily.

    weight = min(m, 8 min(1, rho / .9)^6 clip((.75 - R2) / .15, 0, 1)) clip((r - .25) / .15, 0, 1)

Random vectors, and item vectors of another model than the query vectors, find nothing and get weight 0. The rank of an
item is the worse of two: with its vector as given, and with its vector computed without the query. This also detects
given vectors of another model than the encoder.

Without an encoder nothing is known of queries when the weight is measured:

    weight = 7 s(z) clip((.75 - R2) / .15, 0, 1) clip((r - .45) / .12, 0, 1)

s(z) rises from 0 to 1 between z = .42 and .7, and falls to 0 between 1.1 and 1.4, because only vectors made from the
words of the collection are so much like BM25.

Each query is then checked when it is asked. Its share of the weight depends on the cosine of its vector and the mean
vector of its first 10 items by BM25, both less c. The cosine of a random vector has the standard deviation
d = 1 / sqrt(dimensions). The share rises from 0 to 1 between 3 d and 5 d (at most .24 and .4). So query vectors of
another model change little. If labelled queries have vectors, the weight is multiplied by their mean share instead, and
then learned.
docs/guides/encoder.md has what the rules were measured on.
"""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

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

MOST, MOST_UNSEEN = 8.0, 7.0  # maximum weights, with and without query vectors
ENOUGH, STEEPNESS = 0.9, 6  # share of BM25's reciprocal rank that earns the maximum, and how fast less of it earns less
KNOWN, FADING = 0.75, 0.15  # R2 from which the weight is 0, and the width of its rise below it
NOISE, RELIABLE = 0.25, 0.4  # reliability up to which the weight is 0, and from which it is whole
NOISE_UNSEEN, RELIABLE_UNSEEN = 0.45, 0.57  # the same without query vectors
DULL, SHARP = 0.42, 0.7  # the same for the sharpness, without query vectors
FROM_WORDS, ONLY_WORDS = 1.1, 1.4  # sharpness from which the weight falls, and from which it is 0
TRIED = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # weights tried on probes
KEPT_OF_TITLES, KEPT_OF_SENTENCES = 0.97, 0.9  # share of the reciprocal rank to keep, by kind of probe
READABLE = 0.5  # minimum reciprocal rank of titles, relative to sentences
N_PROBES = 100  # items used as queries for neighbours
N_NEAREST = 10
USUAL_SHARPNESS = 4.0  # of `latent`, in standard deviations, if there is no such member
FEWEST_CANDIDATES, FEWEST_RELIABLE = 10, 20  # minimum numbers of candidates of a query that counts in R2 and in r
AGREEING, AGREEING_DEVIATIONS = 0.4, 5.0  # cosine from which a query's vector counts in full: at most, and by chance
CHANCE = 0.6  # share of that cosine up to which it does not count


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
        made.centre_ = mean_vector(made.vectors_)
        known = None if data.members is None else data.members.of_kind(cls)
        if isinstance(known, cls) and np.array_equal(known.vectors_, made.vectors_):
            made.earned_, made.agreeing_ = known.earned_, known.agreeing_
        return made

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter, or the measured weight."""
        if blend.vectors is not None:
            return blend.vectors
        if self.earned_ is None:
            self.evidence = Evidence(measure_neighbours(blend, self, data))
            if data.probes is not None and len(data.probes.rows) >= FEWEST_PROBES:
                self.evidence = Evidence(self.evidence.items, measure_probes(blend, self, data))
            self.earned_ = self.evidence.weight()
            if self.evidence.probes is None:
                self.agreeing_ = min(AGREEING, AGREEING_DEVIATIONS / float(np.sqrt(self.dim)))
        judged = None if self.agreeing_ is None else _judged_with_vectors(data, blend.n_features_)
        if judged is None:
            return self.earned_
        shares = [self.trust(blend.query_block(judged[block], None), np.empty(0)) for block in blend._blocks(judged)]
        self.is_judged_ = True
        return round(self.earned_ * float(np.concatenate(shares).mean()), 2)

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the scores of all items, float32 (n_queries, n_items)."""
        return factor_scores(self.item_factors, _asked(block))

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the vectors of the items and of the query."""
        return [(self.item_factors, _asked(query))]

    def trust(self, block: QueryBlock, at_candidates: np.ndarray) -> Any:
        """Return 1, or by the agreement of query vectors and words; the length of the query does not matter."""
        if self.agreeing_ is None or self.is_judged_:
            return np.ones(len(block.items))
        first = np.where(block.scores > 0, block.items, -1)[:, :N_NEAREST]
        asked = _asked(block)
        return np.array([self._agreement(*query) for query in zip(asked, first, strict=True)])

    def _agreement(self, asked: np.ndarray, first: np.ndarray) -> float:
        """Return the share of the weight of one query, from its vector and its first items by BM25."""
        rows = self._passages_of(first[first >= 0])
        if not len(rows):
            return 1.0  # no word is known: there is nothing else to rank by
        mean = self.item_factors.items[rows].mean(axis=0, dtype=np.float64)
        own = asked.astype(np.float64) - self.centre_
        lengths = float(np.sqrt((mean @ mean) * (own @ own)))
        cosine = float(own @ mean) / lengths if lengths else 0.0
        full = self.agreeing_ or AGREEING
        return _share(cosine, CHANCE * full, full)

    def _passages_of(self, items: np.ndarray) -> np.ndarray:
        """Return the rows of the vectors of some items."""
        if self.passages_ is None:
            return items
        return np.concatenate([np.arange(*self.passages_[item : item + 2]) for item in items] or [items])

    def best_passages(self, asked: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Return the row of the best vector of each item for one query vector."""
        if self.passages_ is None:
            return items
        ranges = [np.arange(*self.passages_[item : item + 2]) for item in items]
        return np.array([rows[np.argmax(self.item_factors.items[rows] @ asked)] for rows in ranges], np.int64)

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


def _judged_with_vectors(data: TrainingData, n_words: int) -> sp.csr_array | None:
    """Return the rows of labelled queries that have vectors; None if there are none."""
    if not data.has_pairs or data.queries_are_items or data.queries.shape[1] == n_words:
        return None
    rows = sp.csr_array(data.queries)[np.unique(data.pairs.sources)]
    judged = rows[np.diff(sp.csr_array(rows[:, n_words:]).indptr) > 0]
    return judged if judged.shape[0] else None


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


class ByItems(NamedTuple):
    """What items as queries say of the vectors (see the module); the reliability is NaN if there are too few items."""

    sharpness: float
    reliability: float
    r2: float


class ByProbes(NamedTuple):
    """What probes say of the vectors (see the module).

    Attributes
    ----------
    rho, r2 : float
    ranks : ndarray of shape (1 + len(TRIED), n_probes)
        Reciprocal ranks by BM25, `latent` and the vectors, at weight 0 and at the weights of `TRIED`.
    of_title : ndarray of shape (n_probes,), bool
        Whether the probe is a title.
    """

    rho: float
    r2: float
    ranks: np.ndarray
    of_title: np.ndarray


class Evidence(NamedTuple):
    """All that is measured of vectors before labels; `probes` is None without query vectors."""

    items: ByItems
    probes: ByProbes | None = None

    def weight(self) -> float:
        """Return the weight that the vectors earn."""
        if self.probes is None:
            return earned_by_neighbours(*self.items)
        rho, r2, ranks, of_title = self.probes
        return earned_by_probes(rho, r2, harmless_weight(ranks, of_title), self.items.reliability)


def earned_by_probes(rho: float, r2: float, harmless: float = TRIED[-1], reliability: float = 1.0) -> float:
    """Return the weight from reciprocal ranks, explained variance, the largest harmless weight, and the reliability.

    >>> earned_by_probes(1.1, 0.4), earned_by_probes(0.45, 0.4), earned_by_probes(1.3, 0.8)
    (8.0, 0.12, 0.0)
    >>> earned_by_probes(1.1, 0.4, harmless=3.0), earned_by_probes(1.1, 0.4, reliability=0.1)
    (3.0, 0.0)
    """
    most = MOST * min(1.0, max(rho, 0.0) / ENOUGH) ** STEEPNESS * _newness(r2)
    share = 1.0 if math.isnan(reliability) else _share(reliability, NOISE, RELIABLE)
    return round(min(most, harmless) * share, 2)


def harmless_weight(ranks: np.ndarray, of_title: np.ndarray) -> float:
    """Return the largest harmless weight, from reciprocal ranks (n_weights, n_probes).

    Titles decide, unless there are few or they are not sentences of words, such as names of functions. BM25 finds such
    titles much less often than sentences.
    """
    by_title, by_sentence = ranks[:, of_title], ranks[:, ~of_title]
    if by_title.shape[1] >= FEWEST_PROBES and by_title[0].mean() >= READABLE * _mean_or_0(by_sentence[0]):
        return largest_harmless(by_title.mean(axis=1), KEPT_OF_TITLES * float(by_title[0].mean()))
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


def earned_by_neighbours(sharpness: float, reliability: float, r2: float) -> float:
    """Return the weight from sharpness, reliability and explained variance.

    >>> earned_by_neighbours(0.8, 0.7, 0.4), earned_by_neighbours(0.3, 0.7, 0.4), earned_by_neighbours(1.0, 0.3, 0.4)
    (7.0, 0.0, 0.0)
    """
    sharp = _share(sharpness, DULL, SHARP) - _share(sharpness, FROM_WORDS, ONLY_WORDS)
    return round(MOST_UNSEEN * sharp * _newness(r2) * _share(reliability, NOISE_UNSEEN, RELIABLE_UNSEEN), 2)


def _share(value: float, low: float, high: float) -> float:
    """Return 0 up to `low`, 1 from `high`, and rising between them; 0 for NaN."""
    return float(np.clip((value - low) / (high - low), 0, 1)) if np.isfinite(value) else 0.0


def _newness(r2: float) -> float:
    return _share(-r2, -KNOWN, FADING - KNOWN)


def measure_probes(blend: BlendRanker, member: VectorsMember, data: TrainingData) -> ByProbes:
    """Measure vectors on queries cut out of items, each scored without its query."""
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
    return ByProbes(rho, _mean(explained), values[2:], probes.of_title)


def measure_neighbours(blend: BlendRanker, member: VectorsMember, data: TrainingData) -> ByItems:
    """Measure vectors with some items as queries."""
    assert data.vectors is not None
    items, n_items = sp.csr_array(data.items), data.items.shape[0]
    if n_items <= N_NEAREST + 1:
        return ByItems(0.0, math.nan, 1.0)
    own = spread_rows(n_items, N_PROBES)
    first = own if data.passages is None else data.passages[own]
    rows = join_vectors(items[own], data.vectors[first])
    skip = sp.csr_array((np.ones(len(own), bool), (np.arange(len(own)), own)), shape=(len(own), n_items))
    latent, above = blend.of_kind(LatentMember), list[np.ndarray]()
    explained, reliable = list[float](), list[float]()
    for block in blend._blocks(rows):
        asked = blend.query_block(rows[block], skip[block])
        candidates, at = asked.candidates, np.maximum(asked.candidates, 0)
        parts = [part.scores(asked) for part in (member, latent) if part is not None]
        above.append(sharpness(asked, parts, own[block]))
        near, *words = (np.take_along_axis(scores, at, axis=1) for scores in (*parts, asked.all_scores))
        there = (candidates >= 0) & (words[-1] > 0)
        words.append(_cosines(asked, items, candidates))
        words += [_products(reference[own[block]], reference, candidates) for reference in data.references]
        explained += _r2_of_rows(words, near, there)
        halves = _half_scores(member, _asked(asked), at)
        reliable += _reliabilities([*words, *halves[2:]], halves[:2], there)
    found = np.concatenate(above)
    found = found[~np.isnan(found[:, 0])]
    if not len(found):
        return ByItems(0.0, math.nan, 1.0)
    means = found.mean(axis=0)
    usual = float(means[1]) if len(means) > 1 else USUAL_SHARPNESS
    reliability = float(np.mean(reliable)) if reliable else math.nan
    return ByItems(float(means[0]) / max(usual, 1e-9), reliability, _mean(explained))


def sharpness(asked: QueryBlock, others: list[np.ndarray], own: np.ndarray) -> np.ndarray:
    """Return how far each score ranks the best items by BM25 above all items, in standard deviations; NaN for none.

    Item `own` of each query is left out.
    """
    found = np.full((len(own), len(others)), np.nan)
    for row, item in enumerate(own):
        near = asked.items[row, :N_NEAREST]
        near = near[(near >= 0) & (asked.scores[row, :N_NEAREST] > 0)]
        if not len(near):
            continue
        for place, scores in enumerate(others):
            rest = np.delete(scores[row], item).astype(np.float64)
            found[row, place] = (scores[row, near].mean(dtype=np.float64) - rest.mean()) / max(rest.std(), 1e-9)
    return found


def _half_scores(member: VectorsMember, asked: np.ndarray, items: np.ndarray) -> list[np.ndarray]:
    """Return scores of some items of each query by two halves of the dimensions, and the same with c as the query.

    The last two take up what all items have in common, which is no information about a query.
    """
    from scipy.fft import dct  # slow to import

    signs = np.random.default_rng(0).choice(np.array([-1.0, 1.0]), member.dim)
    found = np.empty((4, *items.shape))
    for row, query in enumerate(asked):
        vectors = member.item_factors.items[member.best_passages(query, items[row])]
        mixed = dct(np.vstack([query, member.centre_, vectors]) * signs, norm="ortho", axis=1)  # a rotation
        halves = (mixed[2:, half::2] @ mixed[:2, half::2].T for half in (0, 1))
        found[:, row] = np.concatenate([half.T for half in halves])[[0, 2, 1, 3]]
    return list(found)


def _reliabilities(known: list[np.ndarray], halves: list[np.ndarray], there: np.ndarray) -> list[float]:
    """Return the correlation of what other scores leave unexplained of two halves of each row of scores."""
    found = list[float]()
    for row, mask in enumerate(there):
        if mask.sum() < FEWEST_RELIABLE:
            continue
        rest = _unexplained(known, row, mask, np.stack([half[row, mask] for half in halves], axis=1))
        scale = float(np.sqrt(rest.var(axis=0).prod()))
        found.append(float(rest.prod(axis=1).mean()) / scale if scale > 1e-12 else 0.0)
    return found


def _unexplained(known: list[np.ndarray], row: int, mask: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return what least squares by other scores and a constant leave of y."""
    columns = np.stack([np.ones(len(y)), *(part[row, mask].astype(np.float64) for part in known)], axis=1)
    rest: np.ndarray = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    return rest


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
        found.append(1 - float(_unexplained(known, row, mask, y).var() / y.var()))
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
