"""Members that know earlier queries: `similar`, by the judgments of similar ones, and `clicks`, by the log of the same.

**Similar.** The score of an item is

    s(q, i) = sum over judged queries p of  cos(q, p)^2 r(p, i),      scaled so that the best item has 1
    r(p, i) = grade of i for p / (largest grade of p  *  sqrt(number of relevant items of p))

cos(q, p) is the cosine similarity of logarithmic tf-idf rows. The square reduces the effect of queries that share only
one frequent word. The root keeps queries with many relevant items from dominating. The scores are not divided by their
standard deviation: few items have a score above 0, so a single judgment could otherwise decide the ranking. The weight
without labels is 0. With labels the member must improve the result in cross-validation, where no query is scored by its
own judgments (`learning`). It must not lower the results of queries about items without judgments.

**Clicks.** The member adjusts the results of a query with the same words as a query in the log. The prior relevance of
an item at rank r of the blend is r^(-s/2), as in the click model of the shown ranking (see `data.click_model`). The
clicks follow

    C ~ Poisson(e u),   u ~ Gamma(k, k),   e = E r^(-s/2) / (relevance by the shown rank)

C is the number of clicks on the item. E is the expected number of clicks on a typical item at the same positions, so e
is the expected number for an item of this prior relevance. The item moves to the rank of its posterior relevance,

    rho = r (u')^(-2/s),   u' = (C + k) / (e + k)

The difference between the blend's scores at rho and at r is added to the item's score. With few clicks the rank hardly
changes; with many clicks it depends on the clicks alone. Items that were not shown keep their scores. An item with a
positive score keeps a positive score, however few clicks it got, because a search leaves out scores of 0 or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import ClickedLinks, Links, Shown, TacitError, cut, track
from tacit.features.text.weighting import weigh
from tacit.retrieve.blend.member import FewItemsMember, ItemRows, QueryBlock
from tacit.retrieve.blend.words import count_less
from tacit.retrieve.factors import FewFactors, append_rows, widened
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.vectors import split_vectors

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

TRIED_WEIGHTS = (1.0, 2.0, 4.0, 8.0)  # of `similar`
MIN_QUERIES = 10  # minimum number of judged queries; fewer cannot show a gain
DEPTH = 100  # ranks of the blend that clicks distinguish; items below them can only rise
N_EXTRAPOLATED = 10  # ranks used to extrapolate scores above the first
FLATTEST = 1e-3  # minimum fall of scores over these ranks, as a fraction of the best score
LEAST_CHANGE = 1e-6  # smaller score changes, as a fraction of the best score, are ignored
BLOCK = 256  # queries ranked at a time


class SimilarMember(FewItemsMember):
    """Judgments of similar queries.

    Attributes
    ----------
    judged_queries_ : csr_array of shape (n_judged_queries, n_features), float32
        Tf-idf of the queries, rows of length 1.
    judgments_ : csr_array of shape (n_items, n_judged_queries), float32
        r(p, i) of the items judged relevant.
    """

    _fitted: ClassVar = {"judged_queries_": "judged_queries words", "judgments_": "items judged_queries"}
    name: ClassVar[str] = "similar"
    heading: ClassVar[str] = "Similar judged queries"
    kind: ClassVar = "similar"
    trains_on_pairs: ClassVar[bool] = True
    judged_queries_: sp.csr_array
    judgments_: sp.csr_array

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Store the judged queries if there are at least ten; None for links and for clicks (see `clicks`)."""
        if not data.has_pairs or data.queries_are_items or isinstance(data.pairs, ClickedLinks) or not blend.similar:
            return None
        words, _ = split_vectors(sp.csr_array(data.queries), blend.n_features_)
        made, rows = cls(), np.unique(data.pairs.sources)
        if len(rows) < MIN_QUERIES:
            return None
        judged = count_less(words[rows], blend.content_, blend.bm25.idf_)
        made.judged_queries_ = weigh(judged, items.idf, "log")
        made.judgments_ = sp.csr_array(judged_shares(data.pairs)[rows].T)
        return made

    def tried_weights(self, data: TrainingData) -> Sequence[float]:
        """Return weights to try: without labels its weight is 0."""
        return TRIED_WEIGHTS

    def on(self, pairs: Links, known: Links) -> Self:
        """Return a copy that uses only the judgments of `known`, a subset of the `pairs` that it was fitted on."""
        made = copy(self)
        made.judgments_ = sp.csr_array(judged_shares(known)[np.unique(pairs.sources)].T)
        made._forget()
        return made

    def few(self, block: QueryBlock, row: int) -> FewFactors:
        """Return the items judged relevant for queries similar to one query, ascending, and their scores."""
        asked = weigh(block.words[[row]], block.idf, "log")
        found = sp.csr_array((asked @ self._queries_by_word).power(2) @ self._judgments_by_query)
        found.sort_indices()
        best = found.data.max(initial=0)
        scores = found.data / best if best > 0 else found.data[:0]
        return FewFactors(found.indices[: len(scores)].astype(np.int64), scores, self.judgments_.shape[0])

    def add(self, items: ItemRows) -> None:
        """Append new items, which have no judgments."""
        none = sp.csr_array((items.counts.shape[0], self.judgments_.shape[1]), dtype=np.float32)
        self.judgments_ = append_rows(self.judgments_, none)
        self.judged_queries_ = widened(self.judged_queries_, items.counts.shape[1])
        self._forget()

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless queries and judgments match the blend and have values that `fit` can produce."""
        queries, judgments = self.judged_queries_, self.judgments_
        found = judgments.shape[0], queries.shape[1]
        if found != (n_items, n_features) or not (sp.issparse(queries) and sp.issparse(judgments)):
            raise TacitError(
                f"judged queries are for {found[0]} items and {found[1]} words, want {n_items} and {n_features}, sparse"
            )
        values = np.concatenate([queries.data, judgments.data])
        if values.min(initial=0) < 0 or values.max(initial=0) > 1 + 1e-5:
            raise TacitError("judged queries hold weights outside 0 to 1")

    @cached_property
    def _queries_by_word(self) -> sp.csr_array:
        return sp.csr_array(self.judged_queries_.T)

    @cached_property
    def _judgments_by_query(self) -> sp.csr_array:
        return sp.csr_array(self.judgments_.T)


class ClicksMember(FewItemsMember):
    """Score changes from clicks, for logged queries; in the unit of the blend, with weight 1.

    Attributes
    ----------
    clicked_queries_ : csr_array of shape (n_clicked_queries, n_features), float32
        Counts of the words of these queries.
    gains_ : csr_array of shape (n_items, n_clicked_queries), float32
        Score change of each item.
    """

    _fitted: ClassVar = {"clicked_queries_": "clicked_queries words", "gains_": "items clicked_queries"}
    name: ClassVar[str] = "clicks"
    heading: ClassVar[str] = "Clicks"
    kind: ClassVar = "clicks"
    clicked_queries_: sp.csr_array
    gains_: sp.csr_array

    @classmethod
    def fitted_last(cls, blend: BlendRanker, data: TrainingData) -> Self | None:
        """Compute the score changes of the results of all other members; None if clicks change nothing."""
        if not isinstance(data.pairs, ClickedLinks):
            return None
        made = cls()
        made.clicked_queries_, made.gains_ = learn_gains(blend, sp.csr_array(data.queries), data.pairs.shown)
        return made if made.gains_.nnz else None

    @property
    def n_queries(self) -> int:
        """Number of queries whose results change."""
        return int(self.clicked_queries_.shape[0])

    def few(self, block: QueryBlock, row: int) -> FewFactors:
        """Return the items whose scores clicks change for one query, ascending, and the changes."""
        gains, place = self._gains_by_query, self._place_of.get(keys_of(block.typed[[row]])[0])
        of_query = slice(*gains.indptr[place : place + 2]) if place is not None else slice(0)
        return FewFactors(gains.indices[of_query].astype(np.int64), gains.data[of_query], self.gains_.shape[0])

    def add(self, items: ItemRows) -> None:
        """Append new items, which have no clicks."""
        none = sp.csr_array((items.counts.shape[0], self.n_queries), dtype=np.float32)
        self.gains_ = append_rows(self.gains_, none)
        self.clicked_queries_ = widened(self.clicked_queries_, items.counts.shape[1])
        self._forget()

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless score changes and queries match the blend."""
        found, wanted = (self.gains_.shape[0], self.clicked_queries_.shape[1]), (n_items, n_features)
        if found != wanted or not all(map(sp.issparse, (self.gains_, self.clicked_queries_))):
            raise TacitError(
                f"clicks are for {found[0]} items and {found[1]} words, want {wanted[0]} and {wanted[1]}, sparse"
            )

    @cached_property
    def _place_of(self) -> dict[bytes, int]:
        return {key: place for place, key in enumerate(keys_of(self.clicked_queries_))}

    @cached_property
    def _gains_by_query(self) -> sp.csr_array:
        return sp.csr_array(self.gains_.T)


