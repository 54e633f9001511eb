"""Filters over the fields of documents.

    category = shoes and price < 50
    brand in ("Acme", "Bolt & Co") or not in_stock = true
    released >= 2024-05 and color exists

Comparisons are `=` (also `==` and `:`), `!=`, `<`, `<=`, `>`, `>=`, `in (…)`, `not in (…)` and `exists`. They are
joined by `not`, `and` and `or`, in this order of precedence, and by parentheses. A document without the field passes no
comparison, including `!=`; `not` inverts this result too. A list of keywords passes if one of its entries
does. A date may be a year, a month, a day or a time, and covers the whole period: `released = 2024` is any day of 2024.
Names and values with blanks or punctuation must be quoted. Keywords that are all numbers, such as `"price": "12.50"` in
JSON, are compared with a number as numbers, with a quoted number as texts.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tacit.core import Collection, UsageError, check_choice
from tacit.core.fields import (
    NUMBER,
    BooleanColumn,
    Column,
    DateColumn,
    KeywordColumn,
    KeywordsColumn,
    NumberColumn,
    parse_time,
)

MAX_CHARACTERS, MAX_DEPTH = 20_000, 50
_TOKEN = re.compile(
    r"\s*(?:(==|!=|<=|>=|[=<>:(),])"
    r"|\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)'"
    r"|([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.+Z-]+|[^\s=<>!:(),\"']+))",
    re.DOTALL,
)
_ORDERS = {"<", "<=", ">", ">="}
_OPERATORS = {"=", "==", ":", "!="} | _ORDERS
_BOOLEANS = {"true": 1, "yes": 1, "1": 1, "false": 0, "no": 0, "0": 0}
_DATE = re.compile("[0-9]{4}-[0-9]{2}.*", re.DOTALL)

Mask = Callable[[Mapping[str, Sequence[Any]]], np.ndarray]


def filter_mask(text: str, documents: Collection) -> np.ndarray:
    """Return a mask of the documents that pass a filter: bool (n_documents).

    >>> docs = Collection(["a", "b"], ["", ""], ["x", "y"], {"price": [10, 90], "color": ["red", None]})
    >>> filter_mask("price < 50 and color exists", docs).tolist(), filter_mask("not color = red", docs).tolist()
    ([True, False], [False, True])
    """
    return parse_filter(text)(fields_of(documents))


def fields_of(documents: Collection) -> dict[str, Column]:
    """Typed fields of documents by name; the id is a field too."""
    from tacit.core.fields import typed_fields

    found: Any = typed_fields(documents.extras.items())
    return found | ({} if "id" in found else {"id": _Ids(documents)})


class _Ids:
    """The ids as a field that is compared by equality."""

    kind = "id"

    def __init__(self, documents: Collection) -> None:
        self.documents = documents


def parse_filter(text: str) -> Mask:
    """Parse a filter, ready to be applied to fields; UsageError for an invalid filter."""
    if not isinstance(text, str):
        raise UsageError(f"filter is of type {type(text).__name__}, want text such as 'price < 50'")
    if len(text) > MAX_CHARACTERS:
        raise UsageError(f"filter has {len(text)} characters, want at most {MAX_CHARACTERS}")
    return _parsed(text)


@lru_cache(256)
def _parsed(text: str) -> Mask:
    parser = _Parser(text)
    mask = parser.either(0)
    if parser.peek() is not None:
        raise parser.problem("want and, or, or the end")
    return mask


class _Value(NamedTuple):
    """The value that a field is compared with, and whether it is in quotes."""

    text: str
    quoted: bool = False


class _Parser:
    """Recursive descent over tokens; a token is (its text, whether it is quoted)."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.places, self.at = text, list[tuple[str, bool]](), list[int](), 0
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                raise UsageError(f"filter: cannot read {text[place:].strip()[:30]!r}, want FIELD OPERATOR VALUE")
            sign, double, single, word = match.groups()
            quoted = double if double is not None else single
            unescaped = None if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
            self.tokens.append((sign or word, False) if unescaped is None else (unescaped, True))
            self.places.append(match.end())
            place = match.end()
        if not self.tokens:
            raise UsageError("filter is empty, want such as 'price < 50'")

    def peek(self) -> str | None:
        """The next word or sign in lower case, if it is not quoted; None at the end."""
        if self.at >= len(self.tokens):
            return None
        token, quoted = self.tokens[self.at]
        return "" if quoted else token.lower()

    def next(self, wanted: str) -> tuple[str, bool]:
        """Take a token."""
        if self.at >= len(self.tokens):
            raise UsageError(f"filter ends after {self.text.strip()[-30:]!r}, want {wanted}")
        self.at += 1
        return self.tokens[self.at - 1]

    def problem(self, wanted: str) -> UsageError:
        """An error at the next token."""
        found = self.tokens[min(self.at, len(self.tokens) - 1)][0]
        return UsageError(f"filter: found {found!r} in {self.text.strip()[:80]!r}, {wanted}")

    def either(self, depth: int) -> Mask:
        """Parts joined by `or`."""
        parts = [self.both(depth)]
        while self.peek() == "or":
            self.at += 1
            parts.append(self.both(depth))
        return parts[0] if len(parts) == 1 else lambda fields: np.logical_or.reduce([part(fields) for part in parts])

    def both(self, depth: int) -> Mask:
        """Parts joined by `and`."""
        parts = [self.one(depth)]
        while self.peek() == "and":
            self.at += 1
            parts.append(self.one(depth))
        return parts[0] if len(parts) == 1 else lambda fields: np.logical_and.reduce([part(fields) for part in parts])

    def one(self, depth: int) -> Mask:
        """A comparison, `not` before one, or parentheses."""
        if depth > MAX_DEPTH:
            raise UsageError(f"filter is nested more than {MAX_DEPTH} deep")
        if self.peek() == "not":
            self.at += 1
            inner = self.one(depth + 1)
            return lambda fields: ~inner(fields)
        if self.peek() == "(":
            self.at += 1
            inner = self.either(depth + 1)
            self.expect(")")
            return inner
        return self.comparison()

    def expect(self, sign: str) -> None:
        """Take a sign."""
        if self.next(f"{sign!r}") != (sign, False):
            self.at -= 1
            raise self.problem(f"want {sign!r}")

    def comparison(self) -> Mask:
        """Parse a field and its comparison."""
        name, quoted = self.next("the name of a field")
        if not quoted and (name in "(),:" or name in _OPERATORS or name.lower() in ("and", "or", "in")):
            self.at -= 1
            raise self.problem("want the name of a field")
        operator = self.next("=, !=, <, <=, >, >=, in or exists")
        sign = "" if operator[1] else operator[0].lower()
        if sign == "exists":
            return lambda fields: _present(_field(fields, name))
        if sign == "not" and self.peek() == "in":
            self.at += 1
            among = self.values()
            return lambda fields: _present(_field(fields, name)) & ~_any_equal(fields, name, among)
        if sign == "in":
            among = self.values()
            return lambda fields: _any_equal(fields, name, among)
        if sign not in _OPERATORS:
            self.at -= 1
            raise self.problem("want =, !=, <, <=, >, >=, in or exists")
        value = self.value()
        same = {"==": "=", ":": "="}.get(sign, sign)
        if same == "!=":
            return lambda fields: _present(_field(fields, name)) & ~_compare(fields, name, "=", value)
        return lambda fields: _compare(fields, name, same, value)

    def value(self) -> _Value:
        """A value."""
        token, quoted = self.next("a value")
        if not quoted and (token in "(),:" or token in _OPERATORS):
            self.at -= 1
            raise self.problem("want a value")
        return _Value(token, quoted)

    def values(self) -> list[_Value]:
        """Values between parentheses."""
        self.expect("(")
        found = [self.value()]
        while self.peek() == ",":
            self.at += 1
            found.append(self.value())
        self.expect(")")
        return found


