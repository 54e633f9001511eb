"""Import and export of judgments: CSV, which keeps every record, and TREC, BEIR and LETOR files.

The CSV columns are the fields of `Judgment`; `query`, `document` and `grade` are required. An empty grade means "cannot
judge"; rows with the grade `?` are not judged yet and are skipped. A row without `query` gets its id from `text`.
Tables with other columns, such as spreadsheets, are read as `read_qrels` does.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.core import DataError, TacitError, checked, plural
from tacit.data import open_output, read_qrels
from tacit.data.columns import parse_number
from tacit.data.files import FilePath, display_name, read_blocks, split_suffix
from tacit.data.formats.delimited import header_names
from tacit.data.formats.roles import JUDGMENT_NAMES, find_columns
from tacit.data.formats.source import ReadOptions, open_source
from tacit.judge.records import FIELDS, MAX_TEXT, Judgment, as_utc, typed_query_id, typed_text, utc_now
from tacit.judge.store import JudgmentStore

NEEDED = {"query", "document", "grade"}
DEFAULT_JUDGE = "imported"
NOT_YET = "?"  # grade of a row that is not judged yet


@dataclass(frozen=True)
class Imported:
    """Result of an import: number of records read, and number of records new to the store."""

    n_read: int
    n_new: int


@checked
def import_judgments(
    store: JudgmentStore,
    path: FilePath,
    *,
    judge: str | None = None,
    kind: str = "person",
    encoding: str | None = None,
    table: str | None = None,
) -> Imported:
    """Append the judgments of a table, TREC, BEIR or LETOR file to a store; all of them, or none if one is invalid.

    Parameters
    ----------
    store : JudgmentStore
        The store.
    path : str or Path
        The file: CSV with the columns of records, or what `read_qrels` reads.
    judge : str or None, default=None
        Judge of judgments without a judge; None: `imported`.
    kind : {"person", "program"}, default="person"
        Kind of that judge.
    encoding, table : str or None, default=None
        Encoding of the file, and table of an SQLite database.

    Notes
    -----
    If a query in the file contains a space, the file names queries by text, unless a column `text` has the texts.
    Records already in the store are skipped. Formats without times get the current time, and only judgments that differ
    from the judge's current judgment are appended.
    """
    judge = DEFAULT_JUDGE if judge is None else judge
    if split_suffix(path)[0] == ".csv" and not _is_other_table(path, encoding):
        records = _by_text(store, read_csv(path, judge, kind, encoding))
    else:
        held = {(j.query, j.document): (j.grade, j.probability) for j in store.current(judge)}
        found = _by_text(store, list(_from_qrels(path, judge, kind, encoding, table)))
        records = [j for j in found if held.get((j.query, j.document), ()) != (j.grade, j.probability)]
        return Imported(len(found), store.import_records(records))
    return Imported(len(records), store.import_records(records))


def _is_other_table(path: FilePath, encoding: str | None) -> bool:
    """Return whether a CSV file has other columns or another delimiter than records, so columns must be guessed."""
    start = open_source(path, ReadOptions(encoding=encoding or "")).start.decode("utf-8", "replace")
    first = next(iter(start.removeprefix("\ufeff").splitlines()), "")
    names = header_names(first)
    if set(names) <= set(FIELDS) and "," in first:
        return False
    try:
        found = find_columns(names, JUDGMENT_NAMES)
    except KeyError:
        return False
    return not set(names) & (set(FIELDS) - NEEDED - {"text"}) and (";" in first or set(found.values()) != set(found))


def _by_text(store: JudgmentStore, records: list[Judgment]) -> list[Judgment]:
    """Return records with query ids, if the file names queries by text."""
    if not any(len(record.query.split()) > 1 for record in records if record.text is None):
        return records
    names = {record.query: store.query_id(record.query) for record in records if record.text is None}
    return [
        replace(record, query=names[record.query], text=typed_text(record.query))
        if record.text is None and names[record.query] != record.query
        else record
        for record in records
    ]


@checked
def write_csv(records: Sequence[Judgment], path: FilePath) -> None:
    """Write records so that `read_csv` returns the same records."""
    with open_output(path) as out:
        out.writelines(csv_lines(records))


def csv_lines(records: Sequence[Judgment]) -> Iterator[str]:
    """Return the CSV lines of records, the header first."""
    yield ",".join(FIELDS) + "\n"
    for record in records:
        yield ",".join(_cell(getattr(record, name)) for name in FIELDS) + "\n"


@checked
def read_csv(
    path: FilePath, judge: str = DEFAULT_JUDGE, kind: str = "person", encoding: str | None = None
) -> list[Judgment]:
    """Read records from a CSV file; `judge` and `kind` are for rows without a judge."""
    place, now = display_name(path), utc_now()
    rows = _csv_rows(path, place, encoding)
    _, header = next(rows, (1, []))
    unknown = [name for name in header if name not in FIELDS]
    if unknown or not set(header) >= NEEDED or len(set(header)) != len(header):
        found = f"the columns are {','.join(header)[:200]!r}"
        wanted = f"want query,document,grade and any of {','.join(f for f in FIELDS if f not in NEEDED)}"
        raise DataError(f"{found}, {wanted}, each once", path=place, line=1)
    records = []
    for line, cells in rows:
        if len(cells) != len(header):
            raise DataError(f"{plural(len(cells), 'column')}, want {len(header)}", path=place, line=line)
        named = dict(zip(header, cells, strict=True))
        if named["grade"] == NOT_YET:
            continue
        try:
            records.append(_record(named, judge, kind, now))
        except TacitError as error:
            raise DataError(str(error), path=place, line=line) from None
    return records


def _csv_rows(path: FilePath, place: str, encoding: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its last line, cells) of each row that is not blank."""
    source = open_source(path, ReadOptions(encoding=encoding or ""))
    content = b"".join(block for _, block in read_blocks(path, source.chunks))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"byte 0x{content[error.start]:02x} is not UTF-8", path=place, line=line) from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    limit = csv.field_size_limit(MAX_TEXT + 1)
    try:
        yield from ((reader.line_num, cells) for cells in reader if cells)
    except csv.Error as error:
        raise DataError(f"is not CSV: {error}", path=place, line=reader.line_num) from None
    finally:
        csv.field_size_limit(limit)


