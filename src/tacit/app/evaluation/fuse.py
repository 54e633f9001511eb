"""`tacit fuse`: learn weights for the results of several search engines, and test whether they help

Give QRELS and two or more TREC runs, or one table (CSV, TSV, parquet) with the columns query, document and one column
of scores for each leg. Nested cross-validation compares the learned fusion with the default, which is kept unless the
expected gain outweighs the risk. With --to, tacit considers only fusions that the engine can express, and prints its
configuration.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.evaluation.judgments import read_people
from tacit.app.options import add_shared, check_output, print_table
from tacit.core import UsageError

if TYPE_CHECKING:
    from tacit.core import Run
    from tacit.judge.fuse import FuseReport

EXAMPLES = """examples:
  tacit fuse qrels.txt bm25.run dense.run -o fused.json
  tacit fuse qrels.txt bm25.run dense.run --to opensearch --report fuse.html
  tacit fuse qrels.txt scores.csv --json
  tacit fuse --apply fused.json bm25.run dense.run -o fused.run
  tacit fuse --apply fused.json bm25.run dense.run --explain q1"""

ENGINES = ("opensearch", "elasticsearch", "qdrant", "weaviate", "vespa", "milvus", "lancedb")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit fuse`."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="QRELS (or a judgment store), then runs or a table; with --apply, runs"
    )
    parser.add_argument("--apply", metavar="FUSED", help="fuse the runs with a fusion that -o wrote")
    parser.add_argument("--label-free", action="store_true", help="no QRELS: print the default and how far runs agree")
    parser.add_argument("--to", choices=ENGINES, help="engine that must be able to express the fusion")
    parser.add_argument("--measure", default="nDCG@10", metavar="M", help="measure to choose by (default nDCG@10)")
    parser.add_argument(
        "--model", metavar="MODEL", help="a tacit model as a further source of results; needs --queries"
    )
    parser.add_argument("--queries", metavar="Q", help="queries for --model: jsonl or TSV")
    parser.add_argument("--explain", metavar="QUERY", help="with --apply: contribution of each run to the top ten")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="JSON with the fusion; with --apply the fused run (default stdout)"
    )
    parser.add_argument("--report", metavar="FILE", help="write an HTML report")
    add_shared(parser, "--judge", "--merge", "--seed", "--threads", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Learn, or apply."""
    _check_use(args)
    for path in (args.output, args.report):
        if path:
            check_output(path)
    if args.apply:
        return _apply(args, out)
    from tacit.data import write_text
    from tacit.judge.fuse.report import to_html

    report = _learn(args)
    if args.output:
        write_text(args.output, json.dumps(report.to_json(), indent=1) + "\n")
    if args.report:
        write_text(args.report, to_html(report, f"tacit fuse {', '.join(report.fusion.names)}"))
    if args.json:
        out.write(json.dumps(report.to_json()) + "\n")
    elif args.output != "-":
        _show(report, out)
    return 0


def _check_use(args: argparse.Namespace) -> None:
    if bool(args.model) != bool(args.queries):
        raise UsageError("--model and --queries must be given together: the model ranks documents for the queries")
    if args.apply and (args.to or args.report or args.label_free):
        raise UsageError("--apply uses a fusion as it is; --to, --report and --label-free are for learning one")
    if args.explain and not args.apply:
        raise UsageError("--explain needs --apply, the fusion to explain")
    if not (args.apply or args.label_free) and len(args.files) < 2:
        raise UsageError("got one file, want QRELS and runs (or --label-free with runs)")


def _learn(args: argparse.Namespace) -> FuseReport:
    from tacit.judge.fuse import fuse

    paths = list(args.files)
    judgments = None if args.label_free else read_people(paths.pop(0), args.judge, args.merge)
    return fuse(judgments, _runs(args, paths), measure=args.measure, to=args.to, seed=args.seed)


def _runs(args: argparse.Namespace, paths: list[str]) -> dict[str, Run]:
    """Return the runs of the files and of the model."""
    from tacit.judge.fuse.sources import is_table, read_legs, run_name

    if not args.model:
        return read_legs(paths)
    from tacit.data import read_queries, read_run
    from tacit.search import Searcher, load

    name = Path(args.model).resolve().stem
    if any(is_table(path) for path in paths):
        runs = read_legs(paths)
    else:
        runs = {run_name(path): read_run(path) for path in paths}
        if len(runs) < len(paths):
            raise UsageError("two runs have the same name, want different names (a run's name is its file's stem)")
    if name in runs:
        raise UsageError(f"the model and a run have the name {name!r}, want different names")
    model = load(args.model)
    if not isinstance(model, Searcher):
        raise UsageError(f"{args.model} ranks feature lists, want a model of `tacit fit`")
    return {**runs, name: model.run(read_queries(args.queries), threads=args.threads)}


def _apply(args: argparse.Namespace, out: TextIO) -> int:
    from tacit.data import write_run
    from tacit.judge.fuse import Legs, read_fusion

    fusion = read_fusion(args.apply)
    legs = Legs.from_runs(fusion.order(_runs(args, args.files)))
    if args.explain:
        found = fusion.explain(legs, args.explain)
        if args.json:
            out.write(json.dumps({"query": args.explain, "results": found}) + "\n")
        else:
            _explain(found, fusion.names, out)
        return 0
    write_run(fusion.fuse(legs), args.output or "-")
    return 0


def _explain(found: list[dict[str, Any]], names: tuple[str, ...], out: TextIO) -> None:
    rows = [
        [str(hit["rank"]), hit["document"], f"{hit['score']:.4f}", *(_part(hit["legs"][name]) for name in names)]
        for hit in found
    ]
    print_table(["rank", "document", "score", *names], rows, out, left=2)


def _part(leg: dict[str, Any]) -> str:
    return f"{leg['contribution']:+.4f} ({'missing' if leg['rank'] is None else 'rank ' + str(leg['rank'])})"


def _show(report: FuseReport, out: TextIO) -> None:
    from tacit.judge.fuse.report import snippet, table_rows

    if report.rows and report.rows[0]["metrics"]:
        print_table(*table_rows(report), out)
        out.write("\n")
    out.write(f"{report.text}\n")
    if report.export is not None:
        out.write(f"\n{snippet(report.export)}")
        sys.stderr.write(f"{report.export['engine']}: {report.export['note']}\n")