def _field(fields: Mapping[str, Any], name: str) -> Any:
    if name not in fields:
        if set(fields) == {"id"}:
            raise UsageError(f"filter: the documents have no field {name!r}, nor any other")
        check_choice("field of the filter", name, list(fields))
    return fields[name]


def _present(column: Any) -> np.ndarray:
    return np.ones(len(column.documents), bool) if isinstance(column, _Ids) else column.present()


def _any_equal(fields: Mapping[str, Any], name: str, values: Sequence[_Value]) -> np.ndarray:
    found: np.ndarray = np.logical_or.reduce([_compare(fields, name, "=", value) for value in values])
    return found


def _compare(fields: Mapping[str, Any], name: str, sign: str, value: _Value) -> np.ndarray:
    """Rows for which `name sign value` holds; sign is one of =, <, <=, >, >=."""
    column = _field(fields, name)
    if isinstance(column, NumberColumn):
        return _between(column.values, sign, *_number(name, value.text))
    if isinstance(column, DateColumn):
        return _between(column.values, sign, *_dates(name, value.text)) & column.present()
    if isinstance(column, BooleanColumn):
        if value.text.lower() not in _BOOLEANS or sign != "=":
            raise UsageError(f"filter: {name} is true or false, want {name} = true or {name} = false")
        found: np.ndarray = column.values == _BOOLEANS[value.text.lower()]
        return found
    if isinstance(column, KeywordColumn):
        return _named_entries(column, name, sign, value)
    if isinstance(column, KeywordsColumn):
        rows = np.zeros(len(column), bool)
        rows[column.rows_of(np.flatnonzero(_named_entries(column, name, sign, value)))] = True
        return rows
    if isinstance(column, _Ids) and sign == "=":
        rows, row = np.zeros(len(column.documents), bool), column.documents.row_of.get(value.text)
        if row is not None:
            rows[row] = True
        return rows
    raise UsageError(f"filter: {name} is {column.kind}, which can be compared by {_comparable(column)} only")


