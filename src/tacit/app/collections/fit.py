"""`tacit fit`: make a searchable model of a collection

Training data is optional: links between documents, judged queries, pairs or clicks. A MediaWiki dump and `pydocs`
contain links, which are used if you give no other training data and the method learns from links.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from tacit.app.options import (
    add_columns,
    add_encoder,
    add_ray,
    add_shared,
    chance_and_threads,
    cluster,
    column_options,
    language,
    whole_number,
)
from tacit.core import UsageError, plural

if TYPE_CHECKING:
    from tacit.core import Collection
    from tacit.retrieve import Checkpoint
    from tacit.search import Searcher

EXAMPLES = """examples:
  tacit fit docs.jsonl.gz -o my.model
  tacit fit docs.jsonl --links links.tsv --method htr-residual --set tune=true -o my.model
  tacit fit beir-folder --queries queries.jsonl --qrels qrels.txt --method qe -o my.model
  tacit fit docs.jsonl --queries queries.jsonl --qrels qrels.txt --rerank standing -o my.model
  tacit fit docs.jsonl --qrels my.judgments --assist gpt-4o -o my.model
  tacit fit docs.jsonl --encoder sentence-transformers/all-MiniLM-L6-v2 -o my.model
  tacit fit docs.jsonl --vectors docs.npy -o my.model
  tacit fit products.csv --id sku --title name --text description,bullet_points -o shop.model
  tacit fit shop.db --table products -o shop.model
  tacit fit pydocs -o pydocs.model
  tacit fit simplewiki-latest-pages-articles.xml.bz2 -o wiki.model
  tacit fit docs.jsonl --query-corpus docs.ja.jsonl --pairs mates.tsv --query-language ja -o ja-en.model"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit fit`."""
    parser.add_argument(
        "corpus",
        help="documents: jsonl, JSON, CSV, TSV, parquet, Arrow, SQLite, Elasticsearch bulk or MediaWiki dump, also "
        "compressed; folder of BEIR, of Hugging Face or of text files; `pydocs`; - is stdin",
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="folder of the model")
    parser.add_argument("--method", metavar="M", help="ranker (default blend); `tacit methods` lists them")
    parser.add_argument("--links", metavar="F", help="links between documents: source<TAB>target[<TAB>weight]")
    parser.add_argument("--queries", metavar="F", help="training queries, named by --qrels, --pairs or --clicks")
    parser.add_argument(
        "--qrels", metavar="F", help="judgments of --queries: TREC, BEIR, a table of query, document, grade, or a store"
    )
    parser.add_argument("--pairs", metavar="F", help="query<TAB>document[<TAB>weight] by the ids of --queries")
    parser.add_argument("--clicks", metavar="F", help="sessions in jsonl, or a table of query, document, count")
    parser.add_argument("--position-one", action="store_true", help="use only clicks on the first result of a session")
    parser.add_argument("--query-corpus", metavar="F", help="texts in the language of the queries, joined by --pairs")
    parser.add_argument(
        "--query-language", type=language, metavar="L", help="language of --query-corpus and of later queries"
    )
    parser.add_argument(
        "--vectors",
        metavar="F",
        help="vectors of the documents by another model, for blend: npy, npz, safetensors, parquet",
    )
    add_encoder(parser, "encode documents and all later queries, for blend")
    parser.add_argument("--query-vectors", metavar="F", help="vectors of --queries; the weight of --vectors is learned")
    parser.add_argument("--dim", type=whole_number(1), metavar="N", help="dimension of learned vectors")
    parser.add_argument(
        "--rerank", metavar="M", help="rerank the first results with a method of `tacit rank`, fitted on the same pairs"
    )
    add_shared(parser, "--set", "--words", "--language")
    parser.add_argument(
        "--stem",
        action=argparse.BooleanOptionalAction,
        help="reduce words to their stems (Snowball); default for blend if the language has a stemmer",
    )
    parser.add_argument(
        "--synonyms",
        metavar="FILE",
        help="synonyms that are applied to queries, in Solr's format: 'tv, television' or 'i-pod => ipod' on each line",
    )
    parser.add_argument(
        "--ann", action="store_true", help="index the documents' vectors for approximate search (extra ann)"
    )
    parser.add_argument(
        "--skip-unknown", action="store_true", help="ignore links, judgments and vectors of unknown ids"
    )
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder that keeps the state of training; if the process is killed, run the same command again to resume",
    )
    add_shared(parser, "--judge", "--merge", "--assist")
    add_columns(parser)
    add_ray(parser, "count words and train vectors of documents")
    add_shared(parser, "--seed", "--threads")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Read, fit, save."""
    from tacit.retrieve import get_method
    from tacit.store import check_destination

    _check_sources(args)
    searcher = _unfitted(args)  # errors are reported before a long file is read
    check_destination(args.output)
    if args.ann:
        searcher.unfitted().check_graph()
    checkpoint = _check_checkpoint(args, searcher)
    if args.ray and not get_method(searcher.method).estimator.trains_on_cluster:
        raise UsageError(f"{searcher.method} learns no vectors by SGD, so --ray has no effect")
    with cluster(args):
        return _fit(args, searcher, checkpoint)


def _fit(args: argparse.Namespace, searcher: Searcher, checkpoint: Checkpoint | None) -> int:
    documents, sources = _read(args, searcher)
    start = time.perf_counter()
    with _keeping(checkpoint):
        vectors = _read_vectors(args, documents, sources)
        if "program" in sources:
            _fit_assisted(args, searcher, documents, sources, vectors)
        else:
            searcher.fit(documents, **sources, **vectors, checkpoint=checkpoint)
        searcher.save(args.output)
    pairs = f" and {plural(searcher.n_pairs_, 'pair')}" if searcher.n_pairs_ else ""
    chosen = _found_languages(searcher)
    chosen += "".join(f", {name} {value:g}" for name, value in searcher.ranker_.chosen().items())
    if searcher.rerank and not searcher.ranker_.chosen()["share"]:
        sys.stderr.write(f"second stage {searcher.rerank} did not gain in cross-validation: one stage is kept\n")
    sys.stderr.write(
        f"{searcher.method} fitted on {plural(len(documents), 'document')}{pairs}{chosen} "
        f"in {time.perf_counter() - start:.1f} s; saved in {args.output}\n"
    )
    _tell_vectors(searcher)
    _tell_learning(searcher)
    if args.ann:
        graph = searcher.ranker_.graphs[0]
        sys.stderr.write(
            f"approximate search finds {graph.recall_:.1%} of the exact top 10 (queries: {graph.n_measured_})\n"
        )
    return 0


def _fit_assisted(
    args: argparse.Namespace,
    searcher: Searcher,
    documents: Collection,
    sources: dict[str, Any],
    vectors: dict[str, Any],
) -> None:
    """Fit with a program's grades if they measurably help, and print the result."""
    from tacit.judge.program.collections import fit_assisted

    queries, people, program = (sources[name] for name in ("queries", "qrels", "program"))
    _, verdict = fit_assisted(searcher, documents, queries, people, program, vectors)
    sys.stderr.write(f"{args.assist}: {verdict}\n")


