"""`tacit features`: turn a collection with queries into feature lists (LETOR)

Writes the best documents of each query by BM25, with features of the query's words in body, title and both.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from tacit.app.options import add_shared, check_output, whole_number
from tacit.core import UsageError, plural

if TYPE_CHECKING:
    from tacit.search.text_lists import TextLists

EXAMPLES = """examples:
  tacit features docs.jsonl --queries queries.jsonl --qrels qrels.txt -o lists.txt
  tacit features docs.jsonl --queries queries.tsv --qrels qrels.txt --engine --names names.txt -o lists.txt
  tacit features docs.jsonl --queries queries.tsv --model ssi.model --model htr.model -o lists.txt.gz
  tacit features docs.jsonl --queries queries.tsv --vectors docs.npy --query-vectors queries.npy -o lists.txt"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit features`."""
    parser.add_argument("corpus", help="jsonl, TSV, MediaWiki dump, also compressed; BEIR folder; - is stdin")
    parser.add_argument("--queries", required=True, metavar="F", help="queries: jsonl or TSV")
    parser.add_argument("--qrels", metavar="F", help="judgments; documents that are not in it are unjudged (-1)")
    parser.add_argument(
        "--complete", action="store_true", help="complete judgments: documents not in --qrels have grade 0"
    )
    parser.add_argument("-k", type=whole_number(1), default=200, metavar="K", help="documents per query (default 200)")
    parser.add_argument(
        "--model", action="append", default=[], metavar="MODEL", help="add the score of a fitted model; repeatable"
    )
    parser.add_argument(
        "--vectors", metavar="F", help="vectors of the documents: add their cosine with --query-vectors"
    )
    parser.add_argument("--query-vectors", metavar="F", help="vectors of the queries")
    parser.add_argument(
        "--engine", action="store_true", help="only columns that OpenSearch and Elasticsearch compute (`tacit export`)"
    )
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="LETOR file (default stdout)")
    parser.add_argument("--names", metavar="OUT", help="file for the names of the columns, one per line")
    add_shared(parser, "--language")
    parser.add_argument("--stem", action="store_true", help="reduce words to their stems (Snowball)")
    parser.add_argument("--skip-unknown", action="store_true", help="ignore judgments of unknown ids")
    add_shared(parser, "--threads")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Read, describe, write."""
    from tacit.data import write_letor, write_text

    if args.complete and not args.qrels:
        raise UsageError("--complete is about judgments: give --qrels")
    if bool(args.vectors) != bool(args.query_vectors):
        raise UsageError("--vectors and --query-vectors must be given together: a cosine needs both")
    for path in (args.output, args.names or "-"):
        check_output(path)
    made = _make_lists(args)
    if args.engine:
        made = _keep_engine_columns(made)
    write_letor(made.lists, args.output)
    if args.names:
        write_text(args.names, "".join(f"{name}\n" for name in made.names))
    n_judged = int((made.lists.y >= 0).sum())
    sys.stderr.write(
        f"{plural(len(made.lists), 'list')}, {plural(len(made.lists.y), 'row')} "
        f"({n_judged:,} judged), {plural(len(made.names), 'feature')}: "
        f"{', '.join(made.names)}\n"
    )
    if made.unanswered:
        sys.stderr.write(f"queries without a word in common with the documents, so no list: {len(made.unanswered)}\n")
    return 0


def _make_lists(args: argparse.Namespace) -> TextLists:
    """Read all inputs and make the lists."""
    from tacit.data import check_known, read_collection, read_qrels, read_queries, read_vectors
    from tacit.search import Searcher
    from tacit.search.text_lists import make_text_lists

    documents, queries, skip = read_collection(args.corpus), read_queries(args.queries), args.skip_unknown
    given: dict[str, Any] = {}
    if args.qrels:
        judgments = read_qrels(args.qrels)
        given["judgments"] = check_known(judgments, queries, documents, skip_unknown=skip, path=args.qrels)
    if args.vectors:
        given["vectors"] = read_vectors(args.vectors, documents, skip_unknown=skip)
        given["query_vectors"] = read_vectors(args.query_vectors, queries, skip_unknown=True, partial=True)
    made = make_text_lists(
        documents,
        queries,
        k=args.k,
        models=[Searcher.load(path) for path in args.model],
        complete=args.complete,
        language=args.language,
        stem=args.stem,
        threads=args.threads,
        **given,
    )
    lost = len(given.get("judgments", ())) - int((made.lists.y >= 0).sum())
    if lost > 0 and not args.complete:
        found = f"{lost:,} of {len(given['judgments']):,} judgments"
        sys.stderr.write(f"{found} are of documents not among the first {args.k} of their query: in no list\n")
    return made


def _keep_engine_columns(made: TextLists) -> TextLists:
    """Return the lists with only the columns that a search engine can compute."""
    from tacit.integrations.opensearch import can_compute

    kept = [column for column, name in enumerate(made.names) if can_compute(name)]
    lists = replace(made.lists, X=made.lists.X[:, kept])
    return made._replace(lists=lists, names=[made.names[column] for column in kept])
