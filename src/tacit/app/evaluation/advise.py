"""`tacit advise`: compare systems on your data by cross-validation and recommend one

Give CORPUS with --queries and --qrels, with --clicks, or with both; or one file of judged feature lists (LETOR). The
baseline is BM25 on stems, the shown order if there are only clicks, or the best single feature of the lists.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import (
    add_columns,
    add_encoder,
    add_shared,
    check_output,
    column_options,
    print_table,
    read_groups,
)
from tacit.core import DataError, UsageError

if TYPE_CHECKING:
    from tacit.core import Collection
    from tacit.data import ClickLog
    from tacit.judge.advise import Advice

EXAMPLES = """examples:
  tacit advise docs.jsonl --queries queries.jsonl --qrels qrels.txt
  tacit advise docs.jsonl --queries queries.jsonl --qrels qrels.txt --save my.model --report advice.html
  tacit advise docs.jsonl --queries queries.jsonl --qrels qrels.txt --clicks sessions.jsonl
  tacit advise docs.jsonl --queries queries.jsonl --qrels my.judgments --assist gpt-4o
  tacit advise docs.jsonl --clicks sessions.jsonl
  tacit advise docs.jsonl --queries queries.jsonl --qrels qrels.txt --encoder sentence-transformers/all-MiniLM-L6-v2
  tacit advise lists.txt.gz --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit advise`."""
    parser.add_argument("corpus", help="documents as in `tacit fit`, or judged feature lists (LETOR)")
    parser.add_argument("--queries", metavar="F", help="queries: jsonl, JSON, CSV, TSV or parquet")
    parser.add_argument(
        "--qrels", metavar="F", help="their judgments: TREC, BEIR, a table of query, document, grade, or a store"
    )
    parser.add_argument("--links", metavar="F", help="links between documents: source<TAB>target[<TAB>weight]")
    parser.add_argument("--clicks", metavar="F", help="sessions in jsonl, or a table of query, document, count")
    parser.add_argument("--measure", default="nDCG@10", metavar="M", help="measure to compare by (default nDCG@10)")
    parser.add_argument(
        "--minutes",
        type=float,
        default=15.0,
        metavar="M",
        help="time for all systems; one that takes longer is left out, except the baseline and blend (default 15)",
    )
    add_encoder(parser, "documents: also compare blend with an encoder, the encoder alone and rank fusion")
    add_shared(parser, "--language")
    parser.add_argument(
        "--group", metavar="FIELD", help="field of the queries that names their group; a group is kept in one fold"
    )
    parser.add_argument(
        "--sequential", action="store_true", help="keep the error rate when advise is repeated as judgments are added"
    )
    parser.add_argument(
        "--skip-unknown", action="store_true", help="leave out judgments, links and clicks of unknown ids"
    )
    parser.add_argument("--save", metavar="MODEL", help="documents: fit the recommended system on all data and save it")
    parser.add_argument("--report", metavar="FILE", help="write an HTML report with the learning curve")
    add_shared(parser, "--judge", "--merge", "--assist")
    add_columns(parser)
    add_shared(parser, "--seed", "--threads", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Read, cross-validate, print the recommendation."""
    from tacit.judge.advise.report import to_html

    _check_use(args)
    data = _read(args)
    advice = _advise(args, data)
    if args.json:
        out.write(json.dumps(advice.to_json()) + "\n")
    else:
        _show(advice, out)
    if args.report:
        from tacit.data import write_text

        write_text(args.report, to_html(advice, f"tacit advise {Path(args.corpus).name}"))
    if args.save:
        _save(args, advice, data)
    return 0


def _check_use(args: argparse.Namespace) -> None:
    from tacit.store import check_destination

    if args.qrels and not args.queries:
        raise UsageError("--qrels needs --queries, which has the texts of the queries")
    if args.queries and not (args.qrels or args.clicks):
        raise UsageError("--queries needs --qrels or --clicks, which name the relevant documents")
    if args.group and not args.qrels:
        raise UsageError("--group needs a collection with --queries and --qrels")
    if not (args.qrels or args.clicks) and (args.links or args.save or args.encoder):
        option = "links" if args.links else "save" if args.save else "encoder"
        raise UsageError(f"--{option} needs a collection with --queries and --qrels, or with --clicks")
    if args.assist and not args.qrels:
        raise UsageError("--assist needs a collection with --queries and --qrels, the judgments of people")
    if args.report:
        check_output(args.report)
    if args.save:
        check_destination(args.save)


def _read(args: argparse.Namespace) -> dict[str, Any]:
    from tacit.app.evaluation.assist import read_for_learning
    from tacit.data import check_known, read_letor, read_linked_collection, read_links, read_queries

    if not (args.qrels or args.clicks):
        try:
            return {"data": read_letor(args.corpus)}
        except DataError as error:
            raise DataError(f"{error}; a collection needs --queries and --qrels, or --clicks") from None
    documents, skip = read_linked_collection(args.corpus, column_options(args))[0], args.skip_unknown
    found: dict[str, Any] = {"data": documents, "language": args.language}
    if args.encoder:
        from tacit.search.encoders import load_encoder

        found["encoder"] = load_encoder(args.encoder)
    if args.queries:
        found["queries"] = read_queries(args.queries, extras=[args.group] if args.group else [], encoding=args.encoding)
        found["groups"] = read_groups(found["queries"], args.group)
    if args.qrels:
        qrels, program, texts = read_for_learning(args)
        known: dict[str, Any] = {"skip_unknown": skip, "path": args.qrels, "texts": texts}
        found["qrels"] = check_known(qrels, found["queries"], documents, **known)
        if program is not None:
            known |= {"skip_unknown": True, "path": args.assist}
            found["program"] = check_known(program, found["queries"], documents, **known)
    if args.links:
        found["links"] = read_links(args.links, documents, skip_unknown=skip)
    if args.clicks:
        found["clicks"] = _read_clicks(args, documents, found.get("queries"))
    return found


def _read_clicks(args: argparse.Namespace, documents: Collection, queries: Collection | None) -> ClickLog:
    """Read the log; clicks on unknown documents are an error, or left out."""
    from tacit.data import read_click_log

    log = read_click_log(args.clicks)
    if queries is not None and not args.qrels:
        log = log.named_by(queries, skip_unknown=args.skip_unknown)
    log.pairs(documents, skip_unknown=args.skip_unknown)
    return log


def _advise(args: argparse.Namespace, data: dict[str, Any]) -> Advice:
    from tacit.judge.advise import advise

    def progress(message: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{message}")
            sys.stderr.flush()

    options = {"measure": args.measure, "minutes": args.minutes, "sequential": args.sequential}
    try:
        return advise(**data, **options, seed=args.seed, threads=args.threads, progress=progress)
    finally:
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")


def _show(advice: Advice, out: TextIO) -> None:
    from tacit.judge.advise.report import table_rows

    print_table(*table_rows(advice), out)
    out.write(f"\n{advice.measure} by the number of judged queries in training:\n\n")
    points = [
        [str(point["queries"]), f"{point['mean']:.3f}", "{:.3f} to {:.3f}".format(*point["interval"])]
        for point in advice.curve
    ]
    print_table(["queries", "mean", "95% interval"], points, out)
    out.write(f"\n{advice.text}\n" + (f"{advice.note}\n" if advice.note else ""))


def _save(args: argparse.Namespace, advice: Advice, data: dict[str, Any]) -> None:
    from tacit.judge.advise import fit_recommended

    searcher = fit_recommended(advice, data["data"], **{k: v for k, v in data.items() if k not in ("data", "groups")})
    searcher.save(args.save)
    sys.stderr.write(f"{advice.system} fitted on all data, saved in {args.save}\n")