def _found_languages(searcher: Searcher) -> str:
    """Return the language that `auto` detected."""
    asked = (searcher.language, searcher.query_language or searcher.language)
    read = (searcher.vectorizer_, searcher.query_vectorizer_)
    found = zip(("language", "query language"), asked, read, strict=True)
    return "".join(f", {what} {one.language}" for what, language, one in found if one and language == "auto")


def _tell_vectors(searcher: Searcher) -> None:
    """Print the weight of the vectors."""
    dim, ranker = searcher.ranker_.vectors_dim, cast("Any", searcher.first_stage)
    if dim:
        weight = ranker.weights_["vectors"]
        used = "" if weight else ": they showed no benefit"
        sys.stderr.write(f"vectors of {dim} dimensions have weight {weight:.2g}{used}\n")


def _tell_learning(searcher: Searcher) -> None:
    """Print whether pairs changed the weights of `blend`, and for how many queries clicks changed the results."""
    from tacit.retrieve import BlendRanker

    ranker = searcher.first_stage
    if not isinstance(ranker, BlendRanker) or not searcher.n_pairs_:
        return
    if not ranker.has_learned:
        pairs = plural(searcher.n_pairs_, "pair")
        sys.stderr.write(f"{pairs} changed no weight: too few, or no gain in cross-validation beyond chance\n")
    if ranker.n_clicked_queries:
        sys.stderr.write(f"clicks change the results of {plural(ranker.n_clicked_queries, 'query')} in the log\n")


