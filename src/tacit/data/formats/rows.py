"""From the rows of a table to a collection: id, title and text by role, and all other fields as typed columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from tacit.core import Collection, DataError, TacitError, plural, shown
from tacit.core.fields import Column, Written, make_column
from tacit.core.texts import TextWriter
from tacit.data.columns import id_problem, id_text, logger
from tacit.data.formats.roles import Roles, find_roles
from tacit.data.formats.source import ReadOptions, Record, Table
from tacit.data.jsonlines import forbidden_character, kind_of

N_SAMPLED = 100  # rows used to find the roles of columns
MAX_FIELDS = 1000
_HALVES = re.compile("[\0\ud800-\udfff]")


class Wanted(NamedTuple):
    """What to read: documents may have title and text, queries must have a text.

    `extras` are the fields to keep unchanged; None: all fields, as typed columns.
    """

    what: str
    is_query: bool
    extras: tuple[str, ...] | None


class Row(NamedTuple):
    """A row of a collection, with its line number and original fields."""

    line: int
    id: str
    title: str
    text: str
    fields: Mapping[str, Any] = {}


def collect_table(table: Table, wanted: Wanted, options: ReadOptions, name: str = "") -> Collection:
    """Return the collection in a table."""
    rest = iter(table.records)
    first = [_flat(record) for record in islice(rest, N_SAMPLED)]
    if not first:
        raise DataError(f"has no {wanted.what}", path=table.place)
    records = chain(first, map(_flat, rest))
    if table.standard and not options.named:
        roles = Roles(("id",), "title", ("text",))
    else:
        columns = list(table.columns) or list(dict.fromkeys(key for record in first for key in record.fields))
        columns = list(dict.fromkeys([*columns, *(key for record in first for key in record.fields)]))
        columns = [name for name in columns if not _is_object(name, first)]
        texts = _text_columns(columns, first)
        roles = find_roles(columns, texts, options, table.place, queries=wanted.is_query)
    rows = _rows(records, roles, wanted, table)
    return collect_rows(rows, wanted, table.place, name, used=roles.used, written=table.written)


def _is_object(name: str, records: Sequence[Record]) -> bool:
    """Return whether all values of a field are objects with fields of their own, which are columns too."""
    values = [value for record in records if (value := record.fields.get(name)) is not None]
    return bool(values) and all(isinstance(value, dict) and value for value in values)


def _text_columns(columns: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Return the columns with texts, those with the longest texts first."""
    cells = {name: [record.fields.get(name) for record in records] for name in columns}
    sizes = {name: sum(len(cell) for cell in found if isinstance(cell, str)) for name, found in cells.items()}
    return sorted((name for name, size in sizes.items() if size), key=lambda name: -sizes[name])


def collect_rows(
    rows: Iterable[Row],
    wanted: Wanted,
    place: str,
    name: str = "",
    *,
    used: Iterable[str] = (),
    written: Written = False,
) -> Collection:
    """Return the collection of rows, with ids checked."""
    line_of, titles, texts = dict[str, int](), list[str](), TextWriter()
    named: dict[str, Any] = {label: [] for label in wanted.extras or ()}
    others = _Fields({*used}) if wanted.extras is None else None
    for row in rows:
        problem = id_problem(row.id)
        if line_of.setdefault(row.id, row.line) != row.line:
            problem = f"{row.id!r} is already in line {line_of[row.id]}, want it once"
        if problem:
            raise DataError(f"id {problem}", path=place, line=row.line)
        if others is not None:
            others.add(len(titles), row.fields)
        for label, column in named.items():
            column.append(row.fields.get(label))
        titles.append(row.title)
        texts.append(row.text)
    if not titles:
        raise DataError(f"has no {wanted.what}", path=place)
    for label, column in named.items():
        if all(value is None for value in column):
            raise DataError(f"none of the {len(titles)} {wanted.what} has a field {label!r}", path=place)
    if others is not None:
        named |= others.columns(len(titles), written, place)
    return Collection(list(line_of), titles, texts.finish(), named, name)


def _flat(record: Record) -> Record:
    """Return the record with fields of nested objects named by path, such as `meta.year`."""
    if not any(isinstance(value, dict) for value in record.fields.values()):
        return record
    return Record(record.line, dict(_paths(record.fields, "")), record.escaped)


