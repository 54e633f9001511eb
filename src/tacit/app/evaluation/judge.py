"""`tacit judge`: get grades from a program, such as a language model, and store them apart from people's

Grades are stored under the name of the judge: connection, model and digest of the prompt. Another prompt is another
judge. No pair is sent twice. Failures are recorded and counted, never stored as grade 0.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tacit.app.options import add_shared, whole_number
from tacit.core import DataError, TacitError, UsageError, plural

if TYPE_CHECKING:
    from tacit.core import Collection, Run
    from tacit.judge.program.asking import Asked
    from tacit.judge.program.questions import Question

EXAMPLES = """examples:
  tacit judge my.judgments --model my.model --queries queries.jsonl --with openai:gpt-4o-mini
  tacit judge my.judgments --runs a.run b.run --documents docs.jsonl --queries queries.jsonl --with command:./judge.py
  tacit judge my.judgments --model my.model --queries q.jsonl --with openai:llama3 --base-url http://localhost:11434/v1
  tacit judge my.judgments --model my.model --queries queries.jsonl --with openai:gpt-4o-mini --resume

The key of an endpoint is read from TACIT_JUDGE_KEY or OPENAI_API_KEY; it is never stored or printed."""

DEPTH = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit judge`."""
    parser.add_argument("store", metavar="STORE", help="judgment store: one SQLite file; created if it does not exist")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", metavar="M", help="judge the first documents that this model finds")
    source.add_argument("--runs", nargs="+", metavar="R", help="judge the first documents of these runs")
    parser.add_argument("--documents", metavar="CORPUS", help="texts of the documents of --runs")
    parser.add_argument("--queries", required=True, metavar="Q", help="queries: jsonl or TSV")
    parser.add_argument("--with", dest="spec", required=True, metavar="SPEC", help="openai:MODEL or command:PROGRAM")
    parser.add_argument("--base-url", metavar="U", help="endpoint of openai:MODEL, up to /chat/completions")
    parser.add_argument("--prompt", metavar="F", help="your guidelines, added to the instructions")
    parser.add_argument(
        "-n", type=whole_number(1), metavar="N", help="maximum number of pairs, best ranks first (default all)"
    )
    parser.add_argument(
        "--depth", type=whole_number(1), default=DEPTH, metavar="N", help=f"documents per query (default {DEPTH})"
    )
    parser.add_argument("--resume", action="store_true", help="also retry pairs that failed before")
    parser.add_argument(
        "--repeat", type=whole_number(1, 100), default=1, metavar="N", help="calls per pair (default 1)"
    )
    parser.add_argument(
        "--characters",
        type=whole_number(1),
        default=4000,
        metavar="N",
        help="characters of a document to send (default 4000)",
    )
    parser.add_argument(
        "--parallel", type=whole_number(1, 100), default=4, metavar="N", help="requests at a time (default 4)"
    )
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for a request (default 60)")
    parser.add_argument(
        "--retries", type=whole_number(0, 20), default=3, metavar="N", help="further attempts (default 3)"
    )
    parser.add_argument(
        "--pause",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds before the first retry (default 1), doubled each time",
    )
    add_shared(parser, "--threads", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Collect the pairs, request grades, and print the outcome."""
    from tacit.core import check_number
    from tacit.data import read_queries
    from tacit.judge import JudgmentStore
    from tacit.judge.program.asking import Asking, ask_all
    from tacit.judge.program.connections import connect_judge, judge_name
    from tacit.judge.program.questions import Prompt

    check_number("timeout", args.timeout, low=0, open_low=True)
    prompt = Prompt(_guidelines(args.prompt), args.characters)
    connect_judge(args.spec, args.base_url, args.timeout)  # a wrong SPEC is reported before anything is read
    judge = judge_name(args.spec, prompt)
    queries = read_queries(args.queries)
    documents, runs = _sources(args, queries)
    questions = _questions(queries, documents, runs, args.depth)[: args.n]

    def announce(n_calls: int, n_characters: int) -> None:
        cost = f"{plural(n_calls, 'call')} with {n_characters:,} characters, retries not counted"
        sys.stderr.write(f"{judge}: {plural(len(questions), 'pair')}, {cost}\n")

    how = Asking(args.repeat, args.retries + 1, args.pause, args.parallel, args.resume)
    with JudgmentStore(args.store) as store:
        store.add_queries(queries.take([queries.row_of[name] for name in dict.fromkeys(q.query_id for q in questions)]))
        done = ask_all(
            store, judge, questions, prompt, lambda: connect_judge(args.spec, args.base_url, args.timeout), how,
            Path(args.model).resolve().name if args.model else None, announce,
        )  # fmt: skip
    _show(done, judge, len(questions), prompt.digest, args.json, out)
    return 0


def _guidelines(path: str | None) -> str:
    if path is None:
        return ""
    from tacit.core import check_path

    try:
        return Path(check_path(path, "--prompt")).read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} is not UTF-8", path=path) from None


def _sources(args: argparse.Namespace, queries: Collection) -> tuple[Collection, list[Run]]:
    """Return documents with their texts, and the runs whose documents are judged."""
    from tacit.data import read_collection, read_run
    from tacit.search import Searcher, load

    if args.model:
        if args.documents:
            raise UsageError("--documents is for --runs; a model has its documents")
        searcher: Searcher = load(args.model, Searcher)
        return searcher.documents_, [searcher.run(queries, args.depth, threads=args.threads)]
    if not args.documents:
        raise UsageError("--runs have no texts: give the documents (--documents CORPUS)")
    return read_collection(args.documents), [read_run(path) for path in args.runs]


def _questions(queries: Collection, documents: Collection, runs: list[Run], depth: int) -> list[Question]:
    """Return pairs of the first documents of all runs, by their best rank."""
    from tacit.judge.program.questions import Question
    from tacit.metrics.rankings import order_run

    best: dict[tuple[str, str], int] = {}
    for found in runs:
        for q, d, rank in zip(*(column.tolist() for column in order_run(found)), strict=True):
            pair = found.query_ids[q], found.doc_ids[d]
            if rank <= depth and pair[0] in queries.row_of:
                best[pair] = min(rank, best.get(pair, rank))
    unknown = next((doc for _, doc in best if doc not in documents.row_of), None)
    if unknown is not None:
        raise TacitError(f"document {unknown!r} of a run is not in the documents, so there is no text to judge")
    if not best:
        raise TacitError("no run has a document for any of the queries, so there is nothing to judge")
    order = sorted(best, key=lambda pair: (best[pair], queries.row_of[pair[0]], documents.row_of[pair[1]]))
    return [
        Question(q, d, queries.full_text(queries.row_of[q]), documents.full_text(documents.row_of[d]), best[q, d])
        for q, d in order
    ]


def _show(done: Asked, judge: str, n_pairs: int, digest: str, as_json: bool, out: TextIO) -> None:
    if as_json:
        found = {
            "judge": judge,
            "prompt": digest,
            "pairs": n_pairs,
            "judged": done.n_graded,
            "failed": done.n_failed,
            "failures": dict(done.failures),
            "cached": done.n_cached,
            "calls": done.n_calls,
            "retries": done.n_retries,
        }
        out.write(json.dumps(found) + "\n")
        return
    out.write(f"{judge}: {plural(done.n_graded, 'pair')} of {n_pairs:,} judged\n")
    out.write(f"{plural(done.n_calls, 'call')}, {done.n_retries:,} of them retries; {done.n_cached:,} cached\n")
    if done.n_failed:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in done.failures.most_common())
        out.write(f"{plural(done.n_failed, 'pair')} without a grade: {kinds}; --resume retries them\n")