def _check_checkpoint(args: argparse.Namespace, searcher: Searcher) -> Checkpoint | None:
    from tacit.retrieve import Checkpoint

    if args.checkpoint is None:
        return None
    if not searcher.unfitted().trains_in_epochs:
        method = f"{searcher.method} with --rerank" if args.rerank else searcher.method
        raise UsageError(f"{method} does not train in epochs, so --checkpoint has no effect")
    checkpoint = Checkpoint(args.checkpoint)
    checkpoint.check()
    return checkpoint


@contextmanager
def _keeping(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Print how to resume if training is interrupted; remove the checkpoint once the model is saved."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.has_state:
            raise
        raise KeyboardInterrupt(
            f"interrupted; the training is saved in {checkpoint.folder}: run the same command again to resume"
        ) from None
    if checkpoint is not None:
        checkpoint.remove()


def _unfitted(args: argparse.Namespace) -> Searcher:
    """Return the searcher with all its parameters; raise if the method cannot use the given sources."""
    from tacit.retrieve import METHODS, get_method
    from tacit.search import Searcher
    from tacit.store import check_storable

    default = "blend" if not args.query_corpus else f"ssi-cross{'-multitask' if args.links else ''}+cl-lsi"
    method = get_method(args.method or default)
    params = chance_and_threads(method, args) | ({} if args.dim is None else {"dim": args.dim}) | args.params
    ranker = method.make(**params)
    check_storable(ranker)
    if (args.vectors or args.encoder) and "vectors" not in ranker.reads:
        option = "--vectors" if args.vectors else "--encoder"
        raise UsageError(f"{method.name} reads no vectors of another model, {option} is for blend")
    if args.query_corpus and not ranker.two_dictionaries:
        fitting = [name for name, other in METHODS.items() if other.family == get_method("ssi-cross").family]
        raise UsageError(f"{method.name} has one vocabulary; for --query-corpus want one of {', '.join(fitting)}")
    vocabulary = {"words": args.words, "language": args.language, "stem": args.stem}
    stages = {"ann": args.ann, "encoder": args.encoder, "rerank": args.rerank, "synonyms": args.synonyms}
    return Searcher(method.name, query_language=args.query_language, **stages, **vocabulary, **params)


def _check_query_corpus(args: argparse.Namespace) -> None:
    if not args.query_corpus:
        if args.query_language:
            raise UsageError("--query-language needs --query-corpus, the texts in that language")
        return
    for name in ("queries", "qrels", "clicks"):
        if getattr(args, name):
            raise UsageError(f"--query-corpus and --{name} exclude each other")
    if not args.pairs:
        raise UsageError("--query-corpus needs --pairs, which join its texts to documents")


def _check_sources(args: argparse.Namespace) -> None:
    _check_query_corpus(args)
    if args.position_one and not args.clicks:
        raise UsageError("--position-one is about clicks: give --clicks")
    if args.query_corpus:
        return
    given = [name for name in ("links", "qrels", "pairs", "clicks") if getattr(args, name)]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} exclude each other; give one of them")
    if args.query_vectors and not (args.vectors and args.queries):
        raise UsageError("--query-vectors needs --vectors and --queries, whose vectors they are")
    if args.pairs and not args.queries:
        raise UsageError("--pairs needs --queries or --query-corpus, which has the texts of the queries")
    if args.qrels and not args.queries and not os.path.exists(args.qrels):
        raise UsageError("--qrels needs --queries, which has the texts of the queries")
    if args.qrels and not args.queries:
        args.judged = _read_judgments(args)  # they contain the texts of the queries, or are refused
    if (args.judge or args.merge) and not args.qrels:
        raise UsageError("--judge and --merge choose among the judges of --qrels: give a judgment store")
    if args.assist:
        _check_assist(args)
    if args.queries and not (args.qrels or args.pairs or args.clicks):
        raise UsageError("--queries needs --qrels, --pairs or --clicks, which name the relevant documents")