def _record(cells: dict[str, str], judge: str, kind: str, now: str) -> Judgment:
    given = {name: cell for name, cell in cells.items() if cell}
    values: dict[str, Any] = {"judge": judge, "kind": kind, "time": now, "grade": None, **given}
    if "judge" in given:
        values["kind"] = given.get("kind", "person")
    if given.get("action") == "drawn":
        values["judge"] = given.get("judge", "")
    for name in ("grade", "probability", "rank"):
        if name in given:
            values[name] = _number(name, given[name])
    values["time"] = as_utc(values["time"])
    if "query" not in given and "text" in given:
        values |= {"query": typed_query_id(given["text"]), "text": typed_text(given["text"])}
    return Judgment(**{"query": "", "document": "", **values})


def _number(name: str, text: str) -> float | int:
    number = parse_number(text)
    if np.isnan(number):
        raise TacitError(f"{name} is {text!r}, want a finite number")
    return int(number) if name == "rank" and number == int(number) else number


def _from_qrels(path: FilePath, judge: str, kind: str, encoding: str | None, table: str | None) -> Iterator[Judgment]:
    judgments, now = read_qrels(path, encoding=encoding, table=table), utc_now()
    chances = np.full(len(judgments), np.nan) if judgments.probability is None else judgments.probability
    columns = judgments.query, judgments.doc, judgments.grade, chances
    for q, d, grade, chance in zip(*(column.tolist() for column in columns), strict=True):
        known = chance if chance == chance else None
        query, document = judgments.query_ids[q], judgments.doc_ids[d]
        yield Judgment(query, document, grade, judge, now, kind=kind, probability=known)


def _cell(value: Any) -> str:
    """Return the value as a CSV cell; csv.writer would not quote a lone carriage return."""
    text = "" if value is None else repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text
