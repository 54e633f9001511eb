"""Typed columns of documents as arrays (`core.fields`), read back without reading any value.

The header has a list of `{"name", "kind"}` and, for numbers and dates, their format; column number i has the arrays
below `PREFIX/i`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.core import StoreError
from tacit.core.fields import (
    BooleanColumn,
    Column,
    DateColumn,
    KeywordColumn,
    KeywordsColumn,
    NumberColumn,
    TextColumn,
    typed_fields,
)
from tacit.store.columns import pack_strings, pack_texts, take_array, unpack_strings, unpack_texts, with_prefix

_FORMS = ("day", "local", "utc")
# Years 1 to 9999, the range of Python's dates.
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000_000, 253_402_300_799_999_999
_MISSING_TIME = np.iinfo(np.int64).min


def pack_fields(prefix: str, fields: Mapping[str, Sequence[Any]]) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Return header and arrays of fields; plain sequences become typed columns.

    >>> header, arrays = pack_fields("fields", {"year": [1999, None]})
    >>> header, sorted(arrays)
    ([{'name': 'year', 'kind': 'number', 'whole': True}], ['fields/0/values'])
    """
    header, arrays = list[dict[str, Any]](), dict[str, np.ndarray]()
    for number, (name, column) in enumerate(typed_fields(fields.items()).items()):
        further, own = _pack(column)
        header.append({"name": name, "kind": getattr(column, "kind", ""), **further})
        arrays |= with_prefix(f"{prefix}/{number}", own)
    return header, arrays


def _pack(column: Sequence[Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if isinstance(column, NumberColumn):
        return {"whole": column.whole}, {"values": column.values}
    if isinstance(column, DateColumn):
        return {"form": column.form}, {"values": column.values}
    if isinstance(column, BooleanColumn):
        return {}, {"values": column.values}
    if isinstance(column, KeywordColumn):
        return {}, {"codes": column.codes, **pack_strings("names", column.names)}
    if isinstance(column, KeywordsColumn):
        return {}, {"starts": column.starts, "codes": column.codes, **pack_strings("names", column.names)}
    assert isinstance(column, TextColumn)
    return {}, {"has": column.has, **pack_texts("texts", column.texts)}


def unpack_fields(prefix: str, header: Any, arrays: Mapping[str, np.ndarray], n_rows: int) -> dict[str, Column]:
    """Return the columns below a prefix, each of `n_rows` rows; raise StoreError unless every value can be read."""
    found: dict[str, Column] = {}
    if not isinstance(header, list) or not all(isinstance(entry, dict) for entry in header):
        raise StoreError("the header has no list of fields")
    for number, entry in enumerate(header):
        name = entry.get("name")
        if not isinstance(name, str) or name in found:
            raise StoreError(f"the name of field {number} is {name!r}, want a unique text")
        found[name] = _unpack(f"{prefix}/{number}", entry, arrays, n_rows)
    return found


def _unpack(prefix: str, entry: Mapping[str, Any], arrays: Mapping[str, np.ndarray], n_rows: int) -> Column:
    kind = entry.get("kind")
    if kind == "number":
        values = take_array(arrays, f"{prefix}/values", dtype="float64", shape=(n_rows,), finite=False)
        if np.isinf(values).any():
            raise StoreError(f"array '{prefix}/values' contains infinity")
        whole = entry.get("whole") is True
        return NumberColumn(values, whole)
    if kind == "date":
        return _unpack_dates(prefix, entry, arrays, n_rows)
    if kind == "boolean":
        values = take_array(arrays, f"{prefix}/values", dtype="int8", shape=(n_rows,))
        _check_range(f"{prefix}/values", values, 1)
        return BooleanColumn(values)
    if kind == "text":
        has = take_array(arrays, f"{prefix}/has", dtype="int8", shape=(n_rows,))
        texts = unpack_texts(f"{prefix}/texts", arrays)
        if len(texts) != n_rows:
            raise StoreError(f"array '{prefix}/texts/ends' is for {len(texts)} texts, want {n_rows}")
        return TextColumn(has, texts)
    if kind in ("keyword", "keywords"):
        return _unpack_keywords(prefix, kind == "keywords", arrays, n_rows)
    raise StoreError(f"a field is of kind {kind!r}, which this version does not support")


def _unpack_dates(prefix: str, entry: Mapping[str, Any], arrays: Mapping[str, np.ndarray], n_rows: int) -> DateColumn:
    values = take_array(arrays, f"{prefix}/values", dtype="int64", shape=(n_rows,))
    given = values[values != _MISSING_TIME]
    if len(given) and (given.min() < _FIRST_TIME or given.max() > _LAST_TIME):
        raise StoreError(f"array '{prefix}/values' contains a time outside of the years 1 to 9999")
    if entry.get("form") not in _FORMS:
        raise StoreError(f"the form of dates is {entry.get('form')!r}, want one of {', '.join(_FORMS)}")
    return DateColumn(values, entry["form"])


def _unpack_keywords(prefix: str, is_list: bool, arrays: Mapping[str, np.ndarray], n_rows: int) -> Column:
    names = unpack_strings(f"{prefix}/names", arrays)
    codes = take_array(arrays, f"{prefix}/codes", dtype="int32", shape=(None if is_list else n_rows,))
    _check_range(f"{prefix}/codes", codes, len(names) - 1)
    if not is_list:
        return KeywordColumn(codes, names)
    starts = take_array(arrays, f"{prefix}/starts", dtype="int64", shape=(n_rows + 1,))
    if starts[0] != 0 or starts[-1] != len(codes) or (starts[1:] < starts[:-1]).any():
        raise StoreError(f"array '{prefix}/starts' does not rise from 0 to {len(codes)}")
    lonely = np.searchsorted(starts, np.flatnonzero(codes < 0), side="right") - 1
    if (starts[lonely + 1] - starts[lonely] != 1).any():
        raise StoreError(f"array '{prefix}/codes' contains -1 in a list of several")
    return KeywordsColumn(starts, codes, names)


def _check_range(name: str, values: np.ndarray, most: int) -> None:
    if len(values) and (values.min() < -1 or values.max() > most):
        raise StoreError(f"array '{name}' contains values outside of -1 to {most}")
