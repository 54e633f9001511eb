"""`tacit evaluate`: measure a run against judgments, and compare runs

Means with standard errors and bootstrap intervals; --compare adds paired tests, Holm-corrected.
"""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_json, add_seed
from tacit.app.tables import print_table

if TYPE_CHECKING:
    from tacit.metrics import Evaluation

EXAMPLES = """examples:
  tacit evaluate qrels.txt my.run
  tacit evaluate qrels.txt my.run -m nDCG@10 -m AP -m "P(rel=2)@5"
  tacit evaluate qrels.txt new.run --compare old.run --test wilcoxon"""

DEFAULT_MEASURES = ("nDCG@10", "AP", "P@10", "RR", "Judged@10")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit evaluate`."""
    parser.add_argument("qrels", help="judgments: TREC, BEIR or LETOR file")
    parser.add_argument("run", help="TREC run")
    parser.add_argument(
        "-m", "--measure", action="append", metavar="M", help=f"repeatable; default {' '.join(DEFAULT_MEASURES)}"
    )
    parser.add_argument("--compare", action="append", default=[], metavar="RUN2", help="another run; repeatable")
    parser.add_argument(
        "--test", choices=("t", "wilcoxon", "randomization"), default="t", help="paired test (default t)"
    )
    add_seed(parser)
    add_json(parser)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Measure every run on the same queries, and test the differences."""
    from tacit.data import read_qrels, read_run
    from tacit.metrics import evaluate

    judgments = read_qrels(args.qrels)
    measures = args.measure or DEFAULT_MEASURES
    paths = _distinct([args.run, *args.compare])
    found = {name: evaluate(judgments, read_run(path), measures) for name, path in paths.items()}
    comparisons = _compare(found, args.test, args.seed) if len(found) > 1 else []
    if args.json:
        out.write(json.dumps(_as_json(found, comparisons, args.seed)) + "\n")
    else:
        _show(found, comparisons, args, out)
    return 0


def _distinct(paths: list[str]) -> dict[str, str]:
    from tacit.core import UsageError

    if len(set(paths)) != len(paths):
        raise UsageError("a run is compared with itself; give different files")
    return {path: path for path in paths}


def _compare(found: dict[str, Evaluation], test: str, seed: int) -> list[Any]:
    from tacit.metrics import compare_systems

    names = next(iter(found.values())).values
    return [
        comparison
        for measure in names
        for comparison in compare_systems(
            {system: evaluation.values[measure] for system, evaluation in found.items()}, measure, test=test, seed=seed
        )
    ]


def _as_json(found: dict[str, Evaluation], comparisons: list[Any], seed: int) -> dict[str, Any]:
    first, *others = found.items()
    return {
        **_measures_json(first[1], seed),
        "queries": len(first[1].query_ids),
        "without_relevant": first[1].n_without_relevant,
        "missing": first[1].n_missing,
        "compare": [
            {"run": name, **_measures_json(evaluation, seed), "missing": evaluation.n_missing}
            for name, evaluation in others
        ],
        "tests": [{"better": c.better, "worse": c.worse, "metric": c.metric, "p": c.p} for c in comparisons],
    }


def _measures_json(evaluation: Evaluation, seed: int) -> dict[str, Any]:
    return {
        "measures": evaluation.means(),
        "standard_errors": {
            name: None if math.isnan(error) else error for name, error in evaluation.standard_errors().items()
        },
        "intervals": {name: list(ends) for name, ends in evaluation.intervals(seed=seed).items()},
    }


def _show(found: dict[str, Evaluation], comparisons: list[Any], args: argparse.Namespace, out: TextIO) -> None:
    first = next(iter(found.values()))
    for name, evaluation in found.items():
        missing = f", {evaluation.n_missing} of them not in the run (they count 0)" if evaluation.n_missing else ""
        out.write(f"{name}: {len(evaluation.query_ids)} judged queries{missing}\n")
        means, errors, ends = evaluation.means(), evaluation.standard_errors(), evaluation.intervals(seed=args.seed)
        rows = [[m, f"{means[m]:.4f}", f"{errors[m]:.4f}", f"{ends[m][0]:.4f} - {ends[m][1]:.4f}"] for m in means]
        print_table(["measure", "mean", "std err", "95 % interval"], rows, out)
    if first.n_without_relevant:
        out.write(f"{first.n_without_relevant} queries have no relevant document and count 0\n")
    if comparisons:
        out.write(f"paired {args.test} test, two-sided, Holm-corrected:\n")
        tests = [[c.metric, c.better, c.worse, f"{c.difference:.4f}", f"{c.p:.3g}"] for c in comparisons]
        print_table(["measure", "better", "worse", "difference", "p"], tests, out)
