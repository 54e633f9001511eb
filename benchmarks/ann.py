"""Approximate versus exact search in the vectors of a model: recall, and time of sequential queries.

    tacit fit docs.jsonl --links links.tsv --method htr-residual -o my.model
    python benchmarks/ann.py my.model --queries 200

One thread. "vectors" compares the vectors alone (graph versus all inner products), "search" the full ranking of the
method: for a blend and for residual models, candidates from words and vectors versus all scores. The documents' titles
are the queries, or the starts of their texts if there are no titles.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from tacit.data import read_pydocs
from tacit.retrieve import BlendRanker, CollectionRanker, NeighborGraph
from tacit.retrieve.approximate import item_vectors, query_parts
from tacit.retrieve.blend.member import RankerMember
from tacit.retrieve.factors import DenseFactors, factor_scores
from tacit.search import Searcher, load

K = 10


def timed(answer: Callable[[int], np.ndarray], n_queries: int) -> tuple[list[np.ndarray], float]:
    """Return results, and milliseconds per result."""
    answer(0)
    start = time.perf_counter()
    found = [answer(number) for number in range(n_queries)]
    return found, 1000 * (time.perf_counter() - start) / n_queries


def recall(found: list[np.ndarray], exact: list[np.ndarray]) -> float:
    return float(np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, exact, strict=True)]))


def report(
    name: str, breadth: int, found: list[np.ndarray], ms: float, exact: list[np.ndarray], exact_ms: float
) -> None:
    share = recall(found, exact)
    print(f"{name:<10}{breadth:>9}{share:>12.3f}{exact_ms:>12.2f}{ms:>12.2f}{exact_ms / ms:>9.1f}", flush=True)


def measure_vectors(ranker: CollectionRanker, graph: NeighborGraph, rows: sp.csr_array) -> None:
    vectors = item_vectors(ranker)
    queries = [query_parts(ranker, rows[[number]])[1] for number in range(rows.shape[0])]

    def exactly(number: int) -> np.ndarray:
        scores = factor_scores(DenseFactors(vectors), queries[number])[0]
        return np.argpartition(-scores, K)[:K]

    exact, exact_ms = timed(exactly, len(queries))
    for breadth in (16, 32, 64, 128, 256):
        graph.breadth_ = breadth
        found, ms = timed(lambda number: graph.search(vectors, queries[number][0], K), len(queries))
        report("vectors", breadth, found, ms, exact, exact_ms)


def measure_search(ranker: CollectionRanker, rows: sp.csr_array) -> None:
    def ask(number: int) -> np.ndarray:
        return ranker.rank(rows[[number]], K, threads=1).items[0]

    members, graphs = ranker.rankers_by_vectors(), list(ranker.graphs)
    for member in members:
        member.graph_ = None
    ranker.__dict__.pop("graphs")
    exact, exact_ms = timed(ask, rows.shape[0])
    for member, graph in zip(members, graphs, strict=True):
        member.graph_ = graph
    for breadth in (64, 128, 256):
        for graph in graphs:
            graph.breadth_ = breadth
        ranker.__dict__.pop("graphs")
        found, ms = timed(ask, rows.shape[0])
        report("search", breadth, found, ms, exact, exact_ms)


def sample_queries(searcher: Searcher, n_queries: int) -> sp.csr_array:
    docs = searcher.documents_
    picked = np.linspace(0, len(docs) - 1, n_queries).astype(int)
    rows = searcher.features([docs.titles[row] or docs.texts[row][:60] for row in picked])
    return rows[np.diff(rows.indptr) > 0]


def fit_pydocs() -> Searcher:
    docs, links = read_pydocs()
    return Searcher("htr-residual").fit(docs, links=links)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", help="folder of a model with vectors (default: one of pydocs)")
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    searcher: Searcher = load(args.model, Searcher) if args.model else fit_pydocs()
    ranker, rows = searcher.ranker_, sample_queries(searcher, args.queries)
    start = time.perf_counter()
    if not ranker.graphs:
        ranker.build_graph(rows)
        print(f"built in {time.perf_counter() - start:.0f} s")
    print(f"{searcher.method}: {ranker.n_items_:,} documents, {rows.shape[0]} queries")
    print(f"{'':<10}{'breadth':>9}{'recall@10':>12}{'exact ms':>12}{'ms':>12}{'faster':>9}")
    for member, graph in zip(ranker.rankers_by_vectors(), list(ranker.graphs), strict=True):
        breadth = graph.breadth_
        measure_vectors(member, graph, sp.csr_array(member_rows(ranker, member, rows)))
        graph.breadth_ = breadth
    measure_search(ranker, rows)


def member_rows(ranker: CollectionRanker, member: CollectionRanker, rows: sp.csr_array) -> sp.csr_array:
    """Return queries in the form for the member of a blend."""
    if member is ranker:
        return rows
    assert isinstance(ranker, BlendRanker)
    owner = next(own for own in ranker.members_ if isinstance(own, RankerMember) and own.ranker_ is member)
    return owner.rows(ranker.query_block(rows, None))


if __name__ == "__main__":
    main()
