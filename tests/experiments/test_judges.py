"""Experiment `judges`: tables of coverage on a small world and, where the data is, on real judges."""

import os
from pathlib import Path

import numpy as np
import pytest

from tacit.core import Lists, UsageError
from tacit.experiments.judges import few_judged, judge_values, run
from tacit.experiments.request import Request

DATA = Path(os.environ.get("TACIT_DATA", "/nowhere"))


def test_a_perfect_program_saves_labels_and_a_useless_one_none():
    rng = np.random.default_rng(0)
    people = rng.normal(0.1, 1, (50, 30))
    subsets = [np.sort(rng.choice(50, 10, replace=False)) for _ in range(30)]
    perfect = judge_values(people, people, subsets)
    assert perfect["width"].mean() < 0.6
    assert perfect["saved"].mean() > 0.4
    assert perfect["coverage"].mean() > 0.97
    assert perfect["coverage_program"].tolist() == [1.0] * 30
    biased = judge_values(people, rng.normal(3, 1, (50, 30)), subsets)
    assert biased["coverage_program"].mean() == 0
    assert biased["coverage"].mean() > 0.9
    assert (biased["width"] <= 1).all()


def test_few_judged_keeps_the_grades_of_whole_queries():
    lists = Lists(np.zeros((6, 1)), np.arange(6.0), np.array([0, 2, 4, 6]), ["a", "b", "c"], list("uvwxyz"))
    found = few_judged(lists, 2, 0)
    kept = ~np.isnan(found.y)
    assert kept.sum() == 4
    assert found.y[kept].tolist() == lists.y[kept].tolist()
    assert few_judged(lists, 2, 0).y.tolist() == pytest.approx(found.y.tolist(), nan_ok=True)


@pytest.mark.skipif(not (DATA / "judges/dl21").is_dir(), reason="TACIT_DATA has no judges/dl21")
def test_quick_report_has_every_judge_and_keeps_its_promises():
    report = run(Request(data=DATA, quick=True))
    rows = report.to_json()["rows"]
    assert len({row["system"] for row in rows}) == 13
    assert {row["human_queries"] for row in rows} == {5, 10, 15, 25}
    assert np.mean([row["metrics"]["coverage"] for row in rows]) > 0.93
    assert min(row["metrics"]["coverage"] for row in rows) > 0.9
    assert max(row["metrics"]["width"] for row in rows) <= 1
    assert len(report.sections[0].rows) == 13 + 3
    with pytest.raises(UsageError, match="corpus is 'nothing'"):
        run(Request(data=DATA, corpus="nothing"))
