"""Collections of documents and queries, from files in the formats of `formats.registry`, folders and MediaWiki dumps.

The columns of id, title and text are found by name (`formats.roles`) or given by the caller; all other fields of
documents become typed columns. A dump (`tacit.data.wiki`) is XML, recognised by its first bytes, not its name; it also
has links.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from tacit.core import Collection, DataError, Links, UsageError, check_kind, check_list, checked, shown
from tacit.data.columns import check_ids
from tacit.data.files import FilePath, open_output, split_suffix
from tacit.data.formats.folders import find_file as find_file
from tacit.data.formats.folders import find_tables, only_tables
from tacit.data.formats.registry import SUFFIXES, table_of
from tacit.data.formats.rows import Row, Wanted, collect_rows, collect_table
from tacit.data.formats.source import ReadOptions, Record, Source, Table, is_xml, open_source
from tacit.data.formats.text_files import find_texts, read_texts
from tacit.data.jsonlines import dump_object
from tacit.data.wiki.dump import DumpReader

_DOCUMENTS, _QUERIES = ("corpus.jsonl", "docs.jsonl"), ("queries.jsonl",)


def read_collection(
    path: FilePath,
    *,
    extras: Sequence[str] | None = None,
    name: str = "",
    id: str | None = None,
    title: str | None = None,
    text: str | Sequence[str] | None = None,
    encoding: str | None = None,
    table: str | None = None,
) -> Collection:
    """Read documents from a file or folder.

    Parameters
    ----------
    path : path
        JSON lines, a JSON array, CSV or TSV, parquet or Arrow, an SQLite database, a bulk file of Elasticsearch or
        OpenSearch, a MediaWiki dump; or a folder with `corpus.jsonl` or `docs.jsonl`, a dataset of Hugging Face, or
        text files. Files may be compressed; `-` is standard input.
    extras : sequence of str or None, default=None
        Further fields to keep unchanged, None where a row has no such field. By default all fields are kept, as typed
        columns (`tacit.core.fields`).
    name : str, default=""
        Name of the collection.
    id, title : str or None, default=None
        Columns of ids and titles; None: guessed by name. Without ids, rows are numbered from 0.
    text : str, sequence of str or None, default=None
        Columns of the text, joined in this order; None: guessed by name.
    encoding : str or None, default=None
        Encoding of the file, such as "latin-1"; None: UTF-8, or the encoding of a byte order mark.
    table : str or None, default=None
        Table of an SQLite database.

    Returns
    -------
    Collection

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "docs.jsonl")
    ...     _ = path.write_text('{"id": "a", "title": "Cats", "text": "they purr", "year": 1999}')
    ...     docs = read_collection(path)
    >>> docs[0], docs.extras
    (Document(id='a', title='Cats', text='they purr'), {'year': <number column of 1: 1999>})
    """
    options = read_options(id, title, text, encoding, table)
    return _read(path, options, _wanted(extras), name)[0]


@checked
def read_linked_collection(path: FilePath, options: ReadOptions | None = None) -> tuple[Collection, Links | None]:
    """Read documents, and the links between them that the file contains.

    Parameters
    ----------
    path : path
        A file or folder that `read_collection` can read.
    options : ReadOptions or None, default=None
        Columns, encoding and table, as the parameters of `read_collection`.

    Returns
    -------
    documents : Collection
    links : Links or None
        Links between articles of a MediaWiki dump; None for other files, and for a dump without such links.
    """
    return _read(path, options or ReadOptions(), _wanted(None), "")


def read_queries(
    path: FilePath,
    *,
    extras: Sequence[str] = (),
    name: str = "",
    id: str | None = None,
    text: str | Sequence[str] | None = None,
    encoding: str | None = None,
    table: str | None = None,
) -> Collection:
    """Read queries from a file or folder; each needs a text, and titles stay empty.

    Parameters
    ----------
    path : path
        A file in a format that `read_collection` reads, or a folder with `queries.jsonl`; `-` is standard input.
    extras : sequence of str, default=()
        Further fields to keep; None where a row has no such field.
    name : str, default=""
        Name of the collection.
    id, text, encoding, table
        As for `read_collection`.

    Returns
    -------
    Collection
    """
    options = read_options(id, None, text, encoding, table)
    wanted = Wanted("queries", True, _names("extras", extras))
    files = find_tables(path, _QUERIES)
    if not files:
        raise DataError("folder has no queries.jsonl, plain or compressed, and no queries/ of tables", path=path)
    source = open_source(files[0], options)
    table_ = _joined(source, files, options)
    return collect_table(table_, wanted, options, name)


def read_options(
    id: str | None = None,
    title: str | None = None,
    text: str | Sequence[str] | None = None,
    encoding: str | None = None,
    table: str | None = None,
) -> ReadOptions:
    """Return the user's options for a file; `text` may be several names, in a sequence or separated by commas.

    >>> read_options(text="description, bullet_points").text
    ('description', 'bullet_points')
    """
    for label, value in (("id", id), ("title", title), ("encoding", encoding), ("table", table)):
        check_kind(label, value, str | None, "a name")
    texts = [] if text is None else _names("text", text.split(",") if isinstance(text, str) else text)
    if text is not None and not all(texts):
        raise UsageError(f"text is {shown(text)}, want names of columns")
    return ReadOptions(id or "", title or "", tuple(texts), encoding or "", table or "")


@checked
def write_collection(collection: Collection, path: FilePath) -> None:
    """Write JSON lines with `id`, `title`, `text` and the extra fields.

    Parameters
    ----------
    collection : Collection
        Documents; empty titles and extra fields of None are left out.
    path : path
        File to write; `-` is standard output.
    """
    if split_suffix(path)[0] in set(SUFFIXES) - {".jsonl", ".ndjson"}:
        raise UsageError(f"{path}: collections are written as JSON lines, want a name in .jsonl")
    check_ids("id", collection.ids)
    names = [name for name in collection.extras if name not in ("id", "title", "text")]
    with open_output(path) as out:
        for row, (doc_id, title, text) in enumerate(collection):
            fields = {"id": doc_id, "title": title, "text": text} if title else {"id": doc_id, "text": text}
            fields |= {name: value for name in names if (value := collection.extras[name][row]) is not None}
            out.write(dump_object(fields) + "\n")


def _wanted(extras: Sequence[str] | None) -> Wanted:
    return Wanted("documents", False, None if extras is None else _names("extras", extras))


def _names(label: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns; raise UsageError for anything else."""
    names = check_list(label, given, "names of columns")
    return tuple(str(check_kind(label, name, str, "names of columns")).strip() for name in names)


