"""Training on the WTR lists: people's grades of few queries, with and without GPT's grades of all training rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from tacit.core import Judgments, Lists, track
from tacit.data import read_folds, read_letor, read_qrels
from tacit.experiments.cells import CellCache
from tacit.experiments.letor_task import shuffled_rows
from tacit.experiments.report import Report, Row, Section, against_baseline
from tacit.experiments.request import Request
from tacit.judge.program.lists import fit_assisted
from tacit.metrics import evaluate_rows
from tacit.rerank.program_pairs import ProgramPreferences
from tacit.rerank.ranking_lists import RankingTask, fit_lists

LISTS = "WTR"
SIZES = (5, 10, 20)
METRIC = "nDCG@10"
SYSTEMS = ("people", "assisted", "always")


def train_with_judges(request: Request) -> Report:
    """Measure `people`: people's grades; `assisted`: the program's too if they gain; `always`: the program's too."""
    systems = request.systems_of(SYSTEMS, SYSTEMS)
    n_seeds = 1 if request.quick else 10 if request.full else 3
    parts = list(_parts(request.data_folder))[: 1 if request.quick else None]
    cells, rows = CellCache(request), []
    for n in SIZES:
        for system in systems:
            for seed in track(range(request.seed, request.seed + n_seeds), f"{system}, {n} queries", n_seeds):
                key = {"experiment": "judges", "system": system, "seed": seed, "n": n, "folds": len(parts)}
                rows.append(cells.row(key, partial(_measure, parts, system, n, seed)))
    merged = [_mean_row(rows, system, n) for n in SIZES for system in systems]
    lines = [
        [str(n), *line]
        for n in SIZES
        for line in against_baseline([r for r in merged if r.setting["human_queries"] == n], "people", [METRIC])
    ]
    header = ["human queries", "metric", "system", "gain over people", "95% interval", "p", "Holm-corrected p"]
    notes = [
        f"WTR: {sum(len(test) for _, test, _ in parts)} test queries in {len(parts)} folds; {n_seeds} seeds choose the "
        "training queries that people judged; values averaged over seeds query by query; ranker standing",
        "assisted: GPT's grades of all training rows, used where they gain on people's lists by the rule of advise",
        f"used in {_share_used(rows):.0%} of the trainings",
    ]
    sections = [Section("Against people's grades alone", header, lines)] if "people" in systems else []
    return Report("judges", LISTS, request.seed, merged, notes, sections)


def _parts(data: Path) -> Iterator[tuple[Lists, Lists, Judgments]]:
    lists = shuffled_rows(read_letor(data / "letor" / LISTS / f"{LISTS}.txt.gz"))
    program = read_qrels(data / "judges" / "wtr_gpt" / "gpt.qrels.gz")
    for fold in read_folds(data / "letor" / LISTS / "folds.json").values():
        yield lists.take_queries(fold.train), lists.take_queries(fold.test), program


def few_judged(lists: Lists, n: int, seed: int) -> Lists:
    """Return the lists with the grades of only n random queries; the other rows are unjudged."""
    chosen = np.random.default_rng([seed, n]).choice(len(lists), min(n, len(lists)), replace=False)
    kept = np.isin(lists.qid, chosen)
    return replace(lists, y=np.where(kept, lists.y, np.nan))


def _measure(parts: list[tuple[Lists, Lists, Judgments]], system: str, n: int, seed: int) -> Row:
    start, values, used = time.perf_counter(), [], 0
    task = RankingTask("standing", seed=seed)
    for train, test, program in parts:
        few = few_judged(train, n, seed)
        if system == "assisted":
            ranker, verdict = fit_assisted(task, few, program)
            used += verdict.used
        else:
            given = ProgramPreferences(program.to_dict(), seed) if system == "always" else None
            ranker = fit_lists(replace(task, preferences=given), few, warn=False)
        values.append(evaluate_rows(test.y, ranker.predict(test.X, test.qid), test.qid, METRIC).values[METRIC])
    setting = {"human_queries": n, "seed": seed}
    chosen = {"used": used / len(parts)} if system == "assisted" else {}
    return Row(system, {METRIC: np.concatenate(values)}, time.perf_counter() - start, setting, chosen)


def _mean_row(rows: list[Row], system: str, n: int) -> Row:
    mine = [row for row in rows if row.system == system and row.setting["human_queries"] == n]
    values = np.mean([row.values[METRIC] for row in mine], axis=0)
    used = {"used": float(np.mean([row.chosen["used"] for row in mine]))} if system == "assisted" else {}
    return Row(system, {METRIC: values}, sum(row.seconds for row in mine), {"human_queries": n}, used)


def _share_used(rows: list[Row]) -> float:
    found = [row.chosen["used"] for row in rows if row.system == "assisted"]
    return float(np.mean(found)) if found else 0.0
