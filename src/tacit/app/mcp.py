"""`tacit mcp`: serve a model to assistants by the Model Context Protocol (MCP) over stdio

Tools: search (with filters) and explain; with --judgments also judge and evaluate. Grades of an assistant are stored as
a program's, apart from people's; evaluate measures the model by people's grades alone. Standard input and output carry
the protocol, so an assistant starts this command itself (docs/integrations.md has the configuration). Extra: mcp.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from tacit.core import UsageError, plural

if TYPE_CHECKING:
    from tacit.search import Searcher

EXAMPLES = """examples:
  tacit mcp my.model
  tacit mcp my.model --judgments my.judgments --judge desk-assistant"""

JUDGE = "assistant"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `tacit mcp`."""
    parser.add_argument("model", help="folder that `tacit fit` wrote")
    parser.add_argument(
        "--judgments", metavar="STORE", help="judgment store of the tools judge and evaluate; created if missing"
    )
    parser.add_argument(
        "--judge", metavar="NAME", help=f"name of the assistant as a judge, a program (default {JUDGE})"
    )


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Load the model and serve it until the assistant closes the connection."""
    if args.judge and not args.judgments:
        raise UsageError("--judge names the judge of --judgments STORE, which is missing")
    from tacit.app.tools import Tools
    from tacit.integrations.mcp import make_server
    from tacit.judge import JudgmentStore
    from tacit.search import Searcher

    searcher = Searcher.load(args.model)
    with JudgmentStore(args.judgments) if args.judgments else nullcontext() as store:
        tools = Tools(searcher, store, args.judge or JUDGE)
        server = make_server(
            "tacit", tools.functions(), instructions=_about(args.model, searcher), changing=[tools.judge.__name__]
        )
        _run(server)
    return 0


def _run(server: Any) -> None:
    """Serve until the input ends; an interrupt ends the process immediately, because a thread waits for input."""
    previous = signal.signal(signal.SIGINT, _interrupted)
    try:
        server.run("stdio")
    finally:
        signal.signal(signal.SIGINT, previous)


def _interrupted(number: int, frame: object) -> NoReturn:
    """Exit with the code of `main`; all judgments are on disk."""
    sys.stderr.write("tacit: interrupted\n")
    sys.stderr.flush()
    os._exit(130)


def _about(model: str, searcher: Searcher) -> str:
    """Describe the contents of the model for the assistant."""
    fields = ", ".join(searcher.documents_.extras)
    return (
        f"Search in {plural(len(searcher.documents_), 'document')} of {Path(model).resolve().name}."
        f"{f' Fields for filters and facets: {fields}.' if fields else ''}"
    )
