"""Intervals from sampled judgments, simulated on judged collections: their coverage and their cost.

    python benchmarks/sampled_measures.py [--data FOLDER] [--draws 100] [--judgments 100] [--depth 50]

The pool is the first 50 documents of each query: BM25 on texts, the mean rank over features on LETOR lists. A document
without a judgment counts as not relevant, so the pool is fully judged and the true value is known. For each design the
table has the share of 95% intervals that contain the true value, and the share of uniform sampling's judgments that
gives intervals of the same width, (width / width of uniform)^2. `uniform` draws from the whole pool, `uniform top 10`
from the first ten ranks; both use Hajek's estimator.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tacit.core import Judgments, Run
from tacit.data import read_collection, read_letor, read_qrels, read_queries
from tacit.judge.pool import Suggestion
from tacit.judge.sampling import draw_sample
from tacit.metrics import estimate, evaluate
from tacit.metrics.rankings import order_run
from tacit.search import Searcher

TEXTS = ("cranfield", "cacm", "cisi")
LISTS = ("OHSUMED-letor3-QueryLevelNorm", "MQ2008", "WTR")
SUMS, RATIOS = ("P@10", "DCG@10"), ("AP", "nDCG@10")

Grades = dict[str, dict[str, float]]


def text_pool(folder: Path, depth: int) -> tuple[Run, Grades]:
    """Return BM25's first documents of the judged queries, and their grades."""
    grades = read_qrels(folder / "qrels.txt").to_dict()
    queries = read_queries(folder / "queries.jsonl")
    queries = queries.take([row for row, name in enumerate(queries.ids) if name in grades])
    run = Searcher("bm25", stem=True).fit(read_collection(folder / "docs.jsonl.gz")).run(queries, depth)
    return run, {q: {d: grades[q].get(d, 0.0) for d in docs} for q, docs in run.to_dict().items()}


def list_pool(path: Path, depth: int) -> tuple[Run, Grades]:
    """Return the first rows of each list by their mean rank over features, and their grades."""
    lists = read_letor(path)
    scores: Grades = {}
    grades: Grades = {}
    for number, query in enumerate(lists.query_ids):
        rows = lists.rows(number)
        mean = np.nan_to_num(lists.X[rows]).argsort(axis=0).argsort(axis=0).mean(axis=1)
        best = np.argsort(-mean, kind="stable")[:depth]
        scores[query] = {f"{query}.{row}": float(mean[row]) for row in best.tolist()}
        grades[query] = {f"{query}.{row}": float(lists.y[rows][row]) for row in best.tolist()}
    return Run.from_dict(scores), grades


def uniform(run: Run, n: int, depth: int, seed: int) -> list[Suggestion]:
    query, doc, rank = order_run(run)
    pool = np.flatnonzero(rank <= depth)
    n = min(n, len(pool))
    rows = np.sort(np.random.default_rng(seed).choice(pool, n, replace=False)).tolist()
    return [
        Suggestion(run.query_ids[query[r]], run.doc_ids[doc[r]], int(rank[r]), n / len(pool), "uniform") for r in rows
    ]


def judged(sample: list[Suggestion], grades: Grades) -> Judgments:
    queries = {name: row for row, name in enumerate(dict.fromkeys(draw.query for draw in sample))}
    docs = {name: row for row, name in enumerate(dict.fromkeys(draw.document for draw in sample))}
    return Judgments(
        list(queries),
        list(docs),
        np.array([queries[draw.query] for draw in sample]),
        np.array([docs[draw.document] for draw in sample]),
        np.array([grades[draw.query][draw.document] for draw in sample]),
        np.array([draw.probability for draw in sample]),
    )


def simulate(
    run: Run,
    grades: Grades,
    draw: Callable[[int], list[Suggestion]],
    n_draws: int,
    assisted: bool,
    measures: tuple[str, ...],
) -> dict[str, tuple[float, float, float]]:
    """Return coverage, mean width and bias by measure."""
    truth = evaluate(Judgments.from_dict(grades), run, measures).means()
    rows = []
    for seed in range(n_draws):
        found = estimate(judged(draw(seed), grades), run, measures, assisted=assisted)
        rows.append([(e.low <= truth[m] <= e.high, e.high - e.low, e.value - truth[m]) for m, e in found.items()])
    means = np.mean(np.array(rows, float), axis=0).tolist()
    return {measure: (cover, width, bias) for measure, (cover, width, bias) in zip(measures, means, strict=True)}


def table(name: str, run: Run, grades: Grades, n: int, depth: int, n_draws: int) -> None:
    designs: dict[str, tuple[Callable[[int], list[Suggestion]], bool]] = {
        "uniform": (lambda seed: uniform(run, n, depth, seed), False),
        "uniform top 10": (lambda seed: uniform(run, n, 10, seed), False),
        "stratified, Hajek": (lambda seed: draw_sample(run, n, depth=depth, seed=seed), False),
        "stratified": (lambda seed: draw_sample(run, n, depth=depth, seed=seed), True),
        "stratified top 10": (lambda seed: draw_sample(run, n, depth=10, seed=seed), True),
    }
    base: dict[str, float] = {}
    for design, (draw, assisted) in designs.items():
        measures = SUMS + RATIOS if design == "stratified" else SUMS
        cells = [f"{name:10.10}", f"{design:17}"]
        for measure, (cover, width, bias) in simulate(run, grades, draw, n_draws, assisted, measures).items():
            base.setdefault(measure, width)
            cells.append(
                f"{measure}: {cover:.3f} width {width:.3f} bias {bias:+.3f} share {(width / base[measure]) ** 2:.0%}"
            )
        print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), type=Path)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--judgments", type=int, default=100)
    parser.add_argument("--depth", type=int, default=50)
    args = parser.parse_args()
    pools = {name: lambda name=name: text_pool(args.data / "text" / name, args.depth) for name in TEXTS}
    pools |= {
        name: lambda name=name: list_pool(args.data / "letor" / name / f"{name}.txt.gz", args.depth) for name in LISTS
    }
    for name, make in pools.items():
        run, grades = make()
        table(name, run, grades, args.judgments, args.depth, args.draws)


if __name__ == "__main__":
    main()
