"""Packed strings: lists of Python strings are the oracle; bad offsets and bad UTF-8 are refused."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Collection, StoreError, TacitError
from tacit.store import StringTable, columns, pack_strings, unpack_strings

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=8)


@given(TEXTS, st.integers(-10, 10), st.integers(-10, 10), st.sampled_from([None, 1, 2, -1, -3]))
@settings(max_examples=150, deadline=None)
def test_a_table_is_the_list_it_was_made_from(texts, start, stop, step):
    table = unpack_strings("s", pack_strings("s", texts), length=len(texts))
    assert list(table) == texts
    assert len(table) == len(texts)
    assert [table[i] for i in range(-len(texts), len(texts))] == texts + texts
    assert list(table[start:stop:step]) == texts[start:stop:step]
    assert table == texts
    assert texts == table
    assert table != [*texts, "more"]
    assert [text in table for text in [*texts, "\x00no"]] == [text in texts for text in [*texts, "\x00no"]]


def test_it_serves_as_a_column_of_a_collection():
    table = unpack_strings("s", pack_strings("s", ["a", "b", "日本"]))
    docs = Collection(table, table, table)
    assert docs.row_of["日本"] == 2
    assert list(docs.take(np.array([2, 0])).texts) == ["日本", "a"]
    assert [doc.text for doc in docs] == ["a", "b", "日本"]


@pytest.mark.parametrize("place", [3, -4, np.int64(3), 10**30])
def test_places_outside_raise_index_error(place):
    with pytest.raises(IndexError):
        unpack_strings("s", pack_strings("s", ["a", "b", "c"]))[place]


def test_a_table_differs_from_text_and_has_no_hash():
    table = unpack_strings("s", pack_strings("s", ["a", "b"]))
    assert table != "ab"
    assert table != 3
    assert table != ["a", "c"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(table)
    assert repr(table) == "StringTable(2 strings, 2 bytes)"


@pytest.mark.parametrize(
    ("bad", "named"), [(["a", 3], "string 1 is of type int"), (["\ud800"], "string 0 cannot be written")]
)
def test_what_is_no_text_is_refused_with_its_number(bad, named):
    with pytest.raises(TacitError, match=f"ids: {named}"):
        pack_strings("ids", bad)


LARGE = np.iinfo(np.int64)


@pytest.mark.parametrize(
    "offsets",
    [[], [0], [1, 6], [0, 5], [0, 7], [0, 4, 3, 6], [-1, 6], [0, LARGE.max, -2, 6], [0, -2, 6], [0, 7, 6]],
)
def test_offsets_that_do_not_rise_over_the_bytes(offsets):
    arrays = {"s/bytes": np.frombuffer(b"abcdef", np.uint8), "s/offsets": np.array(offsets, np.int64)}
    with pytest.raises(StoreError, match="'s/offsets' does not rise from 0 to the 6 bytes"):
        unpack_strings("s", arrays)


def test_a_string_may_not_begin_within_a_character():
    arrays = {"s/bytes": np.frombuffer("日".encode(), np.uint8), "s/offsets": np.array([0, 1, 3])}
    with pytest.raises(StoreError, match="a string begins within a character"):
        unpack_strings("s", arrays)


@given(st.binary(max_size=12) | st.text("a日é", max_size=4).map(str.encode), st.lists(st.integers(0, 12), max_size=4))
@settings(max_examples=300, deadline=None)
def test_exactly_the_tables_that_decode_are_taken(data, cuts):
    offsets = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    try:
        wanted = [data[a:b].decode() for a, b in pairwise(offsets)]
    except UnicodeDecodeError:
        wanted = None
    arrays = {"s/bytes": np.frombuffer(data, np.uint8), "s/offsets": np.array(offsets, np.int64)}
    if wanted is None:
        with pytest.raises(StoreError, match="'s/bytes' is not UTF-8"):
            unpack_strings("s", arrays)
    else:
        assert list(unpack_strings("s", arrays)) == wanted


def test_characters_across_the_chunks_of_the_check(monkeypatch):
    for size in (1, 2, 3, 4, 5):
        monkeypatch.setattr(columns, "_CHUNK", size)
        assert list(unpack_strings("s", pack_strings("s", ["日é", "😀x"]))) == ["日é", "😀x"]
        whole = pack_strings("s", ["日é😀"])
        cut = {"s/bytes": whole["s/bytes"][:-1], "s/offsets": whole["s/offsets"] - np.array([0, 1])}
        with pytest.raises(StoreError, match="not UTF-8"):
            unpack_strings("s", cut)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("bytes", np.zeros(1, np.int8)),
        ("bytes", np.zeros((1, 1), np.uint8)),
        ("offsets", np.zeros(2, np.int32)),
        ("offsets", np.zeros(2)),
        ("offsets", np.zeros((2, 1), np.int64)),
        ("offsets", np.array(0)),
        ("bytes", None),
        ("offsets", None),
    ],
)
def test_arrays_of_another_make_are_refused(name, array):
    arrays = {**pack_strings("s", ["a"]), f"s/{name}": array}
    if array is None:
        del arrays[f"s/{name}"]
    with pytest.raises(StoreError, match=f"array 's/{name}' is"):
        unpack_strings("s", arrays)


def test_the_wanted_number_of_strings_is_checked():
    with pytest.raises(StoreError, match=r"of shape \(3,\), want int64 of shape \(4,\)"):
        unpack_strings("s", pack_strings("s", ["a", "b"]), length=3)


def test_nothing_is_decoded_before_it_is_read():
    assert StringTable(np.array([0x61, 0xFF], np.uint8), np.array([0, 1, 2]))[0] == "a"
