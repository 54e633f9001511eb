"""`tacit beir`: fit, search and evaluate on a BEIR folder, with BM25 as baseline

A BEIR folder has corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv. The method learns from qrels/train.tsv if it exists,
and is measured on the queries of another split. A document with the id of the query is left out of its results.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.evaluation.evaluate import compare_runs, show_measures, show_systems
from tacit.app.options import add_encoder, add_shared, chance_and_threads, check_output
from tacit.core import DataError, UsageError

if TYPE_CHECKING:
    from tacit.core import Collection, Judgments, Run
    from tacit.metrics import Evaluation
    from tacit.search import Searcher

EXAMPLES = """examples:
  tacit beir scifact
  tacit beir nfcorpus --method htr-residual --run new.run --json
  tacit beir fiqa --train none --split dev"""

MEASURES = ("nDCG@10", "AP", "R@100")
BASELINE = "bm25"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit beir`."""
    parser.add_argument("folder", help="folder with corpus.jsonl, queries.jsonl and qrels/*.tsv, also compressed")
    parser.add_argument("--method", default="blend", metavar="M", help="ranker (default blend)")
    parser.add_argument("--split", default="test", metavar="S", help="judgments to measure on (default test)")
    parser.add_argument(
        "--train",
        default="train",
        metavar="S",
        help="judgments to learn from (default train, if present); none for no labels",
    )
    parser.add_argument(
        "-m", "--measure", action="append", metavar="M", help=f"measure; repeatable (default {' '.join(MEASURES)})"
    )
    add_shared(parser, "--language")
    parser.add_argument("--run", metavar="OUT", help="file for the run of the method")
    parser.add_argument("--skip-unknown", action="store_true", help="ignore judgments of unknown ids")
    add_shared(parser, "--set")
    add_encoder(parser, "encode documents and queries, for blend")
    add_shared(parser, "--seed", "--threads", "--json")


@dataclass(frozen=True)
class BeirFolder:
    """Documents, and queries with judgments for measuring and, unless None, for training."""

    documents: Collection
    queries: Collection
    judgments: Judgments
    train_queries: Collection | None
    train: Judgments | None


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Read, fit both systems, search, evaluate."""
    from tacit.data import write_run
    from tacit.features import find_language, has_stemmer
    from tacit.metrics import parse_measure

    if args.split == args.train:
        raise UsageError(
            f"--train and --split are both {args.split}: want different queries for training and measuring"
        )
    measures = args.measure or MEASURES
    for measure in measures:
        parse_measure(measure)
    if args.run:
        check_output(args.run)
    systems = {BASELINE: _searcher(BASELINE, args, {}), args.method: _searcher(args.method, args, args.params)}
    folder = read_folder(args.folder, args.split, None if args.train == "none" else args.train, args.skip_unknown)
    language = find_language(folder.documents, args.language)
    for searcher in systems.values():
        searcher.set_params(language=language, stem=has_stemmer(language))
    found, runs, seconds = measure_systems(systems, folder, measures, args.threads)
    if args.run:
        write_run(runs[args.method], args.run)
    if args.json:
        out.write(json.dumps(_as_json(args, found, seconds, folder)) + "\n")
        return 0
    args.test = "t"
    if len(found) > 1:
        show_systems(found, args, out)
    else:
        show_measures(found[BASELINE], args.seed, out)
    learned = 0 if folder.train is None else len(folder.train.query_ids)
    spent = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())
    out.write(f"queries of {args.split}: {len(folder.queries)}, to learn from: {learned}; fit and search: {spent}\n")
    return 0


def read_folder(place: str | Path, split: str, train: str | None, skip_unknown: bool = False) -> BeirFolder:
    """Read a BEIR folder; missing training judgments are None; a query in both splits is an error."""
    from tacit.data import read_collection, read_queries

    documents, queries = read_collection(place), read_queries(place)
    judgments = _read_split(place, split, queries, documents, skip_unknown)
    if judgments is None:
        raise DataError(f"there is no qrels/{split}.tsv, want the judgments to measure on", path=place)
    learned = None if train is None else _read_split(place, train, queries, documents, skip_unknown)
    both = [] if learned is None else sorted(set(learned.query_ids) & set(judgments.query_ids))
    if both:
        raise DataError(
            f"queries in {train} and also in {split}: {len(both)}, the first is {both[0]!r}; want different ones",
            path=place,
        )
    train_queries = None if learned is None else _take(queries, learned)
    return BeirFolder(documents, _take(queries, judgments), judgments, train_queries, learned)


def measure_systems(
    systems: dict[str, Searcher], folder: BeirFolder, measures: Any, threads: int | None = None
) -> tuple[dict[str, Evaluation], dict[str, Run], dict[str, float]]:
    """Return evaluation, run and seconds of each system."""
    from tacit.metrics import evaluate
    from tacit.retrieve import get_method

    found, runs, seconds = {}, {}, {}
    for name, searcher in systems.items():
        start = time.perf_counter()
        given: dict[str, Any] = {}
        if folder.train is not None and get_method(name).make(**searcher.params).learns_from_pairs:
            given = {"queries": folder.train_queries, "qrels": folder.train}
        searcher.fit(folder.documents, **given)
        runs[name] = searcher.run(folder.queries, 1000, exclude_self=True, threads=threads)
        found[name] = evaluate(folder.judgments, runs[name], measures)
        seconds[name] = time.perf_counter() - start
    return found, runs, seconds


def _searcher(method: str, args: argparse.Namespace, params: dict[str, Any]) -> Searcher:
    from tacit.retrieve import get_method
    from tacit.search import Searcher

    encoder = args.encoder if "vectors" in get_method(method).make().reads else None
    return Searcher(method, encoder=encoder, **chance_and_threads(get_method(method), args) | params)


def _read_split(
    place: str | Path, split: str, queries: Collection, documents: Collection, skip_unknown: bool
) -> Judgments | None:
    from tacit.data import check_known, read_qrels

    paths = sorted(Path(place, "qrels").glob(f"{split}.tsv*"))
    if not paths:
        return None
    return check_known(read_qrels(paths[0]), queries, documents, skip_unknown=skip_unknown, path=paths[0])


def _take(queries: Collection, judgments: Judgments) -> Collection:
    return queries.take([queries.row_of[query_id] for query_id in judgments.query_ids])


def _as_json(
    args: argparse.Namespace, found: dict[str, Evaluation], seconds: dict[str, float], folder: BeirFolder
) -> dict[str, Any]:
    return {
        "folder": str(args.folder),
        "split": args.split,
        "seed": args.seed,
        "queries": len(folder.queries),
        "training_queries": 0 if folder.train is None else len(folder.train.query_ids),
        "rows": [
            {"system": name, "metrics": evaluation.means(), "seconds": seconds[name]}
            for name, evaluation in found.items()
        ],
        "tests": [test.to_dict() for test in compare_runs(found, baseline=BASELINE)],
    }
