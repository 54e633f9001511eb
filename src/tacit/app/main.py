"""`tacit`: pick the command, run it, turn mistakes into one line on stderr and an exit code.

Exit codes: 0 done, 1 bad data, 2 wrong use, 130 interrupted. Only what parsing needs is imported
here; each command imports its rooms when it runs, so that `tacit --help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

from tacit import __version__
from tacit.app import demo, evaluate, export, features, fit, judgments, learning_curve, rank, reproduce, search

COMMANDS = {
    "demo": demo,
    "fit": fit,
    "search": search,
    "features": features,
    "rank": rank,
    "learning-curve": learning_curve,
    "export": export,
    "evaluate": evaluate,
    "judgments": judgments,
    "reproduce": reproduce,
}


class OneLineParser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake and leave with 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Options as `-o, --output MODEL`, the way newer Pythons print them, on every Python."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = OneLineParser(prog="tacit", description="Learn to rank when labels are few.")
    parser.add_argument("--version", action="version", version=f"tacit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").split(": ", 1)[1].split("\n", 1)[0]
        command = commands.add_parser(
            name,
            help=summary,
            description=summary,
            epilog=module.EXAMPLES,
            formatter_class=HelpFormatter,
        )
        module.add_arguments(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = build_parser()
    try:
        args = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            code: int = COMMANDS[args.command].run(args, sys.stdout)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except BrokenPipeError:
        # The reader (head, less) has gone; what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        return _explain(error)


def _explain(error: Exception) -> int:
    """One line for a user's mistake; anything else is ours, and is shown whole."""
    from tacit.core import TacitError, UsageError

    if isinstance(error, UsageError):
        return _complain(str(error), 2)
    if isinstance(error, TacitError):
        return _complain(str(error), 1)
    if isinstance(error, OSError):
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    raise error


def _warn(message: Warning | str, *where: object, **how: object) -> None:
    """One line, without the place in our code that only we could read."""
    _complain(f"warning: {message}", 0)


def _complain(message: str, code: int) -> int:
    sys.stderr.write("tacit: " + " ".join(message.split()) + "\n")
    return code


def console() -> NoReturn:
    """Entry point of the installed command."""
    sys.exit(main())
