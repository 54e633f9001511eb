"""Triples of collection rows and preferences between rows of feature lists."""

import logging

import numpy as np
import pytest

from tacit.core import Collection, DataError, Lists, TacitError
from tacit.data import read_preferences, read_triples

DOCS = Collection(["a", "b", "c"], [""] * 3, [""] * 3)
QUERIES = Collection(["q1", "q2"], [""] * 2, [""] * 2)
# Rows: q2 has a and b, q1 has a and a document without a name.
LISTS = Lists(np.zeros((4, 1)), np.zeros(4), np.array([0, 2, 4]), ["q2", "q1"], ["a", "b", "a", ""])


@pytest.fixture
def stored(tmp_path):
    def store(text):
        (tmp_path / "prefs.tsv").write_text(text, encoding="utf-8")
        return tmp_path / "prefs.tsv"

    return store


def test_triples(stored):
    triples = read_triples(stored("q2\tb\ta\n\nq1\ta\tc\nq2\tb\ta\n"), QUERIES, DOCS)
    assert triples.tolist() == [[1, 1, 0], [0, 0, 2], [1, 1, 0]]
    assert triples.dtype == np.int64


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "has no lines, want query<TAB>better<TAB>worse"),
        ("q1\ta\n", ":1: 2 columns between tabs, want query<TAB>better<TAB>worse$"),
        ("q1\ta\tb\t1\n", ":1: 4 columns"),
        ("q1\ta\tb\nq1\tc\tc\n", ":2: better and worse are both 'c', want two documents"),
        ("q1\ta\tb\nq9\ta\tb\nq1\tx\tb\n", ":2: unknown ids in 2 of 3 lines, the first is query 'q9'"),
        ("q1\ta\tz\n", ":1: unknown ids in 1 of 1 line, the first is document 'z'"),
    ],
)
def test_mistakes_in_triples(stored, lines, message):
    with pytest.raises(DataError, match=message):
        read_triples(stored(lines), QUERIES, DOCS)


def test_unknown_triples_are_left_out_aloud(stored, caplog):
    with caplog.at_level(logging.WARNING, "tacit"):
        triples = read_triples(stored("q1\tx\tb\nq1\ta\tb\n"), QUERIES, DOCS, skip_unknown=True)
    assert triples.tolist() == [[0, 0, 1]]
    assert "1 of 2 lines" in caplog.text


def test_preferences_find_their_rows(stored):
    preferences = read_preferences(stored("q2\tb\ta\nq1\tq1-2\ta\t0.5\n"))
    assert len(preferences) == 2
    pairs, weights = preferences.rows(LISTS)
    assert pairs.tolist() == [[1, 0], [3, 2]]
    assert weights.tolist() == [1.0, 0.5]


def test_preferences_about_rows_that_are_not_there(stored, caplog):
    preferences = read_preferences(stored("q2\tb\ta\t2\nq1\tb\ta\nq3\ta\tb\n"))
    with pytest.raises(
        TacitError, match="2 of 3 preferences name a document that has no row, the first is 'b' of query 'q1'"
    ):
        preferences.rows(LISTS)
    with caplog.at_level(logging.WARNING, "tacit"):
        pairs, weights = preferences.rows(LISTS, skip_unknown=True)
    assert pairs.tolist() == [[1, 0]]
    assert weights.tolist() == [2.0]
    assert "2 of 3 preferences" in caplog.text
    with pytest.raises(TacitError, match="1 of 1 preferences"):
        read_preferences(stored("q3\ta\tb\n")).rows(LISTS, skip_unknown=True)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "has no lines"),
        ("q\ta\n", ":1: 2 columns between tabs, want query<TAB>better<TAB>worse, or these and <TAB>weight"),
        ("q\ta\ta\n", ":1: better and worse are both 'a'"),
        ("q\ta\tb\t0\n", ":1: weight is '0', want a positive finite number"),
    ],
)
def test_mistakes_in_preferences(stored, lines, message):
    with pytest.raises(DataError, match=message):
        read_preferences(stored(lines))
