"""The experiment on a handful of real lists: every system in the table, tests against the baselines, figures drawn."""

import numpy as np
import pytest

from tacit.core import UsageError
from tacit.experiments.lists import transduction
from tacit.experiments.lists.letor_task import read_letor_corpus
from tacit.experiments.lists.transduction_analysis import improved_lists, weight_statistics
from tacit.experiments.report import Row
from tacit.experiments.request import Request
from tacit.rerank import AdaCostRanker


def test_a_quick_run_measures_and_draws(data_folder, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(transduction, "QUICK_LISTS", 2)
    systems = ("rankboost", "fg", "iw-printed-footnote", "guarded")
    report = transduction.run(Request(data=data_folder, corpus="MQ2008", systems=systems, quick=True, threads=1))
    found = [(row.system, row.setting["scale"], row.setting["rounds"]) for row in report.rows]
    scaled = [(system, "zscore", rounds) for rounds in ("fixed", "chosen") for system in ("rankboost", "fg")]
    assert found == [*((system, "none", "chosen") for system in systems), *scaled]
    assert {"MAP", "nDCG-letor@1", "nDCG-letor@14"} <= set(report.rows[0].values)
    assert all(len(row.values["MAP"]) == 2 for row in report.rows)
    titles = [section.title for section in report.sections]
    assert any("against rankboost" in title for title in titles)
    assert any("test lists whose AP is more than 20% above rankboost" in title for title in titles)
    assert report.sections[0].header[-2:] == ["p", "Holm-corrected p"]
    assert any("queries without a relevant document, counted as 0: 220" in note for note in report.notes)
    for name, draw in report.figures.items():
        draw(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 1000


def test_shares_of_training_queries_are_cells_of_a_full_run():
    class Corpus:
        name = "MQ2008"

    cells = transduction._cells(Request(full=True), Corpus, ("rankboost", "lightgbm", "uniform"))
    assert [(cell["share"], cell["system"], cell["scale"], cell["rounds"]) for cell in cells] == [
        (0.4, "rankboost", "none", "chosen"),
        (0.6, "rankboost", "none", "chosen"),
        (0.8, "rankboost", "none", "chosen"),
        (1.0, "rankboost", "none", "chosen"),
        (1.0, "lightgbm", "none", "chosen"),
        (1.0, "rankboost", "zscore", "fixed"),
        (1.0, "uniform", "zscore", "fixed"),
        (1.0, "rankboost", "zscore", "chosen"),
        (1.0, "uniform", "zscore", "chosen"),
    ]


def test_controls_with_equal_costs_have_no_importance_weights():
    uniform, both = (transduction._make(system, Request(), "zscore") for system in ("uniform", "fg+uniform"))
    assert isinstance(uniform, AdaCostRanker)
    assert isinstance(both.base, AdaCostRanker)
    assert both.adapt is None
    assert [kernel.n_components for kernel in both.discover.kernels] == [5] * 5
    assert uniform.scale == both.scale == "zscore"


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


def test_table_4_is_of_the_lists_that_improve_by_a_fifth(data_folder):
    folds = transduction._quick_folds(read_letor_corpus(data_folder, "OHSUMED-letor2"))
    before, after = np.array([0.5, 0.5, 0.1, 0.0, 0.4]), np.array([0.61, 0.59, 0.11, 0.1, 0.4])
    section = improved_lists(folds, Row("fg", {"MAP": after}, 1.0), Row("rankboost", {"MAP": before}, 1.0))
    assert sum(int(count) for _, count in section.rows) == 2  # +22 % and from 0; +18 % and +10 % are too little
    assert "2 test lists" in section.title


def test_all_boosted_rankers_have_the_same_number_of_rounds():
    for system in ("rankboost", "fg", "iw", "fg+iw", "fg-printed", "iw-printed", "iw-printed-clipped"):
        ranker = transduction._make(system, Request())
        assert getattr(ranker, "n_rounds", None) == 300, system
    assert transduction._make("iw-printed-footnote", Request()).base.n_rounds == 300
    assert transduction._make("iw-printed-clipped", Request()).adapt.clip == 0.95
