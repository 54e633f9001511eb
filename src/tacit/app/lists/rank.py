"""`tacit rank`: learn from judged feature lists (LETOR) and rank others

TRAIN TEST: learn from one file and rank the other. DATA --folds F: for every fold, learn from its training lists and
rank its test lists. --model M TEST: rank with a saved model. Grade -1 means unjudged, which is never treated as 0.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_shared, check_output, whole_number
from tacit.core import UsageError, plural

if TYPE_CHECKING:
    from tacit.core import Lists, Run
    from tacit.rerank.base import ListRanker
    from tacit.rerank.ranking_lists import RankingTask

EXAMPLES = """examples:
  tacit rank train.txt test.txt --vali vali.txt -o my.run
  tacit rank lists.txt.gz --folds folds.json --method rankboost -o my.run
  tacit rank train.txt test.txt --assist gpt.qrels -o my.run
  tacit rank train.txt test.txt --save ranker.model -o my.run
  tacit rank --model ranker.model more.txt -o more.run"""

DEFAULT_METHOD = "standing"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit rank`."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="LETOR files: TRAIN TEST; DATA with --folds; TEST with --model"
    )
    parser.add_argument("--method", metavar="M", help=f"ranker (default {DEFAULT_METHOD}); `tacit methods` lists them")
    add_shared(parser, "--set")
    parser.add_argument("--vali", metavar="F", help="validation lists, for choices such as the number of rounds")
    parser.add_argument("--folds", metavar="F", help="folds.json: query ids of train, vali and test by fold")
    parser.add_argument(
        "--preferences", metavar="F", help="query<TAB>better<TAB>worse[<TAB>weight], in addition to grades"
    )
    parser.add_argument("--clicks", metavar="F", help="sessions in jsonl, or query<TAB>document[<TAB>count]")
    parser.add_argument("--queries", metavar="F", help="queries by id and text, if --clicks names them by text")
    parser.add_argument("--skip-unknown", action="store_true", help="ignore preferences of unknown documents")
    parser.add_argument(
        "--assist", metavar="F", help="a program's grades of rows: judgments in a file, used if they measurably help"
    )
    parser.add_argument("--measure", metavar="M", help="measure for choices on --vali (default: the method's own)")
    parser.add_argument("--features", type=whole_number(1), metavar="N", help="number of features, if files omit zeros")
    parser.add_argument("--model", metavar="MODEL", help="rank by this saved model")
    parser.add_argument("--save", metavar="MODEL", help="save the fitted ranker in this folder")
    parser.add_argument("-o", "--output", default="-", metavar="RUN", help="TREC run (default stdout)")
    add_shared(parser, "--seed", "--threads")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Read, learn, rank, write."""
    from tacit.data import write_run

    _check_use(args)
    check_output(args.output)
    ranked = _rank_by_model(args) if args.model else _rank_folds(args) if args.folds else _rank_file(args)
    write_run(ranked, args.output)
    sys.stderr.write(f"{plural(len(ranked.query_ids), 'list')} ranked, {plural(len(ranked), 'line')}\n")
    return 0


def _check_use(args: argparse.Namespace) -> None:
    wanted = 1 if args.model or args.folds else 2
    if len(args.files) != wanted:
        what = "one file with --model or --folds" if wanted == 1 else "TRAIN and TEST"
        raise UsageError(f"got {plural(len(args.files), 'file')}, want {what}")
    excluded = {
        "model": ("folds", "method", "vali", "preferences", "clicks", "measure", "save", "assist"),
        "folds": ("vali", "save"),
        "preferences": ("clicks", "assist"),
        "clicks": ("assist",),
    }
    if args.queries and not args.clicks:
        raise UsageError("--queries is about clicks: give --clicks")
    if args.model and args.params:
        raise UsageError("--model and --set exclude each other; a saved model keeps its parameters")
    for option, others in excluded.items():
        clash = next((other for other in others if getattr(args, option) and getattr(args, other)), None)
        if clash:
            raise UsageError(f"--{option} and --{clash} exclude each other; give one of them")


