"""JSON: lines of objects, arrays of objects, and the exports of Elasticsearch and OpenSearch.

    lines    {"id": "a", "text": "…"}                                  one object a line
    bulk     {"index": {"_id": "a"}} followed by {"text": "…"}         pairs of lines, as for the bulk API
    hits     {"_id": "a", "_source": {"text": "…"}}                    a line or an element each
    answer   {"hits": {"hits": [ … ]}}                                 one search response
    array    [{"id": "a", "text": "…"}, … ]                            read element by element

An object with one list of objects under one key, such as `{"data": [ … ]}`, is read like that list. An object of
objects has one document under each id, `{"a": {"text": "…"}, "b": { … }}`, or is a table by columns as pandas writes
it, `{"id": {"0": "a", "1": "b"}, "text": { … }}`.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from tacit.core import DataError
from tacit.data.compression import DamagedError
from tacit.data.files import damaged_at, max_line_bytes, not_utf8, too_long
from tacit.data.formats.source import Record, Source, Table
from tacit.data.jsonlines import kind_of, parse_object, parse_value, unique_keys

_ACTIONS = {"index", "create", "update", "delete"}
_SPACE = re.compile(r"[\s,]*")
_PRETTY = ("{", "[")
_NEAR_END = 16  # characters: longer than any truncated word or escape


def is_json(start: bytes) -> bool:
    """Return whether a file begins like an object or an array of objects."""
    head = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith((b"{", b"["))


def read_json(source: Source) -> Table:
    """Read lines, an array or one object, depending on the first bytes."""
    head = source.start.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    if source.suffix not in (".jsonl", ".ndjson"):
        if head.startswith("["):
            return Table(map(_unwrapped, _array(source)), source.place)
        if source.suffix == ".json" or head.partition("\n")[0].rstrip() in _PRETTY:
            return Table(_any_json(source), source.place)
    return Table(_lines(source.lines(), source), source.place)


def _any_json(source: Source) -> Iterator[Record]:
    """Read a .json file that begins with a brace: lines of objects, or one object around an array."""
    lines = source.lines()
    first = next(lines, None)
    if first is None:
        return iter(())
    second = next(lines, None)
    both = chain([first], [] if second is None else [second], lines)
    if second is not None and second[1].lstrip().startswith("{") and first[1].rstrip().endswith("}"):
        return _lines(both, source)
    return _one_object(both, source)


def _one_object(lines: Iterable[tuple[int, str]], source: Source) -> Iterator[Record]:
    pieces, first = list[str](), 1
    for number, line in lines:
        first = first if pieces else number
        pieces.append(line)
    value = parse_object("\n".join(pieces), source.place, first)
    inner = value.get("hits")
    inner = inner.get("hits") if isinstance(inner, dict) else None
    lists = [inner] if isinstance(inner, list) else [v for v in value.values() if _holds_objects(v)]
    if len(lists) != 1:
        documents = _objects_by_id(value) if len(value) > 1 and all(map(_is_object, value.values())) else [value]
        yield from (_unwrapped(Record(first, document, True)) for document in documents)
        return
    for number, item in enumerate(lists[0], start=1):
        yield _unwrapped(Record(number, _object(item, source, number), True))


def _objects_by_id(value: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the documents of an object of objects; as `to_json` of pandas writes them, these are columns by row."""
    rows = list(dict.fromkeys(key for item in value.values() for key in item))
    if rows and all(key.isdecimal() for key in rows):
        return [{name: column.get(row) for name, column in value.items()} for row in rows]
    return [item if {"id", "_id"} & set(item) else {"_id": name, **item} for name, item in value.items()]


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_object, value))


def _object(value: Any, source: Source, number: int) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise source.problem(f"{kind_of(value)}, want an object in braces", number)
    return value


def _lines(lines: Iterable[tuple[int, str]], source: Source) -> Iterator[Record]:
    action: Mapping[str, Any] | None = None  # of a bulk file: describes the next line
    is_bulk: bool | None = None
    for number, line in lines:
        fields = parse_object(line, source.place, number)
        escaped = "\\u" in line  # only escapes can produce characters that are invalid in the line itself
        is_bulk = _is_action(fields) if is_bulk is None else is_bulk
        if not is_bulk:
            yield _unwrapped(Record(number, fields, escaped))
        elif action is None:
            action = _action(fields, source, number)
        else:
            yield Record(number, {**action, **_updated(fields)}, escaped)
            action = None


def _is_action(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is the first line of a pair in a bulk file."""
    [(name, value)] = fields.items() if len(fields) == 1 else [("", None)]
    return name in _ACTIONS and isinstance(value, dict) and all(key.startswith("_") or key in _TARGET for key in value)


_TARGET = {"routing", "version", "version_type", "pipeline", "retry_on_conflict", "require_alias", "if_seq_no"}


def _action(fields: Mapping[str, Any], source: Source, number: int) -> Mapping[str, Any] | None:
    """Return the description of the next line; None for `delete`, which has no next line."""
    if not _is_action(fields):
        raise source.problem("is not index, create, update or delete, want a line of a bulk file", number)
    [(name, value)] = fields.items()
    if name == "delete":
        return None
    return {"_id": value["_id"]} if "_id" in value else {}


def _unwrapped(record: Record) -> Record:
    """Return the document of a hit, with its id."""
    inner = record.fields.get("_source")
    if not isinstance(inner, dict):
        return record
    own = {"_id": record.fields["_id"]} if "_id" in record.fields and "id" not in inner else {}
    return Record(record.line, own | inner, record.escaped)


def _updated(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document of a line, which `update` wraps."""
    inner = fields.get("doc")
    return inner if isinstance(inner, dict) else fields


def _array(source: Source) -> Iterator[Record]:
    """Yield the elements of an array, in the memory of one element."""
    decoder, pieces = json.JSONDecoder(object_pairs_hook=unique_keys), _pieces(source)
    text, place, line = next(pieces, "").removeprefix("\ufeff"), 0, 1
    place = text.index("[") + 1
    line += text.count("\n", 0, place)
    while True:
        skipped = _SPACE.match(text, place)
        assert skipped is not None
        line += text.count("\n", place, skipped.end())
        place = skipped.end()
        if text.startswith("]", place):
            return
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            text = text[place:]
            _check_unfinished(error, text, place, source, line)
            more = list(islice(pieces, 1 + (len(text) >> 17)))  # large steps, so that parsing is retried few times
            if not more:
                parse_value(text, source.place, line)
                raise source.problem("the array is truncated, want ] at its end", line) from None
            text, place = text + "".join(more), 0
            continue
        yield Record(line, _object(value, source, line), True)
        line += text.count("\n", place, end)
        place = end


def _check_unfinished(error: Exception, text: str, place: int, source: Source, line: int) -> None:
    """Raise unless the element is valid so far, and only its unread end is missing."""
    if len(text) > max_line_bytes():
        raise too_long(source.path, line)
    unfinished = isinstance(error, json.JSONDecodeError) and (
        error.msg.startswith("Unterminated string") or error.pos - place > len(text) - _NEAR_END
    )
    if not unfinished:
        parse_value(text, source.place, line)  # raises our own error


def _pieces(source: Source) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for chunk in source.chunks:
            yield decoder.decode(chunk)
        if rest := decoder.decode(b"", final=True):
            yield rest
    except UnicodeDecodeError as error:
        raise DataError(not_utf8(error), path=source.place) from None
    except DamagedError as damage:
        raise damaged_at(source.path, damage) from None
