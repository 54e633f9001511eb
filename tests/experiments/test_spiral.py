"""The semi-supervised ranker follows the spiral, the supervised one does not; the pictures can be drawn."""

import numpy as np
import pytest

from tacit.core import UsageError
from tacit.experiments.lists.spiral import example_forces, make_spiral, run
from tacit.experiments.request import Request


@pytest.fixture(scope="module")
def report():
    return run(Request(quick=True))


def test_the_arm_is_followed_only_with_the_unjudged_points(report):
    supervised, semi = (row.values["spearman"] for row in report.rows)
    assert (semi > 0.95).all()
    assert (supervised < 0.7).all()


def test_figures_are_drawn(report, tmp_path):
    for name, draw in report.figures.items():
        draw(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_same_seed_same_spiral():
    assert np.array_equal(make_spiral(seed=4), make_spiral(seed=4))
    assert not np.array_equal(make_spiral(seed=4), make_spiral(seed=5))


def test_labelled_forces_pull_the_relevant_up_and_unlabelled_ones_draw_those_alike_together():
    forces = example_forces()
    assert forces["labelled"][4] > 0 > forces["labelled"][1]
    assert forces["unlabelled"][0] < 0 < forces["unlabelled"][4]
    assert forces["unlabelled"][1] < 0 < forces["unlabelled"][5]
    assert sum(forces["unlabelled"]) == pytest.approx(0)


def test_other_systems_are_refused():
    with pytest.raises(UsageError, match="system is 'rankboost', want one of bt, ssbt"):
        run(Request(systems=("rankboost",)))
