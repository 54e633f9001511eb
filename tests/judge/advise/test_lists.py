"""Advice about feature lists: a good column is hard to beat, and a learned gain is shown where there is one."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from tacit.core import Lists, TacitError
from tacit.judge.advise import advise
from tacit.judge.advise.report import to_html


def make_lists(weights, n_lists=30, n_rows=12, noise=0.3, seed=0):
    """Grades by a linear rule of the features, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_lists * n_rows, len(weights)))
    score = X @ np.array(weights) + noise * rng.normal(size=len(X))
    y = (score > 0.5).astype(float) + (score > 1.5)
    starts = np.arange(0, len(X) + 1, n_rows)
    return Lists(X, y, starts, [f"q{n}" for n in range(n_lists)], [f"d{n}" for n in range(len(X))])


@pytest.fixture(scope="module")
def shown():
    return advise(make_lists([1.0, 0.8, 0.0]), measure="nDCG@10", threads=1)


def test_learning_from_two_columns_beats_one(shown):
    assert shown.recommended.help
    assert shown.labels.help
    assert shown.system in ("standing", "linear", "rankboost")
    assert shown.baseline == "column"
    trees = {"lightgbm-pointwise"} if find_spec("lightgbm") else set()
    assert {row["system"] for row in shown.rows} == {"column", "standing", "linear", "rankboost"} | trees


def test_the_json_has_the_keys_of_the_interface(shown):
    found = json.loads(json.dumps(shown.to_json()))
    for key in (
        "helps",
        "system",
        "measure",
        "baseline",
        "gain",
        "interval",
        "p",
        "queries",
        "labels",
        "rows",
        "curve",
    ):
        assert key in found
    assert set(found["labels"]) >= {"help", "gain", "interval", "p"}
    assert found["queries"] == 30


def test_the_same_seed_gives_the_same_advice(shown):
    assert advise(make_lists([1.0, 0.8, 0.0]), measure="nDCG@10", threads=2).to_json() == shown.to_json()


def test_a_perfect_column_is_not_claimed_to_be_beaten():
    found = advise(make_lists([2.0, 0.0, 0.0], noise=0.0), threads=1)
    assert not found.recommended.help
    assert not found.labels.help


def test_grades_of_chance_make_no_claim():
    lists = make_lists([1.0, 0.5, 0.2], seed=4)
    shuffled = np.random.default_rng(0).permutation(lists.y)
    found = advise(Lists(lists.X, shuffled, lists.starts, lists.query_ids, lists.doc_ids), threads=1)
    assert not found.recommended.help


def test_the_report_escapes_what_it_shows(shown):
    page = to_html(shown, "<script>alert(1)</script>")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<svg" in page


def test_lists_without_relevant_rows_are_told():
    lists = make_lists([1.0], n_lists=3)
    with pytest.raises(TacitError, match="0 of 3 lists have a relevant row, want at least 2"):
        advise(Lists(lists.X, np.zeros(len(lists.y)), lists.starts, lists.query_ids, lists.doc_ids))


def test_relevant_rows_alone_are_learned_from_and_the_assumption_is_told_once(caplog):
    lists = make_lists([1.0, 0.8], n_lists=12)
    y = np.where(lists.y > 0, 1.0, np.nan)
    found = advise(Lists(lists.X, y, lists.starts, lists.query_ids, lists.doc_ids), threads=1)
    assert found.queries <= 12
    assert caplog.text.count("are taken as probably worse") == 1


def test_without_time_the_column_is_all_there_is():
    found = advise(make_lists([1.0, 0.8]), threads=1, minutes=1e-9)
    trees = ("lightgbm-pointwise",) if find_spec("lightgbm") else ()
    assert (found.system, found.left_out) == ("column", ("standing", "linear", "rankboost", *trees))
    assert (found.recommended.help, found.labels.help) == (False, False)
    assert "Left out" in found.text
    assert "not enough time" in to_html(found)
