"""Tables of an SQLite database: the only table, or a named one."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tacit.core import DataError
from tacit.data.files import split_suffix
from tacit.data.formats.source import Record, Source, Table

_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"


def is_sqlite(start: bytes) -> bool:
    """Return whether a file begins like an SQLite database."""
    return start.startswith(b"SQLite format 3\0")


def read_sqlite(source: Source) -> Table:
    """Read the rows of one table."""
    if os.fspath(source.path) == "-" or split_suffix(source.path)[1]:
        raise source.problem("an SQLite database must be a plain file, not compressed or standard input")
    database = sqlite3.connect(f"{Path(source.path).resolve().as_uri()}?mode=ro", uri=True)
    try:
        name = _choose(database, source)
        quoted = '"' + name.replace('"', '""') + '"'
        cursor = database.execute(f"SELECT * FROM {quoted}")  # the name is from the database itself
    except (sqlite3.Error, UnicodeDecodeError) as error:
        database.close()
        raise _unreadable(source, error) from None
    except BaseException:
        database.close()
        raise
    columns = tuple(str(column[0]) for column in cursor.description)
    return Table(_rows(database, cursor, columns, source), source.place, columns=columns)


def _unreadable(source: Source, error: Exception, row: int | None = None) -> DataError:
    return source.problem(f"the SQLite database cannot be read: {' '.join(str(error).split())[:200]}", row)


def _choose(database: sqlite3.Connection, source: Source) -> str:
    tables = [str(name) for (name,) in database.execute(_TABLES)]
    wanted = source.options.table
    if wanted in tables:
        return wanted
    if not tables:
        raise source.problem("the SQLite database has no table")
    if wanted or len(tables) > 1:
        found = f"has no table {wanted!r}, only" if wanted else "is an SQLite database with the tables"
        raise source.problem(f"{found} {', '.join(tables[:10])}; choose one with --table")
    return tables[0]


def _rows(
    database: sqlite3.Connection, cursor: sqlite3.Cursor, columns: tuple[str, ...], source: Source
) -> Iterator[Record]:
    number = 0
    try:
        for number, values in enumerate(cursor, start=1):
            yield Record(number, dict(zip(columns, values, strict=True)), True)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _unreadable(source, error, number + 1) from None
    finally:
        database.close()
