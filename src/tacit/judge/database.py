"""The SQLite file of a judgment store: its tables, how it is opened, and its errors as one line.

The file is in WAL mode with `synchronous=FULL`: a committed record survives a crash of the process and of the
machine. Triggers refuse to change or delete a record.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import quote

from tacit.core import StoreError, TacitError

APPLICATION_ID = 0x74616A64  # "tajd"
VERSION = 1
SECONDS_TO_WAIT = 30.0  # to wait for another process that writes
SYNCHRONOUS = "FULL"  # each commit waits for the disk

TABLES = (
    "CREATE TABLE query (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT, topic TEXT)",
    "CREATE INDEX query_text ON query (text)",
    "CREATE TABLE judge (name TEXT PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('person', 'program')))",
    """CREATE TABLE judgment (
         number INTEGER PRIMARY KEY AUTOINCREMENT,
         query INTEGER NOT NULL REFERENCES query,
         document TEXT NOT NULL,
         grade REAL,
         judge TEXT REFERENCES judge,
         time TEXT NOT NULL,
         rank INTEGER,
         model TEXT,
         probability REAL,
         display TEXT,
         action TEXT NOT NULL CHECK (action IN ('judged', 'withdrawn', 'drawn')),
         CHECK ((judge IS NULL) = (action = 'drawn')))""",
    "CREATE INDEX judgment_pair ON judgment (query, document, judge, time)",
    """CREATE TRIGGER keep_judgments BEFORE DELETE ON judgment
       BEGIN SELECT RAISE(ABORT, 'judgments are never deleted'); END""",
    """CREATE TRIGGER fix_judgments BEFORE UPDATE ON judgment
       BEGIN SELECT RAISE(ABORT, 'judgments are never changed'); END""",
)

DAMAGED = "is damaged; `tacit judgments repair STORE -o NEW` saves every record that can be read"
REASONS = {
    "SQLITE_FULL": "the disk is full; this change was not recorded",
    "SQLITE_READONLY": "is read-only; this change was not recorded",
    "SQLITE_NOTADB": "is not a judgment store",
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_BUSY": f"is locked by another process for more than {SECONDS_TO_WAIT:g} seconds",
    "SQLITE_CANTOPEN": "cannot be opened or created; want a file in an existing, writable folder",
    "SQLITE_IOERR": "the disk reports an error; this change was not recorded",
}


class DiskError(StoreError):
    """The disk refused a record."""


class DiskFullError(DiskError):
    """The disk has no space for a record."""


def connect(path: Path, *, read_only: bool = False, create: bool = True) -> sqlite3.Connection:
    """Open the file, creating it and its tables if needed; a file that is not a judgment store is left untouched."""
    if path.is_dir():
        raise StoreError(f"{path}: is a folder, want a judgment store file")
    exists = path.exists() and path.stat().st_size > 0
    if not exists and (read_only or not create):
        raise StoreError(f"{path}: no such judgment store")
    with one_line(path):
        database = _open(path, read_only)
        try:
            if not read_only:
                _prepare(database, path)
            if not _is_ours(database, path):
                raise StoreError(f"{path}: has no tables, want a judgment store")
        except BaseException:
            database.close()
            raise
    return database


@contextmanager
def one_line(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        reason = next((text for code, text in REASONS.items() if name.startswith(code)), str(error))
        if reason.startswith("Could not decode"):
            reason = DAMAGED
        refused = DiskError if reason.endswith("not recorded") else StoreError
        kind = DiskFullError if name.startswith("SQLITE_FULL") else refused
        raise kind(f"{path}: {reason}") from error
    except (OverflowError, UnicodeEncodeError) as error:  # a value of the caller
        raise StoreError(f"{path}: cannot be looked up in the store: {error}") from error
    except UnicodeDecodeError as error:  # SQLite's message cites what it cannot read
        raise StoreError(f"{path}: {DAMAGED}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


@contextmanager
def damage_in_one_line(path: Path) -> Iterator[None]:
    """Turn errors from invalid stored values into one line that names the file."""
    try:
        yield
    except TacitError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: {DAMAGED}") from error


@contextmanager
def transaction(database: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """One transaction, for writing by default: it is committed to disk completely, or not at all."""
    database.execute(begin)
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def _open(path: Path, read_only: bool) -> sqlite3.Connection:
    address = f"file:{quote(os.path.abspath(path))}"
    if read_only and not os.path.exists(f"{path}-wal") and not os.access(path.parent, os.W_OK):
        address += "?immutable=1"  # not writable, so SQLite cannot create its lock files either
    elif read_only:
        address += "?mode=ro"
    return sqlite3.connect(address, uri=True, timeout=SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False)


def _is_ours(database: sqlite3.Connection, path: Path) -> bool:
    """Return whether the tables exist; raise if another program owns the file."""
    questions = ("SELECT count(*) FROM sqlite_master", "PRAGMA application_id", "PRAGMA user_version")
    with nullcontext() if database.in_transaction else transaction(database, "BEGIN"):  # one state for all queries
        n_tables, application, version = (database.execute(question).fetchone()[0] for question in questions)
    if n_tables and application != APPLICATION_ID:
        raise StoreError(f"{path}: is an SQLite file of another program, want a judgment store")
    if n_tables and version != VERSION:
        raise StoreError(f"{path}: is a judgment store of version {version}, want {VERSION}; update tacit to read it")
    if n_tables:
        _refuse_programs(database, path)
    return bool(n_tables)


def _refuse_programs(database: sqlite3.Connection, path: Path) -> None:
    """Raise if the file has a view, a trigger or a virtual table of its own: SQLite would run it at each query."""
    own = {" ".join(statement.split()) for statement in TABLES}
    kinds = "type IN ('view', 'trigger') OR (type = 'table' AND rootpage = 0)"  # virtual tables have no root page
    for kind, name, text in database.execute(f"SELECT type, name, sql FROM sqlite_master WHERE {kinds}"):
        if " ".join(str(text).split()) not in own:
            raise StoreError(f"{path}: has the {kind} {name!r}, which is not from tacit; the file {DAMAGED}")


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    """Set up a store for writing, and create the tables of a new one."""
    ours = _is_ours(database, path)
    database.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
    _enter_wal_mode(database)
    database.execute("PRAGMA foreign_keys=ON")
    if not ours:
        with transaction(database):
            if not _is_ours(database, path):  # another process may have created them
                for statement in TABLES:
                    database.execute(statement)
                database.execute(f"PRAGMA application_id={APPLICATION_ID}")
                database.execute(f"PRAGMA user_version={VERSION}")


def _enter_wal_mode(database: sqlite3.Connection) -> None:
    """Switch to WAL; SQLite does not wait when another process does the same."""
    end = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > end:
                raise
            time.sleep(0.01)
