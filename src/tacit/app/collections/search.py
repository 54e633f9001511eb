"""`tacit search`: search a model with one query or a file of queries

For one query, prints rank, score, title and a snippet with the matched words. For many queries, writes a TREC run. A
query without any known word has no results, and methods that only compare words (tfidf, bm25, qe) leave out documents
that share no word with the query.

A query is plain text. "two words" in quotes must occur in sequence, -word must not occur, field:word must occur in the
title or another field, word* matches all words with this prefix. Put -- before a query that begins with a minus. If no
document contains a word, the nearest spelling is also searched, at half the weight.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_ray, add_shared, check_output, cluster, whole_number
from tacit.core import DataError, UsageError, plural

if TYPE_CHECKING:
    from tacit.search import Hit, Hits, Reason, Searcher

EXAMPLES = """examples:
  tacit search my.model "pseudo inverse of a singular matrix"
  echo "fit a line" | tacit search my.model -
  tacit search my.model "fit a line" --like scipy.stats.linregress --dislike numpy.linalg.norm
  tacit search my.model '"pseudo inverse" -sparse title:linalg comput*'
  tacit search shop.model "red shoes" --filter "price < 50 and brand in (Acme, Bolt)" --facet brand --sort price
  tacit search my.model --queries queries.jsonl --run my.run -k 1000
  tacit search my.model --queries queries.jsonl --vectors queries.npy --run my.run"""

MAX_VALUE = 60  # characters of a field that are shown
N_REASONS = 6  # terms of a score that are shown, the largest first


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit search`."""
    parser.add_argument("model", help="folder that `tacit fit` wrote")
    parser.add_argument("query", nargs="?", help="text of the query; - reads it from stdin")
    parser.add_argument("-k", type=whole_number(1), metavar="K", help="number of results (default 10; 1000 for a run)")
    parser.add_argument("--queries", metavar="FILE", help="file of queries: jsonl or TSV")
    parser.add_argument("--run", metavar="OUT", help="TREC run with the results of --queries; - is stdout")
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
            help=f"ids of {what} results of QUERY; the others are reranked",
        )
    parser.add_argument(
        "--vectors",
        metavar="F",
        help="vectors of --queries, or one of QUERY, for a model with vectors: npy, npz, safetensors, parquet",
    )
    group = parser.add_argument_group("fields of the documents")
    group.add_argument("--filter", metavar="EXPR", help="filter, such as 'category = shoes and price < 50'")
    group.add_argument("--facet", action="append", default=[], metavar="FIELD", help="count its values; repeatable")
    group.add_argument("--sort", metavar="FIELD", help="order all matches by a field, --sort=-FIELD for descending")
    group.add_argument("--group", metavar="FIELD", help="show each value of the field once, with its best result")
    group.add_argument("--offset", type=whole_number(0), default=0, metavar="N", help="skip the first N results")
    parser.add_argument("--no-snippets", action="store_true", help="leave out the passages with the query's words")
    parser.add_argument("--explain", action="store_true", help="show the largest terms of each score")
    add_ray(parser, "search the documents in parts")
    add_shared(parser, "--threads", "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Load the model and print the results."""
    from tacit.search import Searcher

    if (args.query is None) == (args.queries is None):
        raise UsageError("give either a QUERY or --queries FILE with --run OUT")
    if (args.queries is None) != (args.run is None):
        raise UsageError("--queries and --run go together: results of a file of queries are written as a TREC run")
    marked = bool(args.like or args.dislike)
    if marked and (args.queries or args.explain):
        raise UsageError("--like and --dislike rerank one QUERY; they cannot be combined with --queries or --explain")
    selected = [name for name in ("filter", "facet", "sort", "group", "offset") if getattr(args, name)]
    if selected and (args.queries or marked):
        raise UsageError(f"--{selected[0]} requires one QUERY, without --like and --dislike")
    if args.exclude_self and args.queries is None:
        raise UsageError("--exclude-self compares ids of --queries with documents, and a QUERY has no id")
    if args.run is not None:
        if args.explain or args.json:
            raise UsageError(f"--{'explain' if args.explain else 'json'} requires one QUERY, without --run")
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
        how: dict[str, Any] = {"filter": args.filter, "facets": args.facet, "sort": args.sort, "group": args.group}
        how |= {"offset": args.offset, "snippets": not args.no_snippets}
        hits = searcher.search(query, k, vector=vector, **how)
    reasons = [searcher.explain(query, hit.id, vector=vector)[:N_REASONS] if args.explain else [] for hit in hits]
    if args.json:
        found: dict[str, Any] = {"query": query, "method": searcher.method} | hits.to_json()
        for hit, why in zip(found["hits"], reasons, strict=True):
            hit |= {"reasons": [reason._asdict() for reason in why]} if why else {}
        out.write(json.dumps(found) + "\n")
    else:
        _show_added(hits, out)
        _show(hits, reasons, out)
        if not hits:
            sys.stderr.write(_why_none(args) + "\n")
        _show_facets(hits, out)
    return 0


def _read_vector(args: argparse.Namespace) -> Any:
    """Return the vector of QUERY, if there is one."""
    from tacit.data import read_vectors

    if not args.vectors:
        return None
    found = read_vectors(args.vectors)
    if len(found) != 1:
        raise DataError(f"contains {len(found)} vectors, want 1 for one QUERY", path=args.vectors)
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
    sys.stderr.write(f"{plural(n_answered, 'query')} ranked, {plural(len(answers), 'line')} written\n")
    n_without = 0 if vectors is None else int((~vectors.any(axis=1)).sum())
    if n_without:
        sys.stderr.write(f"{plural(n_without, 'query')} without a vector, ranked by the other members\n")
    if n_answered < len(queries):
        sys.stderr.write(f"{plural(len(queries) - n_answered, 'query')} without results\n")
    return 0


def _show_added(hits: Hits, out: TextIO) -> None:
    """Print the words that were searched in addition to the typed ones."""
    if hits.suggestion is not None:
        out.write(f"did you mean: {hits.suggestion}\n")
    if hits.added:
        words = dict.fromkeys(f"{word} ({word.kind})" if word.kind != "spelling" else str(word) for word in hits.added)
        out.write(f"searched as well: {', '.join(words)}\n")


def _show_facets(hits: Hits, out: TextIO) -> None:
    for name, counts in hits.facets.items():
        out.write(f"{name}: {', '.join(f'{value} ({count:,})' for value, count in counts.items()) or 'no value'}\n")


def _show(hits: list[Hit], reasons: list[list[Reason]], out: TextIO) -> None:
    marks = ("\033[1m", "\033[0m") if out.isatty() else ("*", "*")
    for hit, why in zip(hits, reasons, strict=True):
        name = hit.title if hit.title == hit.id else f"{hit.title}  ({hit.id})" if hit.title else hit.id
        out.write(f"{hit.rank:>3}  {hit.score:7.3f}  {name}\n")
        if hit.snippet.text:
            out.write(f"              {hit.snippet.marked(*marks)}\n")
        if hit.fields:
            out.write(f"              {', '.join(f'{name}: {_short(value)}' for name, value in hit.fields.items())}\n")
        if why:
            out.write(f"              because: {', '.join(map(_in_words, why))}\n")


def _why_none(args: argparse.Namespace) -> str:
    """Return what a search without results has looked for."""
    after = f" after the first {args.offset:,} results" if args.offset else ""
    return f"no document matches the query{' and the filter' if args.filter else ''}{after}"


def _short(value: object) -> str:
    """Return a field value that fits into a line.

    >>> _short(["a", "b"]), _short("x" * 99)[-3:]
    ('a, b', 'xx…')
    """
    text = " ".join((", ".join(value) if isinstance(value, list) else str(value)).split())
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def _in_words(reason: Reason) -> str:
    """Return one term of a score as text.

    >>> from tacit.search import Reason
    >>> _in_words(Reason("pair", "inverse", "matrix", 0.25)), _in_words(Reason("word", "svd", "svd", -0.5, "bm25"))
    ('inverse~matrix +0.250', 'svd (bm25) -0.500')
    >>> _in_words(Reason("title", "", "", 0.5, "exact", "The title as a whole"))
    'the title as a whole +0.500'
    """
    where = f" ({reason.member})" if reason.member else ""
    if not reason.query_word and not reason.document_word:
        return f"{reason.heading.lower()}{where if reason.kind == 'stage' else ''} {reason.value:+.3f}"
    asked, found = reason.query_word or "[any query]", reason.document_word or "[this document]"
    return f"{asked if reason.kind == 'word' else f'{asked}~{found}'}{where} {reason.value:+.3f}"
