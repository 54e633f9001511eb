"""The scripts in `examples` run."""

import os
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def run(monkeypatch, capsys):
    """run(name, *words) runs a script as `python name words` does and gives the lines that it printed."""

    def call(name, *words):
        monkeypatch.setattr(sys, "argv", [name, *words])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return call


@pytest.mark.skipif("TACIT_DATA" not in os.environ, reason="TACIT_DATA is not set: no Cranfield collection")
def test_judging_learning_and_the_verdict(run):
    lines = run("judge_and_learn.py", "--queries", "6", "--unseen", "10")
    assert lines[0].endswith("judgments of 6 queries")
    assert lines[1].startswith("verdict: ")
    assert lines[2].startswith("10 unseen queries, nDCG@10")


def test_few_judged_queries(run):
    baseline, learned = run("few_judged_queries.py")
    assert baseline.startswith("bm25: nDCG@10 0.")
    assert learned.endswith("on 40 unseen queries")


def test_lists_with_few_labels(run):
    counted, linear, standing = run("lists_with_few_labels.py")
    assert counted.endswith("of 600 rows are judged")
    for line in (linear, standing):
        assert float(line.split()[-1]) > 0.7  # about 0.3 for a random order


def test_exports(run, tmp_path):
    written, refused = run("export_to_engines.py", str(tmp_path))
    assert "featureset.json, index.json, model.json, vespa.json, xgboost.json" in written
    assert refused.endswith("nearest: --method standing --set view=features")


def test_every_example_is_run():
    tests = Path(__file__).read_text("utf-8")
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in tests] == []
