"""Time of `tacit fuse`: three runs of 1,000 results for 100 queries. Target: under 5 s.

    python benchmarks/fuse_speed.py [--queries 100] [--results 1000] [--runs 3]

Runs are generated with seed 0: each scores 2,000 documents of a query by grade plus noise, and returns its best. A
fifth of the documents is judged. Seconds are processor time: `apply` fuses the runs with a given fusion, `fuse` learns
from 50 judged queries and tests the choice, and the peer is a fusion by dicts in plain Python, as in a typical script.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tacit.core import Judgments, Run
from tacit.data import read_run, write_qrels, write_run
from tacit.judge.fuse import Fusion, apply, fuse
from tacit.judge.fuse.normalizations import Family


def make(folder: Path, n_queries: int, n_results: int, n_runs: int) -> list[Path]:
    rng = np.random.default_rng(0)
    grades = rng.choice(4, size=(n_queries, 2 * n_results), p=[0.85, 0.08, 0.05, 0.02])
    ids = [f"d{number}" for number in range(2 * n_results)]
    judged = {
        f"q{q}": {ids[d]: int(grades[q, d]) for d in np.flatnonzero(rng.random(2 * n_results) < 0.2).tolist()}
        for q in range(min(50, n_queries))
    }
    write_qrels(Judgments.from_dict(judged), folder / "qrels.txt")
    paths = []
    for leg in range(n_runs):
        scores = grades * (0.4 + 0.3 * leg) + rng.normal(size=grades.shape)
        best = np.argsort(-scores, axis=1)[:, :n_results]
        nested = {f"q{q}": {ids[d]: float(scores[q, d]) for d in best[q].tolist()} for q in range(n_queries)}
        paths.append(folder / f"leg{leg}.run")
        write_run(Run.from_dict(nested), paths[-1])
    return paths


def plain_python(paths: list[Path]) -> dict[str, list[tuple[str, float]]]:
    """Read runs line by line, min-max normalise, sum, sort."""
    fused: dict[str, dict[str, float]] = {}
    for path in paths:
        run: dict[str, dict[str, float]] = {}
        for line in path.read_text().splitlines():
            query, _, document, _, score, _ = line.split()
            run.setdefault(query, {})[document] = float(score)
        for query, found in run.items():
            low, high = min(found.values()), max(found.values())
            total = fused.setdefault(query, {})
            for document, score in found.items():
                total[document] = total.get(document, 0.0) + (score - low) / (high - low) / len(paths)
    return {query: sorted(found.items(), key=lambda item: -item[1]) for query, found in fused.items()}


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("queries", 100), ("results", 1000), ("runs", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = make(folder, args.queries, args.results, args.runs)
        legs = tuple(path.stem for path in paths)
        fusion = Fusion(legs, (1 / len(legs),) * len(legs), Family("minmax"))
        times = {
            "read the runs": seconds(lambda: [read_run(path) for path in paths]),
            "apply, reading and writing included": seconds(
                lambda: write_run(apply(fusion, paths), folder / "fused.run")
            ),
            "fuse: learn and prove, reading included": seconds(lambda: fuse(folder / "qrels.txt", paths)),
            "plain Python: read, fuse, sort": seconds(lambda: plain_python(paths)),
        }
    print(f"{args.runs} runs, {args.queries} queries, {args.results} results; load {os.getloadavg()[0]:.1f}\n")
    for what, taken in times.items():
        print(f"{what:42} {taken:6.2f} s")
    print(f"\nfuse under 5 s: {times['fuse: learn and prove, reading included'] < 5}")


if __name__ == "__main__":
    main()