def _check_assist(args: argparse.Namespace) -> None:
    from tacit.retrieve import get_method

    if not args.qrels:
        raise UsageError("--assist needs --qrels, the judgments of people to compare the program with")
    for name in ("rerank", "checkpoint", "query_vectors", "ray"):
        if getattr(args, name):
            raise UsageError(f"--assist and --{name.replace('_', '-')} exclude each other; give one of them")
    if "program" not in get_method(args.method or "blend").make().reads:
        raise UsageError(f"{args.method} does not learn from a program's grades, --assist is for blend")


def _read(args: argparse.Namespace, searcher: Searcher) -> tuple[Collection, dict[str, Any]]:
    """Return documents, and the training sources as arguments of `Searcher.fit`."""
    from tacit.data import read_linked_collection, read_pydocs
    from tacit.retrieve import get_method

    options = column_options(args)
    documents, links = read_pydocs() if args.corpus == "pydocs" else read_linked_collection(args.corpus, options)
    sources = _read_sources(args, documents)
    if links is not None and not sources and get_method(searcher.method).make(**searcher.params).learns_from_pairs:
        sys.stderr.write(f"training data: {plural(len(links), 'link')} between the documents of {args.corpus}\n")
        sources = {"links": links}
    return documents, sources


def _read_sources(args: argparse.Namespace, documents: Collection) -> dict[str, Any]:
    from tacit.data import check_known, read_clicks, read_collection, read_links, read_pairs, read_queries
    from tacit.data.formats.source import ReadOptions

    skip, files = args.skip_unknown, ReadOptions(encoding=args.encoding or "")
    sources: dict[str, Any] = {}
    if args.links:
        sources["links"] = read_links(args.links, documents, skip_unknown=skip)
    if args.clicks:
        named = read_queries(args.queries, encoding=args.encoding) if args.queries else None
        how: dict[str, Any] = {"position_one": args.position_one, "skip_unknown": skip, "options": files}
        sources["clicks"] = read_clicks(args.clicks, documents, named, **how)
    elif args.query_corpus or args.pairs:
        both = args.query_corpus or args.queries
        read = read_collection if args.query_corpus else read_queries
        sources["queries"] = queries = read(both, encoding=args.encoding)
        sources["pairs"] = read_pairs(args.pairs, queries, documents, skip_unknown=skip)
    elif args.qrels:
        judgments, program, texts = getattr(args, "judged", None) or _read_judgments(args)
        queries = read_queries(args.queries, encoding=args.encoding) if args.queries else texts
        sources["queries"] = queries
        sources["qrels"] = check_known(judgments, queries, documents, skip_unknown=skip, path=args.qrels, texts=texts)
        if program is not None:
            known: dict[str, Any] = {"skip_unknown": True, "path": args.assist, "texts": texts}
            sources["program"] = check_known(program, queries, documents, **known)
    return sources


def _read_judgments(args: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Return people's judgments, a program's judgments, and the texts of their queries if known."""
    from tacit.app.evaluation.assist import read_for_learning
    from tacit.app.evaluation.judgments import say_who_is_left_out

    judgments, program, texts = read_for_learning(args)
    if program is None:
        say_who_is_left_out(args.qrels, args.judge)
    if texts is None and not args.queries:
        raise UsageError("--qrels needs --queries, which has the texts of the queries")
    return judgments, program, texts


def _read_vectors(args: argparse.Namespace, documents: Collection, sources: dict[str, Any]) -> dict[str, Any]:
    """Return vectors of documents and training queries, if they are given."""
    from tacit.data import read_vectors

    found: dict[str, Any] = {}
    if args.vectors:
        found["vectors"] = read_vectors(args.vectors, documents, skip_unknown=args.skip_unknown)
    if args.query_vectors:
        queries = sources["clicks"][0] if args.clicks else sources["queries"]
        found["query_vectors"] = read_vectors(args.query_vectors, queries, skip_unknown=True, partial=True)
    return found
