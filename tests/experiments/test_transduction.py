"""The experiment on a handful of real lists: every system in the table, tests against the baselines, figures drawn."""

import numpy as np
import pytest

from tacit.core import UsageError
from tacit.experiments.request import Request
from tacit.experiments.transduction import experiment as transduction
from tacit.experiments.transduction.analysis import weight_statistics


def test_a_quick_run_measures_and_draws(data_folder, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(transduction, "QUICK_LISTS", 2)
    systems = ("rankboost", "fg", "guarded")
    report = transduction.run(Request(data=data_folder, corpus="MQ2008", systems=systems, quick=True, threads=1))
    assert [row.system for row in report.rows] == list(systems)
    assert {"MAP", "nDCG-letor@1", "nDCG-letor@14"} <= set(report.rows[0].values)
    assert all(len(row.values["MAP"]) == 2 for row in report.rows)
    titles = [section.title for section in report.sections]
    assert any("against rankboost" in title for title in titles)
    assert any("220 queries have no relevant document and count 0" in note for note in report.notes)
    for name, draw in report.figures.items():
        draw(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 1000


def test_shares_of_training_queries_are_cells_of_a_full_run():
    class Corpus:
        name = "MQ2008"

    cells = transduction._cells(Request(full=True), Corpus, ("rankboost", "lightgbm"))
    assert [(cell["share"], cell["system"]) for cell in cells] == [
        (0.4, "rankboost"),
        (0.6, "rankboost"),
        (0.8, "rankboost"),
        (1.0, "rankboost"),
        (1.0, "lightgbm"),
    ]


def test_a_wrong_name_is_told_before_anything_is_trained(data_folder):
    with pytest.raises(UsageError, match="did you mean 'guarded'"):
        transduction.run(Request(data=data_folder, systems=("guarde",)))


def test_statistics_of_equal_and_of_spread_weights():
    equal = weight_statistics([np.ones(50)])
    assert equal["median"] == equal["25th quantile"] == 1
    assert equal["entropy"] == equal["standard deviation"] == 0
    spread = weight_statistics([np.array([0.0, 0, 0, 12])])
    assert spread["mode"] == 0.5
    assert spread["entropy"] == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
