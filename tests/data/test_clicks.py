"""Click logs are read in two forms, named by id or text, and become weighted pairs."""

import json

import pytest

from tacit.core import Collection, DataError, UsageError
from tacit.data import read_click_log, read_clicks
from tacit.data.clicks import ClickLog, Session

DOCS = Collection(list("abcd"), [""] * 4, list("wxyz"))
QUERIES = Collection(["1", "2"], ["", ""], ["cats", "dogs"])
LOG = [
    {"query": "cats", "shown": ["a", "b", "c"], "clicked": ["b"], "count": 10},
    {"query": "cats", "shown": ["a", "b", "c", "d"], "clicked": ["a", "c"]},
    {"query": "dogs", "shown": ["d", "a"], "clicked": []},
    {"query": "dogs", "shown": ["d", "a"], "clicked": ["d"]},
]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(session) + "\n\n" for session in LOG))
    return path


def test_pairs_are_weighted_by_relevance_against_the_best_of_the_query(log):
    queries, pairs = read_clicks(log, DOCS)
    assert list(queries.texts) == ["cats", "dogs"]
    cats, dogs = pairs.to_csr().toarray().tolist()
    assert cats[1] == 1
    assert 0 < cats[0] < 1  # one click in 11 sessions
    assert dogs == [0, 0, 0, 1]


def test_everything_that_was_shown_comes_with_the_pairs(log):
    estimates = read_click_log(log).estimates()
    queries, pairs = read_clicks(log, DOCS.take([0, 1, 2]), skip_unknown=True)
    shown = pairs.shown
    found = {
        (queries.texts[q], DOCS.ids[d]): values
        for q, d, *values in zip(shown.queries, shown.items, shown.clicks, shown.expected, shown.log_prior, strict=True)
    }
    wanted = zip(estimates.clicks, estimates.expected, estimates.log_prior, strict=True)
    names = zip(estimates.queries, estimates.docs, strict=True)
    kept = {name: [*values] for name, values in zip(names, wanted, strict=True) if name[0] == "cats" and name[1] != "d"}
    assert found == kept  # d is not in the collection, and without it no document of dogs was clicked
    assert (shown.slope, shown.strength) == (estimates.slope, estimates.strength)


def test_ids_may_be_whole_numbers(tmp_path):
    (tmp_path / "log").write_text('{"query": "cats", "shown": [7, 8], "clicked": [8], "count": 9}')
    _, pairs = read_clicks(tmp_path / "log", Collection(["7", "8"], ["", ""], ["w", "x"]))
    assert pairs.targets.tolist() == [1]


def test_clicks_on_the_first_answer_are_counted(log):
    _, first = read_clicks(log, DOCS, position_one=True)
    assert first.to_csr().toarray().tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]
    assert first.shown.clicks.tolist() == [1, 1]


def test_hardly_relevant_clicks_are_no_pairs():
    shown = ("a", "b")
    log = ClickLog([Session("q", shown, frozenset("b"), 500.0, 1), Session("q", shown, frozenset("a"), 1.0, 2)])
    _, pairs = log.pairs(DOCS)
    assert pairs.to_csr().toarray().tolist() == [[0, 1, 0, 0]]


def test_queries_are_named_by_id_or_text(log, tmp_path):
    by_id = read_click_log(log).named_by(QUERIES)
    assert {session.query for session in by_id.sessions} == {"1", "2"}
    assert {s.query for s in by_id.named_by(QUERIES, texts=True).sessions} == {"cats", "dogs"}
    (tmp_path / "counts").write_text("1\ta\t3\ncats\tb\n")
    queries, pairs = read_clicks(tmp_path / "counts", DOCS, QUERIES)
    assert (list(queries.texts), pairs.to_csr().toarray().tolist()) == (["cats"], [[3, 1, 0, 0]])
    (tmp_path / "counts").write_text("cats\ta\nfish\tb\n")
    with pytest.raises(DataError, match="counts:2: .*query 'fish'"):
        read_clicks(tmp_path / "counts", DOCS, QUERIES)
    queries, _ = read_clicks(tmp_path / "counts", DOCS, QUERIES, skip_unknown=True)
    assert list(queries.texts) == ["cats"]


@pytest.mark.parametrize(
    ("line", "message"),
    [('{"query": "q", "shown": ["a"]}', "log:1: clicked is null"),
     ('{"query": " ", "shown": [], "clicked": []}', "query is"),
     ('{"query": "q", "shown": ["a"], "clicked": ["b"]}', "'b' is clicked but not shown"), ("{", "not JSON"),
     ('{"query": "q", "shown": ["a", "a"], "clicked": []}', "shown twice"), ("", "no clicks"),
     ('{"query": "q", "shown": [1.5], "clicked": []}', "shown contains 1.5"),
     ('{"query": "q", "shown": ["a"], "clicked": [], "count": 0}', "count is 0")],
)  # fmt: skip
def test_bad_sessions_are_named(tmp_path, line, message):
    (tmp_path / "log").write_text(line + "\n")
    with pytest.raises(DataError, match=message):
        read_click_log(tmp_path / "log")


def test_what_teaches_nothing_is_refused(tmp_path):
    with pytest.raises(DataError, match="no click in 1 session"):
        ClickLog([Session("q", ("a", "b"), frozenset(), 1.0, 1)]).estimates()
    with pytest.raises(DataError, match="no click on the first result"):
        ClickLog([Session("q", ("a", "b"), frozenset("b"), 1.0, 1)]).pairs(DOCS, position_one=True)
    with pytest.raises(DataError, match="'gone'"):
        ClickLog([Session("q", ("gone",), frozenset({"gone"}), 1.0, 7)]).pairs(DOCS)
    (tmp_path / "plain").write_text("cats\ta\n")
    with pytest.raises(UsageError, match="record the first result"):
        read_clicks(tmp_path / "plain", DOCS, position_one=True)
