"""Experiment `judges`: program judges, calibrated by people's grades of few queries.

Corpus `dl21` (and any folder in both `judges/` and `runs/`): intervals for differences of runs. Corpus `WTR`: feature
lists with people's grades of few queries, with and without a program's grades of all rows.

**Runs.** A random subset of the queries is assumed to be judged by people. The target is the difference of two runs in
the mean over all queries by people's grades. Three 95% intervals are compared over all pairs of runs and many subsets:
people alone, people and program (`metrics.assistance`), and the program alone (the t interval of its differences over
all queries), which treats its grades as the truth.

**Lists.** A ranker is trained on people's grades of few queries, with and without GPT's grades of all training rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from tacit.core import DataError, Judgments, Lists, Run, track
from tacit.data import read_folds, read_letor, read_qrels, read_run
from tacit.experiments.cells import CellCache
from tacit.experiments.lists.letor_task import shuffled_rows
from tacit.experiments.report import Report, Row, Section, against_baseline
from tacit.experiments.request import Request
from tacit.judge.program.lists import fit_assisted
from tacit.metrics import evaluate, evaluate_rows, parse_measure
from tacit.metrics.assistance import combine, program_level
from tacit.metrics.measures import Measure
from tacit.rerank import METHODS
from tacit.rerank.program_pairs import ProgramPreferences
from tacit.rerank.ranking_lists import RankingTask, fit_lists

STANDING = METHODS["standing"]  # trained on lists with and without a program's grades
SIZES = (5, 10, 15, 25)
MAIN = "nDCG@10"
OTHERS = ("AP", "AP(rel=2)", "P@10", "P(rel=2)@10", "DCG@10")
LISTS = "WTR"
LIST_SIZES = (5, 10, 20)
METRIC = "nDCG@10"
SYSTEMS = ("people", "assisted", "always")


def run(request: Request) -> Report:
    """Measure on one corpus; `quick`: fewer subsets of queries, `full`: more."""
    request.check_params({"standing": STANDING.make()})
    corpora = (*_measured(request.data_folder), LISTS)
    corpus = request.corpus_of(corpora)
    if corpus == LISTS:
        return train_with_judges(request)
    request.systems_of((), ())
    n_samples = 40 if request.quick else 1000 if request.full else 200
    task = MeasuringTask(request.data_folder, corpus)
    rows = measure_judges(task, n_samples, request.seed)
    sections = [table_of_judges(rows)]
    if not request.quick:
        sections.append(table_of_measures(task, n_samples // 4, request.seed))
    n_runs, n_queries = len(task.runs), len(task.human.query_ids)
    notes = [
        f"{corpus}: {len(task.judges)} judges, {n_queries} queries, {n_runs} runs, {n_runs * (n_runs - 1) // 2} pairs "
        f"of runs; {n_samples} random subsets of queries for each number of human-judged queries",
        f"target: difference of two runs in mean {MAIN} over all {n_queries} queries by people's grades",
        "width: half the width of the interval, divided by the half width for people alone; at most 1 by construction",
        "program alone: the t interval of the program's differences over all queries, its grades taken for the truth",
    ]
    return Report("judges", corpus, request.seed, rows, notes, sections)


def _measured(data: Path) -> tuple[str, ...]:
    """Return folders with judges and runs; dl21 first."""
    found = {path.name for path in (data / "judges").glob("*") if (data / "runs" / path.name / "runs").is_dir()}
    return tuple(sorted(found, key=lambda name: (name != "dl21", name)))


class MeasuringTask:
    """Runs and judges of one folder; values of runs by judge are computed once.

    Parameters
    ----------
    data : Path
        Folder of collections.
    name : str
        Name of the folders in `judges/` and `runs/`.
    """

    def __init__(self, data: Path, name: str) -> None:
        self.human = read_qrels(data / "judges" / name / "human.qrels.gz")
        files = sorted((data / "judges" / name).glob("*.qrels.gz"))
        self.judges = {f.name.removesuffix(".qrels.gz"): read_qrels(f) for f in files if f.name != "human.qrels.gz"}
        paths = sorted((data / "runs" / name / "runs").glob("*.run.gz"))
        self.runs = {path.name.removesuffix(".run.gz"): read_run(path) for path in paths}
        if not self.judges or len(self.runs) < 2:
            raise DataError("want judges/NAME/*.qrels.gz and two or more runs/NAME/runs/*.run.gz", path=data / name)

    def differences(self, judge: str | None, measure: Measure) -> np.ndarray:
        """Return differences of all pairs of runs by a judge's grades, None for people's: (n_queries, n_pairs)."""
        if judge is None:
            return run_differences(self.human, self.human, list(self.runs.values()), measure)
        level = program_level(self.human, self.judges[judge], measure)
        cut = Measure(measure.name, measure.cutoff, level)
        return run_differences(self.human, self.judges[judge], list(self.runs.values()), cut)

    def subsets(self, n: int, n_samples: int, seed: int) -> list[np.ndarray]:
        """Return random subsets of n queries, equal for every judge."""
        n_queries = len(self.human.query_ids)
        rng = np.random.default_rng([seed, n])
        return [np.sort(rng.choice(n_queries, n, replace=False)) for _ in range(n_samples)]


def run_differences(people: Judgments, judgments: Judgments, runs: Sequence[Run], measure: Measure) -> np.ndarray:
    """Return differences of every two runs, for the queries of people; a query without the judge's grades counts 0."""
    row = {name: at for at, name in enumerate(judgments.query_ids)}
    at = [row.get(name, len(row)) for name in people.query_ids]
    values = [np.append(evaluate(judgments, run, measure).values[str(measure)], 0.0)[at] for run in runs]
    return np.array([values[a] - values[b] for a, b in combinations(range(len(runs)), 2)]).T


