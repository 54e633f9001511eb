"""`tacit evaluate`: measure runs against judgments, and compare them

For one run, prints mean, standard error and bootstrap interval of each measure. For several runs, prints one table,
with † if a run differs from the first (paired test, Holm-corrected within each measure). Sampled judgments, with their
probabilities in a store or in a fifth column, give estimates and intervals instead. With --assist, people judged some
queries and a program judged all of them: means over all queries are estimated from both.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.evaluation.assist import estimates_json, show_assisted
from tacit.app.evaluation.judgments import read_people
from tacit.app.options import add_shared, print_table
from tacit.core import DataError, UsageError, plural

if TYPE_CHECKING:
    from tacit.core import Judgments, Run
    from tacit.metrics import Comparison, Estimate, Evaluation

EXAMPLES = """examples:
  tacit evaluate qrels.txt my.run
  tacit evaluate qrels.txt bm25.run new.run other.run -m nDCG@10 -m AP
  tacit evaluate qrels.txt old.run --compare new.run --test wilcoxon
  tacit evaluate qrels.txt old.run new.run --bounds -m nDCG@10
  tacit evaluate qrels.txt my.run -m "P(rel=2)@5" --json
  tacit evaluate my.judgments old.run new.run --assist gpt-4o"""

DEFAULT_MEASURES = ("nDCG@10", "AP", "P@10", "RR", "Judged@10")
SAMPLED_MEASURES = ("P@10", "DCG@10")
ALPHA = 0.05
TOP = 10  # ranks that the pool of sampled judgments should cover
PER_QUERY = 10  # judged pairs of a query, below which ratios are biased


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit evaluate`."""
    parser.add_argument("qrels", help="judgments: TREC, BEIR or LETOR file, BEIR folder, or a judgment store")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="TREC runs; the first is the baseline of all tests")
    parser.add_argument(
        "-m",
        "--measure",
        action="append",
        metavar="M",
        help=f"measure; repeatable (default {' '.join(DEFAULT_MEASURES)})",
    )
    parser.add_argument("--compare", action="append", default=[], metavar="RUN2", help="another run; repeatable")
    parser.add_argument("--all-pairs", action="store_true", help="test every pair of runs, not only against the first")
    parser.add_argument(
        "--test", choices=("t", "wilcoxon", "randomization"), default="t", help="paired test (default t)"
    )
    parser.add_argument(
        "--bounds", action="store_true", help="print how far unjudged results could move each difference (nDCG@k, P@k)"
    )
    parser.add_argument(
        "--assist", metavar="J", help="a program's grades of all queries: a judge of the store, or a file of judgments"
    )
    add_shared(parser, "--judge", "--merge", "--seed", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Measure every run on the same queries, and test the differences."""
    from tacit.data import read_run
    from tacit.metrics import evaluate, is_sampled

    paths = [*args.runs, *args.compare]
    _check(args, paths)
    if args.assist is not None:
        return show_assisted(args, paths, out)
    judgments = read_people(args.qrels, args.judge, args.merge)
    if is_sampled(judgments):
        if args.bounds:
            raise UsageError("--bounds is for plain judgments; sampled ones give estimates with intervals")
        return _show_estimates(judgments, paths, args, out)
    runs = {path: read_run(path) for path in paths}
    found = {path: evaluate(judgments, run, args.measure or DEFAULT_MEASURES) for path, run in runs.items()}
    for path, evaluation in found.items():
        _check_overlap(evaluation, runs[path], args.qrels, path)
    baseline = None if args.all_pairs else paths[0]
    pairs = compare_runs(found, args.test, baseline, args.seed) if args.all_pairs or args.json else []
    bounds = _find_bounds(judgments, runs, found) if args.bounds else []
    if args.json:
        report = _as_json(found, pairs, args.seed)
        out.write(json.dumps(report | ({"bounds": bounds} if args.bounds else {})) + "\n")
        return 0
    if len(found) == 1:
        show_measures(found[paths[0]], args.seed, out)
    else:
        show_systems(found, args, out)
    _show_counts(found, out)
    if pairs:
        _show_pairs(pairs, out)
    if bounds:
        _show_bounds(bounds, paths[0], out)
    return 0


def _check(args: argparse.Namespace, paths: list[str]) -> None:
    if len(set(paths)) != len(paths):
        raise UsageError("a run is given twice, want different files")
    if args.assist is not None:
        for name in ("all_pairs", "bounds"):
            if getattr(args, name):
                raise UsageError(f"--{name.replace('_', '-')} and --assist exclude each other; give one of them")
    if args.bounds and len(paths) < 2:
        raise UsageError("--bounds needs two or more runs, whose differences it bounds")


def _check_overlap(evaluation: Evaluation, run: Run, qrels: str, path: str) -> None:
    """Raise if a run has results, and none for a judged query: then one of the two names queries by text."""
    if evaluation.n_ignored and evaluation.n_missing == len(evaluation.query_ids):
        named = f"{qrels} names queries such as {evaluation.query_ids[0]!r}, the run such as {run.query_ids[0]!r}"
        raise DataError(f"none of the {len(evaluation.query_ids)} judged queries is in the run: {named}", path=path)


def _show_pairs(pairs: list[Comparison], out: TextIO) -> None:
    out.write("\nAll pairs of runs:\n\n")
    tests = [[c.metric, c.better, c.worse, f"{c.difference:z.4f}", f"{c.p:.3g}"] for c in pairs]
    print_table(["measure", "better", "worse", "difference", "p"], tests, out)


def compare_runs(
    found: Mapping[str, Evaluation], test: str = "t", baseline: str | None = None, seed: int = 0
) -> list[Comparison]:
    """Run paired tests measure by measure: of all pairs, or of each run with the baseline."""
    from tacit.metrics import compare_systems

    tests = []
    for measure in next(iter(found.values())).values if len(found) > 1 else ():
        values = {name: evaluation.values[measure] for name, evaluation in found.items()}
        tests += compare_systems(values, measure, test=test, baseline=baseline, seed=seed)
    return tests


def _as_json(found: dict[str, Evaluation], comparisons: list[Comparison], seed: int) -> dict[str, Any]:
    first, *others = found.items()
    return {
        **_measures_json(first[1], seed),
        "queries": len(first[1].query_ids),
        "without_relevant": first[1].n_without_relevant,
        "without_zeros": first[1].n_without_zeros,
        "compare": [{"run": name, **_measures_json(evaluation, seed)} for name, evaluation in others],
        "tests": [test.to_dict() for test in comparisons],
    }


def _measures_json(evaluation: Evaluation, seed: int) -> dict[str, Any]:
    return {
        "measures": evaluation.means(),
        "standard_errors": {m: None if math.isnan(e) else e for m, e in evaluation.standard_errors().items()},
        "intervals": {name: list(ends) for name, ends in evaluation.intervals(seed=seed).items()},
        "missing": evaluation.n_missing,
        "ignored": evaluation.n_ignored,
    }


def show_measures(evaluation: Evaluation, seed: int, out: TextIO) -> None:
    """Print one run: a row for each measure."""
    means, errors, ends = evaluation.means(), evaluation.standard_errors(), evaluation.intervals(seed=seed)
    shown = {m: "-" if math.isnan(error) else f"{error:.4f}" for m, error in errors.items()}
    rows = [[m, f"{means[m]:.4f}", shown[m], f"{ends[m][0]:.4f} - {ends[m][1]:.4f}"] for m in means]
    print_table(["measure", "mean", "std err", "95% interval"], rows, out)


def show_systems(found: dict[str, Evaluation], args: argparse.Namespace, out: TextIO) -> None:
    """Print several runs: a row for each, a column for each measure."""
    from tacit.metrics import comparison_table

    table = comparison_table(found, test=args.test, alpha=ALPHA, seed=args.seed)
    ends = {name: evaluation.intervals(seed=args.seed) for name, evaluation in found.items()}
    rows = []
    for row in table.rows:
        cells = [(row.cells[measure], ends[row.system][measure]) for measure in table.measures]
        shown = [f"{cell.mean:.4f} [{low:.3f}, {high:.3f}]{cell.mark or '  '}" for cell, (low, high) in cells]
        rows.append([row.system, *shown])
    print_table(["run", *(f"{measure}  " for measure in table.measures)], rows, out)
    out.write(
        f"\nmean [95% bootstrap interval]; † differs from {table.baseline}, p < {ALPHA:g} "
        f"({args.test} test, paired, two-sided, Holm)\n"
    )


def _show_counts(found: dict[str, Evaluation], out: TextIO) -> None:
    from tacit.metrics import parse_measure

    first = next(iter(found.values()))
    out.write(f"{plural(len(first.query_ids), 'judged query')}\n")
    if first.n_without_relevant:
        out.write(f"{plural(first.n_without_relevant, 'query')} without a relevant document, counted as 0\n")
    of_pairs = [name for name in first.values if parse_measure(name).name in ("AUC", "rank_loss")]
    if of_pairs and first.n_without_zeros:
        queries = plural(first.n_without_zeros, "query")
        out.write(f"{queries} without a document judged not relevant, counted as 0.5 in {' and '.join(of_pairs)}\n")
    for name, evaluation in found.items():
        if evaluation.n_missing:
            out.write(f"{name}: {plural(evaluation.n_missing, 'judged query')} without results, counted as 0\n")
        if evaluation.n_ignored:
            out.write(f"{name}: {plural(evaluation.n_ignored, 'query')} without judgments, not measured\n")


def _find_bounds(
    judgments: Judgments, runs: Mapping[str, Run], found: Mapping[str, Evaluation]
) -> list[dict[str, Any]]:
    """Compute the difference of each run from the first, and its bounds, for the measures that have bounds."""
    from tacit.metrics import difference_bounds, parse_measure
    from tacit.metrics.bounds import BOUNDED, has_bounds

    (first, base), *others = runs.items()
    bounded = [measure for measure in map(parse_measure, found[first].values) if has_bounds(measure)]
    if not bounded:
        raise UsageError(f"no measure has bounds, want one of {', '.join(f'{name}@k' for name in BOUNDED)} (-m)")
    rows = []
    for measure in bounded:
        means = {path: evaluation.means()[str(measure)] for path, evaluation in found.items()}
        for path, run in others:
            limits = difference_bounds(judgments, base, run, measure)
            row = {"run": path, "metric": str(measure), "difference": means[path] - means[first]}
            rows.append(row | {"bounds": [limits.low, limits.high], "unjudged": limits.unjudged})
    return rows


def _show_bounds(rows: list[dict[str, Any]], first: str, out: TextIO) -> None:
    """Print one line for each run and measure; the sign is open if unjudged results could change it."""
    out.write(f"\nDifferences from {first}, for any grades of unjudged results:\n\n")
    cells = [
        [row["run"], row["metric"], f"{row['difference']:+.4f}", "{:+.4f} to {:+.4f}".format(*row["bounds"]),
         str(row["unjudged"]), "certain" if row["bounds"][0] > 0 or row["bounds"][1] < 0 else "open"]
        for row in rows
    ]  # fmt: skip
    print_table(["run", "measure", "difference", "bounds", "unjudged", "sign"], cells, out, left=2)


def _show_estimates(judgments: Judgments, paths: list[str], args: argparse.Namespace, out: TextIO) -> int:
    """Estimate the measures of each run and print them."""
    from tacit.data import read_run
    from tacit.metrics import estimate

    runs = {path: read_run(path) for path in paths}
    found = {path: estimate(judgments, run, args.measure or SAMPLED_MEASURES) for path, run in runs.items()}
    for path, run in runs.items():
        _warn_of_limits(path, judgments, run, found[path])
    queries = len({*judgments.query_ids, *runs[paths[0]].query_ids})
    if args.json:
        first, *others = found.items()
        compared = [{"run": path, **_estimates_json(estimates)} for path, estimates in others]
        result = {**_estimates_json(first[1]), "queries": queries, "sampled": True, "compare": compared, "tests": []}
        out.write(json.dumps(result) + "\n")
        return 0
    rows = [
        [path, name, f"{e.value:.4f}", f"{e.standard_error:.4f}", f"{e.low:.4f} - {e.high:.4f}", str(e.n_judged)]
        for path, estimates in found.items()
        for name, e in estimates.items()
    ]
    print_table(["run", "measure", "estimate", "std err", "95% interval", "judged"], rows, out)
    out.write(f"estimates for {plural(queries, 'query')} from sampled judgments, as if the whole pool were judged\n")
    return 0


def _estimates_json(estimates: dict[str, Estimate]) -> dict[str, object]:
    return estimates_json(estimates) | {"judged": {name: e.n_judged for name, e in estimates.items()}}


def _warn_of_limits(path: str, judgments: Judgments, run: Run, found: dict[str, Estimate]) -> None:
    """Print the limits of the estimates: documents outside the pool, judgments without a probability, ratios."""
    import numpy as np

    from tacit.metrics import covered

    share, error = covered(judgments, run, TOP)
    if share + 3 * error < 0.95:
        part = f"only about {share:.0%} of its first {TOP} documents are in the sampled pool"
        sys.stderr.write(f"{path}: {part}; the estimates assume that the others are similar\n")
    ratios = [name for name in found if not name.startswith(("P", "DCG"))]
    each = len(judgments) / max(len({*judgments.query_ids, *run.query_ids}), 1)
    if ratios and each < PER_QUERY:
        few = f"{', '.join(ratios)} with {each:.1f} judgments per query are biased, mostly too low"
        sys.stderr.write(f"{path}: {few}; want {PER_QUERY} per query, or P and DCG\n")
    assert judgments.probability is not None
    unknown = int(np.isnan(judgments.probability).sum())
    if unknown:
        sys.stderr.write(f"{path}: judgments without a probability, not used: {unknown}\n")
