"""What commands share: options with the same names and meanings, checks of them, and tables for the terminal."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from tacit.core import DataError, UsageError

if TYPE_CHECKING:
    from tacit.core import Method


class whole_number:
    """A whole number of at least `low`, and at most `high` if that is given, as an argparse type."""

    def __init__(self, low: int, high: int | None = None) -> None:
        self.low, self.high = low, high

    def __call__(self, text: str) -> int:
        """Return the number, or raise an error that names the expected range."""
        try:
            number = int(text)
        except ValueError:
            number = self.low - 1
        if number < self.low or (self.high is not None and number > self.high):
            most = "" if self.high is None else f" and <= {self.high}"
            raise argparse.ArgumentTypeError(f"got {text!r}, want a whole number >= {self.low}{most}")
        return number


def words(text: str) -> int | None:
    """Return a vocabulary size: a number, or None for `all`."""
    return None if text == "all" else whole_number(1)(text)


def language(text: str) -> str:
    """Return a language with a tokenizer, or `auto`."""
    if text != "auto":
        from tacit.features import language_code

        try:
            language_code(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return text


class _Collect(argparse.Action):
    """Collects (name, value) pairs into a dictionary; a name that is given twice is an error."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        """Add one pair."""
        name, value = values
        found = getattr(namespace, self.dest)
        if name in found:
            raise argparse.ArgumentError(self, f"{name} is set twice")
        setattr(namespace, self.dest, found | {name: value})


def named_value(text: str) -> tuple[str, Any]:
    """Return a parameter and its value: JSON if it can be parsed, else text.

    >>> named_value("dim=50"), named_value("scale=quantiles"), named_value("l2=[1, 0.1]"), named_value("tune=true")
    (('dim', 50), ('scale', 'quantiles'), ('l2', [1, 0.1]), ('tune', True))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"got {text!r}, want NAME=VALUE")
    try:
        return name, json.loads(value, parse_constant=_not_json)
    except ValueError:
        return name, value
    except RecursionError:
        raise argparse.ArgumentTypeError(f"the value of {name} is nested too deep") from None


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


MERGES = ("last", "mean", "median", "majority", "lowest", "highest")
SHARED: dict[str, dict[str, Any]] = {
    "--json": {"action": "store_true", "help": "print one JSON object instead of a table"},
    "--seed": {"type": whole_number(0, 2**32 - 1), "default": 0, "help": "random seed (default 0)"},
    "--threads": {
        "type": whole_number(1), "metavar": "N",
        "help": "number of threads (default: all cores); results do not depend on it",
    },
    "--judge": {
        "action": "append", "default": [], "metavar": "NAME", "help": "use only the grades of this judge; repeatable",
    },
    "--merge": {
        "choices": MERGES, "help": "how to combine the grades of several judges: all people, or those named by --judge",
    },
    "--assist": {
        "metavar": "J",
        "help": "a program's grades: a judge of the store, or a file; used if they measurably help",
    },
    "--encoding": {
        "metavar": "NAME",
        "help": "encoding of all input files, such as latin-1 (default UTF-8, or by byte order mark)",
    },
    "--table": {"metavar": "NAME", "help": "table of an SQLite database"},
    "--words": {
        "type": words, "default": 30_000, "metavar": "N|all", "help": "size of the vocabulary (default 30000)",
    },
    "--language": {
        "type": language, "default": "auto", "metavar": "L",
        "help": "language of the documents, such as en or german (default auto: detected)",
    },
    "--set": {
        "dest": "params", "type": named_value, "action": _Collect, "default": {}, "metavar": "NAME=VALUE",
        "help": "parameter of the method; repeatable; VALUE is JSON or text (`tacit methods NAME` lists parameters)",
    },
}  # fmt: skip


def add_shared(parser: Any, *names: str) -> None:
    """Add options of `SHARED` to a parser or group."""
    for name in names:
        parser.add_argument(name, **SHARED[name])


def add_columns(parser: argparse.ArgumentParser) -> None:
    """--id, --title, --text, --encoding and --table, for files of documents"""
    group = parser.add_argument_group("input files (guessed by default)")
    group.add_argument("--id", dest="id_column", metavar="COLUMN", help="column of the ids; without one, row numbers")
    group.add_argument("--title", dest="title_column", metavar="COLUMN", help="column of the titles")
    group.add_argument(
        "--text", dest="text_columns", metavar="COLUMN[,COLUMN]", help="columns of the text, joined in this order"
    )
    add_shared(group, "--encoding", "--table")


def add_encoder(parser: argparse.ArgumentParser, purpose: str) -> None:
    """`--encoder`, the name or folder of a pretrained model of texts."""
    about = f"{purpose}: a sentence-transformers model (extra encoder) or a model2vec model (extra static)"
    parser.add_argument("--encoder", metavar="NAME_OR_FOLDER", help=about)


def add_ray(parser: argparse.ArgumentParser, what: str) -> None:
    """--ray"""
    about = f"{what} on a Ray cluster (extra ray): HOST:PORT; auto joins the local cluster or starts one"
    parser.add_argument("--ray", metavar="ADDRESS", help=about)


def column_options(args: argparse.Namespace) -> Any:
    """Return the options for the file of documents."""
    from tacit.data import read_options

    return read_options(args.id_column, args.title_column, args.text_columns, args.encoding, args.table)


def chance_and_threads(method: Method, args: argparse.Namespace) -> dict[str, Any]:
    """Return --seed and --threads, if they are given and the method has them."""
    known = [parameter.name for parameter in method.parameters()]
    offered = {"seed": args.seed, "threads": args.threads}
    return {name: value for name, value in offered.items() if name in known and value is not None}


def cluster(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Return the context of --ray."""
    if args.ray is None:
        return nullcontext()
    from tacit.distributed import ray_cluster

    return ray_cluster(args.ray)


def check_output(path: str) -> None:
    """Raise unless a file of that name can be written; called before the work starts."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    problem = ""
    if path == "-":
        return
    if os.path.isdir(target):
        problem = "is a folder, want a file"
    elif not os.path.isdir(folder):
        problem = f"cannot be written: there is no folder {folder}"
    elif not os.access(target if os.path.exists(target) else folder, os.W_OK):
        problem = "cannot be written: permission denied"
    if problem:
        raise DataError(problem, path=path)


def read_groups(queries: Any, field: str | None) -> list[object] | None:
    """Return the groups of queries by one of their fields; None without a field."""
    if field is None:
        return None
    groups = list(queries.extras[field])
    missing = next((row for row, group in enumerate(groups) if group is None), None)
    if missing is not None:
        raise UsageError(f"query {queries.ids[missing]!r} has no field {field!r}, want the group of each query there")
    return groups


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO, *, left: int = 1) -> None:
    """Write aligned columns: the first `left` of them left-aligned, the others right-aligned; omits empty ones.

    Cells are never truncated, so tables can be piped.
    """
    cells = [list(header), *map(list, rows)]
    keep = [column for column in range(len(header)) if any(row[column] for row in cells[1:])]
    widths = {column: max(len(row[column]) for row in cells) for column in keep}
    for row in cells:
        aligned = [f"{row[column]:{'<' if column < left else '>'}{widths[column]}}" for column in keep]
        out.write("  ".join(aligned).rstrip() + "\n")
