"""`tacit add`: add documents to a model without training

New words become searchable. Weights of known words do not change until the model is fitted again.
"""

from __future__ import annotations

import argparse
import sys
from typing import TextIO

from tacit.app.options import add_columns, column_options

EXAMPLES = """examples:
  tacit add my.model new.jsonl
  tacit add my.model new.jsonl --vectors new.npy"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit add`."""
    parser.add_argument("model", metavar="MODEL", help="folder of the model; replaced when all documents are added")
    parser.add_argument("documents", metavar="DOCS", help="collection in a format that `tacit fit` reads")
    parser.add_argument(
        "--vectors",
        metavar="F",
        help="vectors of the documents, for a model with vectors; documents without one count as average",
    )
    add_columns(parser)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Load, add, save; wait if another process is changing the model."""
    from tacit.app.web.document_log import entries, log_change
    from tacit.data import read_linked_collection, read_vectors
    from tacit.search import Searcher
    from tacit.store import changing_model, check_destination

    check_destination(args.model)
    with changing_model(args.model):
        searcher = Searcher.load(args.model)
        searcher.ranker_.check_new_items()
        documents = read_linked_collection(args.documents, column_options(args))[0]
        vectors = read_vectors(args.vectors, documents) if args.vectors else None
        searcher.add(documents, vectors=vectors).save(args.model)
        log_change(args.model, entries(documents), [])
    if vectors is None and searcher.ranker_.vectors_dim and searcher.model_of_texts is None:
        sys.stderr.write("no --vectors are given: the documents count as average in the vectors of the model\n")
    sys.stderr.write(
        f"documents added: {len(documents):,}, now in {args.model}: {len(searcher.documents_):,} "
        f"({searcher.ranker_.n_added_:,} added since it was fitted)\n"
    )
    return 0
