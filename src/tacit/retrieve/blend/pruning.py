"""Finds the best items of a blend for one query without scoring all items by all members.

All members score the first items by BM25. Let theta be the k-th best of these scores. An item can be among the k best
only if an upper bound of its score reaches theta. In

    score(i) = sum over members m of  a_m s_m(i)

a_m is the weight and s_m(i) the score of member m. The BM25 score of every item is known. A product of vectors is at
most the product of their lengths. Feedback words with long postings and little effect are skipped; the bound includes
the most that they can add together. For items whose bound reaches theta, the products of vectors are computed first,
then whole scores. The loops are the same as for scoring all items, so the results are bit-identical. The bounds allow
for rounding.

If the share of items that reach theta is above `Limits.compared`, a one-byte sketch of each vector component tightens
the upper bounds of the products (`kernels.sketch`). With graphs of neighbours (`--ann`) and more than
`Limits.very_many` such items, the only candidates are the best items by words and the items found by a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from tacit.retrieve.approximate import best_by_words
from tacit.retrieve.blend.member import QueryBlock, ScoredMember
from tacit.retrieve.factors import DenseFactors, add_bounds, best_among, length_of, scores_at

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

FIRST_PER_RESULT = 2  # first items by BM25 per result
LEFT_OUT = 0.1  # limit of what skipped words may add, as a fraction of the member's best score
ROUNDING = 1e-4  # relative error of a bound: sums of a thousand float32 numbers


def rank_row(blend: BlendRanker, row: sp.csr_array, skip: sp.csr_array, items: np.ndarray, scores: np.ndarray) -> None:
    """Fill items and scores (k,) with the best items of one query, with the same result as ranking all items.

    With `n_candidates`, the candidates are the first items by BM25, items moved by clicks, and items whose title is the
    query.
    """
    query = blend.query_block(row, skip, max(FIRST_PER_RESULT * len(items), blend.n_candidates or 0))
    items[:], scores[:] = -1, 0
    if query.items[0, 0] < 0:
        return
    members = blend.score_query(query)
    known = query.items[0] >= 0
    totals = _totals(members, [scored.scores for scored in members])[known]
    if blend.n_candidates is None:
        candidates = _candidates(blend, members, query, _kth(totals, len(items)), len(items))
        candidates = np.setdiff1d(candidates, skip.indices, assume_unique=True) if skip.nnz else candidates
        totals = _totals_at(members, candidates)
    elif len(also := _wherever(members, query)):
        candidates = np.setdiff1d(np.union1d(query.items[0, known], also), skip.indices)
        totals = _totals_at(members, candidates)
    else:
        order = np.argsort(query.items[0, known])
        candidates, totals = query.items[0, known][order], totals[order]
    best, best_scores = best_among(candidates, totals, len(items))
    items[: len(best)], scores[: len(best)] = best, best_scores


def prepare(blend: BlendRanker, row: sp.csr_array) -> None:
    """Make the sketches of the vectors that a query is compared with, so that no later query waits for them."""
    query = blend.query_block(row, None)
    if query.items[0, 0] >= 0:
        for _, vectors, _ in _products(blend.score_query(query)):
            vectors.prepare()


def rank_among(blend: BlendRanker, row: sp.csr_array, items: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best of some items (ascending) for one query and their scores, with the bits of ranking all items.

    No item is returned if the query has no candidates.
    """
    query = blend.query_block(row, None)
    if query.items[0, 0] < 0:
        return items[:0], np.zeros(0, np.float32)
    members = blend.score_query(query)
    n_first = FIRST_PER_RESULT * k
    if n_first < len(items) and blend.limits.one_in * len(items) > blend.n_items_:
        bounds, left_out = _bounds(members, query)
        near = bounds[items]
        theta = _kth(_totals_at(members, items[np.argpartition(-near, n_first)[:n_first]]), k)
        wanted = _reaching(theta, left_out, near)
        items = _with_products(members, items[near >= wanted], bounds, wanted)
    return best_among(items, _totals_at(members, items), k)


