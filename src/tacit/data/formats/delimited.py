"""Tables of text: CSV with commas or semicolons and quotes, and TSV with or without a header.

A CSV file has a header. The delimiter is whichever of comma, semicolon, tab and bar splits the header into the most
columns. The first line of a TSV file is a header if it contains only names of columns, or more than three columns of
which one has a known name. Cells below a header may be quoted as in CSV; other quotes and backslashes are text. A row
with too few cells, the last of which begins with a quotation mark, continues on the next lines; in a row with too many,
tabs between quotes are text. With semicolons, numbers may have a decimal comma. Without a header a line is
`id<TAB>text` or `id<TAB>title<TAB>text`, without quoting.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tacit.core import plural
from tacit.core.fields import Written
from tacit.data.columns import split_tabs
from tacit.data.files import max_line_bytes, read_lines
from tacit.data.formats.roles import is_known, listed
from tacit.data.formats.source import Record, Source, Table

DELIMITERS = ",;\t|"


def read_csv(source: Source) -> Table:
    """Read a table with a header, quoted as in spreadsheets."""
    header, rows, delimiter = _csv_rows(source)
    if not header:
        return Table((), source.place)
    written: Written = "decimal comma" if delimiter == ";" else True
    return Table(_records(header, rows, source), source.place, written=written, columns=tuple(header))


def read_tsv(source: Source) -> Table:
    """Read tab-separated lines, with or without a header."""
    lines = read_lines(source.path, source.chunks)
    first = next((found for found in lines if found[1].strip()), None)
    if first is None:
        return Table((), source.place)
    number, line = first
    header = _tsv_header(line, source.options.named)
    if header is None:
        written = (found for found in lines if found[1].strip())
        return Table(_bare_records(chain([first], written), source), source.place, standard=True)
    _check_header(header, source, number)
    rows = _tsv_rows(lines, len(header), source)
    return Table(_records(header, rows, source), source.place, written=True, columns=tuple(header))


def looks_like_csv(line: str) -> bool:
    """Return whether the first line of a file without a known suffix is a CSV header.

    >>> looks_like_csv("sku,name,price"), looks_like_csv("a sentence, with a comma")
    (True, False)
    """
    names = header_names(line)
    return len(names) > 1 and all(name.replace("_", "").replace("-", "").isalnum() for name in names)


def header_names(line: str) -> list[str]:
    """Return the cells of a line as names of columns."""
    return [name.strip().strip('"') for name in line.removeprefix("\ufeff").split(_delimiter(line))]


def _delimiter(header: str) -> str:
    """Return the delimiter that splits a header into the most columns, outside quotes.

    >>> _delimiter('id;"a,b,c";name'), _delimiter("text")
    (';', ',')
    """
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def _csv_rows(source: Source) -> tuple[list[str], Iterator[tuple[int, list[str]]], str]:
    """Return the header, the rows with their line numbers, and the delimiter."""
    lines = read_lines(source.path, source.chunks)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return [], iter(()), ""
    named = first[1].removeprefix("sep=") if len(first[1]) == 5 and first[1].startswith("sep=") else ""  # by Excel
    if named:
        first = next(((number, line) for number, line in lines if line.strip()), (first[0] + 1, ""))
    delimiter = named or ("\t" if source.suffix in (".tsv", ".tab") else _delimiter(first[1]))
    rows = _parsed(chain([first], lines), delimiter, source)
    number, header = next(rows, (first[0], []))
    header = [" ".join(name.split()) for name in header]
    _check_header(header, source, number)
    return header, rows, delimiter


def _parsed(lines: Iterable[tuple[int, str]], delimiter: str, source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the number of their first line; a quoted cell may have several lines."""
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
                f"is not CSV: {error}, in a row that begins in line {last + 1} or later", at[0]
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
    """Return the names of the columns if the line is a header."""
    names = [_unquoted(name.strip()) for name in line.split("\t")]
    wide = len(names) > 3 and any(map(is_known, names))
    if wide or (len(names) > 1 and all(map(is_known, names))) or (named and set(named) <= set(names)):
        return names
    return None


def _unquoted(cell: str) -> str:
    """Return the content of a completely quoted cell, with doubled quotes inside unescaped.

    >>> _unquoted('"a ""b"" c"'), _unquoted('"a" or "b"')
    ('a "b" c', '"a" or "b"')
    """
    inner = cell[1:-1]
    if len(cell) < 2 or not (cell[0] == cell[-1] == '"') or '"' in inner.replace('""', ""):
        return cell
    return inner.replace('""', '"')


def _tsv_rows(lines: Iterator[tuple[int, str]], width: int, source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the number of their first line; a quoted cell may have several lines."""
    following: tuple[int, str] | None = None
    while (found := following or next(lines, None)) is not None:
        (number, line), following = found, None
        if not line.strip():
            continue
        if "\0" in line:
            raise source.problem("the line contains the character U+0000, want text", number)
        cells = line.split("\t")
        if len(cells) == width and _is_open(cells[-1]):  # a literal quotation mark, if the next line is a complete row
            following = next(lines, None)
            if following is not None and following[1].count("\t") != width - 1:
                cells, following = _joined(cells, chain([following], lines), source, number), None
        elif len(cells) != width and '"' in line:
            cells = _merged(cells)
            if len(cells) <= width and _is_open(cells[-1]):
                cells = _joined(cells, lines, source, number)
        yield number, [_unquoted(cell) for cell in cells] if '"' in line else cells


def _merged(cells: Iterable[str]) -> list[str]:
    """Return cells that were split at all tabs with the parts of a quoted cell together.

    >>> _merged(["1", '"a', 'b"', "c"])
    ['1', '"a\\tb"', 'c']
    """
    merged: list[str] = []
    for cell in cells:
        if merged and _is_open(merged[-1]):
            merged[-1] += f"\t{cell}"
        else:
            merged.append(cell)
    return merged


def _joined(cells: list[str], lines: Iterable[tuple[int, str]], source: Source, number: int) -> list[str]:
    """Return the cells of a row with an open last cell, continued on the next lines."""
    size = 0
    for _, line in lines:
        place = len(cells) - 1
        whole, *more = line.split("\t")
        cells = _merged([*cells[:-1], f"{cells[-1]}\n{whole}", *more])
        size += len(line)
        is_closed = not _is_open(cells[place])
        if (is_closed and not cells[place].endswith('"')) or size > max_line_bytes():
            break
        if not _is_open(cells[-1]):
            return cells
    raise source.problem("a quotation mark opens a cell and is never closed", number)


def _is_open(cell: str) -> bool:
    """Return whether a cell begins with a quotation mark that is not closed.

    >>> _is_open('"two lines'), _is_open('"one"'), _is_open('"" and "'), _is_open('"'), _is_open("5")
    (True, False, False, True, False)
    """
    return cell.startswith('"') and '"' not in cell[1:].replace('""', "")


def _bare_records(lines: Iterable[tuple[int, str]], source: Source) -> Iterator[Record]:
    """Yield lines without a header: id, title and text, or id and text."""
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
