"""Gain from judgments of similar queries (the member `similar` of `blend`), by the number of judged queries.

    python benchmarks/blend_similar.py [--corpora cacm,cisi] [--numbers 10,20] [--residual] [--folds 1]

Five folds of queries, as in the experiment `questions`; the judged queries are the first of the training folds in an
order drawn by the seed. A row for each number of judged queries (0: without labels), a column for each collection: AP
without the member (the default), and its effect; * if p < .05 (paired t-test). The member `residual` is left out,
because its training takes minutes; `--residual` trains it from 200 pairs on, as `fit` does. `--folds` measures the
first folds only. Data: $TACIT_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tacit.experiments.collections.question_task import QuestionTask, read_questions
from tacit.metrics import compare
from tacit.retrieve import BlendRanker

CORPORA = (
    "cacm", "cisi", "cranfield", "cystic_fibrosis", "scifact", "chorus_products", "cosqa_code", "traceability",
    "stackfaq",
)  # fmt: skip


def measure(task: QuestionTask, n_judged: int, seed: int, n_folds: int, **params: Any) -> np.ndarray:
    """Return AP of each query of the first folds, trained on the first judged queries of the other folds."""
    read = task.read(BlendRanker(), stem=True)
    queries, values = read.queries(task.queries.full_texts()), list[np.ndarray]()
    if (seed, False) not in task.members:
        task.members[seed, False] = BlendRanker(seed=seed).fit(None, read.items, **read.further())
    base = task.members[seed, False]
    for fold in task.folds(seed)[:n_folds]:
        rows = fold.train[: n_judged or 0]
        pairs, zeros = task.training_pairs(rows), task.training_pairs(rows, relevant=False)
        ranker = base
        if n_judged and len(pairs):
            how = {"members": base, "zeros": zeros if len(zeros) else None, **read.further()}
            ranker = BlendRanker(seed=seed, **params).fit(queries[rows], read.items, pairs, **how)
        values.append(task.measure(ranker, queries, fold.test)["AP"])
    return np.concatenate(values)


def cell(task: QuestionTask, n_judged: int, seed: int, n_folds: int, residual: bool | None) -> str:
    """Return AP without the member, and the member's effect."""
    without, found = (measure(task, n_judged, seed, n_folds, similar=on, residual=residual) for on in (False, True))
    if not n_judged or np.array_equal(without, found):
        return f"{without.mean():.4f}"
    return f"{without.mean():.4f} {(found - without).mean():+.4f}{'*' if compare(without, found).t < 0.05 else ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--numbers", default="5,10,20,40,100000")
    parser.add_argument("--residual", action="store_true")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    names, numbers = args.corpora.split(","), [0, *map(int, args.numbers.split(","))]
    columns, residual = [], None if args.residual else False
    for name in names:
        task = read_questions(Path(os.environ["TACIT_DATA"]), name)
        columns.append([cell(task, number, args.seed, args.folds, residual) for number in numbers])
        sys.stderr.write(f"{name} {columns[-1]}\n")
    print("| judged queries | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
    for row, number in enumerate(numbers):
        label = "all" if number >= 100_000 else number
        print(f"| {label} | " + " | ".join(column[row] for column in columns) + " |")


if __name__ == "__main__":
    main()
