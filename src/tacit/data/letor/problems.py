"""Error messages for invalid lines of a LETOR file.

Readers call this only after a line was found invalid, so this code may be slow and should be simple.
"""

from __future__ import annotations

import math
import re

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
INDEX = re.compile(rb"\d+")
BLANKS = b" \t\r"
LONGEST_SHOWN = 40


def line_problem(line: bytes, most: int) -> str:
    """Return the reason why a line is not a row with indices of at most `most`.

    >>> line_problem(b"2 qid:7 1:0.5 1:0.7", 46)
    "feature index is '1' after 1, want ascending indices"
    """
    body = line.partition(b"#")[0].strip(BLANKS)
    grade, *fields = re.split(rb"[ \t\r]+", body)
    value = _number(grade)
    if not (value >= 0 or value == -1):
        return f"grade is {shown(grade)}, want a number >= 0, or -1 for unjudged"
    if not fields or not fields[0].startswith(b"qid:"):
        found = f"{shown(fields[0])} follows the grade" if fields else "the row has no query"
        return f"{found}, want 'grade qid:ID index:value ...'"
    if fields[0] == b"qid:":
        return "qid is empty, want qid:ID"
    return _feature_problem(fields[1:], most) or "the row is not of the form 'grade qid:ID index:value ...'"


def is_row(line: bytes) -> bool:
    """Return whether the line contains more than spaces and a comment."""
    return not line.strip(BLANKS).startswith(b"#") and bool(line.strip(BLANKS))


def shown(field: bytes) -> str:
    """Return the field as shown in messages: quoted, on one line, not too long."""
    text = field.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "...")


def _number(field: bytes) -> float:
    """Return the number in a field, NaN if it is invalid or too large for float64."""
    value = float(field) if NUMBER.fullmatch(field) else math.nan
    return value if math.isfinite(value) else math.nan


def _feature_problem(fields: list[bytes], most: int) -> str | None:
    last = 0
    for field in fields:
        index, colon, value = field.partition(b":")
        if not colon:
            return f"field {shown(field)} has no colon, want index:value"
        if not INDEX.fullmatch(index) or not index.strip(b"0"):
            return f"feature index is {shown(index)}, want a whole number >= 1"
        if len(index.lstrip(b"0")) > len(str(most)) or int(index) > most:
            return f"feature index is {shown(index)}, want at most {most}"
        if int(index) <= last:
            return f"feature index is {shown(index)} after {last}, want ascending indices"
        if value != b"NULL" and math.isnan(_number(value)):
            return f"value of feature {int(index)} is {shown(value)}, want a finite number or NULL"
        last = int(index)
    return None
