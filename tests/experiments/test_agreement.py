"""Shares of neighbours and of all pairs that differ in grade, counted pair by pair."""

import numpy as np
import pytest

from tacit.core import Lists
from tacit.experiments.lists.preference_figures import gain_figure
from tacit.experiments.lists.preference_tables import (
    NUMBERS,
    Agreement,
    agreement_table,
    all_agreements,
    gain_table,
    gains_by_agreement,
    grade_agreement,
)
from tacit.experiments.report import Row


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
    section = agreement_table(all_agreements(random_lists(0)))
    assert [line[1] for line in section.rows] == [str(k) for k in NUMBERS]


def test_gains_are_over_the_row_without_the_regularizer_in_the_order_of_agreement(tmp_path):
    rng = np.random.default_rng(0)
    without = rng.random(40)
    found = {("features", 2): Agreement(0.5, 0.1, 0.2), ("content", 2): Agreement(0.5, 0.18, 0.2)}
    values = {"ranker": without + 0.1 * rng.random(40), "ranker-content": without - 0.2 * rng.random(40)}
    rows = [Row(name, {"MAP": found}, 0.0, {"n_neighbours": 2}) for name, found in values.items()]
    rows += [Row("ranker", {"MAP": without}, 0.0, {"beta": 0.0}), Row("linear", {"MAP": without}, 0.0, {"k": 5})]
    gains = gains_by_agreement(rows, found, "MAP")
    assert [(gain.by, gain.k, round(gain.fewer, 6)) for gain in gains] == [("content", 2, 0.1), ("features", 2, 0.5)]
    assert gains[1].mean == pytest.approx((values["ranker"] - without).mean())
    assert gains[0].interval[0] < gains[0].mean < gains[0].interval[1] < 0 < gains[1].interval[0]
    (section,) = gain_table(gains, "MAP")
    assert [line[:3] for line in section.rows] == [["content", "2", "10.0%"], ["features", "2", "50.0%"]]
    ((name, draw),) = gain_figure(gains, "cacm", "MAP").items()
    draw(tmp_path / f"{name}.png")
    assert (tmp_path / "preference-cacm-gain-by-agreement.png").stat().st_size > 5000


def test_without_rows_of_other_numbers_there_is_no_table_of_gains():
    rows = [Row("ranker", {"MAP": np.ones(3)}, 0.0, {"beta": 0.0})]
    assert gains_by_agreement(rows, {}, "MAP") == gains_by_agreement([], {}, "MAP") == gain_table([], "MAP") == []
