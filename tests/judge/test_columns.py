"""Current judgments as columns: the same as `current`, record by record."""

import numpy as np
import pytest

from tacit.judge import JudgmentStore, merged_judgments
from tacit.judge.columns import read_columns
from tacit.judge.merge import MERGES


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Changed minds, withdrawals, pairs that cannot be judged, probabilities that come late."""
    rng = np.random.default_rng(0)
    with JudgmentStore(tmp_path_factory.mktemp("columns") / "s") as opened:
        for _ in range(400):
            query, document = f"query {rng.integers(6)}", f"d{rng.integers(12)}"
            judge = ("ann", "bob", "gpt")[rng.integers(3)]
            what = rng.random()
            if what < 0.1 and (query, judge) in {(j.text, j.judge) for j in opened.current()}:
                opened.withdraw(query, document, judge)
            else:
                grade = None if what > 0.95 else float(rng.integers(4))
                chance = 0.5 if rng.random() < 0.1 else None
                kind = "program" if judge == "gpt" else "person"
                opened.record(query, document, grade, judge, kind=kind, probability=chance)
        yield opened


@pytest.mark.parametrize("judges", [None, ["ann"], ["gpt", "bob"]])
def test_columns_are_the_current_judgments(store, judges):
    found = read_columns(store, judges)
    expected = [j for j in store.current() if judges is None or j.judge in judges]
    assert [tuple(r) for r in found.take(np.arange(len(found)))] == [
        (j.query, j.document, j.judge, j.grade) for j in expected
    ]
    chances = [None if np.isnan(p) else p for p in found.probability.tolist()]
    assert chances == [j.probability for j in expected]
    order = sorted(range(len(expected)), key=lambda row: expected[row].time)
    assert np.argsort(found.time, kind="stable").tolist() == order


def test_shared_pairs_and_counts(store):  # adds a record: the others compare with what is there
    found = read_columns(store)
    judges_of = {}
    for record in store.current():
        judges_of.setdefault((record.query, record.document), set()).add(record.judge)
    shared = {(r.query, r.document) for r in found.take(found.shared())}
    assert shared == {pair for pair, judges in judges_of.items() if len(judges) > 1}
    counts = {judge.name: judge.n_judgments for judge in store.judges()}
    assert counts == {name: len(store.current(name)) for name in counts}
    store.record("query 0", "new", 1, "ann")
    assert {judge.name: judge.n_judgments for judge in store.judges()}["ann"] == counts["ann"] + 1


@pytest.mark.parametrize("merge", list(MERGES))
def test_merged_grades_are_those_of_a_slow_loop(store, merge):
    grades = {}
    for record in sorted(store.current(), key=lambda j: j.time):
        if record.judge in ("ann", "bob") and record.grade is not None:
            grades.setdefault((record.query, record.document), []).append(record.grade)
    expected = {pair: MERGES[merge](given) for pair, given in grades.items()}
    found = merged_judgments(store, ["ann", "bob"], merge)
    flat = {(q, d): g for q, row in found.to_dict().items() for d, g in row.items()}
    assert flat == expected
    assert list(found.doc_ids) == list(dict.fromkeys(document for _, document in grades))


def test_an_empty_store_has_no_rows(tmp_path):
    with JudgmentStore(tmp_path / "empty") as empty:
        assert len(read_columns(empty)) == 0
        assert empty.judges() == []
