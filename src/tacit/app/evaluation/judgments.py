"""`tacit judgments`: import, export and show the judgments of a store

A store is one SQLite file. Nothing in it is ever changed or deleted: a changed judgment is a new record.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_json, add_judges, whole_number
from tacit.app.tables import print_table
from tacit.core import plural

if TYPE_CHECKING:
    from tacit.judge import JudgmentStore

EXAMPLES = """examples:
  tacit judgments import my.judgments qrels.txt --judge ann
  tacit judgments show my.judgments
  tacit judgments export my.judgments --merge median -o qrels.txt
  tacit judgments export my.judgments --to csv -o everything.csv"""

FORMS = ("qrels", "beir", "letor", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The three commands below `tacit judgments`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, help="import, export or show")
    for name, (add, summary) in ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary, formatter_class=parser.formatter_class)
        action.add_argument("store", metavar="STORE", help="judgment store: one SQLite file")
        add(action)


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="CSV (.csv), TREC, BEIR or LETOR; - is stdin")
    parser.add_argument("--judge", metavar="NAME", help="judge of judgments that name none (default imported)")
    parser.add_argument("--program", action="store_true", help="this judge is a program, such as a language model")
    parser.add_argument("--queries", metavar="FILE", help="texts of the queries: jsonl or TSV")


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", choices=FORMS, default="qrels", help="form (default qrels); csv keeps every record")
    add_judges(parser)
    parser.add_argument("--lists", metavar="FILE", help="with --to letor: write these lists, graded; -1 is unjudged")
    parser.add_argument("--queries", metavar="FILE", help="write the texts of the queries here (jsonl)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default stdout")


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--disagreements", type=whole_number(0), default=10, metavar="N", help="how many to list (default 10)"
    )
    add_json(parser)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Import, export or show."""
    return {"import": _import, "export": _export, "show": _show}[args.action](args, out)


def _import(args: argparse.Namespace, out: TextIO) -> int:
    from tacit.core import DataError
    from tacit.data import read_queries
    from tacit.judge import JudgmentStore, import_judgments

    for file in args.files:  # before the store is made
        if file != "-" and not Path(file).exists():
            raise DataError("no such file", path=file)
    queries = read_queries(args.queries) if args.queries else None
    with JudgmentStore(args.store) as store, tempfile.TemporaryDirectory() as folder:
        if queries is not None:
            store.add_queries(queries)
        for file in args.files:
            path = _spooled(Path(folder)) if file == "-" else file
            done = import_judgments(store, path, judge=args.judge, kind="program" if args.program else "person")
            sys.stderr.write(f"{file}: {plural(done.n_read, 'judgment')} read, {done.n_new:,} new\n")
    return 0


def _spooled(folder: Path) -> Path:
    """Standard input as a file, whose form its first line tells."""
    content = sys.stdin.buffer.read()
    first = content.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    path = folder / ("stdin.csv" if b"," in first and b"document" in first else "stdin")
    path.write_bytes(content)
    return path


def _export(args: argparse.Namespace, out: TextIO) -> int:
    from tacit.core import UsageError
    from tacit.data import read_letor, write_collection, write_letor, write_qrels
    from tacit.judge import JudgmentStore, graded_lists, merged_judgments, write_csv

    if args.lists and args.to != "letor":
        raise UsageError("--lists gives the features of --to letor; leave it out, or write LETOR")
    with JudgmentStore(args.store, read_only=True) as store:
        if args.to == "csv":
            if args.merge:
                raise UsageError("--to csv writes records, which --merge does not make; leave --merge out")
            wanted = set(args.judge)
            records = [record for record in store.history() if not wanted or record.judge in wanted]
            names = {record.query for record in records}
            write_csv(records, args.output)
        else:
            judgments = merged_judgments(store, args.judge, args.merge)
            names = set(judgments.query_ids)
            if args.lists:
                write_letor(graded_lists(read_letor(args.lists), judgments), args.output)
            else:
                write_qrels(judgments, args.output, form=args.to)
            say_who_is_left_out(args.store, args.judge)
        if args.queries:
            queries = store.queries()
            kept = [row for row, (name, _, text) in enumerate(queries) if name in names and text]
            write_collection(queries.take(kept), args.queries)
            sys.stderr.write(f"{args.queries}: queries with a text: {len(kept):,} of {len(names):,}\n")
    return 0


