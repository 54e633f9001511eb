"""Bounds of differences: every grading of the unjudged documents stays inside, and P@k reaches them."""

from itertools import product

import pytest

from tacit.core import Judgments, Run, UsageError
from tacit.metrics import difference_bounds, evaluate

OLD = {"q1": {"a": 5.0, "x": 4.0, "b": 3.0, "c": 2.0}, "q2": {"y": 2.0, "a": 1.0}}
NEW = {"q1": {"x": 5.0, "z": 4.0, "a": 3.0, "b": 2.0}, "q2": {"a": 2.0, "w": 1.0}}
GRADES = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "b": 2}}
UNJUDGED = [("q1", "x"), ("q1", "z"), ("q2", "y"), ("q2", "w")]


@pytest.mark.parametrize("measure", ["P@3", "P(rel=2)@2", "nDCG@3", "nDCG@2", "nDCG-exp@3"])
def test_no_grades_of_unjudged_documents_lead_outside(measure):
    old, new = Run.from_dict(OLD), Run.from_dict(NEW)
    bounds = difference_bounds(Judgments.from_dict(GRADES), old, new, measure)
    found = []
    for grades in product(range(3), repeat=len(UNJUDGED)):
        every = {q: dict(known) for q, known in GRADES.items()}
        for (q, d), grade in zip(UNJUDGED, grades, strict=True):
            every[q][d] = grade
        means = [evaluate(Judgments.from_dict(every), run, measure).means()[measure] for run in (old, new)]
        found.append(means[1] - means[0])
    assert bounds.low <= min(found) + 1e-12
    assert bounds.high >= max(found) - 1e-12
    if measure.startswith("P"):
        assert (bounds.low, bounds.high) == pytest.approx((min(found), max(found)))


def test_without_unjudged_documents_the_bounds_are_the_difference():
    judgments = Judgments.from_dict({"q": {"a": 1, "b": 0, "c": 2}})
    old, new = Run.from_dict({"q": {"a": 3.0, "b": 2.0}}), Run.from_dict({"q": {"c": 3.0, "b": 2.0}})
    means = [evaluate(judgments, run, "P@2").means()["P@2"] for run in (old, new)]
    bounds = difference_bounds(judgments, old, new, "P@2")
    assert (bounds.low, bounds.high, bounds.unjudged) == (means[1] - means[0], means[1] - means[0], 0)


def test_other_measures_have_no_bounds():
    with pytest.raises(UsageError, match="no bounds for AP"):
        difference_bounds(Judgments.from_dict(GRADES), Run.from_dict(OLD), Run.from_dict(NEW), "AP")
