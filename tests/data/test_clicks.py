"""Sessions of clicks become preferences by skip-above, and pairs; what nobody reached stays unjudged."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core import Collection, DataError, Lists, UsageError
from tacit.data import read_click_log, read_clicks
from tacit.data.clicks import ClickLog, Session

DOCS = Collection(list("abcd"), [""] * 4, list("wxyz"))
LOG = [
    {"query": "cats", "shown": ["a", "b", "c"], "clicked": ["b"], "count": 3},
    {"query": "cats", "shown": ["a", "b", "c", "d"], "clicked": ["a", "c"]},
    {"query": "dogs", "shown": ["d", "a"], "clicked": []},
    {"query": "dogs", "shown": ["d", "a"], "clicked": ["d"]},
]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(session) + "\n\n" for session in LOG))
    return path


def statements(preferences):
    columns = (preferences.queries, preferences.better, preferences.worse, preferences.weights.tolist())
    return set(zip(*columns, strict=True))


def test_skip_above_with_counts(log):
    assert statements(read_click_log(log).preferences()) == {("cats", "b", "a", 3.0), ("cats", "c", "b", 1.0)}
    assert statements(read_click_log(log).preferences(position_one=True)) == {("cats", "b", "a", 3.0)}


def test_preferences_name_rows_of_lists_and_the_rest_is_unjudged(log):
    lists = Lists(np.zeros((4, 1)), np.full(4, np.nan), np.array([0, 4]), ["cats"], list("abcd"))
    pairs, weights = read_click_log(log).preferences().rows(lists)
    assert (pairs.tolist(), weights.tolist()) == ([[1, 0], [2, 1]], [3.0, 1.0])
    assert 3 not in pairs  # d stood below the last click


def test_pairs_add_counts_and_the_first_place_may_be_all_that_counts(log):
    queries, pairs = read_clicks(log, DOCS)
    assert list(queries.texts) == ["cats", "dogs"]
    assert pairs.to_csr().toarray().tolist() == [[1, 3, 1, 0], [0, 0, 0, 1]]
    _, first = read_clicks(log, DOCS, position_one=True)
    assert first.to_csr().toarray().tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]


@given(st.integers(0, 6), st.sets(st.integers(0, 5)))
def test_skip_above_is_the_definition(n_shown, clicks):
    shown = tuple(map(str, range(n_shown)))
    session = Session("q", shown, frozenset(str(c) for c in clicks if c < n_shown), 1.0, 1)
    wanted = {
        (i, j) for i in shown for j in shown if int(j) < int(i) and i in session.clicked and j not in session.clicked
    }
    assert set(session.skips()) == wanted


@pytest.mark.parametrize(
    ("line", "message"),
    [('{"query": "q", "shown": ["a"]}', "log:1: clicked is null"),
     ('{"query": " ", "shown": [], "clicked": []}', "query is"),
     ('{"query": "q", "shown": ["a"], "clicked": ["b"]}', "'b' is clicked but not shown"), ("{", "not JSON"),
     ('{"query": "q", "shown": ["a", "a"], "clicked": []}', "shown twice"), ("", "no sessions"),
     ('{"query": "q", "shown": [1], "clicked": []}', "shown holds 1"),
     ('{"query": "q", "shown": ["a"], "clicked": [], "count": 0}', "count is 0")],
)  # fmt: skip
def test_bad_sessions_are_named(tmp_path, line, message):
    (tmp_path / "log").write_text(line + "\n")
    with pytest.raises(DataError, match=message):
        read_click_log(tmp_path / "log")


def test_what_teaches_nothing_is_refused(tmp_path):
    quiet = ClickLog([Session("q", ("a", "b"), frozenset("a"), 1.0, 1)])
    with pytest.raises(DataError, match="1 sessions tell no preference"):
        quiet.preferences()
    with pytest.raises(DataError, match="no click on the first answer"):
        ClickLog([Session("q", ("a", "b"), frozenset("b"), 1.0, 1)]).pairs(DOCS, position_one=True)
    with pytest.raises(DataError, match="'gone'"):
        ClickLog([Session("q", ("gone",), frozenset({"gone"}), 1.0, 7)]).pairs(DOCS)
    (tmp_path / "plain").write_text("cats\ta\n")
    with pytest.raises(UsageError, match="shown first"):
        read_clicks(tmp_path / "plain", DOCS, position_one=True)
