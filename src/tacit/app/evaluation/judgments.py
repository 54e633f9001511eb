"""`tacit judgments`: import, export, show and repair the judgments of a store

A store is one append-only SQLite file: a changed judgment is a new record.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_shared, print_table, whole_number
from tacit.core import DataError, UsageError, plural

if TYPE_CHECKING:
    from tacit.core import Judgments
    from tacit.judge import JudgmentStore
    from tacit.judge.columns import JudgmentColumns
    from tacit.judge.program.comparison import JudgeComparison

EXAMPLES = """examples:
  tacit judgments import my.judgments qrels.txt --judge ann
  tacit judgments show my.judgments
  tacit judgments show my.judgments --judge openai:gpt-4o@1a2b3c4d --against ann
  tacit judgments export my.judgments --merge median -o qrels.txt
  tacit judgments export my.judgments --to csv -o everything.csv
  tacit judgments repair damaged.judgments -o saved.judgments"""

FORMS = ("qrels", "beir", "letor", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The commands below `tacit judgments`."""
    names = "import, export, show or repair"
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, help=names)
    for name, (add, summary) in ACTIONS.items():
        lines = [line for line in EXAMPLES.splitlines() if line.startswith(f"  tacit judgments {name}")]
        action = actions.add_parser(
            name,
            help=summary,
            description=summary,
            epilog="\n".join(["examples:", *lines]),
            formatter_class=parser.formatter_class,
        )
        action.add_argument("store", metavar="STORE", help="judgment store: one SQLite file")
        add(action)


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a table (CSV, JSON, parquet, …), TREC, BEIR or LETOR; - is stdin"
    )
    parser.add_argument("--judge", metavar="NAME", help="judge of judgments without one (default imported)")
    parser.add_argument("--program", action="store_true", help="this judge is a program, such as a language model")
    parser.add_argument("--queries", metavar="FILE", help="texts of the queries: jsonl, CSV, TSV or parquet")
    add_shared(parser, "--encoding", "--table")


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", choices=FORMS, default="qrels", help="format (default qrels); csv keeps every record")
    add_shared(parser, "--judge", "--merge")
    parser.add_argument("--lists", metavar="FILE", help="with --to letor: write these lists, graded; -1 is unjudged")
    parser.add_argument("--queries", metavar="FILE", help="write the texts of the queries here (jsonl)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default stdout")


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judge", metavar="NAME", help="compare this program with people: confusion matrix, kappa, bias"
    )
    parser.add_argument("--against", metavar="NAME", help="the person to compare with (default: all people, median)")
    parser.add_argument(
        "--runs", nargs="+", default=[], metavar="R", help="with --judge: bias on the top 10 of each run"
    )
    parser.add_argument(
        "--disagreements", type=whole_number(0), default=10, metavar="N", help="how many to list (default 10)"
    )
    add_shared(parser, "--json")


def _add_repair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", required=True, metavar="NEW", help="new judgment store; must not exist")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Import, export, show or repair."""
    return {"import": _import, "export": _export, "show": _show, "repair": _repair}[args.action](args, out)


def _repair(args: argparse.Namespace, out: TextIO) -> int:
    from tacit.judge import repair_store

    found = repair_store(args.store, args.output)
    out.write(f"{args.output}: {plural(found.records, 'record')} of {plural(found.queries, 'query')} saved\n")
    if found.unreadable:
        sys.stderr.write(f"not saved, because their values are damaged: {plural(found.unreadable, 'record')}\n")
    if found.without_query:
        sys.stderr.write(f"saved under a made-up query id (unreadable-N): {plural(found.without_query, 'record')}\n")
    if found.judges:
        sys.stderr.write(f"saved as programs, because their kind is damaged: {', '.join(found.judges)}\n")
    return 0


def _import(args: argparse.Namespace, out: TextIO) -> int:
    from tacit.data import read_queries
    from tacit.judge import JudgmentStore, import_judgments

    for file in args.files:  # before the store is created
        if file != "-" and not Path(file).exists():
            raise DataError("no such file", path=file)
    queries = read_queries(args.queries, encoding=args.encoding) if args.queries else None
    how = {"judge": args.judge, "kind": "program" if args.program else "person"}
    how |= {"encoding": args.encoding, "table": args.table}
    with JudgmentStore(args.store) as store, tempfile.TemporaryDirectory() as folder:
        if queries is not None:
            store.add_queries(queries)
        for file in args.files:
            path = _spooled(Path(folder)) if file == "-" else file
            done = import_judgments(store, path, **how)
            sys.stderr.write(f"{file}: {plural(done.n_read, 'judgment')} read, {done.n_new:,} new\n")
    return 0


def _spooled(folder: Path) -> Path:
    """Return standard input as a file, whose format is detected from its first line."""
    content = sys.stdin.buffer.read()
    first = content.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    path = folder / ("stdin.csv" if b"," in first and b"document" in first else "stdin")
    path.write_bytes(content)
    return path


def _export(args: argparse.Namespace, out: TextIO) -> int:
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


def read_people(path: str, judges: list[str], merge: str | None) -> Judgments:
    """Read judgments, and print who is left out."""
    from tacit.judge import read_judgments

    found = read_judgments(path, judges, merge)
    say_who_is_left_out(path, judges)
    return found


