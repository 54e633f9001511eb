"""Experiment `label`: its table, and that cached columns change nothing."""

import numpy as np
import pytest

from tacit.experiments.lists.label import METRIC, CachedStanding, labels_needed, run
from tacit.experiments.request import Request
from tacit.rerank import StandingRanker


def test_labels_needed():
    assert labels_needed([10, 20, 40], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3]) == pytest.approx([1, 1, 1])
    assert labels_needed([10, 20, 40], [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]) == pytest.approx([1, 0.5, 0.25])
    assert labels_needed([10, 20, 40], [0.1, 0.2, 0.3], [0.2, 0.25, 0.25])[2] == 2, "never reached"


def test_cached_columns_change_nothing():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 5)), np.repeat(np.arange(6), 10)
    y = np.where(rng.random(60) < 0.5, np.nan, rng.integers(0, 3, 60))
    cached = CachedStanding()
    for grades in (y, np.where(np.arange(60) % 3 == 0, np.nan, y)):
        plain = StandingRanker().fit(X, grades, qid).predict(X + 1, qid)
        np.testing.assert_array_equal(cached.fit(X, grades, qid).predict(X + 1, qid), plain)
    assert len(cached.cache) <= 4, "two views of two tables"


@pytest.mark.parametrize("corpus", ["WTR", "cacm"])
def test_a_quick_run_has_every_strategy_and_number_of_labels(data_folder, corpus):
    report = run(Request(data=data_folder, corpus=corpus, quick=True, systems=("random", "gain")))
    again = run(Request(data=data_folder, corpus=corpus, quick=True, systems=("gain",)))
    assert {(row.system, row.setting["labels"]) for row in report.rows} == {
        (system, n) for system in ("random", "gain") for n in (15, 30, 60, 120, 240, 480)
    }
    assert all(0.1 < row.metrics[METRIC] < 0.9 for row in report.rows)
    assert [row.metrics for row in again.rows] == [row.metrics for row in report.rows if row.system == "gain"]
    (section,) = report.sections
    assert [line[0] for line in section.rows] == ["gain"]
