"""An open input file: its first bytes, and its plain bytes as UTF-8.

A byte order mark identifies UTF-16 and UTF-32; the user names any other encoding (`encoding`).
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tacit.core import DataError, UsageError, check_kind
from tacit.core.fields import Written
from tacit.data.compression import DamagedError
from tacit.data.files import FilePath, damaged_at, display_name, peek, read_bytes, read_lines, split_suffix

N_HEAD = 4096
_MARKS = {  # the longer mark first, because UTF-32's begins like UTF-16's
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class ReadOptions:
    """The user's options for a file.

    Parameters
    ----------
    id, title : str, default=""
        Names of the id and title columns; empty: guessed.
    text : tuple of str, default=()
        Names of the text columns, in order; empty: guessed.
    encoding : str, default=""
        Encoding of the file; empty: UTF-8, or the encoding of a byte order mark.
    table : str, default=""
        Table of an SQLite database; empty: the only one.
    """

    id: str = ""
    title: str = ""
    text: tuple[str, ...] = ()
    encoding: str = ""
    table: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """Return the named columns."""
        return tuple(name for name in (self.id, self.title, *self.text) if name)


class Record(NamedTuple):
    """One row of a table: its number (of the line or row), and its fields.

    `escaped`: strings may contain characters that are invalid in text files, and must be checked.
    """

    line: int
    fields: Mapping[str, Any]
    escaped: bool = False


@dataclass
class Table:
    """Rows of a file.

    Parameters
    ----------
    records : iterable of Record
        Rows.
    place : str
        Name of the file for messages.
    written : bool or "decimal comma", default=False
        Whether values are text, as in CSV, so that their types are found by parsing (`make_column`).
    columns : tuple of str, default=()
        Names of all columns, if the format has them; otherwise they are found in the first rows.
    standard : bool, default=False
        Whether the format defines the columns as `id`, `title` and `text`.
    """

    records: Iterable[Record]
    place: str
    written: Written = False
    columns: tuple[str, ...] = ()
    standard: bool = False


@dataclass
class Source:
    """An open file; its bytes can be read once."""

    path: FilePath
    options: ReadOptions
    start: bytes
    chunks: Iterator[bytes] = field(repr=False)

    @property
    def place(self) -> str:
        """The name for messages."""
        return display_name(self.path)

    @property
    def suffix(self) -> str:
        """Suffix of the format, in lower case."""
        return split_suffix(self.path)[0]

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield lines with their numbers, without blank ones."""
        numbered = read_lines(self.path, self.chunks)
        return ((number, line) for number, line in numbered if line and not line.isspace())

    def problem(self, problem: str, line: int | None = None) -> DataError:
        """Return an error about this file."""
        return DataError(problem, path=self.place, line=line)


def open_source(path: FilePath, options: ReadOptions | None = None) -> Source:
    """Open a file, plain or compressed, in its encoding: a byte order mark takes precedence over the options."""
    options = ReadOptions() if options is None else check_kind("options", options, ReadOptions, "ReadOptions")
    try:
        start, chunks = peek(read_bytes(path), N_HEAD)
    except DamagedError as damage:
        raise damaged_at(path, damage) from None
    marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), "")
    encoding = marked or options.encoding or ""
    if encoding and not _is_utf8(encoding) and (options.encoding or not is_xml(start)):  # XML declares its own encoding
        start, chunks = peek(_as_utf8(chunks, encoding, path), N_HEAD)
    return Source(path, options, start, chunks)


def is_xml(start: bytes) -> bool:
    """Return whether a file begins like XML, in UTF-8 or UTF-16.

    >>> is_xml(b"\\xff\\xfe<\\0m\\0e\\0d\\0i\\0a\\0w\\0i\\0k\\0i\\0 \\0"), is_xml(b'{"id": "<?xml"}')
    (True, False)
    """
    for mark in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        start = start.removeprefix(mark)
    return start.replace(b"\0", b"").lstrip().startswith((b"<?xml", b"<mediawiki"))


def _is_utf8(encoding: str) -> bool:
    """Return whether the name means UTF-8; raise UsageError unless it is a text encoding.

    >>> _is_utf8("UTF8"), _is_utf8("latin-1")
    (True, False)
    """
    try:
        name = codecs.lookup(encoding).name
        "a".encode(encoding)
    except (LookupError, ValueError, UnicodeError):
        raise UsageError(f"encoding is {encoding!r}, want the name of one, such as latin-1, cp1252 or utf-16") from None
    return name in ("utf-8", "utf-8-sig")


def _as_utf8(chunks: Iterable[bytes], encoding: str, path: FilePath) -> Iterator[bytes]:
    decoder, n_lines, last = codecs.getincrementaldecoder(encoding)(), 1, False
    try:
        for chunk in chunks:
            text = decoder.decode(chunk)
            n_lines += text.count("\n")
            yield text.encode("utf-8")
        last = True
        yield decoder.decode(b"", final=True).encode("utf-8")
    except UnicodeError:
        found = "ends within a character" if last else "the bytes are not text"
        raise DataError(f"{found} in the encoding {encoding}", path=display_name(path), line=n_lines) from None
