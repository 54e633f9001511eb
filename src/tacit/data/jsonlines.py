"""One JSON object per line, checked, so that everything read can be written again as UTF-8."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tacit.core import DataError, TacitError

_KINDS = {str: "a string", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


def parse_object(line: str, place: str, number: int) -> dict[str, Any]:
    """Return the object in a line."""
    value = parse_value(line, place, number)
    if not isinstance(value, dict):
        raise DataError(f"{kind_of(value)}, want an object in braces", path=place, line=number)
    return value


def parse_value(text: str, place: str, number: int) -> Any:
    """Return the value in a text; the given line is its first line in the file."""
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        line = number + error.lineno - 1
        raise DataError(f"not JSON: {error.msg} at column {error.colno}", path=place, line=line) from None
    except RepeatedKeyError as error:
        raise DataError(f"the key {error} occurs twice in one object, want it once", path=place, line=number) from None
    except (ValueError, RecursionError):  # Python's limits on digits and on depth
        raise DataError("JSON with too long a number or too deep a nesting", path=place, line=number) from None


class RepeatedKeyError(ValueError):
    """A key that occurs twice in an object."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as an object; raise RepeatedKeyError if a key occurs twice."""
    table = dict(pairs)
    if len(table) < len(pairs):
        count = Counter(key for key, _ in pairs)
        raise RepeatedKeyError(repr(next(key for key, _ in pairs if count[key] > 1)))
    return table


def kind_of(value: Any) -> str:
    """Return JSON's word for the type of a value.

    >>> kind_of(None), kind_of([1]), kind_of(2.5)
    ('null', 'a list', 'a number')
    """
    return _KINDS.get(type(value), "null")


def forbidden_character(value: Any) -> str:
    """Return the name of a character in the value that is invalid in text files, or an empty string.

    These are NUL and single halves of surrogate pairs: JSON can write them as escapes, but UTF-8 cannot.

    >>> forbidden_character({"a": ["b", chr(0xD800)]}), forbidden_character("fine")
    ('U+D800', '')
    """
    if isinstance(value, str):
        if "\0" in value:
            return "U+0000"
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            return f"U+{ord(value[error.start]):04X}"
        return ""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(forbidden_character, value)), "")
    return ""


def dump_object(fields: dict[str, Any]) -> str:
    """Return the fields as one line of JSON; errors name the row by its id."""
    bad = forbidden_character(fields)
    if bad:
        raise TacitError(f"document {fields['id']!r} contains the character {bad}, which text files cannot store")
    try:
        return json.dumps(fields, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TacitError(f"document {fields['id']!r} cannot be written as JSON: {error}") from None