def _task(args: argparse.Namespace) -> RankingTask:
    """Return the training settings; errors are reported before a long file is read."""
    from tacit.data import read_click_log, read_preferences, read_queries
    from tacit.rerank.ranking_lists import RankingTask
    from tacit.store import check_destination, check_storable

    preferences: Any = read_preferences(args.preferences) if args.preferences else None
    if args.clicks:
        log = read_click_log(args.clicks)
        if args.queries:
            log = log.named_by(read_queries(args.queries), skip_unknown=args.skip_unknown)
        preferences = log.estimates()
    method = args.method or DEFAULT_METHOD
    task = RankingTask(method, args.measure, args.seed, args.threads, preferences, args.skip_unknown, args.params)
    ranker = task.make()
    if args.save:
        check_destination(args.save)
        check_storable(ranker)
    return task


def _rank_file(args: argparse.Namespace) -> Run:
    from tacit.data import read_letor, read_qrels
    from tacit.judge.program.lists import fit_assisted
    from tacit.rerank.base import check_width
    from tacit.rerank.ranking_lists import fit_lists
    from tacit.search import save

    task = _task(args)
    program = read_qrels(args.assist) if args.assist else None
    train, test = (read_letor(path, n_features=args.features) for path in args.files)
    validation = read_letor(args.vali, n_features=args.features) if args.vali else None
    check_width("the lists to rank have", test, train.X.shape[1])  # before a long training
    _say_what_is_idle(train)
    shared = len(set(train.query_ids) & set(test.query_ids))
    if shared:
        sys.stderr.write(f"queries in both files: {shared}; results do not hold for unseen queries\n")
    start = time.perf_counter()
    if program is not None:
        ranker, verdict = fit_assisted(task, train, program, validation)
        sys.stderr.write(f"{args.assist}: {verdict}\n")
    else:
        ranker = fit_lists(task, train, validation)
    _say_what_was_fitted(task.method, ranker, train, time.perf_counter() - start)
    if args.save:
        save(ranker, args.save)
    return ranker.rank(test)


def _rank_folds(args: argparse.Namespace) -> Run:
    from tacit.data import read_folds, read_letor, read_qrels
    from tacit.judge.program.lists import rank_folds_assisted
    from tacit.rerank.ranking_lists import rank_folds

    task = _task(args)
    folds = read_folds(args.folds)
    lists = read_letor(args.files[0], n_features=args.features)
    _say_what_is_idle(lists)
    start = time.perf_counter()
    if args.assist:
        ranked, verdicts = rank_folds_assisted(task, lists, folds, read_qrels(args.assist))
        sys.stderr.writelines(f"{name}: {verdict}\n" for name, verdict in verdicts.items())
    else:
        ranked = rank_folds(task, lists, folds)
    sys.stderr.write(f"{task.method} on {plural(len(folds), 'fold')} in {time.perf_counter() - start:.1f} s\n")
    return ranked


def _rank_by_model(args: argparse.Namespace) -> Run:
    from tacit.data import read_letor
    from tacit.rerank.base import ListRanker
    from tacit.search import load

    ranker: ListRanker = load(args.model, ListRanker)
    return ranker.rank(read_letor(args.files[0], n_features=args.features), ranker.method_ or "tacit")


def _say_what_is_idle(lists: Lists) -> None:
    from tacit.rerank.ranking_lists import count_idle_lists, has_few_zeros

    idle = 0 if has_few_zeros(lists) else count_idle_lists(lists)  # unjudged rows then count, which is reported
    if 0 < idle < len(lists):  # an error if all lists are
        sys.stderr.write(
            f"lists without a pair to learn from (two judged rows of different grades): {idle} of {len(lists)}\n"
        )


def _say_what_was_fitted(method: str, ranker: ListRanker, train: Lists, seconds: float) -> None:
    chosen = "".join(f", {name} {value:g}" for name, value in ranker.chosen().items())
    n_judged = int((train.y >= 0).sum())
    sys.stderr.write(
        f"{method} fitted on {plural(len(train), 'list')}, {plural(len(train.y), 'row')} ({n_judged:,} judged){chosen} "
        f"in {seconds:.1f} s\n"
    )
