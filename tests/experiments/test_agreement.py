"""Shares of neighbours and of all pairs that differ in grade, counted pair by pair."""

import numpy as np
import pytest

from tacit.core import Lists
from tacit.experiments.preference.agreement import NUMBERS, agreement_table, grade_agreement


def random_lists(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 30).astype(float)
    y[rng.random(30) < 0.2] = np.nan
    return Lists(rng.normal(size=(30, 2)), y, np.array([0, 4, 18, 30]), ["a", "b", "c"], [""] * 30)


@pytest.mark.parametrize("k", [1, 5])
def test_shares_are_those_of_a_loop_over_pairs(k):
    lists = random_lists(k)
    X = (lists.X - lists.X.mean(axis=0)) / lists.X.std(axis=0)
    joined, differ, n_pairs, n_differ = 0, 0, 0, 0
    for start, stop in zip(lists.starts[:-1], lists.starts[1:], strict=True):
        rows = range(start, stop)
        near = {i: sorted((j for j in rows if j != i), key=lambda j: ((X[i] - X[j]) ** 2).sum())[:k] for i in rows}
        for i in rows:
            for j in range(i + 1, stop):
                if np.isnan(lists.y[[i, j]]).any():
                    continue
                n_pairs += 1
                n_differ += lists.y[i] != lists.y[j]
                if j in near[i] or i in near[j]:
                    joined += 1
                    differ += lists.y[i] != lists.y[j]
    assert grade_agreement(lists, k) == pytest.approx((joined / n_pairs, differ / joined, n_differ / n_pairs))


def test_the_table_has_a_line_for_each_number_of_neighbours():
    section = agreement_table(random_lists(0), None)
    assert [line[1] for line in section.rows] == [str(k) for k in NUMBERS]