def _read(path: FilePath, options: ReadOptions, wanted: Wanted, name: str) -> tuple[Collection, Links | None]:
    files = find_tables(path, _DOCUMENTS)
    if not files:
        return _read_folder(path, options, wanted, name), None
    source = open_source(files[0], options)
    if is_xml(source.start) or source.suffix == ".xml":
        return _read_dump(source, wanted, name)
    return collect_table(_joined(source, files, options), wanted, options, name), None


def _read_folder(path: FilePath, options: ReadOptions, wanted: Wanted, name: str) -> Collection:
    """Read the documents of a folder without the expected names: text files, or one table in parts."""
    if texts := find_texts(Path(path)):
        return collect_table(read_texts(Path(path), texts, options), wanted, options, name)
    files = only_tables(path)
    if not files:
        named = " or ".join(_DOCUMENTS)
        parts = [part.name for part in sorted(Path(path).iterdir()) if part.is_dir() and only_tables(part)]
        advice = f"; it has tables in {', '.join(parts[:10])}: give the path of one of them" if parts else ""
        raise DataError(f"folder has no {named}, plain or compressed, no table and no text files{advice}", path=path)
    return collect_table(_joined(open_source(files[0], options), files, options), wanted, options, name)


def _joined(source: Source, files: Sequence[FilePath], options: ReadOptions) -> Table:
    """Return the table of one file, or of its parts in sequence."""
    table = table_of(source)
    if len(files) == 1:
        return table

    def records() -> Iterator[Record]:
        tables = chain([table], (table_of(open_source(file, options)) for file in files[1:]))
        for n_before, record in enumerate(chain.from_iterable(part.records for part in tables)):
            yield record._replace(line=n_before + 1)

    return Table(records(), os.fspath(Path(files[0]).parent), table.written, table.columns, table.standard)


def _read_dump(source: Source, wanted: Wanted, name: str) -> tuple[Collection, Links | None]:
    if wanted.extras or source.options.named:
        field = (*source.options.named, *(wanted.extras or ()))[0]
        raise DataError(f"MediaWiki dumps have no field {field!r}, want JSON lines", path=source.place)
    dump = DumpReader(source.chunks, source.place)
    rows = (Row(*article) for article in dump.articles())
    return collect_rows(rows, wanted, source.place, name), dump.links()
