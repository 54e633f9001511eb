"""Agreement of judges, against scikit-learn and the krippendorff package."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from tacit.core import UsageError
from tacit.judge import (
    Judgment,
    JudgmentStore,
    agreement_with_people,
    disagreements,
    kappas,
    krippendorff_alpha,
)
from tacit.judge.columns import read_columns
from tacit.judge.records import DECISION

LEVELS = ("nominal", "ordinal", "interval")


def records_of(table):
    """Judgments from rows of grades, one row for each judge; NaN: none."""
    return [
        Judgment("q", str(unit), None if np.isnan(grade) else float(grade), f"judge{row}", "2026-01-01T00:00:00Z")
        for row, grades in enumerate(table)
        for unit, grade in enumerate(grades)
    ]


grade = st.sampled_from([0.0, 1.0, 2.0, 4.0, np.nan])


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(grade, min_size=6, max_size=6), min_size=n, max_size=n)))
def test_alpha_is_that_of_the_krippendorff_package(table):
    data = np.array(table)
    shared = data[:, (~np.isnan(data)).sum(axis=0) > 1]
    if len(np.unique(shared[~np.isnan(shared)])) < 2:
        assert [krippendorff_alpha(records_of(table), level) for level in LEVELS] == [None] * 3
        return
    for level in LEVELS:
        expected = krippendorff.alpha(reliability_data=data, level_of_measurement=level)
        assert krippendorff_alpha(records_of(table), level) == pytest.approx(expected, abs=1e-12)


def test_alpha_of_a_table_worked_by_hand():
    # Units (0,0), (1,1), (0,1), (0,0): o_01 = o_10 = 1, n_0 = 5, n_1 = 3, n = 8; 1 - 7 * 2 / 30.
    table = [[0, 1, 0, 0], [0, 1, 1, 0]]
    assert krippendorff_alpha(records_of(table), "nominal") == pytest.approx(1 - 14 / 30)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(grade, grade), min_size=2, max_size=12))
def test_kappa_is_scikit_learns_on_the_pairs_that_both_judged(pairs):
    table = np.array(pairs).T
    both = table[:, ~np.isnan(table).any(axis=0)]
    found = kappas(records_of(table))
    if not both.size:
        assert found == []
        return
    levels = np.unique(table[~np.isnan(table)])
    (pair,) = found
    assert (pair.judges, pair.n_pairs) == (("judge0", "judge1"), both.shape[1])
    if len(np.unique(both)) == 1:
        assert pair.kappa is pair.linear is pair.quadratic is None
        return
    codes = np.searchsorted(levels, both)
    for value, weights in ((pair.kappa, None), (pair.linear, "linear"), (pair.quadratic, "quadratic")):
        expected = cohen_kappa_score(*codes, labels=range(len(levels)), weights=weights)
        assert value == pytest.approx(expected, abs=1e-12)


def test_disagreements_come_largest_first():
    found = disagreements(records_of([[0, 1, 2, 1, np.nan], [2, 1, 1, np.nan, 0]]))
    assert [(entry.document, entry.spread) for entry in found] == [("0", 2), ("2", 1)]
    assert found[0].grades == {"judge0": 0, "judge1": 2}


def test_an_unknown_level_is_refused():
    with pytest.raises(UsageError, match="level is 'ratio', want one of nominal"):
        krippendorff_alpha([], "ratio")


def test_agreement_with_people_counts_the_last_grade_of_other_people(tmp_path):
    rng = np.random.default_rng(0)
    grades = {}  # by judge and document, in the order of recording
    with JudgmentStore(tmp_path / "my.judgments") as store:
        for _ in range(200):
            judge, document = str(rng.choice(["ann", "bob", "program"])), f"d{rng.integers(20)}"
            grade = int(rng.integers(3))
            store.record("q", document, grade, judge, kind="program" if judge == "program" else "person")
            grades.pop((judge, document), None)
            grades[judge, document] = grade
        store.record("q", "d0", None, "ann")  # cannot judge
        grades.pop(("ann", "d0"), None)
        found = agreement_with_people(read_columns(store), ["ann", "bob"])
    for judge in ("ann", "bob", "program"):
        last = {doc: grade for (name, doc), grade in grades.items() if name not in (judge, "program")}
        both = [(grade, last[doc]) for (name, doc), grade in grades.items() if name == judge and doc in last]
        assert found[judge].both == len(both)
        assert found[judge].same == pytest.approx(np.mean([a == b for a, b in both]))
        kappa = cohen_kappa_score(*zip(*both, strict=True), weights="linear")
        assert found[judge].kappa == pytest.approx(kappa)


def test_decisions_are_left_out_of_agreement_and_the_grade_before_counts(tmp_path):
    with JudgmentStore(tmp_path / "my.judgments") as store:
        store.record("q", "d", 0, "program", kind="program")
        store.record("q", "d", 2, "ann")
        store.record("q", "d", 0, "ann", display=DECISION)
        assert store.decided() == {(store.query_id("q"), "d")}
        blind = read_columns(store, decisions=False)
        assert agreement_with_people(blind, ["ann"])["program"].same == 0
        assert agreement_with_people(read_columns(store), ["ann"])["program"].same == 1
        store.withdraw("q", "d", "ann")
        assert store.decided() == set()
