"""`tacit`: choose the command, run it, and turn errors into one line on stderr and an exit code.

This module imports only what parsing needs, and only the module of the command that is called. Each command imports its
packages when it runs, so `tacit --help` is fast.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import NoReturn

from tacit import __version__
from tacit.core import TacitError, UsageError

COMMANDS = {  # modules
    "demo": "tacit.app.demo",
    "fit": "tacit.app.collections.fit",
    "search": "tacit.app.collections.search",
    "add": "tacit.app.collections.add",
    "remove": "tacit.app.collections.remove",
    "verify": "tacit.app.collections.verify",
    "advise": "tacit.app.evaluation.advise",
    "fuse": "tacit.app.evaluation.fuse",
    "gate": "tacit.app.evaluation.gate",
    "features": "tacit.app.collections.features",
    "rank": "tacit.app.lists.rank",
    "learning-curve": "tacit.app.lists.learning_curve",
    "export": "tacit.app.export",
    "evaluate": "tacit.app.evaluation.evaluate",
    "beir": "tacit.app.evaluation.beir",
    "serve": "tacit.app.serve",
    "mcp": "tacit.app.mcp",
    "judgments": "tacit.app.evaluation.judgments",
    "judge": "tacit.app.evaluation.judge",
    "label": "tacit.app.evaluation.label",
    "split": "tacit.app.evaluation.split",
    "methods": "tacit.app.methods",
    "reproduce": "tacit.app.reproduce",
    "warm": "tacit.app.warm",
}


SUMMARY = "Better search ranking from a few dozen judged queries, or none."
EXAMPLES = """examples:
  tacit demo
  tacit fit docs.jsonl -o my.model
  tacit search my.model "how to store a password"
  tacit advise docs.jsonl --queries queries.jsonl --qrels qrels.txt
  tacit fit --help

exit codes: 0 done, 1 unusable data or unwritable output, 2 invalid arguments, 130 interrupted;
`tacit gate` also has 3 and 4"""


class OneLineParser(argparse.ArgumentParser):
    """A parser with one-line errors."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with code 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Prints options as `-o, --output MODEL`, as newer Python versions do, on every Python."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


def build_parser(names: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of the command line, with all commands or some of them."""
    parser = OneLineParser(prog="tacit", description=SUMMARY, epilog=EXAMPLES, formatter_class=HelpFormatter)
    parser.add_argument("--version", action="version", version=f"tacit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in names:
        module = import_module(COMMANDS[name])
        summary = (module.__doc__ or "").split(": ", 1)[1].split("\n", 1)[0]
        command = commands.add_parser(
            name, help=summary, description=summary, epilog=module.EXAMPLES, formatter_class=HelpFormatter
        )
        module.add_arguments(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        return _complain(str(stop) or "interrupted", 130)
    except BrokenPipeError:  # the reader (head, less) has closed the pipe
        _discard_output()
        return 1
    except Exception as error:
        return _explain(error)


def _run(argv: Sequence[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    try:
        args = build_parser([name for name in words[:1] if name in COMMANDS] or COMMANDS).parse_args(words)
    except SystemExit as stop:
        return int(stop.code or 0)
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        code: int = import_module(COMMANDS[args.command]).run(args, sys.stdout)
    return code


def _discard_output() -> None:
    """Discard the buffer, which cannot be written; otherwise the interpreter would try again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _explain(error: Exception) -> int:
    """Return one line for a user's mistake; any other error is a bug and is shown with its traceback."""
    if isinstance(error, UsageError):
        return _complain(str(error), 2)
    if isinstance(error, TacitError):
        return _complain(str(error), 1)
    if isinstance(error, MemoryError):
        return _complain(f"out of memory: {error}" if str(error) else "out of memory", 1)
    if isinstance(error, OSError):
        if not error.filename:
            _discard_output()
        return _complain(f"{error.filename or 'standard output'}: {error.strerror or error}", 1)
    raise error


def _warn(message: Warning | str, *where: object, **how: object) -> None:
    """Return one line, without file and line of the source code."""
    _complain(f"warning: {message}", 0)


def _complain(message: str, code: int) -> int:
    sys.stderr.write("tacit: " + " ".join(message.split()) + "\n")
    return code
