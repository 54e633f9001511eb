"""`tacit verify`: check every byte of a model

Opening a model checks its header, sizes and shapes; this compares all contents with their checksums and unpacks all
texts. Prints one line per file; the exit code is 1 if anything is damaged.
"""

from __future__ import annotations

import argparse
import json
from typing import TextIO

from tacit.app.options import add_shared

EXAMPLES = "example:\n  tacit verify my.model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit verify`."""
    parser.add_argument("model", metavar="MODEL", help="folder of the model")
    add_shared(parser, "--json")


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Compare checksums first; if they match, open the model and read its texts."""
    from tacit.search import Searcher, load
    from tacit.store import blame, verify_model

    files = verify_model(args.model)
    damaged = any(file.problem for file in files)
    if args.json:
        out.write(json.dumps({"ok": not damaged, "files": [file._asdict() for file in files]}) + "\n")
    else:
        out.writelines(f"{file.name}: {file.problem or f'ok, {file.n_bytes:,} bytes'}\n" for file in files)
    if damaged:
        return 1
    model = load(args.model)
    if isinstance(model, Searcher):
        with blame(args.model):
            for _ in model.documents_:
                pass
    return 0
