"""Columns of fields come back as they were, mapped; damaged and hostile ones are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import StoreError
from tacit.core.fields import make_column
from tacit.store import pack_fields, unpack_fields

texts = st.text(st.characters(codec="utf-8"), max_size=12)
values = {
    "number": st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "date": st.dates().map(str),
    "time": st.datetimes().map(lambda time: time.isoformat()),
    "keyword": texts,
    "keywords": st.lists(texts, max_size=3),
    "text": texts | st.just("long " * 100),
}


@settings(deadline=None, max_examples=60)
@given(data=st.data(), n_rows=st.integers(1, 8))
def test_round_trip(data, n_rows):
    fields = {
        name: data.draw(st.lists(st.none() | kind, min_size=n_rows, max_size=n_rows)) for name, kind in values.items()
    }
    header, arrays = pack_fields("f", fields)
    found = unpack_fields("f", header, arrays, n_rows)
    assert list(found) == list(fields)
    for name, column in found.items():
        assert column == make_column(fields[name]), name
        rows = data.draw(st.lists(st.integers(0, n_rows - 1), max_size=5))
        assert column.take(rows) == [column[row] for row in rows]
        assert column.present().tolist() == [value is not None for value in column]
        if name not in ("time", "number"):  # times may be written shorter, numbers of several types as one
            assert list(column) == fields[name]


FIELDS = {
    "n": [1.5, None, 3.0],
    "b": [True, None, False],
    "d": ["2024-01-02", None, "2023-01-01"],
    "k": ["x", None, "y"],
    "l": [["x", "y"], None, []],
    "t": ["a" * 300, None, "b"],
}


def changed(name, array):
    header, arrays = pack_fields("f", FIELDS)
    number = list(FIELDS).index(name.partition("/")[0])
    return header, arrays | {f"f/{number}/{name.partition('/')[2]}": array}


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("n/values", np.array([1, np.inf, 2]), "contains infinity"),
        ("n/values", np.zeros(2), "want float64 of shape"),
        ("n/values", np.zeros(3, np.float32), "want float64"),
        ("b/values", np.array([0, 2, 1], np.int8), "outside of -1 to 1"),
        ("d/values", np.array([2**62, 0, 0]), "outside of the years 1 to 9999"),
        ("k/codes", np.array([0, 2, 1], np.int32), "outside of -1 to 1"),
        ("k/codes", np.array([-2, 0, 1], np.int32), "outside of -1"),
        ("k/names/bytes", np.array([255, 255], np.uint8), "not UTF-8"),
        ("l/starts", np.array([0, 3, 2, 3]), "does not rise"),
        ("l/starts", np.array([0, 2, 3, 9]), "does not rise"),
        ("l/codes", np.array([0, -1, 1], np.int32), "-1 in a list of several"),
        ("t/has", np.zeros(4, np.int8), "want int8 of shape"),
        ("t/texts/ends", np.array([1, 2]), "texts/rows"),
    ],
)
def test_hostile_arrays(name, array, message):
    header, arrays = changed(name, array)
    with pytest.raises(StoreError, match=message):
        unpack_fields("f", header, arrays, 3)


@pytest.mark.parametrize(
    "header",
    [
        {},
        [3],
        [{"name": 3, "kind": "number"}],
        [{"name": "a", "kind": "pickle"}],
        [{"name": "a", "kind": "number"}],
        [{"name": "n", "kind": "number"}, {"name": "n", "kind": "boolean"}],
        [{"name": "n", "kind": "number"}, {"name": "b", "kind": "boolean"}, {"name": "d", "kind": "date", "form": "x"}],
        None,
    ],
)
def test_hostile_headers(header):
    _, arrays = pack_fields("g" if header and len(header) == 1 else "f", FIELDS)
    with pytest.raises(StoreError):
        unpack_fields("f", header, arrays, 3)
