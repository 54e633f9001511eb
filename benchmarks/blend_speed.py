"""Ranking time of `blend` and `bm25`: one thread, 100,000 documents, short queries.

    export NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1
    python benchmarks/blend_speed.py [--documents N] [--rounds N] [--unnamed] [--model M]

Documents are generated: 30,000 words by Zipf's law, 200 topics with 300 preferred words each, 90 words per document. A
query has four to twelve words of a document that occur in at most a tenth of all documents. Words have two to five
syllables. With `--model`, the documents are those of a saved searcher with `blend`, and the queries are titles of some
of them. Times are processor time, the minimum of several rounds per query. `blend, all scores` scores every document by
every member; `blend` ranks by bounds, and the number of its results that differ is printed too (target: none). The loss
of 100 candidates (`n_candidates`), and of a graph of neighbours (`--ann`), is the fraction of the exact top 10 that is
missed.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from tacit import Searcher
from tacit.features.text.weighting import weigh
from tacit.retrieve import BlendRanker, LearnedConcepts
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.blend.embeddings import LatentMember
from tacit.retrieve.training_data import Terms

N_WORDS, N_TOPICS, LENGTH, N_QUERIES, K = 30_000, 200, 90, 100, 10


def draw_documents(n_documents: int, rng: np.random.Generator) -> sp.csr_array:
    """Return counts of words, half of them from the document's topic."""
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
    """Return rows of a few words that are not too common."""
    frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
    rows, columns = [], []
    for number, document in enumerate(rng.choice(counts.shape[0], N_QUERIES, replace=False)):
        words = counts[[document]].indices
        words = rng.permutation(words[frequencies[words] < counts.shape[0] / 10])[: rng.integers(4, 13)]
        rows += [number] * len(words)
        columns += words.tolist()
    return sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(N_QUERIES, counts.shape[1]))


def draw_words(rng: np.random.Generator) -> Terms:
    """Return different words of two to five syllables, common ones shorter; the first hundred are function words."""
    syllables = np.array([a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "r", "s")])
    words: dict[str, None] = {}
    while len(words) < N_WORDS:
        words["".join(rng.choice(syllables, rng.integers(2, 5) if len(words) < 5000 else rng.integers(2, 6)))] = None
    return Terms(list(words), np.arange(100))


def draw_world(n_documents: int, named: bool) -> tuple[BlendRanker, sp.csr_array]:
    """Return a blend of generated documents, and queries."""
    rng = np.random.default_rng(0)
    counts = draw_documents(n_documents, rng)
    queries = draw_queries(counts, rng)
    # Times do not depend on how long the concepts were trained, so one epoch instead of eight.
    blend = BlendRanker(threads=1)
    idf = np.log(counts.shape[0] / np.maximum(np.bincount(counts.indices, minlength=N_WORDS), 1)).astype(np.float32)
    latent = LatentMember(blend.half_length)
    latent.ranker_ = LearnedConcepts(blend.dim, n_epochs=1).fit(None, weigh(counts, idf, "log"))
    members = BlendRanker()
    members.members_ = [latent]
    return blend.fit(None, counts, terms=draw_words(rng) if named else None, members=members), queries


def read_world(model: str) -> tuple[BlendRanker, sp.csr_array]:
    """Return the blend of a saved searcher, and titles as queries."""
    searcher = Searcher.load(model)
    documents = searcher.documents_
    rows = np.random.default_rng(0).permutation(len(documents))[:N_QUERIES].tolist()
    return searcher.ranker_, searcher.features([documents.titles[row] or documents.ids[row] for row in rows])


def seconds(rank: Callable[[sp.csr_array], object], queries: sp.csr_array, rounds: int) -> float:
    """Return the mean over the queries of the minimum processor time of several rounds."""
    rank(queries[[0]])
    found = np.full((rounds, queries.shape[0]), np.inf)
    for number in range(rounds):
        for row in range(queries.shape[0]):
            start = time.process_time()
            rank(queries[[row]])
            found[number, row] = time.process_time() - start
    return float(found.min(axis=0).mean())


def rank_all_scores(ranker: BlendRanker, queries: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Rank without bounds."""
    items, scores = np.empty((queries.shape[0], K), np.int64), np.empty((queries.shape[0], K), np.float32)
    nothing = sp.csr_array((queries.shape[0], ranker.n_items_), dtype=bool)
    CollectionRanker._rank_rows(ranker, queries, nothing, items, scores)
    return items, scores


def main() -> None:
    """Print times, their ratio to BM25, and the loss of candidates."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--unnamed", action="store_true", help="words without names: no members content and spelling")
    parser.add_argument("--model", help="folder of a saved searcher with blend")
    args = parser.parse_args()
    blend, queries = draw_world(args.documents, not args.unnamed) if args.model is None else read_world(args.model)
    base = seconds(lambda row: blend.bm25.rank(row, K, threads=1), queries, args.rounds)
    print("| system | ms a query | times bm25 | of the 10 best, lost |\n| --- | --- | --- | --- |")
    print(f"| bm25 | {1000 * base:.2f} | 1.0 | |", flush=True)
    best, scores = (
        np.concatenate(part)
        for part in zip(*(rank_all_scores(blend, queries[[row]]) for row in range(queries.shape[0])), strict=True)
    )
    spent = seconds(lambda row: rank_all_scores(blend, row), queries, args.rounds)
    print(f"| blend, all scores | {1000 * spent:.2f} | {spent / base:.1f} | |", flush=True)
    for name in ("blend", "blend, 100 candidates", "blend --ann"):
        blend.n_candidates = 100 if "candidates" in name else None
        if name == "blend --ann":
            blend.build_graph(queries)
        found = blend.rank(queries, K, threads=1)
        lost = 1 - np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(found.items, best, strict=True)])
        spent = seconds(lambda row: blend.rank(row, K, threads=1), queries, args.rounds)
        print(f"| {name} | {1000 * spent:.2f} | {spent / base:.1f} | {lost:.3f} |", flush=True)
        if name == "blend":
            different = int((found.items != best).any(axis=1).sum()), int((found.scores != scores).any(axis=1).sum())
    print(f"\nanswers of blend with other items: {different[0]}, with other bits of scores: {different[1]}")


if __name__ == "__main__":
    main()
