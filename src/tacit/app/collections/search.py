"""`tacit search`: search a model with one query or a file of queries

One query prints rank, score, title and a snippet with the matched words. Many queries are written as a TREC run; a
query without any known word has no answer, and methods that compare words only (tfidf, bm25, qe) leave out documents
that share no word with the query.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_json, add_ray, add_threads, check_output, cluster, whole_number
from tacit.core import plural

if TYPE_CHECKING:
    from tacit.search import Hit, Reason, Searcher

EXAMPLES = """examples:
  tacit search my.model "pseudo inverse of a singular matrix"
  echo "fit a line" | tacit search my.model -
  tacit search my.model "fit a line" --like scipy.stats.linregress --dislike numpy.linalg.norm
  tacit search my.model --queries queries.jsonl --run answers.run -k 1000
  tacit search my.model --queries queries.jsonl --vectors queries.npy --run answers.run"""

N_REASONS = 6  # terms of a score that are shown, the largest first


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit search`."""
    parser.add_argument("model", help="folder that `tacit fit` wrote")
    parser.add_argument("query", nargs="?", help="text of the query; - reads it from stdin")
    parser.add_argument("-k", type=whole_number(1), metavar="K", help="number of answers (default 10; 1000 for a run)")
    parser.add_argument("--queries", metavar="FILE", help="file of queries: jsonl or TSV")
    parser.add_argument("--run", metavar="OUT", help="TREC run with the answers to --queries; - is stdout")
    parser.add_argument(
        "--exclude-self", action="store_true", help="leave out the document that has the id of the query"
    )
    for name, what in (("like", "good"), ("dislike", "bad")):
        parser.add_argument(
            f"--{name}",
            nargs="+",
            action="extend",
            default=[],
            metavar="ID",
            help=f"ids of {what} answers to QUERY; its answers are ranked again",
        )
    parser.add_argument(
        "--vectors",
        metavar="F",
        help="vectors of --queries, or one of QUERY, for a model with vectors: npy, npz, safetensors, parquet",
    )
    parser.add_argument("--explain", action="store_true", help="show the largest terms of each score")
    add_ray(parser, "search the documents in parts")
    add_threads(parser)
    add_json(parser)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Load the model and answer."""
    from tacit.core import UsageError
    from tacit.search import Searcher

    if (args.query is None) == (args.queries is None):
        raise UsageError("give either a QUERY or --queries FILE with --run OUT")
    if (args.queries is None) != (args.run is None):
        raise UsageError("--queries and --run go together: a file of queries is answered by a TREC run")
    marked = bool(args.like or args.dislike)
    if marked and (args.queries or args.explain):
        raise UsageError("--like and --dislike re-rank one QUERY; they go with neither --queries nor --explain")
    if args.exclude_self and args.queries is None:
        raise UsageError("--exclude-self is about the ids of --queries, and one QUERY has none")
    if args.run is not None:
        if args.explain or args.json:
            raise UsageError(f"--{'explain' if args.explain else 'json'} goes with one QUERY, not with --run")
        check_output(args.run)
    searcher = Searcher.load(args.model)
    with cluster(args):
        if args.ray:
            from tacit.distributed import spread_items

            spread_items(searcher.ranker_)
        return _answer(args, searcher, out)


def _answer(args: argparse.Namespace, searcher: Searcher, out: TextIO) -> int:
    if args.queries is not None:
        return _answer_many(args, searcher)
    query = sys.stdin.read().strip() if args.query == "-" else args.query
    k, vector = args.k or 10, _read_vector(args)
    if args.like or args.dislike:
        hits = searcher.feedback(query, args.like, args.dislike, k, vector=vector)
    else:
        hits = searcher.search(query, k, vector=vector)
    reasons = [searcher.explain(query, hit.id, vector=vector)[:N_REASONS] if args.explain else [] for hit in hits]
    if args.json:
        out.write(
            json.dumps({"query": query, "method": searcher.method, "hits": [*map(_as_json, hits, reasons)]}) + "\n"
        )
    else:
        _show(hits, reasons, out)
    return 0


def _read_vector(args: argparse.Namespace) -> Any:
    """The vector of QUERY, if it has one."""
    from tacit.core import DataError
    from tacit.data import read_vectors

    if not args.vectors:
        return None
    found = read_vectors(args.vectors)
    if len(found) != 1:
        raise DataError(f"holds {len(found)} vectors, want 1 for one QUERY", path=args.vectors)
    return found[0]


def _answer_many(args: argparse.Namespace, searcher: Searcher) -> int:
    from tacit.data import check_run_ids, read_queries, read_vectors, write_run

    queries = read_queries(args.queries)
    check_run_ids(queries.ids, searcher.documents_.ids)
    vectors = read_vectors(args.vectors, queries, skip_unknown=True, partial=True) if args.vectors else None
    how: dict[str, Any] = {"exclude_self": args.exclude_self, "threads": args.threads, "vectors": vectors}
    answers = searcher.run(queries, args.k or 1000, **how)
    write_run(answers, args.run)
    n_answered = len(set(answers.query.tolist()))
    sys.stderr.write(f"{plural(n_answered, 'query')} answered with {plural(len(answers), 'line')}\n")
    n_without = 0 if vectors is None else int((~vectors.any(axis=1)).sum())
    if n_without:
        sys.stderr.write(f"{plural(n_without, 'query')} without a vector, answered by the other members\n")
    if n_answered < len(queries):
        sys.stderr.write(f"{plural(len(queries) - n_answered, 'query')} without an answer\n")
    return 0


def _as_json(hit: Hit, reasons: list[Reason]) -> dict[str, object]:
    return hit.to_json() | ({"reasons": [reason._asdict() for reason in reasons]} if reasons else {})


def _show(hits: list[Hit], reasons: list[list[Reason]], out: TextIO) -> None:
    if not hits:
        sys.stderr.write("no document matches the query\n")
    marks = ("\033[1m", "\033[0m") if out.isatty() else ("*", "*")
    for hit, why in zip(hits, reasons, strict=True):
        name = hit.title if hit.title == hit.id else f"{hit.title}  ({hit.id})" if hit.title else hit.id
        out.write(f"{hit.rank:>3}  {hit.score:7.3f}  {name}\n")
        if hit.snippet.text:
            out.write(f"              {hit.snippet.marked(*marks)}\n")
        if why:
            out.write(f"              because: {', '.join(map(_in_words, why))}\n")


def _in_words(reason: Reason) -> str:
    """One term of a score.

    >>> from tacit.search import Reason
    >>> _in_words(Reason("pair", "inverse", "matrix", 0.25)), _in_words(Reason("word", "svd", "svd", -0.5, "bm25"))
    ('inverse~matrix +0.250', 'svd (bm25) -0.500')
    """
    whole = {"vector": "vectors", "clicks": "clicks", "stage": f"second stage ({reason.member})"}
    if reason.kind in whole:
        return f"{whole[reason.kind]} {reason.value:+.3f}"
    asked, found = reason.query_word or "[any query]", reason.document_word or "[this document]"
    where = f" ({reason.member})" if reason.member else ""
    return f"{asked if reason.kind == 'word' else f'{asked}~{found}'}{where} {reason.value:+.3f}"
