"""Approximate search in dense vectors of items: a graph of neighbours (HNSW), built by faiss, searched by tacit.

The graph is built with one thread, so it is bit-identical for the same vectors, and stored as plain arrays of integers.
Searching it needs no faiss. Items added later are compared exhaustively until the next build. Removed items are still
traversed, but never returned.

The graph finds items with large inner products. The items with the best word scores are found exactly, which is cheap.
All candidates are scored as in exact search, so results differ only if a candidate is missed.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Estimator, Features, StoreError, TacitError, UsageError, check_number
from tacit.features.knn import faiss_threads, import_faiss
from tacit.kernels.graph.search import search_graph
from tacit.retrieve.factors import DenseFactors, best_items, factor_scores

if TYPE_CHECKING:
    from tacit.retrieve.base import CollectionRanker

BREADTHS = (64, 128, 256, 512)
WANTED_RECALL = 0.98
MAX_BREADTH = 1_000_000


class NeighborGraph(Estimator):
    """Finds item vectors with large inner products without comparing all of them.

    Parameters
    ----------
    n_links : int, default=32
        Neighbours of a vector on the higher levels of the graph; twice as many on the lowest.
    build_breadth : int, default=100
        Candidates for the neighbours of a new vector.
    breadth : int or None, default=None
        Number of candidate vectors in a search; more increase recall and time. None means the smallest of 64, 128, 256
        and 512 with a recall of 0.98 on the queries of `build_graph`.

    Attributes
    ----------
    neighbors_ : ndarray of int32
        Neighbours of all nodes, level by level; -1 ends a list.
    offsets_ : ndarray of shape (n_nodes + 1,), int64
        Where the neighbours of each node start.
    row_of_node_ : ndarray of shape (n_nodes,), int64
        Row of the node's vector by now; -1 for a removed item.
    entry_ : int
        Node where a search starts.
    breadth_ : int
        Number of candidate vectors in a search.
    recall_ : float
        Share of the 10 best items that approximate search found when the graph was built.
    n_measured_ : int
        Number of queries that `recall_` was measured on.
    """

    _fitted: ClassVar = {
        "neighbors_": "places",
        "offsets_": "offsets",
        "row_of_node_": "nodes",
        "entry_": "",
        "breadth_": "",
        "recall_": "",
        "n_measured_": "",
    }
    _array_dtypes: ClassVar = ("int32", "int64")

    def __init__(self, n_links: int = 32, build_breadth: int = 100, breadth: int | None = None) -> None:
        self.n_links, self.build_breadth, self.breadth = n_links, build_breadth, breadth

    def fit(self, vectors: np.ndarray) -> Self:
        """Build the graph.

        Parameters
        ----------
        vectors : ndarray of shape (n_items, dim), float32
            Vectors of the items.
        """
        self.breadth_ = BREADTHS[0] if self.breadth is None else self.breadth
        for name in ("n_links", "build_breadth", "breadth_"):
            check_number(name.rstrip("_"), getattr(self, name), low=2, whole=True)
        faiss = import_faiss()
        index: Any = faiss.IndexHNSWFlat(vectors.shape[1], self.n_links, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = self.build_breadth
        with faiss_threads(1):  # with more, the graph depends on which thread is first
            index.add(np.ascontiguousarray(vectors, np.float32))
        self.neighbors_ = faiss.vector_to_array(index.hnsw.neighbors)
        self.offsets_ = faiss.vector_to_array(index.hnsw.offsets).astype(np.int64)
        self.row_of_node_ = np.arange(len(vectors))
        self.entry_ = int(index.hnsw.entry_point)
        self.recall_, self.n_measured_ = 0.0, 0
        return self

    def search(self, vectors: np.ndarray, query: np.ndarray, n_best: int) -> np.ndarray:
        """Rows of vectors with large inner products with the query, best first; then the rows added since `fit`.

        Parameters
        ----------
        vectors : ndarray of shape (n_items, dim), float32
            Vectors of the items by now.
        query : ndarray of shape (dim,), float32
            Vector of the query.
        n_best : int
            Number of rows to find in the graph.
        """
        rows = np.empty(n_best, np.int64)
        breadth = max(int(self.breadth_), n_best)
        graph = self.row_of_node_, self.neighbors_, self.offsets_, self.n_links, int(self.entry_)
        search_graph(vectors, *graph, query, breadth, rows)
        return np.concatenate([rows[rows >= 0], np.arange(self._n_known, len(vectors))])

    @property
    def _n_known(self) -> int:
        """Rows of the items that are in the graph: they precede all added ones."""
        return int(np.count_nonzero(self.row_of_node_ >= 0))

    def with_items(self, kept: np.ndarray) -> Self:
        """Return a copy with some of the items."""
        n_known, found = self._n_known, self.row_of_node_ >= 0
        moved = np.full(n_known, -1, np.int64)
        kept = kept[kept < n_known]
        moved[kept] = np.arange(len(kept))
        made = copy(self)
        made.row_of_node_ = self.row_of_node_.copy()
        made.row_of_node_[found] = moved[self.row_of_node_[found]]
        return made

    def measure(self, found: np.ndarray, exact: np.ndarray) -> None:
        """Store the mean fraction of the exact results that were found."""
        shares = [len(np.intersect1d(a, b)) / max(1, len(b)) for a, b in zip(found, exact, strict=True)]
        self.recall_, self.n_measured_ = float(np.mean(shares)), len(shares)

    def check_rows(self, n_items: int) -> None:
        """Raise unless the graph has this number of items."""
        known = self.row_of_node_[self.row_of_node_ >= 0]
        if len(known) > n_items or not np.array_equal(np.sort(known), np.arange(len(known))):
            raise TacitError(f"the index of approximate search does not fit the {n_items} items")

    def _check_loaded(self) -> None:
        n_nodes, n_places = len(self.row_of_node_), len(self.neighbors_)
        if self.neighbors_.dtype != np.int32 or self.offsets_.dtype != np.int64 or self.row_of_node_.dtype != np.int64:
            raise TacitError("the index of approximate search has arrays of wrong types")
        sizes = np.diff(self.offsets_)
        check_number("n_links", self.n_links, low=2, whole=True)
        check_number("breadth", self.breadth_, low=2, high=MAX_BREADTH)
        whole = len(self.offsets_) == n_nodes + 1 > 1 and (self.offsets_[0], self.offsets_[-1]) == (0, n_places)
        if not whole or (sizes < 2 * self.n_links).any() or (sizes % self.n_links).any():
            raise TacitError("the index of approximate search has wrong offsets")
        if not 0 <= self.entry_ < n_nodes or int(self.entry_) != self.entry_:
            raise TacitError(f"the index of approximate search starts at node {self.entry_}, want 0 to {n_nodes - 1}")
        if n_places and not -1 <= self.neighbors_.min() <= self.neighbors_.max() < n_nodes:
            raise TacitError("the index of approximate search names a node that it does not have")
        self._check_levels(sizes)

    def _check_levels(self, sizes: np.ndarray) -> None:
        """A neighbour on a higher level has that level too, or a loop would read past its list."""
        for level in range(1, int(sizes.max()) // self.n_links - 1):
            nodes = np.flatnonzero(sizes >= (level + 2) * self.n_links)
            first = self.offsets_[nodes] + (level + 1) * self.n_links
            named = self.neighbors_[first[:, None] + np.arange(self.n_links)]
            if (sizes[named[named >= 0]] < (level + 2) * self.n_links).any():
                raise TacitError("the index of approximate search links nodes across levels")


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
    items, found = best_items(scores, None, n_best)
    return items[found > 0]
