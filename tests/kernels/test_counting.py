"""A Python dict is the oracle of the table of words."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.counting import number_words, refill_slots

WORDS = st.lists(st.lists(st.text("abcdé", min_size=1, max_size=4), max_size=12), max_size=8)


def empty_tables(n_slots, n_bytes=2000):
    tables = np.full(n_slots, -1, np.int32), np.empty(n_bytes, np.int64), np.zeros(n_bytes, np.int64)
    return *tables, np.empty(n_bytes, np.uint8)


def number(texts, tables, n_words=0):
    text = np.frombuffer(b"".join(" ".join(words).encode() + b"\xff" for words in texts), np.uint8)
    numbers, places, ends = *np.empty((2, len(text) + 1), np.int32), np.empty(len(texts), np.int64)
    n_words, n_written = number_words(text, *tables, n_words, numbers, places, ends)
    assert places[:n_written].tolist() == [match.start() for match in re.finditer(rb"[^ \xff]+", text.tobytes())]
    return numbers[:n_written].tolist(), ends.tolist(), n_words


def number_by_dict(texts, known):
    return [known.setdefault(word, len(known)) for words in texts for word in words]


@given(first=WORDS, second=WORDS)
@settings(max_examples=60, deadline=None)
def test_numbers_as_a_dict_does_also_in_a_crowded_table(first, second):
    known = {}
    expected = [number_by_dict(texts, known) for texts in (first, second)]
    n_slots = 2 << max(len(known), 1).bit_length()  # at least one slot stays free: a search must end
    tables = empty_tables(n_slots)
    numbers, ends, n_words = number(first, tables)
    assert numbers == expected[0]
    assert ends == np.cumsum([len(words) for words in first]).tolist()
    numbers, _, n_words = number(second, tables, n_words)
    assert (numbers, n_words) == (expected[1], len(known))
    starts, spelled = tables[2], tables[3].tobytes()
    assert [spelled[starts[w] : starts[w + 1]].decode() for w in range(n_words)] == [f"{word} " for word in known]


@given(texts=WORDS)
@settings(max_examples=30, deadline=None)
def test_a_refilled_table_finds_every_word_again(texts):
    tables = empty_tables(256)
    numbers, _, n_words = number(texts, tables)
    larger = np.full(1024, -1, np.int32)
    refill_slots(larger, tables[1], n_words)
    again, _, n_words_again = number(texts, (larger, *tables[1:]), n_words)
    assert (again, n_words_again) == (numbers, n_words)


@pytest.mark.parametrize("pair", [("costarring", "liquid"), ("declinate", "macallums")])
def test_words_of_equal_hash_stay_apart(pair):
    tables = empty_tables(64)
    number([pair], tables)
    assert tables[1][0] == tables[1][1]  # FNV-1a of 32 bits does not tell them apart
    assert number([pair[::-1]], tables, 2) == ([1, 0], [2], 2)


def test_spaces_of_any_number_and_empty_texts():
    tables = empty_tables(64)
    assert number([["", "a", "", "b", ""], [], ["a"]], tables) == ([0, 1, 0], [2, 2, 3], 2)
