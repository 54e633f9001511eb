"""`tacit serve`: serve search, judging and training as a local web app and over HTTP

Without a MODEL it serves a tour: the documentation of the installed Python libraries, with 60 sample queries and grades
for 40 of them, to try search, judging, training and comparison. By default the service listens only on the local
machine; with --host, a token is required.
"""

from __future__ import annotations

import argparse
import os
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tacit.app.options import whole_number
from tacit.core import MissingExtraError, UsageError

if TYPE_CHECKING:
    from tacit.search import Searcher

EXAMPLES = """examples:
  tacit serve
  tacit serve my.model --judgments my.judgments
  TACIT_TOKEN=... tacit serve my.model --host 0.0.0.0 --allowed-host search.example.org"""

TOKEN_VARIABLE = "TACIT_TOKEN"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit serve`."""
    parser.add_argument("model", nargs="?", help="folder that `tacit fit` wrote (default: the tour)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument(
        "--port", type=whole_number(0, 65535), default=8000, help="port (default 8000; 0: any free one)"
    )
    parser.add_argument("--judgments", metavar="STORE", help="file of the judgments (default: MODEL.judgments)")
    parser.add_argument("--ranker", metavar="MODEL", help="model of `tacit rank --save`, for POST /rank")
    parser.add_argument("--token", help=f"token that requests must send (default ${TOKEN_VARIABLE})")
    parser.add_argument("--read-only", action="store_true", help="refuse judgments, training and other changes")
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="H",
        help="further host name that requests may use; repeatable",
    )


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Load the model, listen, serve requests."""
    try:
        import fastapi  # noqa: F401
        import itsdangerous  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("tacit serve", error.name or "fastapi", "serve") from None
    from tacit.app.web.server import serve

    token = args.token or os.environ.get(TOKEN_VARIABLE)
    if not _is_loopback(args.host) and not token:
        raise UsageError(f"--host {args.host} can be reached from other machines: set --token or ${TOKEN_VARIABLE}")
    model, store, searcher, about = _opened(args.model)
    return serve(
        searcher,
        model=model,
        store=Path(args.judgments) if args.judgments else store,
        host=args.host,
        port=args.port,
        token=token,
        allowed_hosts=args.allowed_host,
        ranker=_ranker(args.ranker),
        read_only=args.read_only,
        about=about,
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _opened(model: str | None) -> tuple[Path, Path, Searcher, str]:
    """Open the model with its judgment store, or else the tour, and say what it is."""
    if model is None:
        from tacit.app.web.tour import ABOUT, open_tour

        return *open_tour(), ABOUT
    from tacit.search import Searcher

    return Path(model), Path(model).with_name(Path(model).name + ".judgments"), Searcher.load(model), ""


def _ranker(path: str | None) -> object:
    if path is None:
        return None
    from tacit.rerank import ListRanker
    from tacit.search import load

    return load(path, ListRanker)