def _wherever(members: Sequence[ScoredMember], query: QueryBlock) -> np.ndarray:
    """Return the items that are candidates regardless of their BM25 scores."""
    return np.concatenate([scored.member.items_of(query) for scored in members])


def _kth(totals: np.ndarray, k: int) -> float:
    """Return the k-th best score; minus infinity if there are fewer."""
    return float(np.partition(totals, -k)[-k]) if len(totals) >= k else -np.inf


def _totals_at(members: Sequence[ScoredMember], items: np.ndarray) -> np.ndarray:
    """Return the scores of some items."""
    return _totals(members, [scores_at(scored.pairs, items) for scored in members])


def _totals(members: Sequence[ScoredMember], scores: Sequence[np.ndarray]) -> np.ndarray:
    """Sum the members' scores in the same order as for all items."""
    total = members[0].scale * scores[0]
    for scored, part in zip(members[1:], scores[1:], strict=True):
        total += scored.scale * part
    return total


def _candidates(
    blend: BlendRanker, members: Sequence[ScoredMember], query: QueryBlock, theta: float, k: int
) -> np.ndarray:
    """Return the items whose scores may reach theta, ascending."""
    bounds, left_out = _bounds(members, query)
    wanted = _reaching(theta, left_out, bounds)
    found = np.flatnonzero(bounds >= wanted)
    if len(found) <= blend.limits.compared * len(bounds):
        return _with_products(members, found, bounds, wanted)
    if blend.graphs and len(found) > blend.limits.very_many:
        n_best = max(blend.limits.candidates, k)
        parts = [query.items[query.items >= 0], best_by_words(bounds[None], n_best), _wherever(members, query)]
        for scored, vectors, vector in _products(members):
            ranker = scored.member.vector_ranker
            graph = None if ranker is None else ranker.graph_
            parts += [] if graph is None else [graph.search(vectors.items, vector[0], n_best)]
        return np.unique(np.concatenate(parts))
    for scored, vectors, vector in _products(members):
        vectors.lower_bounds(vector, float(scored.scale), float(wanted), bounds)
    return np.flatnonzero(bounds >= wanted)


def _bounds(members: Sequence[ScoredMember], query: QueryBlock) -> tuple[np.ndarray, float]:
    """Return upper bounds of the scores of all items, minus a constant that is also returned."""
    bounds, products = np.zeros(query.all_scores.shape[1], np.float32), []
    for scored in members:
        scale, budget = float(scored.scale), LEFT_OUT * float(scored.scale * scored.scores.max())
        for factors, of_query in scored.member.bounding_pairs(query, scored.pairs):
            products.append((factors, of_query, scale, budget))
    return bounds, add_bounds(products, bounds)


def _reaching(theta: float, left_out: float, bounds: np.ndarray) -> np.float32:
    """Return the bound of an item whose score may reach theta."""
    return np.float32(theta - left_out - ROUNDING * (abs(theta) + float(bounds.max())))


def _with_products(
    members: Sequence[ScoredMember], found: np.ndarray, bounds: np.ndarray, wanted: np.float32
) -> np.ndarray:
    """Return those of some items whose bounds reach `wanted` with the products of their vectors in place of bounds."""
    near = bounds[found]
    for scored, vectors, vector in _products(members):
        exact, most = scores_at([(vectors, vector)], found), np.float32(length_of(vector)) * vectors.lengths[found]
        near += scored.scale * (exact - most)
    return found[near >= wanted]


def _products(members: Sequence[ScoredMember]) -> list[tuple[ScoredMember, DenseFactors, np.ndarray]]:
    """Return the products of vectors: the member, the vectors of the items and of the query."""
    return [
        (scored, factors, vector)
        for scored in members
        for factors, vector in scored.pairs
        if isinstance(factors, DenseFactors)
    ]
