"""A program's grades as weighted preferences: counts by a slow loop, and weights that add up."""

import numpy as np
import pytest

from tacit.core import Lists
from tacit.rerank.program_pairs import PRIOR, SHARE, Agreement, ProgramPreferences, agreements, program_pairs


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 40).astype(float)
    program = np.where(rng.random(40) < 0.7, np.minimum(y, 1), 1 - np.minimum(y, 1))
    y[rng.random(40) < 0.5] = np.nan
    program[[3, 17]] = np.nan
    lists = Lists(rng.normal(size=(40, 2)), y, np.array([0, 15, 40]), ["a", "b"], [f"d{n}" for n in range(40)])
    return lists, program


def test_agreement_counts_pairs_of_people(world):
    lists, program = world
    same = total = 0
    for i in range(40):
        for j in range(40):
            if lists.qid[i] == lists.qid[j] and program[i] == 1 and program[j] == 0:
                same += lists.y[i] > lists.y[j]
                total += lists.y[i] != lists.y[j] and not np.isnan(lists.y[i] + lists.y[j])
    assert agreements(lists, program) == [Agreement(1.0, 0.0, same, total)]


def test_reliability_is_shrunk_and_never_negative():
    assert Agreement(1, 0, 0, 0).reliability == 0
    assert Agreement(1, 0, 0, 100).reliability == 0
    assert Agreement(1, 0, 100, 100).shrunk == (100 + PRIOR / 2) / (100 + PRIOR)
    assert Agreement(1, 0, 10, 10).reliability < Agreement(1, 0, 1000, 1000).reliability < 1


def test_pairs_follow_the_program_leave_people_alone_and_weigh_as_rows(world):
    lists, program = world
    known = [Agreement(1.0, 0.0, 300, 400)]
    pairs, weights = program_pairs(lists, program, known)
    assert len(pairs)
    for better, worse in pairs.tolist():
        assert lists.qid[better] == lists.qid[worse]
        assert program[better] > program[worse]
        assert np.isnan(lists.y[better]) or np.isnan(lists.y[worse])
    for number in range(2):
        rows = lists.rows(number)
        inside = (pairs[:, 0] >= rows.start) & (pairs[:, 0] < rows.stop)
        only_program = int((np.isnan(lists.y[rows]) & ~np.isnan(program[rows])).sum())
        assert weights[inside].sum() == pytest.approx(SHARE * known[0].reliability * only_program)
    assert len(program_pairs(lists, program, [Agreement(1.0, 0.0, 40, 100)])[0]) == 0


def test_preferences_look_grades_up_by_name(world):
    lists, program = world
    names = lists.document_names()
    grades = {}
    for row in np.flatnonzero(~np.isnan(program)).tolist():
        grades.setdefault(lists.query_ids[lists.qid[row]], {})[names[row]] = program[row]
    given = ProgramPreferences(grades)
    np.testing.assert_array_equal(given.of_rows(lists), program)
    assert len(given) == 38
    assert set(given.within(["b", "zzz"]).grades) == {"b"}
    expected = program_pairs(lists, program, agreements(lists, program))
    for found, wanted in zip(given.rows(lists), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    pairs, weights = ProgramPreferences(grades, share=0.6).rows(lists)
    np.testing.assert_array_equal(pairs, expected[0])
    np.testing.assert_allclose(weights, expected[1] * 0.6 / SHARE)
