"""Tables of text: CSV between commas or semicolons with quotes, and TSV with or without a header.

A CSV file has a header. Of comma, semicolon, tab and bar, the delimiter is the one that cuts the header into the most
columns. The first line of a TSV file is a header if it holds names of columns only, or more than three columns of which
one has a known name. Cells below a header may be quoted as in CSV, within their line; other quotes and backslashes are
text. Without a header a line is `id<TAB>text` or `id<TAB>title<TAB>text`, and nothing is quoted.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tacit.core import plural
from tacit.data.columns import split_tabs
from tacit.data.files import max_line_bytes, read_lines
from tacit.data.formats.roles import is_known, listed
from tacit.data.formats.source import Record, Source, Table

DELIMITERS = ",;\t|"


def read_csv(source: Source) -> Table:
    """A table with a header, quoted as spreadsheets do."""
    header, rows = _csv_rows(source)
    if not header:
        return Table((), source.place)
    return Table(_records(header, rows, source), source.place, written=True, columns=tuple(header))


def read_tsv(source: Source) -> Table:
    """Lines between tabs, with or without a header."""
    lines = source.lines()
    first = next(lines, None)
    if first is None:
        return Table((), source.place)
    number, line = first
    header = _tsv_header(line, source.options.named)
    if header is None:
        return Table(_bare_records(chain([first], lines), source), source.place, standard=True)
    _check_header(header, source, number)
    rows = ((n, _tsv_cells(text, source, n)) for n, text in lines)
    return Table(_records(header, rows, source), source.place, written=True, columns=tuple(header))


def looks_like_csv(line: str) -> bool:
    """Whether a first line without a known suffix is the header of a CSV file: names between commas or semicolons.

    >>> looks_like_csv("sku,name,price"), looks_like_csv("a sentence, with a comma")
    (True, False)
    """
    names = header_names(line)
    return len(names) > 1 and all(name.replace("_", "").replace("-", "").isalnum() for name in names)


def header_names(line: str) -> list[str]:
    """The cells of a line as names of columns."""
    return [name.strip().strip('"') for name in line.removeprefix("\ufeff").split(_delimiter(line))]


def _delimiter(header: str) -> str:
    """The delimiter that cuts a header most often, outside of quotes.

    >>> _delimiter('id;"a,b,c";name'), _delimiter("text")
    (';', ',')
    """
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def _csv_rows(source: Source) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    lines = read_lines(source.path, source.chunks)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return [], iter(())
    named = first[1].removeprefix("sep=") if len(first[1]) == 5 and first[1].startswith("sep=") else ""  # by Excel
    if named:
        first = next(((number, line) for number, line in lines if line.strip()), (first[0] + 1, ""))
    delimiter = named or ("\t" if source.suffix in (".tsv", ".tab") else _delimiter(first[1]))
    rows = _parsed(chain([first], lines), delimiter, source)
    number, header = next(rows, (first[0], []))
    header = [" ".join(name.split()) for name in header]
    _check_header(header, source, number)
    return header, rows


def _parsed(lines: Iterable[tuple[int, str]], delimiter: str, source: Source) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their first line; a quoted cell may have several lines."""
    at = [0]

    def texts() -> Iterator[str]:
        for number, line in lines:
            at[0] = number
            if "\0" in line:
                raise source.problem("the line contains the character U+0000, want text", number)
            yield line + "\n"

    csv.field_size_limit(max(csv.field_size_limit(), max_line_bytes()))
    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    last = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise source.problem(
                f"is no CSV: {error}, in a row that begins in line {last + 1} or later", at[0]
            ) from None
        if cells is None:
            return
        if cells and (len(cells) > 1 or cells[0].strip()):
            yield last + 1 if at[0] - last > 1 else at[0], cells
        last = at[0]


def _check_header(header: Sequence[str], source: Source, number: int) -> None:
    twice = next((name for place, name in enumerate(header) if name and name in header[:place]), None)
    if twice is not None:
        raise source.problem(f"the header has the column {twice!r} twice, want different names", number)


def _records(header: Sequence[str], rows: Iterable[tuple[int, list[str]]], source: Source) -> Iterator[Record]:
    names = [name or f"column {place}" for place, name in enumerate(header, start=1)]
    for number, cells in rows:
        if len(cells) != len(names):
            found = f"{plural(len(cells), 'column')}, want {len(names)} as in the header ({listed(names)})"
            raise source.problem(found, number)
        yield Record(number, dict(zip(names, cells, strict=True)))


def _tsv_header(line: str, named: Sequence[str]) -> list[str] | None:
    """The names of the columns if the line is a header."""
    names = [_unquoted(name.strip()) for name in line.split("\t")]
    wide = len(names) > 3 and any(map(is_known, names))
    if wide or (len(names) > 1 and all(map(is_known, names))) or (named and set(named) <= set(names)):
        return names
    return None


def _unquoted(cell: str) -> str:
    """The content of a cell that is quoted as a whole, with its own quotes doubled.

    >>> _unquoted('"a ""b"" c"'), _unquoted('"a" or "b"')
    ('a "b" c', '"a" or "b"')
    """
    inner = cell[1:-1]
    if len(cell) < 2 or not (cell[0] == cell[-1] == '"') or '"' in inner.replace('""', ""):
        return cell
    return inner.replace('""', '"')


def _tsv_cells(line: str, source: Source, number: int) -> list[str]:
    if "\0" in line:
        raise source.problem("the line contains the character U+0000, want text", number)
    return [_unquoted(cell) for cell in line.split("\t")] if '"' in line else line.split("\t")


def _bare_records(lines: Iterable[tuple[int, str]], source: Source) -> Iterator[Record]:
    """Lines without a header: id, title and text, or id and text."""
    names: tuple[str, ...] = ()
    for number, line in lines:
        if "\0" in line:
            raise source.problem("the line contains the character U+0000, want text", number)
        if not names:
            form = "id<TAB>text or id<TAB>title<TAB>text, or a first line of column names"
            cells = split_tabs(line, form, (2, 3), source.place, number)
            names = ("id", "text") if len(cells) == 2 else ("id", "title", "text")
        cells = split_tabs(line, f"{len(names)} as in the first line", (len(names),), source.place, number)
        yield Record(number, dict(zip(names, cells, strict=True)))
