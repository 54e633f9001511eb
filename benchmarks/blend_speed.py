"""Time of ranking with `blend` beside `bm25`: one thread, 100,000 documents, typed queries.

    NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/blend_speed.py [--documents N] [--rounds N]

Documents are drawn: 30,000 words by Zipf's law, 200 topics that each prefer 300 words, 90 words a document. A query has
four to twelve words of a document that are in at most a tenth of all documents. Times are the least of several rounds.
`blend --ann` takes candidates from words and from a graph of neighbours; its loss is the share of the ten best answers
of the whole collection that it does not find.
"""

import argparse
import time
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from tacit.features.text.weighting import weigh
from tacit.retrieve import BlendRanker, Bm25Ranker, LearnedConcepts

N_WORDS, N_TOPICS, LENGTH, N_QUERIES, K = 30_000, 200, 90, 100, 10


def draw_documents(n_documents: int, rng: np.random.Generator) -> sp.csr_array:
    """Counts of words, half of them of the document's topic."""
    shares = 1 / (10 + np.arange(N_WORDS))
    common = rng.choice(N_WORDS, (n_documents, LENGTH // 2), p=shares / shares.sum())
    topics = rng.integers(0, N_WORDS, (N_TOPICS, 300))
    preferred = 1 / (5 + np.arange(300))
    places = rng.choice(300, (n_documents, LENGTH // 2), p=preferred / preferred.sum())
    of_topic = np.take_along_axis(topics[rng.integers(0, N_TOPICS, n_documents)], places, axis=1)
    words = np.hstack([common, of_topic])
    rows = np.repeat(np.arange(n_documents), words.shape[1])
    counts = sp.csr_array((np.ones(words.size, np.float32), (rows, words.ravel())), shape=(n_documents, N_WORDS))
    counts.sum_duplicates()
    return counts


def draw_queries(counts: sp.csr_array, rng: np.random.Generator) -> sp.csr_array:
    """Rows of a few words that are not too common."""
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    rows, columns = [], []
    for number, document in enumerate(rng.choice(counts.shape[0], N_QUERIES, replace=False)):
        words = counts[[document]].indices
        words = rng.permutation(words[frequencies[words] < counts.shape[0] / 10])[: rng.integers(4, 13)]
        rows += [number] * len(words)
        columns += words.tolist()
    return sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(N_QUERIES, counts.shape[1]))


def seconds(ranker: Bm25Ranker | BlendRanker, queries: sp.csr_array, rounds: int) -> float:
    """Least time for a query, of several rounds over all queries."""
    ranker.rank(queries[:2], K, threads=1)
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for row in range(queries.shape[0]):
            ranker.rank(queries[[row]], K, threads=1)
        found.append((time.perf_counter() - start) / queries.shape[0])
    return min(found)


def main() -> None:
    """Print times, their ratio to BM25, and what candidates lose."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    counts = draw_documents(args.documents, rng)
    queries = draw_queries(counts, rng)
    bm25 = Bm25Ranker().fit(None, counts)
    base = seconds(bm25, queries, args.rounds)
    print("| system | ms a query | times bm25 | of the 10 best, lost |")
    print("| --- | --- | --- | --- |")
    print(f"| bm25 | {1000 * base:.2f} | 1.0 | |")
    # Times do not depend on how long the concepts were trained: one epoch instead of eight.
    blend = BlendRanker(threads=1)
    idf = np.log(counts.shape[0] / np.maximum(np.bincount(counts.indices, minlength=N_WORDS), 1)).astype(np.float32)
    concepts = LearnedConcepts(blend.dim, n_epochs=1).fit(None, weigh(counts, idf, "log"))
    full = blend.fit(None, counts, members=SimpleNamespace(latent_=concepts))
    best = full.rank(queries, K, threads=1).items
    for name in ("blend", "blend --ann"):
        if name == "blend --ann":
            full.build_graph(queries)
        items = full.rank(queries, K, threads=1).items
        lost = 1 - np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(items, best, strict=True)])
        spent = seconds(full, queries, args.rounds)
        print(f"| {name} | {1000 * spent:.2f} | {spent / base:.1f} | {lost:.3f} |", flush=True)


if __name__ == "__main__":
    main()
