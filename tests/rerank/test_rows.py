"""Rows come together by list, pairs only within lists, and the unjudged are in none of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core import TacitError
from tacit.rerank.rows import Rows, graded_pairs, group_rows

ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([-1, 0, 1, 2])), min_size=1, max_size=30)


@given(ROWS)
def test_pairs_are_those_of_the_definition(rows):
    qid, y = (np.array(column) for column in zip(*rows, strict=True))
    grouped = group_rows(np.arange(len(y), dtype=float)[:, None], y.astype(float), qid)
    back = grouped.order
    found = {(int(back[i]), int(back[j])) for i, j in zip(grouped.pairs.better, grouped.pairs.worse, strict=True)}
    wanted = {(i, j) for i in range(len(y)) for j in range(len(y)) if qid[i] == qid[j] and y[i] > y[j] >= 0}
    assert found == wanted
    assert grouped.X[:, 0].tolist() == back.tolist()


def test_given_pairs_are_renumbered_and_contradictions_counted():
    X, y, qid = np.zeros((4, 1)), np.array([np.nan, 1, 0, -1]), np.array([1, 0, 0, 1])
    rows = group_rows(X, y, qid, np.array([[3, 0], [2, 1]]), np.array([2.0, 0.5]))
    assert rows.order[rows.given.better].tolist() == [3, 2]
    assert rows.given.weight.tolist() == [2.0, 0.5]
    assert rows.n_contradictory == 1
    alone = rows.take(np.array([0]))
    assert (alone.given.better.tolist(), alone.given.worse.tolist()) == ([1], [0])


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [([[0, 2]], "two lists"), ([[1, 1]], "both sides"), ([[0, 9]], "row 9"), ([[0.5, 1]], "whole numbers")],
)
def test_bad_pairs_are_named(pairs, problem):
    with pytest.raises(TacitError, match=problem):
        group_rows(np.zeros((3, 1)), np.zeros(3), np.array([0, 0, 1]), np.array(pairs))


def test_nothing_to_learn_from_says_how_many_are_unjudged():
    rows = Rows(np.zeros((3, 1)), np.array([np.nan, 1, np.nan]), np.array([0, 3]), np.arange(3))
    with pytest.raises(TacitError, match="n_samples=3, lists: 1, 2 unjudged"):
        rows.check_has_pairs()
    assert len(graded_pairs(rows.y, rows.starts)) == 0