def measure_judges(task: MeasuringTask, n_samples: int, seed: int, sizes: Sequence[int] = SIZES) -> list[Row]:
    """Return a row for each judge and number of human-judged queries: means over pairs of runs, a value per subset."""
    measure = parse_measure(MAIN)
    people, rows = task.differences(None, measure), []
    sizes = [n for n in sizes if n < len(people)]
    for judge in track(task.judges, "judges", len(task.judges)):
        program = task.differences(judge, measure)
        for n in sizes:
            start = time.perf_counter()
            values = judge_values(people, program, task.subsets(n, n_samples, seed))
            rows.append(Row(judge, values, time.perf_counter() - start, {"human_queries": n}))
    return rows


def judge_values(people: np.ndarray, program: np.ndarray, subsets: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Return coverage with and without the program, of the program alone, width of the interval, and labels saved."""
    from scipy.stats import t

    truth, n_all = people.mean(axis=0), len(people)
    reach = program.std(axis=0, ddof=1) / np.sqrt(n_all) * t.ppf(0.975, n_all - 1)
    alone = float((np.abs(program.mean(axis=0) - truth) <= reach).mean())
    names = ("coverage", "coverage_people", "width", "saved")
    values = {name: np.empty(len(subsets)) for name in names} | {"coverage_program": np.full(len(subsets), alone)}
    for at, rows in enumerate(subsets):
        found, n = combine(people[rows], program, rows), len(rows)
        values["coverage"][at] = (np.abs(found.value - truth) <= found.half + 1e-12).mean()
        values["coverage_people"][at] = (np.abs(found.people_value - truth) <= found.people_half + 1e-12).mean()
        values["width"][at] = found.half.mean() / found.people_half.mean()
        ratio = np.divide(found.half, found.people_half, out=np.ones_like(found.half), where=found.people_half > 0)
        enough = 1 / (1 / n_all + ratio**2 * (1 / n - 1 / n_all))
        values["saved"][at] = (1 - n / enough).mean()
    return values


def table_of_judges(rows: Sequence[Row]) -> Section:
    """Return coverage, width and labels saved, for each judge and number of human queries."""
    sizes = list(dict.fromkeys(row.setting["human_queries"] for row in rows))
    lines = []
    for judge in dict.fromkeys(row.system for row in rows):
        mine = {row.setting["human_queries"]: row.metrics for row in rows if row.system == judge}
        cells = [f"{m['coverage']:.1%} · {m['width']:.2f} · {m['saved']:.0%}" for m in mine.values()]
        lines.append([judge, *cells, f"{next(iter(mine.values()))['coverage_program']:.1%}"])
    of = {n: [row.metrics for row in rows if row.setting["human_queries"] == n] for n in sizes}
    mean = [
        f"{_mean(of[n], 'coverage'):.1%} · {_mean(of[n], 'width'):.2f} · {_mean(of[n], 'saved'):.0%}" for n in sizes
    ]
    lines.append(["mean", *mean, f"{_mean(of[sizes[0]], 'coverage_program'):.1%}"])
    lowest = [f"{min(m['coverage'] for m in of[n]):.1%}" for n in sizes]
    lines.append(["lowest coverage", *lowest, f"{min(m['coverage_program'] for m in of[sizes[0]]):.1%}"])
    lines.append(["people alone", *(f"{_mean(of[n], 'coverage_people'):.1%} · 1.00 · 0%" for n in sizes), ""])
    header = ["judge", *(f"{n} human queries" for n in sizes), "program alone: coverage"]
    return Section(f"{MAIN}: coverage · width against people alone · human labels saved", header, lines)


def table_of_measures(task: MeasuringTask, n_samples: int, seed: int) -> Section:
    """Return, for other measures, the mean and the lowest coverage over the judges, and the mean width."""
    lines = []
    for name in track(OTHERS, "measures", len(OTHERS)):
        measure = parse_measure(name)
        people = task.differences(None, measure)
        tables = [task.differences(judge, measure) for judge in task.judges]
        for n in (n for n in SIZES if n < len(people)):
            subsets = task.subsets(n, n_samples, seed)
            found = [judge_values(people, program, subsets) for program in tables]
            means = {key: [float(values[key].mean()) for values in found] for key in found[0]}
            lines.append([
                name, str(n), f"{np.mean(means['coverage_people']):.1%}", f"{np.mean(means['coverage']):.1%}",
                f"{min(means['coverage']):.1%}", f"{np.mean(means['width']):.2f}",
                f"{np.mean(means['coverage_program']):.1%}",
            ])  # fmt: skip
    header = ["measure", "human queries", "people alone", "mean coverage", "lowest", "width", "program alone"]
    return Section("Other measures, over all judges", header, lines)


def _mean(metrics: Sequence[dict[str, float]], name: str) -> float:
    return float(np.mean([m[name] for m in metrics]))


def train_with_judges(request: Request) -> Report:
    """Measure `people`: people's grades; `assisted`: the program's too if they gain; `always`: the program's too."""
    systems = request.systems_of(SYSTEMS, SYSTEMS)
    n_seeds = 1 if request.quick else 10 if request.full else 3
    parts = list(_parts(request.data_folder))[: 1 if request.quick else None]
    cells, rows = CellCache(request), []
    for n in LIST_SIZES:
        for system in systems:
            for seed in track(range(request.seed, request.seed + n_seeds), f"{system}, {n} queries", n_seeds):
                key = {"experiment": "judges", "system": system, "seed": seed, "n": n, "folds": len(parts)}
                rows.append(cells.row(key, partial(_measure, parts, system, n, seed)))
    merged = [_mean_row(rows, system, n) for n in LIST_SIZES for system in systems]
    lines = [
        [str(n), *line]
        for n in LIST_SIZES
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
