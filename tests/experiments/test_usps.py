"""Splits of the digits, choosing by turns, and a quick run on the real ones."""

import json

import numpy as np
import pytest

from tacit.core import DataError, UsageError
from tacit.experiments.collections.usps import (
    GRIDS,
    PRINTED,
    SYSTEMS,
    choose_by_turns,
    first_setting,
    fit_embedding,
    grid,
    read_task,
)
from tacit.experiments.registry import get_experiment
from tacit.experiments.request import Request


@pytest.fixture
def toy(tmp_path):
    """Ten clusters of digits where the nearest one is always right, in the form of the real file."""
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 10
    points = (np.eye(10)[labels] * 3 + rng.normal(0, 0.6, (400, 10))).astype(np.float32)
    folder = tmp_path / "text" / "usps"
    folder.mkdir(parents=True)
    parts = {"x_train": points[:300], "y_train": labels[:300], "x_test": points[300:], "y_test": labels[300:]}
    np.savez(folder / "usps.npz", **parts)
    return tmp_path


def test_every_parameter_is_chosen_with_the_best_of_those_before():
    asked = []

    def error(setting):
        asked.append(setting)
        return abs(setting["a"] - 2) + abs(setting["b"] - 30) / 10

    assert choose_by_turns(error, {"a": (1, 2, 3), "b": (10, 20, 30)}) == {"a": 2, "b": 30}
    assert len(asked) == 5
    assert asked[-1] == {"a": 2, "b": 30}


def test_a_system_without_parameters_is_never_tried():
    assert choose_by_turns(lambda setting: 1 / 0, {}) == {}


def test_validation_lies_inside_training(toy):
    task = read_task(toy, "standard", 0)
    held = task.validation(0)
    assert len(held.train) + len(held.test) == len(task.train) == 300
    rows = {row.tobytes() for row in task.train}
    assert {row.tobytes() for row in np.concatenate([held.train, held.test])} == rows


@pytest.mark.filterwarnings("ignore:the graph falls into")
def test_every_system_places_toy_digits(toy):
    task = read_task(toy, "standard", 0)
    for system in (*SYSTEMS, *PRINTED):
        # Few digits need more epochs than thousands.
        setting = first_setting(system) | ({"n_epochs": 40} if system.startswith("htr") else {})
        errors = task.errors(task.nearest(system, setting, 9, 0))
        assert errors.shape == (100,)
        assert errors.mean() < 0.1, system


def test_quick_run_has_the_fixed_form(data_folder, tmp_path):
    report = get_experiment("usps").run(Request(data=data_folder, quick=True, systems=("raw", "htr-rbf"), threads=1))
    found = json.loads(json.dumps(report.to_json()))
    assert [row["system"] for row in found["rows"]] == ["raw", "htr-rbf"]
    assert found["rows"][1] | {"split": "standard", "seed": 0, "dim": 50} == found["rows"][1]
    assert found["tests"][0]["metric"] == "error"
    assert found["rows"][1]["metrics"]["error"] < found["rows"][0]["metrics"]["error"] + 0.02


def test_random_split_has_the_sizes_of_the_paper(data_folder):
    one, two = (read_task(data_folder, "random", seed) for seed in (0, 1))
    assert (len(one.train), len(one.test)) == (7329, 1969)
    assert not np.array_equal(one.train, two.train)
    standard = read_task(data_folder, "standard", 0)
    assert (len(standard.train), len(standard.test)) == (7291, 2007)


def test_mistakes_are_told(tmp_path):
    with pytest.raises(UsageError, match="split"):
        read_task(tmp_path, "links", 0)
    with pytest.raises(DataError, match="usps.npz"):
        read_task(tmp_path, "standard", 0)
    path = tmp_path / "text" / "usps" / "usps.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match="usps.npz"):
        read_task(tmp_path, "standard", 0)
    np.savez(path, x_train=np.zeros((2, 2)))
    with pytest.raises(DataError, match="y_train"):
        read_task(tmp_path, "standard", 0)
    with pytest.raises(UsageError, match="system"):
        get_experiment("usps").run(Request(data=tmp_path, systems=("lsi",)))


@pytest.mark.filterwarnings("ignore:the graph falls into")
def test_printed_rows_are_added_and_likeness_to_raw_pixels_is_told(toy):
    params = {"n_epochs": 1, "n_centres": 20}
    request = Request(data=toy, quick=True, split="standard", as_printed=True, params=params, threads=1)
    report = get_experiment("usps").run(request)
    assert [row.system for row in report.rows] == [*SYSTEMS, *PRINTED]
    assert all(set(row.values) == {"error"} for row in report.rows)
    task = read_task(toy, "standard", 0, quick=True, params=params, threads=1)
    found = task.nearest("htr-linear-printed", first_setting("htr-linear-printed", params), 50, 0)
    model = fit_embedding(task, "htr-rbf-printed", first_setting("htr-rbf-printed", params), 5, 0)
    assert (model.own_share, model.size) == (None, "none")
    like = {line[0]: line[-1] for line in report.sections[-1].rows}
    assert like["htr-linear-printed"] == f"{np.mean(found == task.raw_nearest):.1%}"
    assert "raw" not in like


@pytest.mark.filterwarnings("ignore:the graph falls into")
def test_a_parameter_that_is_set_is_not_chosen(toy):
    task = read_task(toy, "standard", 0, params={"k": 4, "n_epochs": 1})
    assert first_setting("htr-linear", task.params)["k"] == 4
    assert grid("le-ose", task.params) == {"k": (4,)}
    model = fit_embedding(task, "htr-linear", first_setting("htr-linear", task.params), 3, 0)
    assert (model.k, model.n_epochs, len(model.epochs_)) == (4, 1, 1)


def test_grids_start_with_what_a_quick_run_takes():
    assert set(GRIDS) == {*SYSTEMS, *PRINTED}
    assert first_setting("htr-rbf")["k"] == 5
