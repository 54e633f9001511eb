"""The weight of a program's grades in training: gain over people's grades alone on lists whose features are runs.

    python benchmarks/program_preferences.py [--data FOLDER] [--seeds 2] [--shares 0.1 0.3 1] [--judges NAME ...]

The rows are the 10,828 judged passages of TREC Deep Learning 2021. Their features are the scores (scaled to 0 to 1 in
each list) and discounted ranks of 24 runs. There are five random folds by query; of the training queries, people judged
5, 10 or 20, the program all. `standing` is trained with people's grades, and with both for each value of `share`
(`rerank.program_pairs`). The table has nDCG@10 of the test queries by people's grades, minus the value with people's
grades alone, and its standard error over queries. No WTR query is used: `tacit reproduce judges --corpus WTR` uses
these.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tacit.core import Lists
from tacit.data import read_qrels, read_run
from tacit.experiments.judges import few_judged
from tacit.metrics import evaluate_rows
from tacit.metrics.rankings import order_run
from tacit.rerank.program_pairs import ProgramPreferences
from tacit.rerank.ranking_lists import RankingTask, fit_lists

JUDGES = ("umbrela_gpt4o", "exam_gpt4", "umbrela_llama3.2_r1")
SIZES, SHARES, N_FOLDS = (5, 10, 20), (0.1, 0.3, 1.0), 5
MISSING = -0.1  # score of a document that is not in the run
MEASURE = "nDCG@10"


def run_lists(data: Path) -> Lists:
    """Return a list for each query: its judged documents by name, with two features for each run."""
    grades = read_qrels(data / "judges/dl21/human.qrels.gz").to_dict()
    runs = [read_run(path) for path in sorted((data / "runs/dl21/runs").glob("*.run.gz"))]
    documents = {query: sorted(row) for query, row in grades.items()}
    columns = []
    for run in runs:
        scores = run.to_dict()
        rank_of = {
            (run.query_ids[q], run.doc_ids[d]): rank
            for q, d, rank in zip(*(column.tolist() for column in order_run(run)), strict=True)
        }
        score, discount = [], []
        for query, names in documents.items():
            found = scores.get(query, {})
            low, high = (min(found.values()), max(found.values())) if found else (0.0, 1.0)
            score += [(found[d] - low) / ((high - low) or 1) if d in found else MISSING for d in names]
            discount += [1 / np.log2(rank_of[query, d] + 1) if d in found else 0.0 for d in names]
        columns += [score, discount]
    y = np.array([grades[query][d] for query, names in documents.items() for d in names], np.float64)
    starts = np.cumsum([0, *map(len, documents.values())])
    return Lists(np.array(columns).T, y, starts, [*documents], [d for names in documents.values() for d in names])


def folds(lists: Lists, seed: int) -> Iterator[tuple[Lists, Lists]]:
    """Yield training and test lists."""
    order = np.random.default_rng(seed).permutation(len(lists))
    for at in range(N_FOLDS):
        test = set(order[at::N_FOLDS].tolist())
        names = [[q for row, q in enumerate(lists.query_ids) if (row in test) == side] for side in (False, True)]
        yield lists.take_queries(names[0]), lists.take_queries(names[1])


def measure(few: Lists, test: Lists, seed: int, given: ProgramPreferences | None) -> np.ndarray:
    """Return nDCG@10 of each test query."""
    ranker = fit_lists(RankingTask("standing", seed=seed, preferences=given), few, warn=False)
    return evaluate_rows(test.y, ranker.predict(test.X, test.qid), test.qid, MEASURE).values[MEASURE]


def main() -> None:
    """Print a row for each number of human-judged queries, judge and share."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("TACIT_DATA"), type=Path)
    parser.add_argument("--seeds", default=2, type=int)
    parser.add_argument("--shares", nargs="+", default=SHARES, type=float)
    parser.add_argument("--judges", nargs="+", default=JUDGES)
    args = parser.parse_args()
    lists = run_lists(args.data)
    programs = {name: read_qrels(args.data / f"judges/dl21/{name}.qrels.gz").to_dict() for name in args.judges}
    print("| human queries | people | judge | share | gain | standard error |\n|---|---|---|---|---|---|")
    for n in SIZES:
        people: list[np.ndarray] = []
        gains: dict[tuple[str, float], list[np.ndarray]] = {}
        for seed in range(args.seeds):
            for train, test in folds(lists, seed):
                few = few_judged(train, n, seed)
                people.append(measure(few, test, seed, None))
                for name, grades in programs.items():
                    for share in args.shares:
                        found = measure(few, test, seed, ProgramPreferences(grades, seed, share)) - people[-1]
                        gains.setdefault((name, share), []).append(found)
        mean = np.concatenate(people).mean()
        for (name, share), parts in gains.items():
            gain = np.concatenate(parts)
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            print(f"| {n} | {mean:.4f} | {name} | {share:g} | {gain.mean():+.4f} | {error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
