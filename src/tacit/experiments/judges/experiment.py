"""Experiment `judges`: program judges, calibrated by people's grades of few queries.

Corpus `dl21` (and any folder in both `judges/` and `runs/`): intervals for differences of runs. Corpus `WTR`: feature
lists with people's grades of few queries, with and without a program's grades of all rows.
"""

from __future__ import annotations

from pathlib import Path

from tacit.experiments.judges.assisted_lists import LISTS, train_with_judges
from tacit.experiments.judges.measuring import MAIN, MeasuringTask, measure_judges, table_of_judges, table_of_measures
from tacit.experiments.report import Report
from tacit.experiments.request import Request
from tacit.rerank import METHODS

STANDING = METHODS["standing"]  # trained on lists with and without a program's grades


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
