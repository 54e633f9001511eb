"""`tacit label`: choose what to judge next, to train a model or to measure it

Writes CSV with a grade of ? in each row. Fill in the grades and read the file with `tacit judgments import`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_json, add_seed, add_threads, check_output, whole_number
from tacit.core import plural

if TYPE_CHECKING:
    from tacit.core import Collection, Lists
    from tacit.judge import Suggestion

EXAMPLES = """examples:
  tacit label my.model --queries queries.jsonl -n 30 --judgments my.judgments -o next.csv
  tacit label my.model --queries queries.jsonl --for measuring -n 100 --judgments my.judgments -o sample.csv
  tacit label ranker.model --queries lists.txt -n 50 --strategy gain
  tacit judgments import my.judgments next.csv --judge ann"""

COLUMNS = ("query", "text", "document", "grade", "rank", "model", "probability", "display")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit label`."""
    parser.add_argument("model", help="folder that `tacit fit` or `tacit rank --save` wrote")
    parser.add_argument("--queries", required=True, metavar="Q", help="queries: jsonl or TSV; LETOR lists for a ranker")
    parser.add_argument(
        "--for",
        dest="purpose",
        choices=("training", "measuring"),
        default="training",
        help="training (default): what the model learns most from; measuring: a sample with known probabilities",
    )
    parser.add_argument("-n", type=whole_number(1), default=20, metavar="N", help="number of pairs (default 20)")
    parser.add_argument("--judgments", metavar="STORE", help="judgment store: what is judged in it is left out")
    parser.add_argument("--judge", metavar="NAME", help="leave out only what this judge has judged")
    parser.add_argument(
        "--strategy",
        choices=("gain", "strata", "random"),
        help="for training (default gain for lists of fewer than 50 documents, else strata)",
    )
    parser.add_argument("--depth", type=whole_number(1), default=50, metavar="N", help="documents a query (default 50)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="CSV (default stdout)")
    add_seed(parser)
    add_threads(parser)
    add_json(parser)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Choose, and write what was chosen."""
    from tacit.core import UsageError
    from tacit.judge import JudgmentStore, what_to_judge
    from tacit.search import Searcher, load

    if args.purpose == "measuring" and args.strategy:
        raise UsageError("--strategy is for training; a sample for measuring has its own design")
    check_output(args.output)
    model = load(args.model)
    queries = _read(args.queries, isinstance(model, Searcher))
    version = f"{Path(args.model).resolve().name}@{_digest(Path(args.model))}"
    store = JudgmentStore(args.judgments) if args.judgments else None
    try:
        chosen = what_to_judge(
            model,
            queries,
            args.n,
            purpose=args.purpose,
            store=store,
            judge=args.judge,
            model_name=version,
            strategy=args.strategy,
            depth=args.depth,
            seed=args.seed,
            threads=args.threads,
        )
    finally:
        if store is not None:
            store.close()
    if args.json:
        pairs = [pair._asdict() for pair in chosen]
        out.write(json.dumps({"model": version, "for": args.purpose, "pairs": pairs}) + "\n")
    else:
        _write(args.output, chosen, queries, version)
    n_queries = len({pair.query for pair in chosen})
    sys.stderr.write(f"{plural(len(chosen), 'pair')} of {plural(n_queries, 'query')} to judge\n")
    return 0


def _read(path: str, texts: bool) -> Collection | Lists:
    from tacit.data import read_letor, read_queries

    return read_queries(path) if texts else read_letor(path)


def _digest(folder: Path) -> str:
    """What tells versions of a model apart: a digest of its header, which holds those of its arrays."""
    return hashlib.sha256((folder / "model.json").read_bytes()).hexdigest()[:8]


def _write(path: str, chosen: list[Suggestion], queries: Any, version: str) -> None:
    import csv

    from tacit.core import Collection
    from tacit.data import open_output

    texts = queries if isinstance(queries, Collection) else None
    with open_output(path) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for pair in chosen:
            text = texts.texts[texts.row_of[pair.query]] if texts is not None else ""
            chance = "" if pair.probability is None else repr(pair.probability)
            writer.writerow([pair.query, text, pair.document, "?", pair.rank, version, chance, pair.why])
