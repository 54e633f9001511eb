"""`tacit remove`: remove documents from a model

All of the documents are removed, or none if one of the ids is unknown.
"""

from __future__ import annotations

import argparse
import sys
from typing import TextIO

EXAMPLES = "example:\n  tacit remove my.model scipy.linalg.pinv numpy.linalg.pinv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit remove`."""
    parser.add_argument("model", metavar="MODEL", help="folder of the model; replaced when all are removed")
    parser.add_argument("ids", nargs="+", metavar="ID", help="ids of documents")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Load, remove, save; wait if another process is changing the model."""
    from tacit.app.web.document_log import log_change
    from tacit.search import Searcher
    from tacit.store import changing_model, check_destination

    check_destination(args.model)
    with changing_model(args.model):
        searcher = Searcher.load(args.model)
        before = len(searcher.documents_)
        searcher.remove(args.ids).save(args.model)
        log_change(args.model, [], args.ids)
    after = len(searcher.documents_)
    sys.stderr.write(f"documents removed: {before - after:,}, left in {args.model}: {after:,}\n")
    return 0
