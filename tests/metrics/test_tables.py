"""Tables: the figures of the evaluations, the marks of the tests, the best in bold."""

import numpy as np
import pytest

from tacit.core import Judgments, Run, TacitError, UsageError
from tacit.metrics import Evaluation, comparison_table, evaluate


def values():
    base = np.linspace(0.1, 0.5, 12)
    wobble = np.tile([0.01, -0.01, 0.02], 4)
    return {
        "bm25": {"AP": base, "rank_loss": base},
        "same": {"AP": base + wobble - wobble.mean(), "rank_loss": base},
        "ssi": {"AP": base + 0.2 + wobble, "rank_loss": base / 2},
    }


def test_cells_hold_means_errors_and_corrected_p_values_against_the_baseline():
    table = comparison_table(values())
    assert [row.system for row in table.rows] == ["bm25", "same", "ssi"]
    assert table.measures == ["AP", "rank_loss"]
    bm25, same, ssi = (row.cells["AP"] for row in table.rows)
    assert bm25.mean == pytest.approx(0.3)
    assert bm25.standard_error == pytest.approx(np.linspace(0.1, 0.5, 12).std(ddof=1) / np.sqrt(12))
    assert (bm25.p, bm25.significant, same.significant, ssi.significant) == (None, False, False, True)
    assert (bm25.best, ssi.best) == (False, True)
    assert {(c.metric, c.better, c.worse): c.p for c in table.comparisons}["AP", "ssi", "bm25"] == ssi.p


@pytest.mark.parametrize(("factor", "significant"), [(0.7, False), (1.4, True)])
def test_the_mark_stands_where_p_is_below_alpha(factor, significant):
    p = comparison_table(values()).rows[2].cells["AP"].p
    cell = comparison_table(values(), alpha=p * factor).rows[2].cells["AP"]
    assert (cell.significant, cell.mark) == (significant, " †" if significant else "")


def test_of_a_loss_the_smallest_is_best():
    losses = [row.cells["rank_loss"] for row in comparison_table(values()).rows]
    assert [cell.best for cell in losses] == [False, False, True]
    assert losses[1].p == 1.0  # equal to the baseline


def test_markdown_names_baseline_test_and_level_and_keeps_odd_names_in_their_column():
    systems = values()
    systems["a|b"] = systems.pop("same")
    text = comparison_table(systems, ["AP"], baseline="ssi", test="wilcoxon", alpha=0.01).to_markdown()
    lines = text.splitlines()
    assert lines[0] == "| system | AP |"
    assert lines[2].endswith(" † |")
    assert lines[3].startswith("| ssi | **0.5067 ± ")
    assert lines[4].startswith("| a\\|b | ")
    assert lines[6] == (
        "12 queries; mean ± standard error; † differs from ssi, p < 0.01 "
        "(Wilcoxon signed-rank test, two-sided, Holm); best in bold."
    )


def test_a_single_system_or_query_has_nothing_to_mark():
    table = comparison_table({"only": {"AP": np.array([0.5])}})
    assert table.to_markdown().splitlines()[2] == "| only | 0.5000 |"
    assert table.comparisons == []


def test_evaluations_of_runs_go_straight_into_a_table():
    judgments = Judgments.from_dict({q: {"a": 1, "b": 0} for q in "uvw"})
    good = evaluate(judgments, Run.from_dict({q: {"a": 2.0, "b": 1.0} for q in "uvw"}), ["AP", "P@1"])
    bad = evaluate(judgments, Run.from_dict({q: {"a": 1.0, "b": 2.0} for q in "uvw"}), ["AP", "P@1"])
    table = comparison_table({"good": good, "bad": bad}, test="randomization")
    assert [(c.better, c.metric, c.p) for c in table.comparisons] == [("good", "AP", 0.25), ("good", "P@1", 0.25)]


def test_refuses_systems_that_cannot_stand_side_by_side():
    one, other = (Evaluation([name], {"AP": np.array([0.5])}) for name in "ab")
    with pytest.raises(TacitError, match="'y' and 'x' were measured on different queries"):
        comparison_table({"x": one, "y": other})
    with pytest.raises(TacitError, match="'x' has no values of 'RR', only of AP"):
        comparison_table({"x": one}, ["RR"])
    with pytest.raises(UsageError, match="baseline is 'z', want one of x"):
        comparison_table({"x": one}, baseline="z")
    with pytest.raises(UsageError, match="test is 'f'"):
        comparison_table({"x": one}, test="f")
    with pytest.raises(TacitError, match="systems is empty"):
        comparison_table({})
