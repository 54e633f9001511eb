"""The best items of a blend for one query, without scoring all items by all members.

The first items by BM25 are scored by every member. With theta the k-th best of these scores, an item can only be among
the k best if an upper bound of its score reaches theta. In

    score(i) = sum over members m of  a_m s_m(i)

BM25 is known for all items. A product of vectors is at most the product of their lengths. Words of the feedback that
can add little for the length of their postings are left out and count as the most that they can add together. Of the
items that reach theta, first the products of vectors are computed, then whole scores, by the loops that score all
items: the answers have the same bits. The bounds allow for rounding.

Where more than `MANY` items reach theta, the bounds of products of vectors are lowered by reading a byte for each
number (`kernels.sketch`). With graphs of neighbours (`--ann`), where more than `VERY_MANY` do, the best by words and
those that a graph finds are the only candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tacit.kernels.topk import top_k_rows
from tacit.retrieve.approximate import best_by_words
from tacit.retrieve.blend.members import N_CANDIDATES, AskedMember, BlendQuery, FirstItems
from tacit.retrieve.factors import DenseFactors, FactorPair, SparseFactors, length_of, scores_at

if TYPE_CHECKING:
    from tacit.retrieve.blend.scoring import BlendScores

PRUNED_FROM = 300  # items for each answer, of at least ten: with fewer, scoring all of them in blocks is as fast
N_FIRST = 2  # first items by BM25 for each answer
LEFT_OUT = 0.1  # what words that are left out may add, of the best score by the same member
ROUNDING = 1e-4  # of a bound: sums of a thousand float32 numbers
MANY = 2_000  # items whose vectors are compared; for more, bounds of a sketch are computed first
ONE = np.float32(1)
NO_SKIPS = np.zeros(2, np.int32)
VERY_MANY = 200_000  # items for which a graph is faster than a sketch


def rank_row(blend: BlendScores, query: BlendQuery, skip: sp.csr_array, items: np.ndarray, scores: np.ndarray) -> None:
    """Fill items and scores (k,) with the best items of one query, as ranking all items does.

    With `n_candidates` they are the best of the first items by BM25 and of those that clicks moved.
    """
    first = blend._first_items(query.words, skip, max(N_FIRST * len(items), blend.n_candidates or 0))
    items[:], scores[:] = -1, 0
    if first.items[0, 0] < 0:
        return
    members = [
        member._replace(factor=blend._weights(member.name, query.words.nnz) * member.factor)
        for member in blend._asked_members(query, blend._used, first)
    ]
    clicked = blend._known(query.words)
    if clicked is not None:
        members.append(AskedMember("clicks", [clicked], scores_at([clicked], np.maximum(first.items[0], 0)), ONE))
    known = first.items[0] >= 0
    totals = _totals(members, [member.scores for member in members])[known]
    if blend.n_candidates is None:
        theta = np.partition(totals, -len(items))[-len(items)] if len(totals) >= len(items) else -np.inf
        candidates = _candidates(blend, members, first, float(theta), len(items))
        candidates = np.setdiff1d(candidates, skip.indices, assume_unique=True) if skip.nnz else candidates
        totals = _totals(members, [_scores(member, first, candidates) for member in members])
    elif clicked is not None:
        candidates = np.setdiff1d(np.union1d(first.items[0, known], _items_of(clicked)), skip.indices)
        totals = _totals(members, [_scores(member, first, candidates) for member in members])
    else:
        order = np.argsort(first.items[0, known])
        candidates, totals = first.items[0, known][order], totals[order]
    n_found = min(len(items), len(candidates))
    places = np.empty((1, n_found), np.int64)
    top_k_rows(totals[None], NO_SKIPS, NO_SKIPS, places, scores[None, :n_found])
    items[:n_found] = candidates[places[0]]


def _items_of(clicked: FactorPair) -> np.ndarray:
    """Items whose scores clicks change."""
    factors, place = clicked
    assert isinstance(factors, SparseFactors)
    found: np.ndarray = factors.postings[:, place.indices].indices
    return found


def _scores(member: AskedMember, first: FirstItems, items: np.ndarray) -> np.ndarray:
    found: np.ndarray = first.all_scores[0, items] if member.name == "bm25" else scores_at(member.pairs, items)
    return found


def _totals(members: Sequence[AskedMember], scores: Sequence[np.ndarray]) -> np.ndarray:
    """Sums of the members' scores, in the order in which all items are scored."""
    total = members[0].factor * scores[0]
    for member, part in zip(members[1:], scores[1:], strict=True):
        total += member.factor * part
    return total


def _candidates(
    blend: BlendScores, members: Sequence[AskedMember], first: FirstItems, theta: float, k: int
) -> np.ndarray:
    """Items whose scores may reach theta, rising."""
    bounds, left_out = _bounds(members, first)
    wanted = np.float32(theta - left_out - ROUNDING * (abs(theta) + float(bounds.max())))
    found = np.flatnonzero(bounds >= wanted)
    products = [
        (member, factors, query)
        for member in members
        for factors, query in member.pairs
        if isinstance(factors, DenseFactors)
    ]
    if len(found) <= MANY:
        near = bounds[found]
        for member, vectors, query in products:
            exact, most = scores_at([(vectors, query)], found), np.float32(length_of(query)) * vectors.lengths[found]
            near += member.factor * (exact - most)
        return found[near >= wanted]
    if blend.graphs and len(found) > VERY_MANY:
        n_best = max(N_CANDIDATES, k)
        parts = [first.items[first.items >= 0], best_by_words(bounds[None], n_best)]
        for member, vectors, query in products:
            graph = getattr(blend, f"{member.name}_").graph_
            parts += [] if graph is None else [graph.search(vectors.items, query[0], n_best)]
        return np.unique(np.concatenate(parts))
    for member, vectors, query in products:
        vectors.lower_bounds(query, float(member.factor), float(wanted), bounds)
    return np.flatnonzero(bounds >= wanted)


def _bounds(members: Sequence[AskedMember], first: FirstItems) -> tuple[np.ndarray, float]:
    """What the scores of all items are at most, less an amount that is returned too."""
    by_bm25 = members[0].factor if members[0].name == "bm25" else np.float32(0)
    bounds, left_out = first.all_scores[0] * by_bm25, 0.0
    for member in members:
        if member.name != "bm25":
            budget = LEFT_OUT * float(member.factor * member.scores.max())
            for factors, query in member.pairs:
                left_out += factors.add_bounds(query, float(member.factor), budget, bounds)
    return bounds, left_out