def judged_shares(pairs: Links) -> sp.csr_array:
    """Return r(p, i) of each pair, queries by items, float32.

    >>> judged_shares(Links([0, 0, 1], [2, 0, 1], 2, 3, [3.0, 1.5, 2.0])).toarray().round(3)
    array([[0.354, 0.   , 0.707],
           [0.   , 1.   , 0.   ]], dtype=float32)
    """
    found = pairs.to_csr().astype(np.float64)
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    largest, relevant = np.zeros(found.shape[0]), np.bincount(rows, found.data > 0, minlength=found.shape[0])
    np.maximum.at(largest, rows, found.data)
    data = found.data / (np.maximum(largest, 1e-300) * np.sqrt(np.maximum(relevant, 1)))[rows]
    return sp.csr_array((data.astype(np.float32), found.indices, found.indptr), shape=found.shape)


class Evidence(NamedTuple):
    """Items shown for one query, each once: row number, clicks, expected clicks, log of the prior by rank."""

    items: np.ndarray
    clicks: np.ndarray
    expected: np.ndarray
    log_prior: np.ndarray


def keys_of(queries: sp.csr_array) -> list[bytes]:
    """Return the words of each query with their counts as one comparable value; empty for a query without words."""
    rows = queries.copy()
    rows.sum_duplicates()
    words, counts, borders = rows.indices.astype(np.int64), rows.data.astype(np.float32), rows.indptr.tolist()
    return [words[start:stop].tobytes() + counts[start:stop].tobytes() for start, stop in pairwise(borders)]


