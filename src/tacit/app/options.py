"""Options that several commands share, so that they read and mean the same everywhere."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json"""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """--seed"""
    parser.add_argument("--seed", type=whole_number(0), default=0, help="where chance starts (default 0)")


def add_threads(parser: argparse.ArgumentParser) -> None:
    """--threads"""
    parser.add_argument(
        "--threads",
        type=whole_number(1),
        metavar="N",
        help="threads (default: all cores); results do not change",
    )


def add_words(parser: argparse.ArgumentParser) -> None:
    """--words"""
    parser.add_argument(
        "--words", type=words, default=30_000, metavar="N|all", help="size of the dictionary (default 30000)"
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """--data"""
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TACIT_DATA"),
        help="folder of collections (default $TACIT_DATA)",
    )


def words(text: str) -> int | None:
    """A dictionary size: a number, or None for `all`."""
    return None if text == "all" else whole_number(1)(text)


class whole_number:
    """A whole number of at least `low`, as an argparse type."""

    def __init__(self, low: int) -> None:
        self.low = low

    def __call__(self, text: str) -> int:
        """The number, or a complaint that names what is wanted."""
        try:
            number = int(text)
        except ValueError:
            number = self.low - 1
        if number < self.low:
            raise argparse.ArgumentTypeError(f"got {text!r}, want a whole number >= {self.low}")
        return number
