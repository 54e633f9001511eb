"""Reads people's and a program's grades, and measures runs for `tacit evaluate --assist`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import print_table
from tacit.core import UsageError, plural

if TYPE_CHECKING:
    from tacit.core import Collection, Judgments, Run
    from tacit.metrics import AssistedEstimate, AssistedReport, Estimate

DEFAULT_MEASURES = ("nDCG@10", "AP", "P@10")
SAMPLED_MEASURES = ("nDCG@10", "DCG@10", "P@10")


def show_assisted(args: argparse.Namespace, paths: list[str], out: TextIO) -> int:
    """Estimate the measures of each run and its difference from the first, and print them."""
    from tacit.data import read_run
    from tacit.judge import check_independent
    from tacit.metrics import assisted, is_sampled

    people, program = read_people_and_program(args.qrels, args.judge, args.merge, args.assist)
    runs = {path: read_run(path) for path in paths}
    check_independent(args.assist, program, runs)
    measures = args.measure or (SAMPLED_MEASURES if is_sampled(people) else DEFAULT_MEASURES)
    if not is_sampled(people):
        people = _judged_queries(people, runs)
    found = assisted(people, program, runs, measures)
    _warn(found, people)
    if args.json:
        out.write(json.dumps(_as_json(found, args.assist, paths)) + "\n")
    else:
        _print(found, args.assist, out)
    return 0


def read_people_and_program(
    path: str, judges: list[str], merge: str | None, assist: str
) -> tuple[Judgments, Judgments]:
    """Read people's grades from a store or file, and the program's grades: a judge of the store, or a file."""
    from tacit.data import read_qrels
    from tacit.judge import JudgmentStore, is_store, merged_judgments, read_judgments

    if not is_store(path):
        return read_judgments(path, judges, merge), read_qrels(_file(assist, path))
    with JudgmentStore(path, read_only=True) as store:
        kinds = store.kinds()
        people = [name for name, kind in kinds.items() if kind == "person"]
        programs = [name for name in judges if kinds.get(name) == "program"]
        if programs:
            raise UsageError(f"--judge names {programs[0]!r}, a program; with --assist it names people")
        if not people:
            raise UsageError(f"{path}: no judge is a person, so the program cannot be compared with people")
        human = merged_judgments(store, judges, merge)
        if assist in kinds:
            if kinds[assist] != "program":
                raise UsageError(f"--assist names {assist!r}, a person; want a program: {_programs(kinds)}")
            return human, merged_judgments(store, [assist])
    if not Path(assist).is_file():
        raise UsageError(f"--assist is {assist!r}, neither a file nor a program of {path}: {_programs(kinds)}")
    return human, read_qrels(assist)


def read_for_learning(args: argparse.Namespace) -> tuple[Judgments, Judgments | None, Collection | None]:
    """Return the judgments of --qrels and of --assist, and the texts of their queries if known."""
    from tacit.core import Collection
    from tacit.judge import read_judgments, read_query_texts

    if not args.assist:
        people = read_judgments(args.qrels, args.judge, args.merge, encoding=args.encoding)
        return people, None, read_query_texts(args.qrels, people)
    people, program = read_people_and_program(args.qrels, args.judge, args.merge, args.assist)
    given = [read_query_texts(args.qrels, part) for part in (people, program)]
    named = {name: text for part in given if part is not None for name, text in zip(part.ids, part.texts, strict=True)}
    return people, program, Collection([*named], [""] * len(named), [*named.values()]) if named else None


def _file(assist: str, path: str) -> str:
    if not Path(assist).is_file():
        raise UsageError(f"--assist is {assist!r}, want a file of grades, because {path} is not a judgment store")
    return assist


def _programs(kinds: dict[str, str]) -> str:
    return ", ".join(name for name, kind in kinds.items() if kind == "program") or "none"


def _judged_queries(people: Judgments, runs: dict[str, Run]) -> Judgments:
    """Return the queries that people judged fully; partly judged ones are left out and counted."""
    import numpy as np

    from tacit.core import TacitError
    from tacit.metrics import whole_queries
    from tacit.metrics.assistance import lists_relevant_only

    if lists_relevant_only(people):
        sys.stderr.write("no judgment of people has the grade 0: unjudged documents count as not relevant\n")
    whole = whole_queries(people, runs)
    n_parts = int((~whole).sum())
    part = f"{plural(n_parts, 'query')} of which people judged less than half of the first 10 documents"
    if n_parts == len(whole):
        raise TacitError(f"people judged no query fully, only {part}; want fully judged queries, or pairs drawn by "
                         "`tacit label --for measuring`")  # fmt: skip
    if n_parts:
        sys.stderr.write(f"left out: {part}\n")
    return people if whole.all() else people.select(whole, np.asarray(whole[people.query]))


def _warn(found: AssistedReport, people: Judgments) -> None:
    from tacit.metrics.assistance import LEAST_QUERIES

    if not found.sampled and found.n_human < LEAST_QUERIES:
        few = f"people judged {plural(found.n_human, 'query')}"
        sys.stderr.write(f"{few}: fewer than {LEAST_QUERIES}, so the program is not used\n")
    if not found.sampled and found.n_human == found.n_queries:
        sys.stderr.write("people judged all queries, so nothing is estimated; evaluate without --assist for intervals "
                         "for other queries\n")  # fmt: skip
    if found.n_ignored:
        sys.stderr.write(f"{plural(found.n_ignored, 'query')} of the runs without any grade, not measured\n")
    if found.sampled and people.probability is not None:
        unknown = len(people) - found.n_labels
        if unknown:
            sys.stderr.write(f"judgments without a probability, not used: {unknown:,}\n")


def _as_json(found: AssistedReport, judge: str, paths: list[str]) -> dict[str, Any]:
    from tacit.metrics import holm

    by_run = {path: {e.measure: e for e in found.values if e.run == path} for path in paths}
    measures = list(dict.fromkeys(e.measure for e in found.values))
    tests = []
    for measure in measures:
        rows = [e for e in found.differences if e.measure == measure]
        for e, p in zip(rows, holm([e.p for e in rows]), strict=True):
            better, worse = (e.run, e.baseline) if e.value >= 0 else (e.baseline, e.run)
            tests.append({"better": better, "worse": worse, "metric": measure, "p": float(p)})
    return {
        **estimates_json(by_run[paths[0]]),
        "queries": found.n_queries,
        "ignored": found.n_ignored,
        "runs": [{"run": path, **estimates_json(by_run[path])} for path in paths],
        "compare": [_difference_json(e) for e in found.differences],
        "tests": tests,
        "assist": {
            "judge": judge,
            "human_queries": found.n_human,
            "human_judgments": found.n_labels,
            "sampled": found.sampled,
            "worth": found.worth,
            "used": any(e.weight != 0 for e in found.differences or found.values),
        },
    }


def estimates_json(estimates: Mapping[str, AssistedEstimate | Estimate]) -> dict[str, Any]:
    """Return estimates by measure for `--json`."""
    return {
        "measures": {measure: e.value for measure, e in estimates.items()},
        "standard_errors": {measure: e.standard_error for measure, e in estimates.items()},
        "intervals": {measure: [e.low, e.high] for measure, e in estimates.items()},
    }


def _difference_json(e: AssistedEstimate) -> dict[str, Any]:
    return {
        "run": e.run,
        "baseline": e.baseline,
        "measure": e.measure,
        "difference": e.value,
        "interval": [e.low, e.high],
        "standard_error": e.standard_error,
        "weight": e.weight,
        "worth": e.worth,
        "people": {"difference": e.people_value, "interval": [e.people_low, e.people_high]},
    }


def _print(found: AssistedReport, judge: str, out: TextIO) -> None:
    rows = [[e.run, *_cells(e)] for e in found.values]
    print_table(["run", "measure", "estimate", "95% interval", "people alone", "weight"], rows, out)
    if found.differences:
        out.write(f"\nDifferences from {found.differences[0].baseline}:\n\n")
        rows = [[e.run, *_cells(e), f"{e.worth:.0f}"] for e in found.differences]
        header = ["run", "measure", "difference", "95% interval", "people alone", "weight", "worth"]
        print_table(header, rows, out)
    human = f"{plural(found.n_labels, 'judgment')} by people in {plural(found.n_human, 'query')}"
    out.write(f"\nmeans over {plural(found.n_queries, 'query')}, as if people had judged all of them; {human}\n")
    out.write(f"{judge} was worth about {found.worth:.0f} more judgments by people (median)\n")


def _cells(e: AssistedEstimate) -> list[str]:
    return [
        e.measure,
        f"{e.value:z.4f}",
        f"{e.low:z.4f} - {e.high:z.4f}",
        f"{e.people_low:z.4f} - {e.people_high:z.4f}",
        f"{e.weight:.2f}",
    ]