def _named_entries(column: KeywordColumn | KeywordsColumn, name: str, sign: str, value: _Value) -> np.ndarray:
    """Return a mask of the codes whose names pass the comparison, as numbers if all names and the value are numbers."""
    as_number = _is_number(value.text) or sign in _ORDERS
    if not value.quoted and as_number and column.numbers is not None:
        passing = _between(column.numbers, sign, *_number(name, value.text))
        entries: np.ndarray = np.append(passing, False)[column.codes]  # the code of a missing value is -1
        return entries
    if sign in _ORDERS and not value.quoted:
        _check_comparable(column, name, value.text)
    low, high = _codes(column.names, sign, value.text)
    return (column.codes >= low) & (column.codes < high)


def _check_comparable(column: KeywordColumn | KeywordsColumn, name: str, value: str) -> None:
    """Raise if a number or a date would be compared as text, with keywords that are none."""
    what, form = ("number", NUMBER) if _is_number(value) else ("date", _DATE)
    if form is _DATE and not _DATE.fullmatch(value):
        return
    words = list(column.used_names())
    others = [word for word in words if not form.fullmatch(word)] or (words if form is NUMBER else [])  # too large
    if others:
        found = f"{name} is a keyword, such as {others[0]!r}, want a {what} to compare with {value}"
        raise UsageError(f"filter: {found}; {value!r} in quotes compares text")


def _comparable(column: Any) -> str:
    return "=, != and in" if isinstance(column, _Ids) else "exists"


def _between(values: np.ndarray, sign: str, start: float, end: float) -> np.ndarray:
    """Compare values with the range from start to end, both included; NaN passes no comparison."""
    masks = {
        "=": lambda: values == start if start == end else (values >= start) & (values <= end),
        "<": lambda: values < start,
        "<=": lambda: values <= end,
        ">": lambda: values > end,
        ">=": lambda: values >= start,
    }
    found: np.ndarray = masks[sign]()
    return found


def _is_number(value: str) -> bool:
    try:
        number = float(value)
    except ValueError:
        return False
    return number == number and "_" not in value


def _number(name: str, value: str) -> tuple[float, float]:
    if not _is_number(value):
        raise UsageError(f"filter: {name} is a number, found {value!r}")
    return float(value), float(value)


def _dates(name: str, value: str) -> tuple[int, int]:
    """First and last microsecond of a year, month, day or time."""
    try:
        if re.fullmatch("[0-9]{4}", value):
            return _span(f"{value}-01-01", f"{int(value) + 1:04d}-01-01" if value != "9999" else "")
        if re.fullmatch("[0-9]{4}-[0-9]{2}", value):
            year, month = int(value[:4]), int(value[5:])
            after = f"{year + month // 12:04d}-{month % 12 + 1:02d}-01" if (year, month) != (9999, 12) else ""
            return _span(f"{value}-01", after)
        start, form = parse_time(value)
    except (ValueError, OverflowError):
        raise UsageError(f"filter: {name} is a date, found {value!r}, want such as 2024, 2024-05-31") from None
    return start, start + (86_400_000_000 - 1 if form == "day" else 0)


def _span(first: str, after: str) -> tuple[int, int]:
    end = parse_time(after)[0] - 1 if after else (datetime.max - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return parse_time(first)[0], end


def _codes(names: Sequence[str], sign: str, value: str) -> tuple[int, int]:
    """Return the range of codes whose names pass the comparison; names are sorted."""
    left, right = bisect_left(names, value), bisect_right(names, value)
    return {"=": (left, right), "<": (0, left), "<=": (0, right), ">": (right, len(names)), ">=": (left, len(names))}[
        sign
    ]
