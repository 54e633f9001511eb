"""Member `clicks`: adjusts the results of a logged query by the clicks on its results.

It applies to a query if the log contains a query with the same words. The prior relevance of an item at rank r of the
blend is r^(-s/2), as in the click model of the shown ranking (see `data.click_model`). The clicks follow

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
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import ClickedLinks, Shown, TacitError, cut, track
from tacit.retrieve.blend.member import ItemRows, Member, QueryBlock
from tacit.retrieve.explanation import Term
from tacit.retrieve.factors import (
    FactorPair,
    SparseFactors,
    Words,
    append_rows,
    factor_scores,
    scores_at,
    widened,
    word_rows,
)
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.vectors import split_vectors

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

DEPTH = 100  # ranks of the blend that are distinguished; items below them can only rise
STEEP = 10  # ranks used to extrapolate scores above the first
FLATTEST = 1e-3  # minimum fall of scores over these ranks, as a fraction of the best score
LEAST = 1e-6  # smaller score changes, as a fraction of the best score, are ignored
BLOCK = 256  # queries ranked at a time


class ClicksMember(Member):
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
    trains_on_pairs: ClassVar[bool] = True
    for_any_query: ClassVar[bool] = False
    clicked_queries_: sp.csr_array
    gains_: sp.csr_array

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Return None: `learned` creates this member once the weights of all other members are known."""
        return None

    @classmethod
    def learned(cls, blend: BlendRanker, data: TrainingData) -> Self | None:
        """Return the score changes for a blend of all other members; None if clicks change nothing."""
        if not isinstance(data.pairs, ClickedLinks):
            return None
        made = cls()
        made.clicked_queries_, made.gains_ = learn_gains(blend, sp.csr_array(data.queries), data.pairs.shown)
        return made if made.gains_.nnz else None

    @property
    def n_queries(self) -> int:
        """Number of queries whose results change."""
        return int(self.clicked_queries_.shape[0])

    def answers(self, block: QueryBlock) -> bool:
        """Return whether one of the queries is in the log."""
        return any(len(place.indices) for place in self._places(block))

    def scores(self, block: QueryBlock) -> np.ndarray:
        """Return the score changes, float32 (n_queries, n_items)."""
        return factor_scores(self._factors, word_rows(self._places(block), self.n_queries))

    def pairs(self, query: QueryBlock) -> list[FactorPair]:
        """Return the score changes and the row number of the query."""
        return [(self._factors, self._places(query)[0])]

    def factors(self, block: QueryBlock, at_candidates: np.ndarray) -> np.ndarray:
        """Return ones, because the score changes are already in the unit of the blend."""
        return np.ones(len(block.items), np.float32)

    def items_of(self, query: QueryBlock) -> np.ndarray:
        """Return the items whose scores change for one query."""
        found: np.ndarray = self._factors.postings[:, self._places(query)[0].indices].indices
        return found

    def terms(self, query: QueryBlock, a: int, b: int | None) -> list[Term]:
        """Return one term if clicks change the difference."""
        gains = scores_at(self.pairs(query), np.array([a] if b is None else [a, b])).tolist()
        change = sum(sign * gain for sign, gain in zip((1.0, -1.0), gains, strict=False))
        return [Term("clicks", -1, -1, change)] if change else []

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

    def _places(self, block: QueryBlock) -> list[Words]:
        """Return the row number of each query among the logged queries, with value 1; empty if it is not logged."""
        places = (self._place_of.get(key) for key in keys_of(block.typed))
        rows = [np.array([] if place is None else [place], np.int32) for place in places]
        return [Words(row, np.ones(len(row), np.float32)) for row in rows]

    @cached_property
    def _place_of(self) -> dict[bytes, int]:
        return {key: place for place, key in enumerate(keys_of(self.clicked_queries_))}

    @cached_property
    def _factors(self) -> SparseFactors:
        return SparseFactors(self.gains_.tocsc(), self.gains_)

    def _forget(self) -> None:
        self.__dict__.pop("_factors", None)

    def with_items(self, rows: np.ndarray) -> Self:
        """Return a copy that has some of the items."""
        made = super().with_items(rows)
        made._forget()
        return made


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
    changed = np.abs(gains) > LEAST * abs(float(scores[0]))
    return evidence.items[changed], gains[changed].astype(np.float32)


def _scores_at_ranks(scores: np.ndarray, log_ranks: np.ndarray) -> np.ndarray:
    """Interpolate the scores of ranks 1, 2, … at other ranks, linear in log rank; extrapolate above rank 1."""
    known = np.log(np.arange(1, len(scores) + 1))
    last = min(STEEP, len(scores)) - 1
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
