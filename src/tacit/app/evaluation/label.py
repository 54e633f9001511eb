"""`tacit label`: choose what to judge next, to train a model, to measure it, or to decide between systems

With --runs no model is needed: the sample is drawn from the results of several systems, with known probabilities.
Writes CSV with a grade of ? in each row. Fill in the grades and import the file with `tacit judgments import`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_shared, check_output, whole_number
from tacit.core import UsageError, plural

if TYPE_CHECKING:
    from tacit.judge import Suggestion

EXAMPLES = """examples:
  tacit label my.model --queries queries.jsonl -n 30 --judgments my.judgments -o next.csv
  tacit label my.model --queries queries.jsonl --for measuring -n 100 --judgments my.judgments -o sample.csv
  tacit label ranker.model --queries lists.txt -n 50 --strategy gain
  tacit label --runs old.run new.run -n 50 -o next.csv
  tacit label --for calibrating --judgments my.judgments -n 40 -o check.csv
  tacit judgments import my.judgments next.csv --judge ann"""

COLUMNS = ("query", "text", "document", "grade", "rank", "model", "probability", "display")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit label`."""
    parser.add_argument("model", nargs="?", help="folder that `tacit fit` or `tacit rank --save` wrote")
    parser.add_argument("--runs", nargs="+", metavar="RUN", help="runs of several systems, instead of a model")
    parser.add_argument("--queries", metavar="Q", help="queries: jsonl or TSV; LETOR lists for a ranker")
    parser.add_argument(
        "--for",
        dest="purpose",
        choices=("training", "measuring", "choosing", "calibrating"),
        help="training (default with a model): pairs that teach it most; measuring: a sample with known probabilities; "
        "choosing (default with --runs): a sample of results that the runs rank differently; "
        "calibrating: pairs that a program judged, evenly over its grades (no MODEL)",
    )
    parser.add_argument("-n", type=whole_number(1), metavar="N", help="number of pairs (default 20; 50 with --runs)")
    parser.add_argument("--judgments", metavar="STORE", help="judgment store; pairs judged in it are left out")
    parser.add_argument("--judge", metavar="NAME", help="leave out only pairs that this judge has judged")
    parser.add_argument("--program", metavar="NAME", help="for calibrating: the program (default: the only one)")
    parser.add_argument(
        "--strategy",
        choices=("gain", "strata", "random"),
        help="for training (default gain for lists of fewer than 50 documents, else strata)",
    )
    parser.add_argument(
        "--depth", type=whole_number(1), default=50, metavar="N", help="documents per query (default 50)"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="CSV (default stdout)")
    add_shared(parser, "--seed", "--threads", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Choose pairs and write them."""
    from tacit.data import read_letor, read_queries
    from tacit.judge import JudgmentStore, what_to_judge
    from tacit.search import Searcher, load

    if args.purpose == "calibrating":
        return _calibrate(args, out)
    _check_use(args)
    check_output(args.output)
    if args.runs:
        return _across(args, out)
    model = load(args.model)
    queries: Any = read_queries(args.queries) if isinstance(model, Searcher) else read_letor(args.queries)
    version = f"{Path(args.model).resolve().name}@{_digest(Path(args.model))}"
    purpose = args.purpose or "training"
    how = {"purpose": purpose, "judge": args.judge, "strategy": args.strategy, "depth": args.depth, "seed": args.seed}
    with JudgmentStore(args.judgments) if args.judgments else nullcontext() as store:
        chosen = what_to_judge(
            model, queries, args.n or 20, store=store, model_name=version, threads=args.threads, **how
        )
    _show(args, {"model": version, "for": purpose}, chosen, queries, version, out)
    n_queries = len({pair.query for pair in chosen})
    sys.stderr.write(f"{plural(len(chosen), 'pair')} of {plural(n_queries, 'query')} to judge\n")
    return 0


def _check_use(args: argparse.Namespace) -> None:
    if args.program:
        raise UsageError("--program is for --for calibrating")
    if bool(args.model) == bool(args.runs):
        raise UsageError("want a MODEL, or --runs with two or more runs" + (", not both" if args.model else ""))
    if args.model and not args.queries:
        raise UsageError("--queries is required with a MODEL")
    if args.model and args.purpose == "choosing":
        raise UsageError("--for choosing needs --runs: it decides between systems")
    if args.runs and args.purpose == "training":
        raise UsageError("--for training needs a MODEL; with --runs, measuring or choosing")
    if args.strategy and (args.runs or args.purpose == "measuring"):
        raise UsageError("--strategy is for training; a sample for measuring has its own design")


def _across(args: argparse.Namespace, out: TextIO) -> int:
    """Choose from the results of several runs."""
    from tacit.data import read_queries
    from tacit.judge import JudgmentStore
    from tacit.judge.across import what_to_judge_across
    from tacit.judge.fuse import read_legs

    runs = read_legs(args.runs)
    queries = read_queries(args.queries) if args.queries else None
    purpose = args.purpose or "choosing"
    how = {"purpose": purpose, "judge": args.judge, "depth": args.depth, "seed": args.seed}
    with JudgmentStore(args.judgments) if args.judgments else nullcontext() as store:
        chosen = what_to_judge_across(runs, args.n or 50, store=store, queries=queries, **how)
    _show(args, {"runs": list(runs), "for": purpose}, chosen, queries, "+".join(runs), out)
    n_queries = len({pair.query for pair in chosen})
    sys.stderr.write(f"{plural(len(chosen), 'pair')} of {plural(n_queries, 'query')} to judge\n")
    return 0


def _calibrate(args: argparse.Namespace, out: TextIO) -> int:
    """Choose pairs that a program judged, for people to judge.

    They have no probability: judgments with one are a sample for measuring, and would replace fully judged queries.
    """
    from tacit.judge import JudgmentStore, merged_judgments
    from tacit.judge.sampling import draw_calibration

    if not args.judgments or args.model or args.queries or args.strategy:
        raise UsageError("--for calibrating takes pairs of a store: give --judgments STORE, no MODEL and no --queries")
    check_output(args.output)
    with JudgmentStore(args.judgments, read_only=True) as store:
        programs = [name for name, kind in store.kinds().items() if kind == "program"]
        if not programs:
            raise UsageError(f"{args.judgments}: no judge is a program, so there is nothing to calibrate")
        if args.program not in programs and (args.program or len(programs) != 1):
            raise UsageError(f"--program is {args.program or 'not given'}, want one of: {', '.join(programs)}")
        program = args.program or programs[0]
        judged = store.judged(args.judge)
        graded, ranks = merged_judgments(store, [program]), store.ranks(program)
        sample = draw_calibration(graded, args.n or 20, judged=judged, ranks=ranks, seed=args.seed)
        chosen = [pair._replace(probability=None) for pair in sample if (pair.query, pair.document) not in judged]
        queries = store.queries()
    _show(args, {"program": program, "for": args.purpose}, chosen, queries, "", out)
    sys.stderr.write(f"{plural(len(chosen), 'pair')} to judge, evenly over the grades of {program}\n")
    return 0


def _digest(folder: Path) -> str:
    """Identify a version of a model by a digest of its header, which contains the digests of its arrays."""
    return hashlib.sha256((folder / "model.json").read_bytes()).hexdigest()[:8]


def _show(
    args: argparse.Namespace, head: dict[str, Any], chosen: list[Suggestion], queries: Any, version: str, out: TextIO
) -> None:
    """Print the pairs as JSON with `head`, or write them as CSV to fill in."""
    from tacit.core import Collection
    from tacit.data import open_output

    if args.json:
        out.write(json.dumps(head | {"pairs": [pair._asdict() for pair in chosen]}) + "\n")
        return
    texts = queries if isinstance(queries, Collection) else None
    with open_output(args.output) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for pair in chosen:
            text = "" if texts is None or pair.query not in texts.row_of else texts.texts[texts.row_of[pair.query]]
            chance = "" if pair.probability is None else repr(pair.probability)
            writer.writerow([pair.query, text, pair.document, "?", pair.rank or "", version, chance, pair.why])
