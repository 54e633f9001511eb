"""Ranking without comparing a query with the vector of every item: candidates from a graph, and from words.

The graph finds items with large inner products. The items with the best word scores are found exactly, which is cheap.
All candidates are scored as in exact search, so results differ only if a candidate is missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, StoreError, UsageError
from tacit.kernels.topk import top_k_rows
from tacit.retrieve.factors import DenseFactors, factor_scores
from tacit.retrieve.neighbor_graph import BREADTHS, WANTED_RECALL, NeighborGraph

if TYPE_CHECKING:
    from tacit.retrieve.base import CollectionRanker


def build_graphs(ranker: CollectionRanker, queries: Features, params: dict[str, Any]) -> None:
    """Build a graph for each ranker by vectors, and measure its recall on the queries."""
    rankers = ranker.rankers_by_vectors()
    if not rankers:
        raise no_vectors(ranker)
    graphs = [NeighborGraph(**params).fit(item_vectors(member)) for member in rankers]
    for member in rankers:
        member.graph_ = None
    ranker.__dict__.pop("graphs", None)
    exact = ranker.rank(queries, 10).items
    for member, graph in zip(rankers, graphs, strict=True):
        member.graph_ = graph
    for breadth in BREADTHS if graphs[0].breadth is None else (graphs[0].breadth,):
        for graph in graphs:
            graph.breadth_ = breadth
        ranker.__dict__.pop("graphs", None)
        found = ranker.rank(queries, 10).items
        for graph in graphs:
            graph.measure(found, exact)
        if graphs[0].recall_ >= WANTED_RECALL:
            return


def no_vectors(ranker: CollectionRanker) -> UsageError:
    """Return the error for a ranker that cannot have a graph."""
    return UsageError(f"{type(ranker).__name__} does not score by one vector for each item; want exact search")


def checked_graphs(ranker: CollectionRanker) -> list[NeighborGraph]:
    """Return the graphs of a ranker, checked against its vectors, because compiled loops rely on it."""
    found = list[NeighborGraph]()
    for member in ranker.rankers_by_vectors():
        if isinstance(member.graph_, NeighborGraph):
            member.graph_.check_rows(member.n_items_)
            found.append(member.graph_)
        elif member.graph_ is not None:
            raise StoreError(f"graph_ is a {type(member.graph_).__name__}, want a NeighborGraph")
    return found


def rank_by_graphs(
    ranker: CollectionRanker, rows: Features, skip: sp.csr_array, items: np.ndarray, scores: np.ndarray
) -> None:
    """Fill items and scores with the best candidates of each query, for a ranker with one graph."""
    (graph,), vectors = ranker.graphs, item_vectors(ranker)
    n_best = max(items.shape[1], int(graph.breadth_))
    for row in range(rows.shape[0]):
        by_words, vector = query_parts(ranker, rows[row : row + 1])
        candidates = np.union1d(best_by_words(by_words, n_best), graph.search(vectors, vector[0], n_best))
        candidates = candidates[~np.isin(candidates, skip[row : row + 1].indices)]
        totals = by_words[0, candidates] + factor_scores(DenseFactors(vectors[candidates]), vector)[0]
        order = np.lexsort((candidates, -totals))[: items.shape[1]]
        items[row], scores[row] = -1, 0
        items[row, : len(order)], scores[row, : len(order)] = candidates[order], totals[order]


def query_parts(ranker: CollectionRanker, row: Features) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of all items by words for one query, (1, n_items), and its vector, (1, dim)."""
    by_words, vector = np.zeros((1, ranker.n_items_), np.float32), np.empty((1, 0), np.float32)
    for factors, of_query in ranker.factor_pairs(row):
        if isinstance(factors, DenseFactors):
            vector = np.ascontiguousarray(of_query, np.float32)
        else:
            factors.add_scores(of_query, by_words)
    return by_words, vector


def item_vectors(ranker: CollectionRanker) -> np.ndarray:
    """Return the item vectors of a ranker that has one term with vectors."""
    return next(factors.items for factors in ranker.item_factors if isinstance(factors, DenseFactors))


def best_by_words(scores: np.ndarray, n_best: int) -> np.ndarray:
    """Items with the best scores above 0 of one query.

    >>> best_by_words(np.array([[0.0, 2.0, 3.0]], np.float32), 2)
    array([2, 1])
    """
    n_best = min(n_best, scores.shape[1])
    items, found = np.empty((1, n_best), np.int64), np.empty((1, n_best), np.float32)
    top_k_rows(scores, np.zeros(2, np.int32), np.empty(0, np.int32), items, found)
    return items[found > 0]