def _paths(fields: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in fields.items():
        yield prefix + key, value
        if isinstance(value, dict) and prefix.count(".") < 8:
            yield from _paths(value, f"{prefix}{key}.")


def _rows(records: Iterable[Record], roles: Roles, wanted: Wanted, table: Table) -> Iterator[Row]:
    n_rows, n_without, others = 0, 0, dict[str, None]()
    _report_roles(roles, wanted, table)
    for record in records:
        fields, place, line = record.fields, table.place, record.line
        if table.standard and wanted.is_query and "title" in fields:
            raise DataError("3 columns between tabs, want id<TAB>text", path=place, line=line)
        doc_id = _id(fields, roles, place, line) if roles.id else str(n_rows)
        title = "" if wanted.is_query else _text(fields, (roles.title,), False, place, line)
        text = _text(fields, roles.text, wanted.is_query, place, line)
        if record.escaped:
            _check_characters([doc_id, title, text, *(fields.get(name) for name in wanted.extras or ())], place, line)
        if not wanted.is_query and not any(name in fields for name in roles.text):
            n_without += 1
            others |= {key: None for key, value in fields.items() if isinstance(value, str) and key not in roles.used}
        n_rows += 1
        yield Row(line, doc_id, title, text, fields)
    if n_without:
        named = f"; other fields: {', '.join(list(others)[:5])}" if others else ""
        label = roles.text[0] if roles.text else "text"
        logger.warning("%s: %d of %d %s have no field %s%s", table.place, n_without, n_rows, wanted.what, label, named)


def _report_roles(roles: Roles, wanted: Wanted, table: Table) -> None:
    if not roles.is_standard and not table.standard and str(roles) and table.place:
        logger.warning("%s: %s", table.place, roles)
    if not roles.id:
        logger.warning("%s: no column is an id: %s are numbered from 0", table.place or wanted.what, wanted.what)


def _check_characters(values: Sequence[Any], place: str, line: int) -> None:
    if bad := forbidden_character(values):
        raise DataError(f"a string contains the character {bad}, want text", path=place, line=line)


def _id(fields: Mapping[str, Any], roles: Roles, place: str, line: int) -> str:
    given = [fields[name] for name in roles.id if name in fields]
    if len(given) == 2 and str(given[0]) != str(given[1]):
        found = f"id is {given[0]!r} and _id is {given[1]!r}"
        raise DataError(f"{found}, want one of them or the same twice", path=place, line=line)
    value = given[0] if given else None
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
        return id_text(value)
    label = next((name for name in roles.id if name in fields), "")
    kind = shown(value) if isinstance(value, float) else kind_of(value)
    found = f"{label} is {kind}" if label else f"no field {' or '.join(roles.id)}"
    raise DataError(f"{found}, want a string or a whole number", path=place, line=line)


def _text(fields: Mapping[str, Any], names: Sequence[str], needed: bool, place: str, line: int) -> str:
    """Return the text of some columns, joined by line breaks."""
    parts = [_one_text(fields, name, needed, place, line) for name in names if name]
    return "\n".join(part for part in parts if part) if len(parts) != 1 else parts[0]


def _one_text(fields: Mapping[str, Any], name: str, needed: bool, place: str, line: int) -> str:
    value = fields.get(name)
    if isinstance(value, str):
        return value
    if value is None and not needed:
        return ""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    found = f"{name} is {kind_of(value)}" if name in fields else f"no field {name}"
    raise DataError(f"{found}, want a string", path=place, line=line)


class _Fields:
    """Values of all fields without a role, by name and row."""

    def __init__(self, used: set[str]) -> None:
        self._used, self._values = used, dict[str, tuple[list[int], list[Any]]]()
        self._too_many: set[str] = set()

    def add(self, row: int, fields: Mapping[str, Any]) -> None:
        """Add the values of a row."""
        for name, value in fields.items():
            if name in self._used or isinstance(value, dict):
                continue
            if name not in self._values:
                if len(self._values) >= MAX_FIELDS:
                    self._too_many.add(name) if len(self._too_many) < MAX_FIELDS else None
                    continue
                self._values[name] = ([], [])
            if value is not None:
                rows, values = self._values[name]
                rows.append(row)
                values.append(value)

    def columns(self, n_rows: int, written: Written, place: str) -> dict[str, Column]:
        """Return typed columns; report fields that cannot be kept."""
        found, left_out = dict[str, Column](), list[str]()
        for name, (rows, values) in self._values.items():
            dense: list[Any] = [None] * n_rows
            for row, value in zip(rows, values, strict=True):
                dense[row] = _clean(value)
            try:
                column = make_column(dense, parse=written)
            except TacitError as error:
                left_out.append(f"{name} ({str(error).partition(',')[0]})")
                continue
            if column.present().any():
                found[_clean(name)] = column
        if self._too_many:
            left_out.append(f"fields beyond the first {MAX_FIELDS}, such as {min(self._too_many)}")
        if left_out:
            logger.warning("%s: left out: %s: %s", place, plural(len(left_out), "field"), "; ".join(left_out[:5]))
        return found


def _clean(value: Any) -> Any:
    """Return the value with U+FFFD for characters that files cannot store."""
    if isinstance(value, str):
        if "\0" in value or not value.isascii():
            return _HALVES.sub("\ufffd", value)
        return value
    return [_clean(item) for item in value] if isinstance(value, list) else value
