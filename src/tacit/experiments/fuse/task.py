"""Legs of the experiment: real TREC runs, systems on judged text collections, and noisy copies of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.core import Judgments, Run, TacitError
from tacit.data import read_collection, read_qrels, read_queries, read_run
from tacit.judge.fuse.sources import run_name

TEXTS = ("cranfield", "cacm", "cisi", "cystic_fibrosis")
METHODS = ("bm25", "lsi+tfidf", "qe")
DEPTH = 100
NOISE = 0.5  # of copies, in standard deviations of a query's scores


class Pool(NamedTuple):
    """Runs of the same queries, by name, and their judgments."""

    runs: dict[str, Run]
    judgments: Judgments


def read_runs(folder: Path) -> Pool:
    """Read the runs of a folder with `runs/` and `qrels.txt` or `qrels.txt.gz`."""
    paths = sorted(map(str, (folder / "runs").glob("*.run*")))
    qrels = next((path for path in (folder / "qrels.txt.gz", folder / "qrels.txt") if path.exists()), None)
    if len(paths) < 3 or qrels is None:
        raise TacitError(f"{folder}: want qrels.txt and three or more files runs/*.run")
    return Pool({run_name(path): read_run(path) for path in paths}, read_qrels(qrels))


def read_texts(data: Path, name: str) -> Pool:
    """Make runs of our systems and of MiniLM vectors on a judged text collection."""
    from tacit.search import Searcher

    folder = data / "text" / name
    documents, judgments = read_collection(folder / "docs.jsonl.gz"), read_qrels(folder / "qrels.txt")
    queries = read_queries(folder / "queries.jsonl")
    judged = set(judgments.query_ids)
    queries = queries.take([row for row, query in enumerate(queries.ids) if query in judged])
    runs = {
        method: Searcher(method, stem=True).fit(documents).run(queries, DEPTH, exclude_self=False) for method in METHODS
    }
    return Pool(runs | {"minilm": _vector_run(data / "vectors" / f"{name}.npz", queries.ids)}, judgments)


def _vector_run(path: Path, query_ids: Sequence[str]) -> Run:
    with np.load(path, allow_pickle=False) as file:
        docs, queries = file["docs"].astype(np.float32), file["queries"].astype(np.float32)
        doc_ids, row_of = file["doc_ids"].tolist(), {name: row for row, name in enumerate(file["query_ids"].tolist())}
    nested = {}
    for query in query_ids:
        if query in row_of:
            scores = docs @ queries[row_of[query]]
            best = np.argsort(-scores, kind="stable")[:DEPTH]
            nested[query] = {str(doc_ids[doc]): float(scores[doc]) for doc in best.tolist()}
    return Run.from_dict(nested, "minilm")


def noisy_copy(run: Run, rng: np.random.Generator) -> Run:
    """Return the same documents with noise added to their standardised scores, so two copies are equally good."""
    score = np.empty(len(run))
    for query in range(len(run.query_ids)):
        rows = run.query == query
        mine = run.score[rows]
        spread = float(mine.std()) or 1.0
        score[rows] = (mine - mine.min()) / spread + NOISE * rng.normal(size=len(mine))
    return Run(run.query_ids, run.doc_ids, run.query, run.doc, score, run.name)


def pools(data: Path, corpus: str) -> list[Callable[[], Pool]]:
    """Return functions that read the pools of a corpus name."""
    if corpus == "texts":
        return [lambda name=name: read_texts(data, name) for name in TEXTS]  # type: ignore[misc]
    folder = data / "runs" / corpus if corpus == "dl21" else Path(corpus)
    return [lambda: read_runs(folder)]
