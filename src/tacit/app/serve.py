"""`tacit serve`: search, judge, learn and prove on a local page and by HTTP

Without a MODEL the documentation of the installed Python libraries is served, as a tour. The service listens on this
machine only, unless --host says otherwise; then a token is required.
"""

from __future__ import annotations

import argparse
import os
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tacit.app.options import whole_number

if TYPE_CHECKING:
    from tacit.search import Searcher

EXAMPLES = """examples:
  tacit serve
  tacit serve my.model --judgments my.judgments
  TACIT_TOKEN=... tacit serve my.model --host 0.0.0.0 --allowed-host search.example.org"""

TOKEN_VARIABLE = "TACIT_TOKEN"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit serve`."""
    parser.add_argument("model", nargs="?", help="folder that `tacit fit` wrote (default: the embedded corpus)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument(
        "--port", type=whole_number(0, 65535), default=8000, help="port (default 8000; 0: any free one)"
    )
    parser.add_argument("--judgments", metavar="STORE", help="file of the judgments (default: MODEL.judgments)")
    parser.add_argument("--ranker", metavar="MODEL", help="model of `tacit rank --save`, for POST /rank")
    parser.add_argument("--token", help=f"what requests must carry (default ${TOKEN_VARIABLE})")
    parser.add_argument(
        "--allowed-host", action="append", default=[], metavar="H", help="another name that requests may use"
    )


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Load, listen, answer."""
    from tacit.core import MissingExtraError, UsageError

    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("tacit serve", "fastapi and uvicorn", "serve") from None
    from tacit.app.web.server import serve

    token = args.token or os.environ.get(TOKEN_VARIABLE)
    if not _is_loopback(args.host) and not token:
        raise UsageError(f"--host {args.host} can be reached from other machines: set --token or ${TOKEN_VARIABLE}")
    model = None if args.model is None else Path(args.model)
    searcher = _searcher(model)
    store = Path(args.judgments) if args.judgments else _default_store(model)
    return serve(
        searcher,
        model=model,
        store=store,
        host=args.host,
        port=args.port,
        token=token,
        allowed_hosts=args.allowed_host,
        ranker=_ranker(args.ranker),
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _searcher(model: Path | None) -> Searcher:
    from tacit.search import Searcher

    if model is not None:
        return Searcher.load(model)
    from tacit.data import read_pydocs

    sys.stderr.write("no MODEL is given: fitting the embedded corpus\n")
    documents, _ = read_pydocs()
    return Searcher(stem=True).fit(documents)


def _default_store(model: Path | None) -> Path:
    return Path("pydocs.judgments") if model is None else model.with_name(model.name + ".judgments")


def _ranker(path: str | None) -> object:
    if path is None:
        return None
    from tacit.rerank import ListRanker
    from tacit.search import load

    return load(path, ListRanker)