def learn_gains(blend: BlendRanker, queries: sp.csr_array, shown: Shown) -> tuple[sp.csr_array, sp.csr_array]:
    """Return the queries whose results clicks change, and the score changes, items by queries."""
    words, _ = split_vectors(queries, blend.n_features_)
    keys, views = keys_of(words), dict[bytes, list[int]]()
    for view, query in enumerate(shown.queries.tolist()):
        if keys[query]:
            views.setdefault(keys[query], []).append(view)
    asked = [shown.queries[found[0]] for found in views.values()]
    rows, evidence = sp.csr_array(queries[asked]), [_evidence(shown, found) for found in views.values()]
    found = list[tuple[np.ndarray, np.ndarray]]()
    for block in track(cut(len(asked), BLOCK), "clicked queries"):
        best = blend.rank(rows[block], DEPTH, threads=blend.threads)
        for row, items, scores in zip(range(block.start, block.stop), best.items, best.scores, strict=True):
            found.append(_gains(blend, rows[[row]], items[items >= 0], scores[items >= 0], evidence[row], shown))
    changed = [row for row, (items, _) in enumerate(found) if len(items)]
    gains = _columns([found[row] for row in changed], blend.n_items_)
    return sp.csr_array(words[asked][changed]).astype(np.float32), gains


def _evidence(shown: Shown, views: Sequence[int]) -> Evidence:
    """Sum the clicks and impressions of queries with the same words, item by item."""
    items, place = np.unique(shown.items[views], return_inverse=True)
    clicks, expected, log_prior = shown.clicks[views], shown.expected[views], shown.log_prior[views]
    sums = [np.bincount(place, values) for values in (clicks, expected, expected * log_prior)]
    return Evidence(items, sums[0], sums[1], sums[2] / np.maximum(sums[1], 1e-300))


def _gains(
    blend: BlendRanker, query: sp.csr_array, best: np.ndarray, scores: np.ndarray, evidence: Evidence, shown: Shown
) -> tuple[np.ndarray, np.ndarray]:
    """Return the items whose scores change, ascending, and the changes; `best` and `scores` are the blend's results."""
    if not len(best):
        return np.empty(0, np.int64), np.empty(0, np.float32)
    rank_of = dict(zip(best.tolist(), range(1, len(best) + 1), strict=True))
    ranks = np.array([rank_of.get(item, len(best)) for item in evidence.items.tolist()], np.float64)
    before = np.array(scores[ranks.astype(np.int64) - 1], np.float64)
    below = np.array([item not in rank_of for item in evidence.items.tolist()])
    before[below] = blend.scores_at(query, evidence.items[below])
    log_ranks, half = np.log(ranks), shown.slope / 2
    expected = evidence.expected * np.exp(-half * log_ranks - evidence.log_prior)
    rise = np.log((evidence.clicks + shown.strength) / (expected + shown.strength))
    after = _scores_at_ranks(scores.astype(np.float64), log_ranks - rise / half)
    matches = before > 0  # and remain so: results of score 0 or less are left out of a search
    after[matches] = np.maximum(after[matches], min((score for score in scores.tolist() if score > 0), default=0.0))
    gains = after - before
    gains[below & (rise <= 0)] = 0
    changed = np.abs(gains) > LEAST_CHANGE * abs(float(scores[0]))
    return evidence.items[changed], gains[changed].astype(np.float32)


def _scores_at_ranks(scores: np.ndarray, log_ranks: np.ndarray) -> np.ndarray:
    """Interpolate the scores of ranks 1, 2, … at other ranks, linear in log rank; extrapolate above rank 1."""
    known = np.log(np.arange(1, len(scores) + 1))
    last = min(N_EXTRAPOLATED, len(scores)) - 1
    fall = (scores[0] - scores[last]) / max(known[last], 1.0)
    above = np.minimum(log_ranks, 0) * max(fall, FLATTEST * abs(scores[0]))
    found: np.ndarray = np.interp(log_ranks, known, scores) - above
    return found


def _columns(parts: Sequence[tuple[np.ndarray, np.ndarray]], n_rows: int) -> sp.csr_array:
    """Build a sparse matrix from the rows and values of its columns."""
    borders = np.cumsum([0, *(len(rows) for rows, _ in parts)])
    rows, values = (np.concatenate([part[side] for part in parts]) for side in (0, 1)) if parts else ([], [])
    columns = sp.csc_array((np.asarray(values, np.float32), rows, borders), shape=(n_rows, len(parts)))
    return sp.csr_array(columns)
