"""`tacit learning-curve`: measure how quality depends on the number of labels

Labels of the training lists are removed at random; the rows stay, unjudged. --against adds a second method. --column
adds the order by one feature, such as BM25, which needs no labels.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_shared, print_table, whole_number
from tacit.core import MissingExtraError, UsageError

if TYPE_CHECKING:
    from tacit.rerank.learning_curve import CurvePoint, LabelledPart

EXAMPLES = """examples:
  tacit learning-curve lists.txt --method standing --against linear
  tacit learning-curve lists.txt --column 25
  tacit learning-curve lists.txt --column both.bm25 --names names.txt
  tacit learning-curve train.txt --test test.txt --method sslambdarank --against lambdarank --by queries
  tacit learning-curve lists.txt.gz --folds folds.json --method standing --share 0.1 --share 1 --out curves"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit learning-curve`."""
    parser.add_argument("train", metavar="TRAIN", help="judged lists (LETOR)")
    parser.add_argument("--method", default="standing", metavar="M", help="ranker of lists (default standing)")
    parser.add_argument("--against", metavar="M2", help="second ranker on the same labels, such as linear")
    parser.add_argument(
        "--column", metavar="C", help="also measure the order by one feature: its number in TRAIN, or its name"
    )
    parser.add_argument("--names", metavar="F", help="names of the features, one per line (`tacit features --names`)")
    add_shared(parser, "--set")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--test", metavar="F", help="test lists (default: five folds of TRAIN)")
    where.add_argument("--folds", metavar="F", help="folds.json: query ids of train, vali and test by fold")
    parser.add_argument("--vali", metavar="F", help="validation lists, with --test; their labels are removed too")
    parser.add_argument(
        "--by", choices=("documents", "queries"), default="documents", help="remove labels of documents or of queries"
    )
    parser.add_argument(
        "--share", type=float, action="append", metavar="S", help="share of labels kept; repeatable (default 0.05 to 1)"
    )
    parser.add_argument("-m", "--measure", default="nDCG-letor@10", metavar="M", help="measure (default nDCG-letor@10)")
    parser.add_argument(
        "--seeds", type=whole_number(1), default=3, metavar="N", help="random samples per share (default 3)"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the curve as PNG and its points as JSON")
    add_shared(parser, "--seed", "--threads", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Remove labels, train, measure; print and plot the points."""
    from tacit.metrics import parse_measure
    from tacit.rerank import get_method
    from tacit.rerank.learning_curve import SHARES, learning_curve

    parse_measure(args.measure)
    if args.vali and not args.test:
        raise UsageError("--vali requires --test; with folds, each fold has validation lists")
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
    methods = [args.method] + ([args.against] if args.against else [])
    if len(set(methods)) != len(methods):
        raise UsageError(f"--method and --against are both {args.method}, want two methods")
    for name in methods:
        get_method(name)
    parts = _parts(args)
    column = [] if args.column is None else [_column(args, parts)]
    points = column + learning_curve(
        parts,
        methods,
        by=args.by,
        shares=args.share or SHARES,
        measure=args.measure,
        n_seeds=args.seeds,
        seed=args.seed,
        threads=args.threads,
        params=args.params,
    )
    found = {"measure": args.measure, "by": args.by, "seed": args.seed, "points": [_as_json(p) for p in points],
             "tests": _tests(points, args.measure)}  # fmt: skip
    if args.out:
        _write(points, found, args)
    if args.json:
        out.write(json.dumps(found) + "\n")
    else:
        _show(points, found["tests"], args.measure, out)
    return 0


def _parts(args: argparse.Namespace) -> list[LabelledPart]:
    from tacit.data import read_folds, read_letor
    from tacit.rerank.learning_curve import LabelledPart, draw_folds, fold_parts, with_labels

    train = read_letor(args.train)
    if args.test:
        width = train.X.shape[1]
        vali = read_letor(args.vali, n_features=width) if args.vali else None
        return [LabelledPart(train, vali, with_labels(read_letor(args.test, n_features=width)))]
    if args.folds:
        return fold_parts(train, read_folds(args.folds))
    judged = with_labels(train)
    return fold_parts(judged, draw_folds(judged, seed=args.seed))


def _as_json(point: CurvePoint) -> dict[str, Any]:
    return {
        "system": point.method,
        "share": point.share,
        "queries": point.n_queries,
        "documents": point.n_documents,
        "mean": point.mean,
        "interval": [point.low, point.high],
        "failed": point.n_failed,
    }


def _column(args: argparse.Namespace, parts: list[LabelledPart]) -> CurvePoint:
    """Return the line of --column."""
    from tacit.core import check_choice, check_number
    from tacit.data import read_lines
    from tacit.rerank.learning_curve import column_point

    n_columns = parts[0].test.X.shape[1]
    if args.column.isdecimal():
        number = int(args.column)
        check_number("--column", number, low=1, high=n_columns, whole=True)
        return column_point(parts, number - 1, f"column {number}", args.measure)
    if not args.names:
        raise UsageError(f"--column is {args.column!r}, want a number from 1 to {n_columns}, or --names for its name")
    names = [line.strip() for _, line in read_lines(args.names)]
    check_choice("--column", args.column, names)
    if len(names) != n_columns:
        raise UsageError(f"names in {args.names}: {len(names)}, want {n_columns}, one for each feature")
    return column_point(parts, names.index(args.column), args.column, args.measure)


def _tests(points: list[CurvePoint], measure: str) -> list[dict[str, Any]]:
    """Run paired tests of the first method against the others and the column, share by share."""
    import numpy as np

    from tacit.metrics import compare_systems

    tests = []
    for share in dict.fromkeys(point.share for point in points if point.share):
        systems = [point for point in points if point.share == share] + [point for point in points if not point.share]
        shared = [query for query in systems[0].values if all(query in point.values for point in systems)]
        values = {point.method: np.array([point.values[query] for query in shared]) for point in systems}
        found = compare_systems(values, measure, test="wilcoxon", baseline=systems[0].method) if len(values) > 1 else []
        tests += [{"better": c.better, "worse": c.worse, "metric": measure, "share": share, "p": c.p} for c in found]
    return tests


def _show(points: list[CurvePoint], tests: list[dict[str, Any]], measure: str, out: TextIO) -> None:
    rows = [
        [p.method, f"{p.share:g}", f"{p.n_queries:.0f}", f"{p.n_documents:.0f}", f"{p.mean:.4f}",
         f"{p.low:.4f} - {p.high:.4f}"]
        for p in points
    ]  # fmt: skip
    print_table(["method", "share", "queries", "documents", measure, "95% interval"], rows, out)
    if any(point.n_failed for point in points):
        sys.stderr.write(f"{sum(p.n_failed for p in points)} samples have no list with two grades: left out\n")
    if tests:
        out.write("\nWilcoxon signed-rank test at each share, two-sided, Holm:\n\n")
        print_table(["share", "better", "worse", "p"], [[f"{t['share']:g}", t["better"], t["worse"], f"{t['p']:.2g}"]
                                                        for t in tests], out)  # fmt: skip


def _write(points: list[CurvePoint], found: dict[str, Any], args: argparse.Namespace) -> None:
    from tacit.data import write_text
    from tacit.experiments.figures import new_figure, save

    write_text(args.out / "learning-curve.json", json.dumps(found, indent=1) + "\n")
    try:
        figure, axes = new_figure(7, 5)
    except MissingExtraError as error:
        sys.stderr.write(f"no figure: {error}\n")
        return
    for method in dict.fromkeys(point.method for point in points):
        chosen = [point for point in points if point.method == method]
        if not chosen[0].share:
            axes.axhline(chosen[0].mean, linestyle="--", color="grey", label=method)
            continue
        x = [p.n_documents if args.by == "documents" else p.n_queries for p in chosen]
        (line,) = axes.plot(x, [p.mean for p in chosen], marker="o", markersize=3, label=method)
        axes.fill_between(x, [p.low for p in chosen], [p.high for p in chosen], alpha=0.15, color=line.get_color())
    axes.set(xscale="log", xlabel=f"labelled {args.by} in training", ylabel=f"{args.measure}, 95% interval")
    axes.legend()
    save(figure, args.out / "learning-curve.png")
    sys.stderr.write(f"curve written to {args.out}\n")
