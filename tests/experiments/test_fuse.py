"""Experiment `fuse`: draws on small runs, and the means of the grid against plain formulas."""

import json

import numpy as np
import pytest

from tacit.core import Judgments, Run
from tacit.data import write_qrels, write_run
from tacit.experiments.fuse import _close, arithmetic, geometric, harmonic, noisy_copy, run
from tacit.experiments.request import Request


@pytest.fixture
def folder(tmp_path):
    """Four runs of 45 queries, of different strength."""
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(rng.random() < 0.2) for d in range(20)} for q in range(45)}
    (tmp_path / "runs").mkdir()
    for leg, strength in enumerate((0.2, 0.8, 1.5, 2.5)):
        nested = {q: {d: float(strength * g + rng.normal()) for d, g in grades.items()} for q, grades in qrels.items()}
        write_run(Run.from_dict(nested), tmp_path / "runs" / f"leg{leg}.run.gz")
    write_qrels(Judgments.from_dict(qrels), tmp_path / "qrels.txt")
    return tmp_path


def test_a_folder_of_runs(folder):
    report = run(Request(data=folder, corpus=str(folder), quick=True))
    rows = report.to_json()["rows"]
    assert {(row["system"], row["task"], row["queries"]) for row in rows} == {
        (system, task, n) for system in ("tacit", "grid") for task in ("pairs", "triples") for n in (10, 20, 40)
    }
    assert all(set(row["metrics"]) == {"gain", "harmful"} for row in rows)
    again = run(Request(data=folder, corpus=str(folder), quick=True)).to_json()["rows"]
    assert [row["metrics"] for row in rows] == [row["metrics"] for row in again]
    assert [section.title.split()[0] for section in report.sections] == ["Coverage", "Legs", "False"]
    json.dumps(report.to_json())


def test_draws_of_similar_legs_are_counted_apart():
    gains = np.array([0.02, -0.01, -0.004, 0.03])
    values = {"apart": np.array([0.05, 0.09, 0.1, 0.3]), "gain 10": gains, "grid 10": gains - 0.02}
    assert _close(values, "pairs", 10) == ["pairs", "10", "2", "+0.0050", "-0.0150", "0.500", "0.500"]
    assert _close(values | {"apart": np.ones(4)}, "pairs", 10)[2:] == ["0", "", "", "", ""]


def test_means_of_the_grid():
    columns, weights = np.array([[0.5, 0.2], [0.0, 0.4], [0.0, 0.0]]), np.array([0.25, 0.75])
    assert arithmetic(columns, weights) == pytest.approx([0.275, 0.3, 0.0])
    assert harmonic(columns, weights) == pytest.approx([1 / (0.25 / 0.5 + 0.75 / 0.2), 0.4, 0.0])
    assert geometric(columns, weights) == pytest.approx([0.5**0.25 * 0.2**0.75, 0.4, 0.0])
    assert harmonic(columns, np.array([1.0, 0.0])) == pytest.approx([0.5, 0.0, 0.0])


def test_copies_have_the_same_documents_and_other_scores():
    original = Run.from_dict({"q": {"a": 3.0, "b": 1.0}, "p": {"a": 1.0, "c": 1.0}})
    copy = noisy_copy(original, np.random.default_rng(0))
    assert {q: set(found) for q, found in copy.to_dict().items()} == {"q": {"a", "b"}, "p": {"a", "c"}}
    assert not np.allclose(copy.score, original.score)
