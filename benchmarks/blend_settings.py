"""Settings of `blend` without labels, chosen on all collections except one and measured on that one.

For every collection of the experiment `questions`: AP of every setting of a grid, over the first 100 candidates of all
members (the same documents for all settings). The setting chosen for a collection has the highest mean gain in AP over
stemmed BM25 on the other collections, among the settings that are below BM25 on none of them.

    python benchmarks/blend_settings.py [--data DIR] [--corpora cacm,cisi|all] [--cache DIR]   (DIR: $TACIT_DATA)
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tacit.core import cut
from tacit.experiments.collections.question_task import CORPORA, QuestionTask, read_questions
from tacit.retrieve import Bm25Ranker
from tacit.retrieve.blend.member import deviations, scores_near
from tacit.retrieve.blend.ranker import BlendRanker
from tacit.retrieve.blend.words import FeedbackMember
from tacit.retrieve.factors import best_items

LATENT = (0.0, 2.0, 4.0, 6.0)
FEEDBACK = (0.0, 2.0, 3.0, 4.0)
HALF_LENGTHS = (0.0, 12.0, 18.0)  # in words; 0: the length of a query has no effect
EXPANSIONS = ((5, 25), (10, 50), (20, 100))  # items and words
WORDS = ((0.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.5, 1.0))  # weights of `content` and `spelling`
TITLE_WEIGHTS = (1, 3)
GRID = list(itertools.product(LATENT, FEEDBACK, HALF_LENGTHS, EXPANSIONS, WORDS, TITLE_WEIGHTS))
DEFAULT = (4.0, 3.0, 12.0, (20, 100), (0.5, 0.5), 3)
NAMES = ("latent", "feedback", "half_length", "items, words", "content, spelling", "title_weight")
N_FIRST = 100


def average_precision(scores: np.ndarray, relevant: np.ndarray, n_relevant: np.ndarray) -> np.ndarray:
    """Return AP of each row; missing candidates have the score -inf."""
    order = np.argsort(-scores, axis=1, kind="stable")
    found = np.take_along_axis(relevant, order, axis=1)
    precision = np.cumsum(found, axis=1) / np.arange(1, found.shape[1] + 1)
    return (precision * found).sum(axis=1) / np.maximum(n_relevant, 1)


def measured(task: QuestionTask) -> np.ndarray:
    """Return AP by setting and query; the last row is BM25."""
    values = np.zeros((len(GRID) + 1, len(task.queries)))
    read = task.read(BlendRanker(), stem=True)
    queries, plain = read.queries(task.queries.full_texts()), Bm25Ranker().fit(None, read.items)
    for title_weight in TITLE_WEIGHTS:
        blend = BlendRanker(title_weight=title_weight, threads=1).fit(None, read.items, **read.further())
        for block in cut(len(task.queries), 50):
            _measure_block(task, block, queries, plain, blend, values)
    return values


def _measure_block(
    task: QuestionTask,
    block: slice,
    queries: sp.csr_array,
    plain: Bm25Ranker,
    blend: BlendRanker,
    values: np.ndarray,
) -> None:
    rows = np.arange(len(task.queries))[block]
    candidates, grades = task._candidates(rows), task._grades(rows)
    skip = None if candidates is None else sp.csr_array(~candidates)
    asked = sp.csr_array(queries[rows])
    n_words = np.diff(asked.indptr)[:, None]
    relevant = grades >= 1
    parts = {("plain", None): plain.score_rows(asked)}
    query_block = blend.query_block(asked, skip)
    for member in blend.members_:
        if member.name in ("bm25", "content", "spelling", "latent"):
            parts[member.name, None] = member.scores(query_block)
    parts |= {("feedback", size): FeedbackMember(*size).scores(query_block) for size in EXPANSIONS}
    first = [best_items(scores, skip, N_FIRST)[0] for scores in parts.values()]
    chosen = np.zeros(grades.shape, bool)
    np.put_along_axis(chosen, np.maximum(np.hstack(first), 0), np.hstack(first) >= 0, axis=1)
    if skip is not None:
        chosen &= candidates
    n_most = int(chosen.sum(axis=1).max())
    places = np.argsort(~chosen, axis=1, kind="stable")[:, :n_most]
    known = np.take_along_axis(chosen, places, axis=1)
    found = np.take_along_axis(relevant, places, axis=1) & known
    n_relevant = (relevant if candidates is None else relevant & candidates).sum(axis=1)
    base = best_items(parts["bm25", None], skip, N_FIRST)[0]
    units = {key: _in_units(scores, base, places) for key, scores in parts.items()}
    for number, (latent, feedback, half, size, (content, spelling), weight) in enumerate(GRID):
        if weight == blend.title_weight:
            trust = n_words / (n_words + half) if half else 1.0
            total = trust * (latent * units["latent", None] + feedback * units["feedback", size])
            total += (1 - content) * units["bm25", None] + content * units.get(("content", None), units["bm25", None])
            if ("spelling", None) in units:
                total += spelling * units["spelling", None]
            values[number, block] = average_precision(np.where(known, total, -np.inf), found, n_relevant)
    bm25 = np.where(known, np.take_along_axis(parts["plain", None], places, axis=1), -np.inf)
    values[-1, block] = average_precision(bm25, found, n_relevant)


def _in_units(scores: np.ndarray, base: np.ndarray, places: np.ndarray) -> np.ndarray:
    return np.take_along_axis(scores, places, axis=1) / deviations(scores_near(scores, base), base >= 0)[:, None]


def choose(gains: list[np.ndarray]) -> int:
    """Return the setting with the highest mean gain among those below BM25 on no collection, if there are any."""
    means = np.array([part.mean(axis=1) for part in gains])
    worst = means.min(axis=0)
    allowed = worst >= min(0.0, worst.max())
    return int(np.argmax(np.where(allowed, means.mean(axis=0), -np.inf)))


def main() -> None:
    """Measure the grid on each collection, then choose with each left out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=os.environ.get("TACIT_DATA"))
    parser.add_argument("--corpora", default="cranfield,cacm,cisi", help="`all` takes much longer")
    parser.add_argument("--cache", type=Path)
    args = parser.parse_args()
    names, values = [*CORPORA] if args.corpora == "all" else args.corpora.split(","), {}
    for name in names:
        path = args.cache / f"{name}.npy" if args.cache else None
        if path and path.exists():
            values[name] = np.load(path)
        else:
            values[name] = measured(read_questions(args.data, name, threads=1))
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
                np.save(path, values[name])
        sys.stderr.write(f"{name} done\n")
    gains = [values[name][:-1] - values[name][-1] for name in names]
    default = GRID.index(DEFAULT)
    columns = ("left out", *NAMES, "bm25", "chosen", "default")
    print("| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for number, name in enumerate(names):
        best = choose(gains[:number] + gains[number + 1 :])
        means = [values[name][row].mean() for row in (-1, best, default)]
        setting = (", ".join(f"{part:g}" for part in np.atleast_1d(value)) for value in GRID[best])
        print("| " + " | ".join([name, *setting, *(f"{mean:.3f}" for mean in means)]) + " |")
    print(f"\nall collections: {GRID[choose(gains)]}")


if __name__ == "__main__":
    main()
