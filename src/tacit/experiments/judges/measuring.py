"""How well people's grades of a few queries and a program's grades of all measure the difference of two runs.

A random subset of the queries is assumed to be judged by people. The target is the difference of two runs in the mean
over all queries by people's grades. Three 95% intervals are compared over all pairs of runs and many subsets: people
alone, people and program (`metrics.assistance`), and the program alone (the t interval of its differences over all
queries), which treats its grades as the truth.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from tacit.core import DataError, Judgments, Run, track
from tacit.data import read_qrels, read_run
from tacit.experiments.report import Row, Section
from tacit.metrics import evaluate, parse_measure
from tacit.metrics.assistance import combine, program_level
from tacit.metrics.measures import Measure

SIZES = (5, 10, 15, 25)
MAIN = "nDCG@10"
OTHERS = ("AP", "AP(rel=2)", "P@10", "P(rel=2)@10", "DCG@10")


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