def say_who_is_left_out(path: str, named: list[str]) -> None:
    """Print the programs of a store that also has people; they are left out unless --judge names them."""
    from tacit.judge import JudgmentStore, is_store

    if not is_store(path):
        return
    with JudgmentStore(path, read_only=True) as store:
        kinds = store.kinds()
    programs = [name for name, kind in kinds.items() if kind == "program"]
    if programs and not named and "person" in kinds.values():
        sys.stderr.write(f"left out: {', '.join(programs)}, not people; --judge includes programs\n")


def _show(args: argparse.Namespace, out: TextIO) -> int:
    from tacit.judge import JudgmentStore

    if args.judge:
        return _compare(args, out)
    if args.against or args.runs:
        raise UsageError("--against and --runs compare one judge with people: name it (--judge)")
    with JudgmentStore(args.store, read_only=True) as store:
        found = _summary(store)
    if args.json:
        out.write(json.dumps(found) + "\n")
    else:
        _print(found, args.disagreements, out)
    return 0


def _compare(args: argparse.Namespace, out: TextIO) -> int:
    """Compare one program with people."""
    from tacit.data import read_run
    from tacit.judge import JudgmentStore, merged_judgments
    from tacit.judge.program.comparison import compare_judges

    with JudgmentStore(args.store, read_only=True) as store:
        kinds = store.kinds()
        people = [args.against] if args.against else [name for name, kind in kinds.items() if kind == "person"]
        for name in (args.judge, *people):
            if name not in kinds:
                raise UsageError(f"{args.store}: has no judge {name!r}, only {', '.join(kinds) or 'none'}")
        if args.judge in people or not people:
            raise UsageError(f"{args.judge!r} must be compared with another judge: name a person (--against)")
        program = merged_judgments(store, [args.judge])
        human = merged_judgments(store, people, "median" if len(people) > 1 else None)
        ranks = {pair: rank for name in people for pair, rank in store.ranks(name).items()}
    runs = {path: read_run(path) for path in args.runs}
    found = compare_judges(args.judge, program, ", ".join(people), human, ranks=ranks, runs=runs)
    if args.json:
        out.write(json.dumps(found.to_json()) + "\n")
    else:
        _print_comparison(found, args.disagreements, out)
    return 0


def _print_comparison(found: JudgeComparison, n_listed: int, out: TextIO) -> None:
    both = f"{plural(found.n_both, 'pair')} judged by both"
    shares = (
        f"{found.n_both / found.n_people:.1%} of {found.against}'s, {found.n_both / found.n_program:.1%} of its own"
    )
    out.write(f"{found.judge} against {found.against}: {both} ({shares})\n")
    kappas = ", ".join(f"{name} {_figure(getattr(found, name))}" for name in KAPPAS)
    out.write(f"same grade {found.same:.1%}; kappa: {kappas.removeprefix('kappa ')}\n\n")
    rows = [
        [f"{grade:g}", *(f"{count:,}" for count in counts)]
        for grade, counts in zip(found.program_grades, found.confusion, strict=True)
    ]
    print_table(["program \\ people", *(f"{grade:g}" for grade in found.people_grades)], rows, out)
    out.write("\nbias: the program's grade minus people's\n")
    groups = [("", [found.bias]), ("rank ", found.by_rank), ("top 10 of ", found.by_system)]
    groups.append(("query ", found.by_query[:n_listed]))
    rows = [
        [f"{kind}{bias.group}", str(bias.n_pairs), f"{bias.mean:+.3f}", _error(bias.standard_error)]
        for kind, biases in groups
        for bias in biases
    ]
    print_table(["pairs of", "pairs", "bias", "std err"], rows, out)


def _error(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _summary(store: JudgmentStore) -> dict[str, Any]:
    import numpy as np

    from tacit.judge import disagreements, kappas, krippendorff_alpha
    from tacit.judge.columns import read_columns

    found = read_columns(store)
    shared = found.take(found.shared())
    blind = read_columns(store, decisions=False) if store.has_decisions() else found
    unseen = blind.take(blind.shared())  # judged without seeing the grades of others
    people = {judge.name for judge in store.judges() if judge.kind == "person"}
    of_people = [record for record in unseen if record.judge in people]
    known = ~np.isnan(found.probability)
    return {
        "records": len(store),
        "queries": len(found.query_ids),
        "pairs": len(np.unique(found.pair)),
        "with_probability": len(np.unique(found.pair[known])),
        "judges": [_judge_summary(found, judge.name, judge.kind) for judge in store.judges()],
        "agreement": [pair._asdict() for pair in kappas(unseen)],
        "alpha": {level: krippendorff_alpha(of_people, level) for level in ("ordinal", "interval", "nominal")},
        "disagreements": [entry._asdict() for entry in disagreements(shared)],
    }


def _judge_summary(found: JudgmentColumns, name: str, kind: str) -> dict[str, Any]:
    import numpy as np

    mine = found.judge == (found.judges.index(name) if name in found.judges else -1)
    grade = found.grade[mine]
    grades, counts = np.unique(grade[~np.isnan(grade)], return_counts=True)
    return {
        "judge": name,
        "kind": kind,
        "judgments": int(counts.sum()),
        "cannot_judge": int(mine.sum() - counts.sum()),
        "queries": len(np.unique(found.query[mine])),
        "grades": {f"{level:g}": int(count) for level, count in zip(grades, counts, strict=True)},
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
    "show": (_add_show, "count the judgments by judge, and measure their agreement"),
    "repair": (_add_repair, "save every readable record of a damaged store in a new one"),
}
