"""Titles and questions as queries: the effect of the member `exact` of `blend` on both.

    python benchmarks/titles.py [NAME ...] [--data FOLDER]     (FOLDER defaults to $TACIT_DATA; needs bm25s)

Titles: 150 pages with the most in-links and 150 random ones (seed 0) of each linked collection; each document with
exactly that title counts. MRR and the share of queries with such a document first. Questions: average precision over
the whole collection. p is of a paired t test of `blend` and `blend` without the member.
"""

import argparse
import os
from pathlib import Path

import numpy as np

from tacit.core import Collection
from tacit.data import read_collection, read_links
from tacit.experiments.collections.question_task import read_questions
from tacit.metrics import compare_systems
from tacit.retrieve import BlendRanker
from tacit.search import Searcher

LINKED = ("wikispeedia", "mdn_ja_en", "foldoc", "debian_ja_en")
QUESTIONS = (
    "cacm", "cranfield", "cisi", "cystic_fibrosis", "scifact", "chorus_products", "cosqa_code", "traceability",
    "stackfaq",
)  # fmt: skip
N_TITLES = 150


def by_bm25s(documents: Collection, queries: list[str]) -> np.ndarray:
    """Return scores of all documents by bm25s, with its own English stop words and no stems."""
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(documents.full_texts()), show_progress=False), show_progress=False)
    asked = bm25s.tokenize(queries, return_ids=False, show_progress=False)
    return np.stack([index.get_scores(words) if words else np.zeros(len(documents)) for words in asked])


def systems(documents: Collection, queries: list[str]) -> dict[str, np.ndarray]:
    """Return scores of all documents by each system."""
    found = {"bm25s": by_bm25s(documents, queries)}
    bm25 = Searcher("bm25").fit(documents)
    found["bm25"] = bm25.ranker_.scores(bm25.query_rows(queries))
    blend = Searcher("blend", seed=0).fit(documents)
    rows, ranker = blend.query_rows(queries), blend.ranker_
    assert isinstance(ranker, BlendRanker)
    whole = ranker.scores(rows)
    ranker.weights_["exact"] = 0.0
    return found | {"blend, exact=0": ranker.scores(rows), "blend": whole}


def ranks(scores: np.ndarray, relevant: list[int]) -> np.ndarray:
    """Return ranks of some documents, ascending; ties go to the smaller row."""
    order = np.argsort(-scores, kind="stable")
    return np.sort(np.argsort(order, kind="stable")[relevant] + 1)


def titles(data: Path, name: str) -> None:
    """Yield rows of the table for titles."""
    documents = read_collection(data / "linked" / name)
    links = read_links(data / "linked" / name / "links.tsv.gz", documents)
    frequency = np.bincount(links.targets, minlength=len(documents))
    linked = np.argsort(-frequency, kind="stable")[:N_TITLES]
    chosen = {"much linked": linked, "random": np.random.default_rng(0).permutation(len(documents))[:N_TITLES]}
    same: dict[str, list[int]] = {}
    for row, title in enumerate(documents.titles):
        same.setdefault(title.strip().casefold(), []).append(row)
    queries = [documents.titles[row] for rows in chosen.values() for row in rows]
    found = systems(documents, queries)
    for start, kind in zip((0, N_TITLES), chosen, strict=True):
        for system, scores in found.items():
            part = range(start, start + N_TITLES)
            first = np.array([ranks(scores[row], same[queries[row].strip().casefold()])[0] for row in part])
            print(f"| {name} | {kind} titles | {system} | {(1 / first).mean():.3f} | {(first == 1).mean():.3f} | | |")


def questions(data: Path, name: str) -> None:
    """Yield rows of the table for questions."""
    task = read_questions(data, name)
    queries = list(task.queries.full_texts())
    relevant: list[list[int]] = [[] for _ in queries]
    for query, item in zip(task.pairs.sources.tolist(), task.pairs.targets.tolist(), strict=True):
        relevant[query].append(item)
    values = {}
    for system, scores in systems(task.documents, queries).items():
        places = [ranks(of_query, rows) for of_query, rows in zip(scores, relevant, strict=True)]
        values[system] = np.array([np.mean(np.arange(1, 1 + len(at)) / at) if len(at) else 0.0 for at in places])
    pair = {"a": values["blend"], "b": values["blend, exact=0"]}
    p = compare_systems(pair, "AP")[0].p
    for system, found in values.items():
        print(f"| {name} | questions | {system} | | | {found.mean():.4f} | {f'{p:.2g}' if system == 'blend' else ''} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*LINKED, *QUESTIONS])
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"))
    args = parser.parse_args()
    print("| collection | queries | system | MRR | P@1 | AP | p |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in args.names:
        (titles if name in LINKED else questions)(args.data, name)


if __name__ == "__main__":
    main()
