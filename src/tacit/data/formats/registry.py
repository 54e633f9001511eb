"""The formats of tables: each has suffixes, a test of the first bytes, and a reader.

To add one, write a file with `read_…(source)`, and `is_…(start)` if first bytes are certain; add its line to FORMATS.
First bytes decide where they are certain; then the suffix; then the first line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from tacit.data.files import FilePath, read_lines
from tacit.data.formats.arrow import is_arrow, is_parquet, read_arrow, read_parquet
from tacit.data.formats.delimited import header_names, looks_like_csv, read_csv, read_tsv
from tacit.data.formats.foreign import describe_foreign, html_start
from tacit.data.formats.json_files import is_json, read_json
from tacit.data.formats.roles import find_columns
from tacit.data.formats.source import ReadOptions, Source, Table, open_source
from tacit.data.formats.sqlite import is_sqlite, read_sqlite


class Format(NamedTuple):
    """A format: its name, suffixes, a test for unambiguous first bytes, and its reader."""

    name: str
    suffixes: tuple[str, ...]
    is_certain: Callable[[bytes], bool] | None
    read: Callable[[Source], Table]


FORMATS = (
    Format("parquet", (".parquet", ".pq"), is_parquet, read_parquet),
    Format("Arrow", (".arrow", ".feather", ".ipc"), is_arrow, read_arrow),
    Format("SQLite", (".db", ".sqlite", ".sqlite3"), is_sqlite, read_sqlite),
    Format("JSON", (".jsonl", ".ndjson", ".json"), None, read_json),
    Format("CSV", (".csv",), None, read_csv),
    Format("TSV", (".tsv", ".tab"), None, read_tsv),
)
SUFFIXES = tuple(suffix for form in FORMATS for suffix in form.suffixes)
_LINES = ("JSON", "TSV")  # files with these suffixes may also be lines of another form, such as judgments


def read_table(path: FilePath, options: ReadOptions | None = None) -> Table:
    """Read the rows of a file in any of the formats."""
    return table_of(open_source(path, options))


def table_of(source: Source) -> Table:
    """Read the rows of an open file."""
    return find_format(source).read(source)


def has_certain_start(source: Source) -> bool:
    """Return whether the first bytes identify one of the formats unambiguously."""
    return any(form.is_certain is not None and form.is_certain(source.start) for form in FORMATS)


def is_table(source: Source, names: Mapping[str, Sequence[str]], optional: Collection[str] = ()) -> bool:
    """Return whether a file is a table with columns of these names, rather than lines in another form.

    Formats with certain first bytes, CSV and JSON are tables. Lines of text are if the first line names columns.
    """
    if has_certain_start(source) or is_json(source.start):
        return True
    if foreign := describe_foreign(source.start):
        raise source.problem(f"this is {foreign}")
    named = _named(source)
    if named is not None and named.name not in _LINES:
        return True
    first = next((line for line in source.start.decode("utf-8", "replace").splitlines() if line.strip()), "")
    try:
        find_columns(header_names(first), names, optional)
    except KeyError:
        return False
    return True


def find_format(source: Source) -> Format:
    """Return the format of a file; raise a DataError that says what an unsupported file is."""
    for form in FORMATS:
        if form.is_certain is not None and form.is_certain(source.start):
            return form
    if foreign := describe_foreign(source.start):
        raise source.problem(f"this is {foreign}")
    named = _named(source)
    if named is not None and named.is_certain is not None:
        raise source.problem(f"the suffix is {source.suffix}, but the content is not {named.name}")
    return named or _by_first_line(source)


def _named(source: Source) -> Format | None:
    """The format that the suffix names."""
    return next((form for form in FORMATS if source.suffix in form.suffixes), None)


def _by_first_line(source: Source) -> Format:
    by_name = {form.name: form for form in FORMATS}
    if is_json(source.start):
        return by_name["JSON"]
    if html_start(source.start):
        raise source.problem("this is a page of HTML; give a folder of pages, or JSON lines")
    number, line = _first_line(source)
    if "\t" in line:
        return by_name["TSV"]
    if looks_like_csv(line):
        return by_name["CSV"]
    if not line:
        return by_name["JSON"]  # it finds no rows
    wanted = "want one of these per line, CSV with a header, or a MediaWiki dump"
    raise source.problem(f"neither a JSON object nor id<TAB>text, {wanted}", number)


def _first_line(source: Source) -> tuple[int, str]:
    """Return the first line that is not blank; the chunks can still be read."""
    taken: list[bytes] = []

    def kept() -> Iterator[bytes]:
        for chunk in source.chunks:
            taken.append(chunk)
            yield chunk

    lines = read_lines(source.path, kept())
    found = next(((number, line) for number, line in lines if line and not line.isspace()), (1, ""))
    source.chunks = chain(taken, source.chunks)
    return found
