"""Shared parts of the readers of tab- and space-separated files: numbers, ids, repeated pairs.

Ids become row numbers while lines are read. Other checks run on whole arrays afterwards, with the line number of each
entry kept for messages.

An id must survive a line of tab-separated text: not empty, no control characters (tab, line break, NUL), no spaces at
its ends. Spaces inside are allowed in collections and links ("New York"), but TREC files are split at spaces, so runs
and judgments accept single words only.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from tacit.core import DataError, TacitError, plural

logger = logging.getLogger("tacit")

# Names of columns in header lines of common files.
_COLUMN_NAMES = {
    *("id", "_id", "doc", "docid", "doc_id", "doc-id", "document", "document_id", "corpus-id"),
    *("query", "qid", "queryid", "query_id", "query-id", "source", "source_id", "target", "target_id", "from", "to"),
    *("title", "text", "body", "content", "contents", "abstract", "url"),
    *("weight", "count", "clicks", "score", "grade", "label", "relevance"),
    *("better", "better_docid", "worse", "worse_docid"),
}

# Between these limits, and only there, float32 rounds to a positive finite number.
TOO_SMALL, TOO_LARGE = 2.0**-150, 2.0**128 - 2.0**103


def parse_number(text: str) -> float:
    """Return the finite number in a text, or NaN.

    >>> parse_number("2.50"), parse_number("inf"), parse_number("1_000"), parse_number("two")
    (2.5, nan, nan, nan)
    """
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) and "_" not in text else math.nan


def id_text(value: object) -> str:
    """Return an id as text, a whole number without decimals: pandas keeps integers beside missing values as floats.

    >>> id_text("a"), id_text(7), id_text(7.0), id_text(7.5)
    ('a', '7', '7', '7.5')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def parse_weight(text: str, place: str, line: int) -> float:
    """Return the weight in a text: positive and finite, also as float32, the type of link weights."""
    weight = parse_number(text)
    if not TOO_SMALL < weight < TOO_LARGE:
        raise DataError(f"weight is {text!r}, want a positive finite number", path=place, line=line)
    return weight


def split_tabs(line: str, wanted: str, widths: tuple[int, ...], place: str, number: int) -> list[str]:
    """Return the columns of a line, or raise an error with the expected form."""
    fields = line.split("\t")
    if len(fields) not in widths:
        raise DataError(f"{plural(len(fields), 'column')} between tabs, want {wanted}", path=place, line=number)
    return fields


def is_header(fields: Sequence[str]) -> bool:
    """Return whether a line contains only names of columns.

    >>> is_header(["Source", "target"]), is_header(["source", "b7"]), is_header(["text", "text"])
    (True, False, False)
    """
    names = {field.strip().lower() for field in fields}
    return len(names) == len(fields) and names <= _COLUMN_NAMES


def report_header(fields: Sequence[str], place: str, line: int) -> None:
    """Report that a line was treated as a header and skipped."""
    logger.warning("%s:%d: left out: the line is a header (%s)", place, line, ", ".join(fields))


def first_repeat(left: np.ndarray, right: np.ndarray) -> tuple[int, int] | None:
    """Return the earliest entry that repeats an earlier pair of rows, as (the earlier one, it); None if there is none.

    >>> first_repeat(np.array([4, 4, 7, 4]), np.array([0, 1, 1, 0]))
    (0, 3)
    """
    if not len(left):
        return None
    pair = left * (right.max() + 1) + right  # int64 holds the product of the sizes of any two collections
    ordered = np.sort(pair)
    if (ordered[1:] != ordered[:-1]).all():
        return None
    order = np.argsort(pair, kind="stable")  # among equal pairs the earlier comes first
    again = order[1:][pair[order[1:]] == pair[order[:-1]]].min()
    return int(np.argmax(pair == pair[again])), int(again)


def refuse_repeats(place: str, lines: Sequence[int], what: str, left: np.ndarray, right: np.ndarray) -> None:
    """Raise with both line numbers when two entries are the same pair of rows."""
    repeat = first_repeat(left, right)
    if repeat is not None:
        first, again = (lines[entry] for entry in repeat)
        raise DataError(f"{what} is already in line {first}, want it once", path=place, line=again)


def used_ids(ids: Sequence[str], rows: np.ndarray) -> list[str]:
    """Return the ids of the rows, each once."""
    used = np.zeros(len(ids), bool)
    used[rows] = True
    return [ids[row] for row in np.flatnonzero(used).tolist()]


class UnknownIds:
    """Counts lines with an unknown id; the first of them is the example."""

    def __init__(self, place: str) -> None:
        self.place, self.n_lines = place, 0
        self.line, self.example = 0, ""

    def add(self, line: int, what: str, unknown_id: str) -> None:
        """Note one more such line."""
        if not self.n_lines:
            self.line, self.example = line, f"{what} {unknown_id!r}"
        self.n_lines += 1

    def settle(self, n_kept: int, *, skip: bool) -> None:
        """Raise if any line was noted; with `skip`, report their number instead, unless no lines are left."""
        if not self.n_lines:
            return
        found = f"unknown ids in {self.n_lines} of {plural(self.n_lines + n_kept, 'line')}"
        if skip and n_kept:
            logger.warning("%s: left out: %s, the first is %s in line %d", self.place, found, self.example, self.line)
            return
        advice = "so nothing is left" if skip else "skip_unknown (--skip-unknown) leaves them out"
        raise DataError(f"{found}, the first is {self.example}; {advice}", path=self.place, line=self.line)


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")  # including marks that line readers remove


def id_problem(text: str) -> str:
    """Return the problem of an id, or an empty string.

    >>> id_problem("New York"), id_problem(" x"), id_problem("")
    ('', "is ' x', want no spaces at its ends", 'is empty')
    """
    if not text:
        return "is empty"
    if text != text.strip():
        return f"is {text!r}, want no spaces at its ends"
    if _CONTROL.search(text):
        return f"is {text!r}, want no tabs, line breaks or other control characters"
    return ""


def check_ids(what: str, ids: Iterable[str], *, words: bool = False) -> None:
    """Raise unless every id can be written to a file; with `words`, spaces inside are refused too.

    >>> check_ids("document id", ["a", "New York"], words=True)
    Traceback (most recent call last):
    tacit.core.errors.TacitError: document id is 'New York', want no spaces: TREC files cannot store them
    """
    for text in ids:
        problem = id_problem(text)
        if not problem and words and text.split() != [text]:
            problem = f"is {text!r}, want no spaces: TREC files cannot store them"
        if problem:
            raise TacitError(f"{what} {problem}")
