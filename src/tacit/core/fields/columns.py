"""Typed columns for document fields other than title and text.

    kind       values                     arrays
    number     int or float               values float64 (n), NaN where missing
    boolean    bool                       values int8 (n), -1 where missing
    date       ISO 8601 text              values int64 (n), microseconds since 1970 in UTC, MISSING_TIME where missing
    keyword    short text                 codes int32 (n), -1 where missing; names in sorted order
    keywords   list of short texts        starts int64 (n + 1), codes int32; a missing list is the one code -1
    text       long text                  present int8 (n), texts

A column is a sequence with one Python value per row, None where a document lacks the field. Columns of a stored model
are memory-mapped and read value by value. `make_column` chooses the kind from the values.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from operator import index
from typing import Any, ClassVar

import numpy as np

from tacit.core.texts import join_texts, take_texts

MISSING_TIME = np.iinfo(np.int64).min
MAX_WHOLE = 2**53  # float64 represents every integer up to this one exactly
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")  # not a code such as 007
_EPOCH = datetime(1970, 1, 1)


class Column(Sequence[Any]):
    """Values of one field, one row per document."""

    kind: ClassVar[str]
    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def _value(self, row: int) -> Any:
        """Return the value of a valid row, or None."""

    @abstractmethod
    def take(self, rows: np.ndarray | Sequence[int]) -> Column:
        """Return the given rows as a column of the same kind."""

    @abstractmethod
    def present(self) -> np.ndarray:
        """Return a bool array (n) that marks rows with a value."""

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self._value(row) for row in range(*place.indices(len(self)))]
        row = index(place)
        row += len(self) if row < 0 else 0
        if not 0 <= row < len(self):
            raise IndexError(f"row {place} of {len(self)}")
        return self._value(row)

    def __iter__(self) -> Iterator[Any]:
        return map(self._value, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        shown = ", ".join(repr(self._value(row)) for row in range(min(3, len(self))))
        return f"<{self.kind} column of {len(self):,}: {shown}{', …' if len(self) > 3 else ''}>"


class NumberColumn(Column):
    """Numbers. With `whole`, all are integers and are returned as int."""

    kind = "number"

    def __init__(self, values: np.ndarray, whole: bool = False) -> None:
        self.values, self.whole = values, whole

    def __len__(self) -> int:
        return len(self.values)

    def _value(self, row: int) -> int | float | None:
        value = float(self.values[row])
        return None if value != value else int(value) if self.whole else value

    def take(self, rows: np.ndarray | Sequence[int]) -> NumberColumn:
        """The given rows."""
        return NumberColumn(self.values[np.asarray(rows, np.int64)], self.whole)

    def present(self) -> np.ndarray:
        """Mark rows that have a number."""
        present: np.ndarray = ~np.isnan(self.values)
        return present


class BooleanColumn(Column):
    """True or false."""

    kind = "boolean"

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def _value(self, row: int) -> bool | None:
        value = int(self.values[row])
        return None if value < 0 else value > 0

    def take(self, rows: np.ndarray | Sequence[int]) -> BooleanColumn:
        """The given rows."""
        return BooleanColumn(self.values[np.asarray(rows, np.int64)])

    def present(self) -> np.ndarray:
        """Mark rows that are true or false."""
        present: np.ndarray = self.values >= 0
        return present


class DateColumn(Column):
    """Points in time.

    Parameters
    ----------
    values : ndarray of int64
        Microseconds since 1970.
    form : {"day", "local", "utc"}
        How a value is written: a day, a time without a time zone, or a time in UTC.
    """

    kind = "date"

    def __init__(self, values: np.ndarray, form: str = "day") -> None:
        self.values, self.form = values, form

    def __len__(self) -> int:
        return len(self.values)

    def _value(self, row: int) -> str | None:
        value = int(self.values[row])
        if value == MISSING_TIME:
            return None
        time = _EPOCH + timedelta(microseconds=value)
        return time.date().isoformat() if self.form == "day" else time.isoformat() + "Z" * (self.form == "utc")

    def take(self, rows: np.ndarray | Sequence[int]) -> DateColumn:
        """The given rows."""
        return DateColumn(self.values[np.asarray(rows, np.int64)], self.form)

    def present(self) -> np.ndarray:
        """Mark rows that have a date."""
        present: np.ndarray = self.values != MISSING_TIME
        return present


class _NamedColumn(Column):
    """Texts that are stored once, by codes in the sorted order of the names."""

    codes: np.ndarray
    names: Sequence[str]

    @cached_property
    def numbers(self) -> np.ndarray | None:
        """The names as numbers, float64; None if a row has a name that is not a number, or too large for float64."""
        found = np.full(len(self.names), np.nan)
        for code, name in zip(self._used().tolist(), self.used_names(), strict=True):
            if not NUMBER.fullmatch(name) or abs(number := float(name)) > MAX_WHOLE:
                return None
            found[code] = number
        return None if np.isnan(found).all() else found

    def used_names(self) -> Iterator[str]:
        """Yield the names that rows have."""
        return (self.names[code] for code in self._used().tolist())

    def _used(self) -> np.ndarray:
        return np.flatnonzero(np.bincount(self.codes[self.codes >= 0], minlength=len(self.names)))


class KeywordColumn(_NamedColumn):
    """Short texts."""

    kind = "keyword"

    def __init__(self, codes: np.ndarray, names: Sequence[str]) -> None:
        self.codes, self.names = codes, names

    def __len__(self) -> int:
        return len(self.codes)

    def _value(self, row: int) -> str | None:
        code = int(self.codes[row])
        return None if code < 0 else self.names[code]

    def take(self, rows: np.ndarray | Sequence[int]) -> KeywordColumn:
        """The given rows; names are unchanged."""
        return KeywordColumn(self.codes[np.asarray(rows, np.int64)], self.names)

    def present(self) -> np.ndarray:
        """Mark rows that have a keyword."""
        present: np.ndarray = self.codes >= 0
        return present


class KeywordsColumn(_NamedColumn):
    """Lists of short texts."""

    kind = "keywords"

    def __init__(self, starts: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> None:
        self.starts, self.codes, self.names = starts, codes, names

    def __len__(self) -> int:
        return len(self.starts) - 1

    def _value(self, row: int) -> list[str] | None:
        codes = self.codes[self.starts[row] : self.starts[row + 1]].tolist()
        return None if codes == [-1] else [self.names[code] for code in codes]

    def take(self, rows: np.ndarray | Sequence[int]) -> KeywordsColumn:
        """The given rows; names are unchanged."""
        chosen = np.asarray(rows, np.int64)
        lengths = self.starts[chosen + 1] - self.starts[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], lengths)
        return KeywordsColumn(starts, self.codes[places], self.names)

    def present(self) -> np.ndarray:
        """Mark rows that have a list, even an empty one."""
        missing = np.zeros(len(self), bool)
        missing[self.rows_of(np.flatnonzero(self.codes < 0))] = True
        return ~missing

    def rows_of(self, entries: np.ndarray) -> np.ndarray:
        """Return the rows whose lists contain the given entries of `codes`."""
        rows: np.ndarray = np.searchsorted(self.starts, entries, side="right") - 1
        return rows


class TextColumn(Column):
    """Long texts, stored like the texts of documents."""

    kind = "text"

    def __init__(self, has: np.ndarray, texts: Sequence[str]) -> None:
        self.has, self.texts = has, texts

    def __len__(self) -> int:
        return len(self.has)

    def _value(self, row: int) -> str | None:
        return self.texts[row] if self.has[row] else None

    def take(self, rows: np.ndarray | Sequence[int]) -> TextColumn:
        """The given rows."""
        return TextColumn(self.has[np.asarray(rows, np.int64)], take_texts(self.texts, rows))

    def present(self) -> np.ndarray:
        """Mark rows that have a text."""
        present: np.ndarray = self.has > 0
        return present


def parse_time(text: str) -> tuple[int, str]:
    """Return microseconds since 1970 and the form of an ISO 8601 date or time; ValueError for any other text.

    >>> parse_time("1970-01-02"), parse_time("1970-01-01T01:00:00.5+01:00")
    ((86400000000, 'day'), (500000, 'utc'))
    """
    time = datetime.fromisoformat(text)
    form = "day" if len(text) == 10 else "local" if time.tzinfo is None else "utc"
    plain = time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    return (plain - _EPOCH) // timedelta(microseconds=1), form


def take_column(column: Sequence[Any], rows: np.ndarray | Sequence[int]) -> Sequence[Any]:
    """Return the given rows of a typed or plain column."""
    return column.take(rows) if isinstance(column, Column) else [column[int(row)] for row in rows]


def join_fields(
    first: Mapping[str, Sequence[Any]], second: Mapping[str, Sequence[Any]], sizes: tuple[int, int]
) -> dict[str, Sequence[Any]]:
    """Concatenate the fields of two collections. Where a collection lacks a field, its values are missing.

    >>> from tacit.core.fields.making import make_column
    >>> both = join_fields({"n": make_column([1])}, {"n": make_column([2]), "x": make_column(["a"])}, (1, 1))
    >>> {name: list(column) for name, column in both.items()}
    {'n': [1, 2], 'x': [None, 'a']}
    """
    joined: dict[str, Sequence[Any]] = {}
    for name in [*first, *(name for name in second if name not in first)]:
        one, two = (fields.get(name, [None] * size) for fields, size in zip((first, second), sizes, strict=True))
        joined[name] = _join(one, two)
    return joined


def _join(one: Sequence[Any], two: Sequence[Any]) -> Sequence[Any]:
    if isinstance(one, NumberColumn) and isinstance(two, NumberColumn):
        return NumberColumn(np.concatenate([one.values, two.values]), one.whole and two.whole)
    if isinstance(one, TextColumn) and isinstance(two, TextColumn):
        return TextColumn(np.concatenate([one.has, two.has]), join_texts(one.texts, two.texts))
    if not isinstance(one, Column) and not isinstance(two, Column):
        return [*one, *two]
    from tacit.core.fields.making import make_column  # imported here because it imports this module

    return make_column([*one, *two], like=next(column for column in (one, two) if isinstance(column, Column)))
