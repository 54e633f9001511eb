"""Collections of documents and queries: JSON lines, tab-separated text, folders of them, and MediaWiki dumps.

JSON lines: one object a line with `id` (or `_id`), and `title` and `text` where there are any. TSV:
`id<TAB>text` or `id<TAB>title<TAB>text`, the same width in every line, nothing quoted; a first line of
just these names is a header and sets their order. A folder is read by its `corpus.jsonl` (BEIR) or
`docs.jsonl`, its queries by `queries.jsonl`, compressed or not.

A dump (`tacit.data.wiki`) is XML, recognised by its first bytes whatever its name; it has links as well. For the others
the format follows from the suffix, or from the first line where there is no known suffix, as on standard input.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from tacit.core import Collection, DataError, Links, UsageError
from tacit.core.texts import TextWriter
from tacit.data.columns import is_header, logger, split_tabs
from tacit.data.compression import COMPRESSIONS, DamagedError
from tacit.data.files import (
    FilePath,
    damaged_at,
    display_name,
    open_output,
    peek,
    read_bytes,
    read_lines,
    split_suffix,
)
from tacit.data.ids import check_ids, id_problem
from tacit.data.jsonlines import dump_object, forbidden_character, kind_of, parse_object
from tacit.data.wiki.dump import DumpReader


class _Wanted(NamedTuple):
    """What is read into each row: documents may have title and text, queries must have a text."""

    what: str
    fields: tuple[str, ...]
    all_needed: bool
    extras: tuple[str, ...]


class _Row(NamedTuple):
    line: int
    id: str
    title: str
    text: str
    extras: Sequence[Any] = ()


def read_collection(path: FilePath, *, extras: Sequence[str] = (), name: str = "") -> Collection:
    """Read documents from a file or folder.

    Parameters
    ----------
    path : path
        JSON lines, TSV, a MediaWiki dump, or a folder with `corpus.jsonl` or `docs.jsonl`; `-` is standard input.
    extras : sequence of str, default=()
        Further JSON fields to keep; None where a row has no such field.
    name : str, default=""
        Name of the collection.

    Returns
    -------
    Collection

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "docs.jsonl")
    ...     _ = path.write_text('{"id": "a", "title": "Cats", "text": "they purr", "year": 1999}')
    ...     docs = read_collection(path, extras=["year"])
    >>> docs[0], docs.extras
    (Document(id='a', title='Cats', text='they purr'), {'year': [1999]})
    """
    wanted = _Wanted("documents", ("title", "text"), False, tuple(extras))
    return _read(find_file(path, ("corpus.jsonl", "docs.jsonl")), wanted, name)[0]


def read_linked_collection(path: FilePath) -> tuple[Collection, Links | None]:
    """Read documents and the links between them that the file itself has.

    Parameters
    ----------
    path : path
        What `read_collection` reads.

    Returns
    -------
    documents : Collection
    links : Links or None
        Links between articles of a MediaWiki dump; None for other files, and for a dump without such links.
    """
    wanted = _Wanted("documents", ("title", "text"), False, ())
    return _read(find_file(path, ("corpus.jsonl", "docs.jsonl")), wanted, "")


def read_queries(path: FilePath, *, extras: Sequence[str] = (), name: str = "") -> Collection:
    """Read queries from a file or folder; each needs a text, and titles stay empty.

    Parameters
    ----------
    path : path
        JSON lines, TSV, or a folder with `queries.jsonl`; `-` is standard input.
    extras : sequence of str, default=()
        Further JSON fields to keep; None where a row has no such field.
    name : str, default=""
        Name of the collection.

    Returns
    -------
    Collection
    """
    wanted = _Wanted("queries", ("text",), True, tuple(extras))
    return _read(find_file(path, ("queries.jsonl",)), wanted, name)[0]


def write_collection(collection: Collection, path: FilePath) -> None:
    """Write JSON lines with `id`, `title`, `text` and the extra fields.

    Parameters
    ----------
    collection : Collection
        Documents; empty titles and extra fields of None are left out.
    path : path
        File to write; `-` is standard output.
    """
    if _FORM_OF_SUFFIX.get(split_suffix(path)[0], "jsonl") != "jsonl":
        raise UsageError(f"{path}: collections are written as JSON lines, want a name in .jsonl")
    check_ids("id", collection.ids)
    names = [name for name in collection.extras if name not in ("id", "title", "text")]
    with open_output(path) as out:
        for row, (doc_id, title, text) in enumerate(collection):
            fields = {"id": doc_id, "title": title, "text": text} if title else {"id": doc_id, "text": text}
            fields |= {name: value for name in names if (value := collection.extras[name][row]) is not None}
            out.write(dump_object(fields) + "\n")


def find_file(path: FilePath, names: tuple[str, ...]) -> FilePath:
    """The file itself, or the one file of these names that the folder holds, plain or compressed."""
    if os.fspath(path) == "-" or not os.path.isdir(path):
        return path
    candidates = [os.path.join(path, name + suffix) for name in names for suffix in ("", *COMPRESSIONS)]
    found = [candidate for candidate in candidates if os.path.isfile(candidate)]
    if not found:
        raise DataError(f"folder holds no {' or '.join(names)}, plain or compressed", path=path)
    if len(found) > 1:
        both = " and ".join(os.path.basename(candidate) for candidate in found[:2])
        raise DataError(f"folder holds {both}; name the file that is meant", path=path)
    return found[0]


def _read(path: FilePath, wanted: _Wanted, name: str) -> tuple[Collection, Links | None]:
    try:
        start, chunks = peek(read_bytes(path), _N_HEAD)
    except DamagedError as damage:
        raise damaged_at(path, damage) from None
    if _is_xml(start) or split_suffix(path)[0] == ".xml":
        dump = DumpReader(chunks, display_name(path))
        return _collect(path, _dump_rows(dump, wanted, display_name(path)), wanted, name), dump.links()
    return _collect(path, _rows(path, chunks, wanted), wanted, name), None


def _collect(path: FilePath, all_rows: Iterable[_Row], wanted: _Wanted, name: str) -> Collection:
    place, line_of = display_name(path), dict[str, int]()
    titles, texts, extras = list[str](), TextWriter(), [list[Any]() for _ in wanted.extras]
    for row in all_rows:
        problem = id_problem(row.id)
        if line_of.setdefault(row.id, row.line) != row.line:
            problem = f"{row.id!r} stands in line {line_of[row.id]} already, want it once"
        if problem:
            raise DataError(f"id {problem}", path=place, line=row.line)
        titles.append(row.title)
        texts.append(row.text)
        for column, value in zip(extras, row.extras, strict=True):
            column.append(value)
    if not titles:
        raise DataError(f"holds no {wanted.what}", path=place)
    for label, column in zip(wanted.extras, extras, strict=True):
        if all(value is None for value in column):
            raise DataError(f"none of the {len(titles)} {wanted.what} has a field {label!r}", path=place)
    named = dict(zip(wanted.extras, extras, strict=True))
    return Collection(list(line_of), titles, texts.finish(), named, name)


def _is_xml(start: bytes) -> bool:
    """Whether a file begins as XML does, in UTF-8 or UTF-16.

    >>> _is_xml(b"\\xff\\xfe<\\0m\\0e\\0d\\0i\\0a\\0w\\0i\\0k\\0i\\0 \\0"), _is_xml(b'{"id": "<?xml"}')
    (True, False)
    """
    for mark in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        start = start.removeprefix(mark)
    return start.replace(b"\0", b"").lstrip().startswith((b"<?xml", b"<mediawiki"))


def _dump_rows(dump: DumpReader, wanted: _Wanted, place: str) -> Iterator[_Row]:
    if wanted.extras:
        raise DataError(f"MediaWiki dumps have no field {wanted.extras[0]!r}, want JSON lines", path=place)
    return (_Row(*article) for article in dump.articles())


def _rows(path: FilePath, chunks: Iterable[bytes], wanted: _Wanted) -> Iterator[_Row]:
    place = display_name(path)
    lines = ((number, line) for number, line in read_lines(path, chunks) if line and not line.isspace())
    first = next(lines, None)
    if first is None:
        return iter(())
    form = _FORM_OF_SUFFIX.get(split_suffix(path)[0]) or _guess_form(first[1], place, first[0])
    return _ROWS_OF_FORM[form](chain([first], lines), wanted, place)


def _guess_form(line: str, place: str, number: int) -> str:
    if line.lstrip().startswith("{"):
        return "jsonl"
    if "\t" in line:
        return "tsv"
    found = "neither a JSON object nor id<TAB>text, want one of these a line, or a MediaWiki dump"
    raise DataError(found, path=place, line=number)


def _json_rows(lines: Iterable[tuple[int, str]], wanted: _Wanted, place: str) -> Iterator[_Row]:
    n_rows, n_without, others = 0, 0, dict[str, None]()
    for number, line in lines:
        fields = parse_object(line, place, number)
        n_rows += 1
        if "text" not in fields and not wanted.all_needed:
            n_without += 1
            others |= {
                name: None
                for name, value in fields.items()
                if isinstance(value, str) and name not in ("id", "_id", "title")
            }
        doc_id = _json_id(fields, place, number)
        texts = {name: _json_text(fields, name, wanted.all_needed, place, number) for name in wanted.fields}
        extras = [fields.get(name) for name in wanted.extras]
        # Only an escape can bring in a character that the line itself could not carry.
        if "\\u" in line and (bad := forbidden_character([doc_id, *texts.values(), *extras])):
            raise DataError(f"the character {bad} stands in a string, want text", path=place, line=number)
        yield _Row(number, doc_id, texts.get("title", ""), texts["text"], extras)
    if n_without:
        named = f"; other fields: {', '.join(list(others)[:5])}" if others else ""
        logger.warning("%s: %d of %d %s have no field text%s", place, n_without, n_rows, wanted.what, named)


def _json_id(fields: dict[str, Any], place: str, number: int) -> str:
    value = fields.get("id", fields.get("_id"))
    if "_id" in fields and str(fields["_id"]) != str(value):
        found = f"id is {value!r} and _id is {fields['_id']!r}"
        raise DataError(f"{found}, want one of them or the same twice", path=place, line=number)
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    found = f"id is {kind_of(value)}" if "id" in fields or "_id" in fields else "no field id or _id"
    raise DataError(f"{found}, want a string or a whole number", path=place, line=number)


def _json_text(fields: dict[str, Any], name: str, needed: bool, place: str, number: int) -> str:
    value = fields.get(name)
    if isinstance(value, str):
        return value
    if value is None and not needed:
        return ""
    found = f"{name} is {kind_of(value)}" if name in fields else f"no field {name}"
    raise DataError(f"{found}, want a string", path=place, line=number)


def _tsv_rows(lines: Iterable[tuple[int, str]], wanted: _Wanted, place: str) -> Iterator[_Row]:
    if wanted.extras:
        raise DataError(f"TSV files have no field {wanted.extras[0]!r}, want JSON lines", path=place)
    names: Sequence[str] = ()
    for number, line in lines:
        doc_id, *texts = _tsv_fields(line, names, wanted, place, number)
        if not names:
            header = _tsv_header(doc_id, texts)
            names = header or wanted.fields[-len(texts) :]
            if header:
                continue
            if is_header([doc_id, *texts]):
                columns = ", ".join(["id", *wanted.fields[-len(texts) :]])
                logger.warning(
                    "%s:%d: the line looks like a header (%s) and was read as a row; want the names %s for a header",
                    place, number, ", ".join([doc_id, *texts]), columns,
                )  # fmt: skip
        named = dict(zip(names, texts, strict=True))
        yield _Row(number, doc_id, named.get("title", ""), named["text"])


def _tsv_fields(line: str, names: Sequence[str], wanted: _Wanted, place: str, number: int) -> list[str]:
    if "\0" in line:
        raise DataError("the character U+0000 stands in the line, want text", path=place, line=number)
    if names:
        return split_tabs(line, f"{len(names) + 1} as in the first line", (len(names) + 1,), place, number)
    form = "id<TAB>text or id<TAB>title<TAB>text" if "title" in wanted.fields else "id<TAB>text"
    return split_tabs(line, form, tuple(range(2, len(wanted.fields) + 2)), place, number)


def _tsv_header(first: str, others: list[str]) -> Sequence[str]:
    """The names of the columns after the id when the first line holds names only, else nothing."""
    names = [other.strip().lower() for other in others]
    if first.strip().lower() in ("id", "_id") and sorted(names) in (["text"], ["text", "title"]):
        return names
    return ()


_N_HEAD = 256  # bytes that tell XML from lines of text
_FORM_OF_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".tsv": "tsv"}
_ROWS_OF_FORM: dict[str, Callable[[Iterable[tuple[int, str]], _Wanted, str], Iterator[_Row]]] = {
    "jsonl": _json_rows,
    "tsv": _tsv_rows,
}
