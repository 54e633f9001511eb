"""In-memory data as core types: frames, lists and dictionaries as input of `fit`, `evaluate`, `advise`.

Frames are pandas or polars frames, pyarrow tables and Hugging Face datasets; none of these libraries is imported here.
Columns are guessed by name as in files (`formats.roles`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.core import Collection, Judgments, Links, Run, TacitError, UsageError, checked, shown
from tacit.core.fields import Column, typed_fields
from tacit.data.clicks import ClickLog, log_of_table, read_click_log
from tacit.data.collections import read_collection, read_queries
from tacit.data.columns import id_text
from tacit.data.formats.roles import JUDGMENT_NAMES, find_columns
from tacit.data.formats.rows import Wanted, collect_table
from tacit.data.formats.source import ReadOptions, Record, Table
from tacit.data.trec import read_qrels, read_run

_WANTED = "want a Collection, a path, a frame, a list of dicts or texts, or a dict of texts by id"
_MISSING = ("NAType", "NaTType")
_RUN_NAMES = JUDGMENT_NAMES | {"grade": ("score", "similarity", "rank_score", "value", "grade")}


def as_collection(data: Any, what: str = "documents") -> Collection:
    """Return documents (or queries) given in any form as a collection.

    Parameters
    ----------
    data : Collection, path, frame, sequence or mapping
        A frame of pandas or polars, a list of dicts, a list of texts, a dict of texts by id, or a file.
    what : {"documents", "queries"}, default="documents"
        What the rows contain.

    Examples
    --------
    >>> as_collection(["they purr", "they bark"])[1]
    Document(id='1', title='', text='they bark')
    >>> as_collection({"a": "they purr"}).ids, as_collection([{"sku": 7, "name": "Hat", "price": 3.5}]).fields(0)
    (['a'], {'price': 3.5})
    """
    if isinstance(data, Collection):
        return _with_typed_fields(data)
    if isinstance(data, str | os.PathLike):
        return read_queries(data) if what == "queries" else read_collection(data)
    try:
        records, standard = _records(data, what)
        if not records:
            raise TacitError(f"there are no {what}")
        table = Table(records, what, standard=standard)
        extras = () if what == "queries" else None
        return collect_table(table, Wanted(what, what == "queries", extras), ReadOptions())
    except (AttributeError, KeyError, TypeError, IndexError):
        raise UsageError(f"{what} are of type {type(data).__name__}, {_WANTED}") from None


def as_judgments(data: Any, what: str = "qrels") -> Judgments:
    """Return judgments given as `{query: {document: grade}}`, a frame or dicts of query, document and grade, or a file.

    Negative and missing grades are unjudged and left out, as in files.

    >>> as_judgments({"q1": {"a": 2, "b": -1}}).to_dict(), as_judgments([{"qid": 1, "docid": 7, "rel": 1}]).to_dict()
    ({'q1': {'a': 2.0}}, {'1': {'7': 1.0}})
    """
    if isinstance(data, Judgments):
        return data
    if isinstance(data, str | os.PathLike):
        return read_qrels(data)
    nested = _nested(data, what, "grade", JUDGMENT_NAMES)
    kept = {query: {doc: grade for doc, grade in docs.items() if grade >= 0} for query, docs in nested.items()}
    return Judgments.from_dict(kept)


def as_run(data: Any, what: str = "run") -> Run:
    """Return a run given as `{query: {document: score}}`, a frame or dicts of query, document and score, or a file.

    A document without a score is an error, as in files.

    >>> as_run({"q1": {"a": 0.5}}).to_dict()
    {'q1': {'a': 0.5}}
    """
    if isinstance(data, Run):
        return data
    if isinstance(data, str | os.PathLike):
        return read_run(data)
    return Run.from_dict(_nested(data, what, "score", _RUN_NAMES))


@checked
def as_clicks(data: Any, documents: Collection) -> tuple[Collection, Links] | None:
    """Return clicks as training pairs, given the result of `read_clicks`, or a log in any form."""
    if data is None or (isinstance(data, tuple) and len(data) == 2):
        return data
    return as_click_log(data).pairs(documents)


def as_click_log(data: Any) -> ClickLog:
    """Return clicks given as a log, a file, a frame, or a list of dicts.

    >>> as_click_log([{"query": "hat", "document": "a", "clicks": 2}]).sessions[0].times
    2.0
    """
    if isinstance(data, ClickLog):
        return data
    if isinstance(data, str | os.PathLike):
        return read_click_log(data)
    try:
        return log_of_table(Table(_records(data, "clicks")[0], "clicks"))
    except (AttributeError, KeyError, TypeError, IndexError):
        wanted = "want the result of read_clicks, a ClickLog, a path, a frame or a list of dicts"
        raise UsageError(f"clicks are of type {type(data).__name__}, {wanted}") from None


def as_training_data(
    documents: Any, queries: Any, qrels: Any, clicks: Any
) -> tuple[Collection, Collection | None, Judgments | None, tuple[Collection, Links] | None]:
    """Return the arguments of `Searcher.fit`, in any form, as core types; judgments may name queries by text."""
    docs, judged = as_collection(documents), None if qrels is None else as_judgments(qrels)
    if queries is None and judged is not None:
        queries = queries_by_text(judged)
    asked = None if queries is None else as_collection(queries, "queries")
    return docs, asked, judged, as_clicks(clicks, docs)


def queries_by_text(judgments: Judgments) -> Collection | None:
    """Return the queries of judgments that name them by text; None if they are ids, which have no spaces.

    >>> queries_by_text(Judgments.from_dict({"red shoes": {"d1": 1}})).texts
    ['red shoes']
    """
    names = list(judgments.query_ids)
    return Collection(names, [""] * len(names), names) if any(len(name.split()) > 1 for name in names) else None


def _with_typed_fields(data: Collection) -> Collection:
    """Return the collection with its plain fields as typed columns."""
    if all(isinstance(column, Column) for column in data.extras.values()):
        return data
    return Collection(data.ids, data.titles, data.texts, typed_fields(data.extras.items()), data.name)


def _records(data: Any, what: str) -> tuple[list[Record], bool]:
    """Return rows of in-memory data, and whether they are `id`, `title` and `text` by definition."""
    if isinstance(data, Mapping):
        if _is_columns(data):
            lengths = {name: len(column) for name, column in data.items()}
            if len(set(lengths.values())) > 1:
                raise UsageError(f"{what}: the columns have different lengths: {shown(lengths)}")
            return _numbered(dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)), False
        return _by_id(data, what)
    if (of_frame := _frame_rows(data, what)) is not None:
        return _numbered(of_frame), False
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise TypeError
    ids = getattr(data, "index", None)  # of a pandas series; a method for lists
    rows: list[Any] = list(data)
    if all(isinstance(row, str) for row in rows):
        names = range(len(rows)) if callable(ids) or ids is None else [*ids]
        return _numbered({"id": str(name), "text": row} for name, row in zip(names, rows, strict=True)), True
    if rows and isinstance(rows[0], str):
        number, other = next((number, row) for number, row in enumerate(rows) if not isinstance(row, str))
        raise UsageError(f"{what}: row {number} is of type {type(other).__name__}, want a text, as in row 0")
    return _numbered(_as_dict(row, number, what) for number, row in enumerate(rows)), False


def _numbered(rows: Iterable[Mapping[str, Any]]) -> list[Record]:
    return [
        Record(number, {str(name): _native(value) for name, value in row.items()}, True)
        for number, row in enumerate(rows)
    ]


def _is_columns(data: Mapping[Any, Any]) -> bool:
    """Return whether a mapping has a column of values under each name."""
    return bool(data) and all(isinstance(value, list | tuple | np.ndarray) for value in data.values())


def _by_id(data: Mapping[Any, Any], what: str) -> tuple[list[Record], bool]:
    if all(isinstance(value, str) for value in data.values()):
        return _numbered({"id": str(name), "text": text} for name, text in data.items()), True
    rows = [{"id": name, **_as_dict(row, number, what)} for number, (name, row) in enumerate(data.items())]
    return _numbered(rows), False


def _as_dict(row: Any, number: int, what: str) -> Mapping[str, Any]:
    if hasattr(row, "_asdict"):  # a Document
        row = row._asdict()
    if not isinstance(row, Mapping):
        raise UsageError(f"{what}: row {number} is of type {type(row).__name__}, want a dict or a text")
    return row


def _frame_rows(data: Any, what: str) -> Iterator[Mapping[str, Any]] | None:
    """Return rows of a pandas or polars frame, pyarrow table or dataset; None for anything else."""
    if hasattr(data, "to_dicts"):  # polars
        return iter(data.to_dicts() if hasattr(data, "columns") else [])
    if hasattr(data, "to_pylist") and hasattr(data, "column_names"):  # pyarrow
        return iter(data.to_pylist())
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas; an index with labels provides the ids
        rows = data.to_dict("records")
        if _has_labels(data, is_queries=what == "queries"):
            return ({"_id": id_text(label), **row} for label, row in zip(data.index, rows, strict=True))
        return iter(rows)
    if hasattr(data, "column_names"):  # datasets
        return iter(data)
    return None


def _has_labels(frame: Any, *, is_queries: bool) -> bool:
    """Return whether the index names the rows, and no column does."""
    from tacit.data.formats.roles import find_roles

    texts = [str(name) for name, kind in frame.dtypes.items() if str(kind) in ("object", "str", "string")]
    try:
        roles = find_roles([str(name) for name in frame.columns], texts, ReadOptions(), "", queries=is_queries)
    except TacitError:
        return False
    return not roles.id and not isinstance(frame.index[0] if len(frame) else (), tuple)


def _native(value: Any) -> Any:
    """Return the value as a Python type; None if missing."""
    if isinstance(value, np.ndarray):
        return [_native(item) for item in value.tolist()]
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64):
        value = value.item()
    if (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in _MISSING:
        return None
    return value


def _nested(data: Any, what: str, value: str, names: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    """Return `{query: {document: number}}`, given a nested mapping or rows."""
    if isinstance(data, Mapping) and not _is_columns(data):
        entries = _entries(data, what)
    else:
        entries = _row_entries(data, what, value, names)
    nested: dict[str, dict[str, float]] = {}
    for query, document, number in entries:
        if number is None and (value != "score" or not document):
            nested.setdefault(query, {})
            continue
        if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
            found = f"the {value} of query {query!r} and document {document!r} is "
            found += "missing (NaN or null)" if number is None else repr(number)
            raise UsageError(f"{what}: {found}, want a number")
        if document in nested.setdefault(query, {}):
            raise TacitError(f"{what}: query {query!r} has document {document!r} twice, want it once")
        try:
            nested[query][document] = float(number)
        except OverflowError:
            raise UsageError(
                f"{what}: the {value} of query {query!r} and document {document!r} is too large: {shown(number)}"
            ) from None
    return nested


def _entries(data: Mapping[Any, Any], what: str) -> Iterator[tuple[str, str, Any]]:
    for query, documents in data.items():
        if not isinstance(documents, Mapping):
            found = f"query {query!r} has a {type(documents).__name__}"
            raise UsageError(f"{what}: {found}, want {{query: {{document: number}}}}")
        if not documents:
            yield id_text(query), "", None
        for document, number in documents.items():
            yield id_text(query), id_text(document), _native(number)


def _row_entries(
    data: Any, what: str, value: str, names: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str, Any]]:
    wanted = f"want {{query: {{document: {value}}}}}, rows of query, document and {value}, or a path"
    if isinstance(data, list | tuple) and data and all(isinstance(row, tuple) and len(row) == 3 for row in data):
        yield from ((id_text(query), id_text(document), _native(number)) for query, document, number in data)
        return
    try:
        rows = [record.fields for record in _records(data, what)[0]]
        found = find_columns(list(dict.fromkeys(name for row in rows for name in row)), names)
    except KeyError as missing:
        raise UsageError(f"{what}: no column is a {missing.args[0]}, {wanted}") from None
    except (AttributeError, TypeError, IndexError):
        raise UsageError(f"{what}: found {type(data).__name__}, {wanted}") from None
    for row in rows:
        query, document = row.get(found["query"]), row.get(found["document"])
        if query is None or document is None:
            raise TacitError(f"{what}: a row has no {'query' if query is None else 'document'}: {dict(row)!r:.100}")
        yield id_text(query), id_text(document), row.get(found["grade"])
