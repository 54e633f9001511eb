"""`tacit fit`: make a searchable model of a collection

What the ranker learns from is optional: links between documents, judged queries, pairs or clicks.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, TextIO

from tacit.app.options import add_seed, add_words, whole_number

if TYPE_CHECKING:
    from tacit.core import Collection
    from tacit.search import Searcher, Training

EXAMPLES = """examples:
  tacit fit docs.jsonl.gz -o my.model
  tacit fit docs.jsonl --links links.tsv --method lsi+tfidf -o my.model
  tacit fit beir-folder --queries queries.jsonl --qrels qrels.txt --method qe -o my.model
  tacit fit pydocs -o pydocs.model
  tacit fit docs.jsonl --query-corpus docs.ja.jsonl --pairs mates.tsv --query-language ja -o ja-en.model"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit fit`."""
    parser.add_argument("corpus", help="jsonl or TSV, also .gz .xz .bz2 .zst; BEIR folder; `pydocs`; - is stdin")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="folder of the model")
    parser.add_argument("--method", help="ranker (default bm25); a wrong name lists them all")
    parser.add_argument("--links", metavar="F", help="links between documents: source<TAB>target[<TAB>weight]")
    parser.add_argument("--queries", metavar="F", help="queries to learn from: jsonl or TSV")
    parser.add_argument("--qrels", metavar="F", help="judgments of those queries: TREC or BEIR form")
    parser.add_argument("--pairs", metavar="F", help="query<TAB>document[<TAB>weight] by the ids of --queries")
    parser.add_argument("--clicks", metavar="F", help="query text<TAB>document[<TAB>count], or sessions in jsonl")
    parser.add_argument("--position-one", action="store_true", help="of sessions, only clicks on the first answer")
    parser.add_argument("--query-corpus", metavar="F", help="texts in another language; --pairs join them to documents")
    parser.add_argument("--query-language", metavar="L", help="language of --query-corpus, and of questions later")
    parser.add_argument("--dim", type=whole_number(1), metavar="N", help="dimension of learned vectors")
    add_words(parser)
    parser.add_argument("--language", default="en", help="language of the documents (default en)")
    parser.add_argument("--stem", action="store_true", help="reduce words to their stems (Snowball)")
    parser.add_argument("--skip-unknown", action="store_true", help="leave out links and judgments of unknown ids")
    add_seed(parser)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Read, fit, save."""
    from tacit.store import check_destination

    _check_sources(args)
    method = _method(args)  # what cannot work is told before a long file is read
    check_destination(args.output)
    documents, training = _read(args)
    start = time.perf_counter()
    searcher = _fit(args, method, documents, training)
    searcher.save(args.output)
    learned = "" if training is None else f" and {len(training.pairs):,} pairs"
    chosen = "".join(f", {name} {value:g}" for name, value in searcher.ranker.chosen().items())
    sys.stderr.write(
        f"{method} fitted on {len(documents):,} documents{learned}{chosen} "
        f"in {time.perf_counter() - start:.1f} s; saved in {args.output}\n"
    )
    return 0


def _method(args: argparse.Namespace) -> str:
    """The ranker's name, which must be one of those that can read the given sources."""
    from tacit.core import UsageError
    from tacit.retrieve import METHODS, get_method

    if args.query_corpus:
        method = get_method(args.method or ("ssi-cross-multitask" if args.links else "ssi-cross"))
    else:
        method = get_method(args.method or "bm25")
    across = bool(args.query_corpus)
    if method.estimator.two_dictionaries != across:
        known = ", ".join(name for name, other in METHODS.items() if other.estimator.two_dictionaries == across)
        kind = "with --query-corpus" if across else "without --query-corpus"
        raise UsageError(f"method is {method.name!r}, {kind} want one of {known}")
    return method.name


def _fit(args: argparse.Namespace, method: str, documents: Collection, training: Training | None) -> Searcher:
    from tacit.search import build_cross_searcher, build_searcher

    shared = {"dim": args.dim, "words": args.words, "language": args.language, "seed": args.seed}
    if training is not None and args.query_corpus:
        query_language = args.query_language or args.language
        return build_cross_searcher(documents, training, method, query_language=query_language, **shared)
    return build_searcher(documents, method, training, stem=args.stem, **shared)


def _check_query_corpus(args: argparse.Namespace) -> None:
    from tacit.core import UsageError

    if not args.query_corpus:
        if args.query_language:
            raise UsageError("--query-language needs --query-corpus, the texts in that language")
        return
    for name in ("queries", "qrels", "clicks", "stem"):
        if getattr(args, name):
            raise UsageError(f"--query-corpus and --{name} exclude each other")
    if not args.pairs:
        raise UsageError("--query-corpus needs --pairs, which say what belongs to which document")


def _check_sources(args: argparse.Namespace) -> None:
    from tacit.core import UsageError

    _check_query_corpus(args)
    if args.position_one and not args.clicks:
        raise UsageError("--position-one speaks of clicks: give --clicks")
    if args.query_corpus:
        return
    given = [name for name in ("links", "qrels", "pairs", "clicks") if getattr(args, name)]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} exclude each other; give one of them")
    if (args.qrels or args.pairs) and not args.queries:
        also = " or --query-corpus" if args.pairs else ""
        raise UsageError(f"--{given[0]} needs --queries{also}, which holds the queries' texts")
    if args.queries and not (args.qrels or args.pairs):
        raise UsageError("--queries needs --qrels or --pairs, which say what the queries want")


def _read(args: argparse.Namespace) -> tuple[Collection, Training | None]:
    from tacit.data import read_collection, read_pydocs
    from tacit.search import Training

    if args.corpus == "pydocs":
        documents, links = read_pydocs()
        if not (args.links or args.queries or args.clicks or args.query_corpus):
            return documents, Training(links)
    else:
        documents = read_collection(args.corpus)
    return documents, _read_training(args, documents)


def _read_training(args: argparse.Namespace, documents: Collection) -> Training | None:
    from tacit.data import judged_pairs, read_clicks, read_collection, read_links, read_pairs, read_qrels, read_queries
    from tacit.search import Training

    skip = args.skip_unknown
    if args.query_corpus:
        texts = read_collection(args.query_corpus)
        links = read_links(args.links, documents, skip_unknown=skip) if args.links else None
        return Training(read_pairs(args.pairs, texts, documents, skip_unknown=skip), texts, links)
    if args.links:
        return Training(read_links(args.links, documents, skip_unknown=skip))
    if args.clicks:
        queries, pairs = read_clicks(args.clicks, documents, position_one=args.position_one, skip_unknown=skip)
        return Training(pairs, queries)
    if args.queries:
        queries = read_queries(args.queries)
        if args.pairs:
            return Training(read_pairs(args.pairs, queries, documents, skip_unknown=skip), queries)
        return Training(judged_pairs(read_qrels(args.qrels), queries, documents, skip_unknown=skip), queries)
    return None