def say_who_is_left_out(path: str, named: list[str]) -> None:
    """Name the programs of a store that also has persons: they are left out unless --judge names them."""
    from tacit.judge import JudgmentStore

    with JudgmentStore(path, read_only=True) as store:
        kinds = {judge.name: judge.kind for judge in store.judges() if judge.n_judgments}
    programs = [name for name, kind in kinds.items() if kind == "program"]
    if programs and not named and "person" in kinds.values():
        sys.stderr.write(f"left out: {', '.join(programs)}, no person; --judge names programs to be taken\n")


def _show(args: argparse.Namespace, out: TextIO) -> int:
    from tacit.judge import JudgmentStore

    with JudgmentStore(args.store, read_only=True) as store:
        found = _summary(store)
    if args.json:
        out.write(json.dumps(found) + "\n")
    else:
        _print(found, args.disagreements, out)
    return 0


def _summary(store: JudgmentStore) -> dict[str, Any]:
    from tacit.judge import disagreements, kappas, krippendorff_alpha

    current = store.current()
    people = {judge.name for judge in store.judges() if judge.kind == "person"}
    of_people = [record for record in current if record.judge in people]
    return {
        "records": len(store),
        "queries": len({record.query for record in current}),
        "pairs": len({(record.query, record.document) for record in current}),
        "with_probability": len({(r.query, r.document) for r in current if r.probability is not None}),
        "judges": [_judge_summary(store, judge.name, judge.kind) for judge in store.judges()],
        "agreement": [pair._asdict() for pair in kappas(current)],
        "alpha": {level: krippendorff_alpha(of_people, level) for level in ("ordinal", "interval", "nominal")},
        "disagreements": [entry._asdict() for entry in disagreements(current)],
    }


def _judge_summary(store: JudgmentStore, name: str, kind: str) -> dict[str, Any]:
    current = store.current(name)
    grades = Counter(record.grade for record in current if record.grade is not None)
    return {
        "judge": name,
        "kind": kind,
        "judgments": sum(grades.values()),
        "cannot_judge": len(current) - sum(grades.values()),
        "queries": len({record.query for record in current}),
        "grades": {f"{grade:g}": grades[grade] for grade in sorted(grades)},
    }


def _print(found: dict[str, Any], n_listed: int, out: TextIO) -> None:
    judged = f"{plural(found['pairs'], 'pair')} of {plural(found['queries'], 'query')} judged"
    known = f"{plural(found['with_probability'], 'pair')} with a known probability"
    out.write(f"{judged}, {plural(found['records'], 'record')}, {known}\n")
    rows = [
        [j["judge"], j["kind"], f"{j['judgments']:,}", f"{j['cannot_judge']:,}", f"{j['queries']:,}", _grades(j)]
        for j in found["judges"]
    ]
    print_table(["judge", "kind", "judgments", "cannot judge", "queries", "grades"], rows, out)
    if found["agreement"]:
        out.write("\n")
        rows = [
            [" ".join(p["judges"]), str(p["n_pairs"]), f"{p['same']:.3f}", *(_figure(p[k]) for k in KAPPAS)]
            for p in found["agreement"]
        ]
        print_table(["judges", "pairs", "same", "kappa", "linear kappa", "quadratic kappa"], rows, out)
        alphas = ", ".join(f"{level} {_figure(value)}" for level, value in found["alpha"].items())
        out.write(f"Krippendorff's alpha, all people: {alphas}\n")
    if found["disagreements"] and n_listed:
        listed = found["disagreements"][:n_listed]
        out.write(f"\n{len(listed)} of {plural(len(found['disagreements']), 'disagreement')}, largest first:\n")
        rows = [[e["query"], e["document"], ", ".join(f"{j} {g:g}" for j, g in e["grades"].items())] for e in listed]
        print_table(["query", "document", "grades"], rows, out)


def _grades(judge: dict[str, Any]) -> str:
    return "  ".join(f"{grade}: {count:,}" for grade, count in judge["grades"].items())


def _figure(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"


KAPPAS = ("kappa", "linear", "quadratic")
ACTIONS = {
    "import": (_add_import, "append the judgments of files to a store"),
    "export": (_add_export, "write one judge's judgments, or a stated merge of several"),
    "show": (_add_show, "count the judgments by judge, and measure how far the judges agree"),
}
