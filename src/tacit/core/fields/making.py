"""Make a typed column from values and choose its kind."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from tacit.core.errors import TacitError
from tacit.core.fields.columns import (
    MAX_WHOLE,
    MISSING_TIME,
    NUMBER,
    BooleanColumn,
    Column,
    DateColumn,
    KeywordColumn,
    KeywordsColumn,
    NumberColumn,
    TextColumn,
    parse_time,
)
from tacit.core.texts import TextWriter

MAX_KEYWORD = 256  # characters; a field with a longer value has the kind text
_DECIMAL_COMMA = re.compile(r"-?(0|[1-9][0-9]*|[1-9][0-9]{0,2}(\.[0-9]{3})+)(,[0-9]+)?")
_THOUSANDS = re.compile(r"-?(0|[1-9][0-9]*|[1-9][0-9]{0,2}(,[0-9]{3})+)(\.[0-9]+)?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9:]{4,6})?)?")
_MISSING_WORDS = {"na", "n/a", "#n/a", "nan", "null", "none", "\\n", "-"}  # as spreadsheets and databases write them
Written = bool | Literal["decimal comma"]  # whether values are text, and how numbers are written
_BOOLEANS = {"true": True, "false": False}


def make_column(values: Sequence[Any], *, parse: Written = False, like: Column | None = None) -> Column:
    """Return the values as a typed column.

    Parameters
    ----------
    values : sequence
        None (or NaN), numbers, booleans, texts, dates, and lists of these. Values of several kinds become keywords.
    parse : bool or "decimal comma", default=False
        Parse numbers and booleans written as text, as in CSV files; an empty text is a missing value, and so are
        "N/A", "NULL" and similar words among numbers, booleans or dates. With "decimal comma", numbers may be written
        as 1.299,50, otherwise as 1,299.50.
    like : Column or None, default=None
        Column whose kind is used if all values are missing.

    Examples
    --------
    >>> make_column(["9.5", "", "12"], parse=True), make_column([["a"], "b", None])
    (<number column of 3: 9.5, None, 12.0>, <keywords column of 3: ['a'], ['b'], None>)
    >>> make_column(["9,5", "1.299,00"], parse="decimal comma")
    <number column of 2: 9.5, 1299.0>
    >>> make_column(["2024-05-01", "2023-01-31"]).kind, make_column(["red", 3]).kind, make_column(["007"]).kind
    ('date', 'keyword', 'keyword')
    """
    plain = [_plain(value) for value in values]
    if parse:
        plain = [None if value == "" else value for value in plain]
    kinds = {type(value) for value in plain} - {type(None)}
    if not kinds:
        return _missing(len(plain), like)
    if list in kinds:
        return _keywords(plain)
    if kinds == {bool}:
        return BooleanColumn(np.array([-1 if value is None else int(value) for value in plain], np.int8))
    if kinds <= {int, float}:
        return _numbers(plain) or _words(plain)
    if isinstance(like, KeywordColumn) or not kinds <= {int, float, str}:
        return _words(plain)
    if kinds == {str} and not parse:
        return _dates(plain) or _words(plain)
    return _written(plain, parse) or _words(plain)


def _written(values: Sequence[Any], parse: Written) -> Column | None:
    """Return the column of numbers, booleans or dates that are written as text, or None if some value is none."""
    texts = [value if value is None else _as_word(value).strip() for value in values]
    texts = [None if text is None or text.lower() in _MISSING_WORDS else text for text in texts]
    if all(text is None for text in texts):
        return None
    with_commas = _with_decimal_comma if parse == "decimal comma" else _with_thousands
    return _parsed(texts) or with_commas(texts) or _dates(texts)


def typed_fields(fields: Iterable[tuple[str, Sequence[Any]]]) -> dict[str, Sequence[Any]]:
    """Return typed columns by name; columns that are already typed are unchanged."""
    found: dict[str, Sequence[Any]] = {}
    for name, values in fields:
        try:
            found[name] = values if isinstance(values, Column) else make_column(values)
        except TacitError as error:
            raise TacitError(f"field {name!r}: {error}") from None
    return found


def _plain(value: Any) -> Any:
    """Convert to None, bool, int, float, str or a list of str."""
    if value is None or isinstance(value, str | bool | int):
        return value if type(value) in (str, bool, int, type(None)) else str(value) if isinstance(value, str) else value
    if isinstance(value, np.generic):
        return _plain(value.item()) if not isinstance(value, np.datetime64) else _time(str(value))
    if isinstance(value, float | Decimal):
        number = float(value)
        return None if math.isnan(number) else number
    if isinstance(value, date):  # includes datetime and pandas timestamps
        return None if value != value else value.isoformat()
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [_word(item) for item in value if item is not None]
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas missing values, which do not compare as NaN
        return None
    raise TacitError(f"a value is of type {type(value).__name__}, want text, number, boolean, date or a list of these")


def _time(text: str) -> str | None:
    return None if text == "NaT" else text[:26]


def _word(value: Any) -> str:
    found = _plain(value)
    if isinstance(found, list):
        raise TacitError("a list contains a list, want texts or numbers in it")
    return _as_word(found)


def _as_word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def _missing(n_rows: int, like: Column | None) -> Column:
    kind = "keyword" if like is None else like.kind
    if kind == "number":
        return NumberColumn(np.full(n_rows, np.nan), getattr(like, "whole", False))
    if kind == "boolean":
        return BooleanColumn(np.full(n_rows, -1, np.int8))
    if kind == "date":
        return DateColumn(np.full(n_rows, MISSING_TIME, np.int64), getattr(like, "form", "day"))
    if kind == "keywords":
        return KeywordsColumn(np.arange(n_rows + 1), np.full(n_rows, -1, np.int32), [])
    return KeywordColumn(np.full(n_rows, -1, np.int32), [])


def _numbers(values: Sequence[Any]) -> NumberColumn | None:
    """Return None if a number is infinite or too large to be stored exactly."""
    whole = all(value is None or isinstance(value, int) for value in values)
    if any(isinstance(value, int) and abs(value) > MAX_WHOLE for value in values):
        return None
    array = np.array([math.nan if value is None else value for value in values], np.float64)
    return None if np.isinf(array).any() else NumberColumn(array, whole)


def _parsed(values: Sequence[str | None]) -> Column | None:
    """Parse numbers or booleans written as text. A code with leading zeros, such as 007, is not a number."""
    if all(value is None or NUMBER.fullmatch(value) for value in values):
        return _numbers([None if v is None else int(v) if v.lstrip("-").isdigit() else float(v) for v in values])
    words = [None if value is None else value.lower() for value in values]
    if all(word is None or word in _BOOLEANS for word in words):
        return BooleanColumn(np.array([-1 if word is None else int(_BOOLEANS[word]) for word in words], np.int8))
    return None


def _with_decimal_comma(values: Sequence[str | None]) -> Column | None:
    """Parse numbers with a decimal comma; None if some value is not such a number."""
    if not all(value is None or _DECIMAL_COMMA.fullmatch(value) for value in values):
        return None
    if not any(value is not None and "," in value for value in values):  # 1.299 may be a version number
        return None
    return _parsed([None if value is None else value.replace(".", "").replace(",", ".") for value in values])


def _with_thousands(values: Sequence[str | None]) -> Column | None:
    """Parse numbers such as 1,299.50; None if some value is not such a number, or if all commas may be decimal."""
    if not all(value is None or _THOUSANDS.fullmatch(value) for value in values):
        return None
    if not any(value is not None and "," in value and ("." in value or value.count(",") > 1) for value in values):
        return None
    return _parsed([None if value is None else value.replace(",", "") for value in values])


def _dates(values: Sequence[str | None]) -> DateColumn | None:
    times, forms = np.full(len(values), MISSING_TIME, np.int64), set[str]()
    for row, value in enumerate(values):
        if value is None:
            continue
        if len(value) > 40 or not _TIME.fullmatch(value):
            return None
        try:
            times[row], form = parse_time(value)
        except (ValueError, OverflowError):
            return None
        forms.add(form)
    if "utc" in forms and len(forms) > 1:
        return None
    return DateColumn(times, "day" if forms == {"day"} else "utc" if "utc" in forms else "local")


def _words(values: Sequence[Any]) -> Column:
    words = [None if value is None else _as_word(value) for value in values]
    if any(word is not None and len(word) > MAX_KEYWORD for word in words):
        writer = TextWriter()
        writer.extend(word or "" for word in words)
        return TextColumn(np.array([word is not None for word in words], np.int8), writer.finish())
    names = sorted({word for word in words if word is not None})
    code = {name: number for number, name in enumerate(names)}
    return KeywordColumn(np.array([-1 if word is None else code[word] for word in words], np.int32), names)


def _keywords(values: Sequence[Any]) -> KeywordsColumn:
    lists = [None if v is None else v if isinstance(v, list) else [_as_word(v)] for v in values]
    names = sorted({name for names in lists if names for name in names})
    code = {name: number for number, name in enumerate(names)}
    entries = [[-1] if some is None else [code[name] for name in some] for some in lists]
    starts = np.concatenate([[0], np.cumsum([len(some) for some in entries])]).astype(np.int64)
    return KeywordsColumn(starts, np.array([c for some in entries for c in some], np.int32), names)
