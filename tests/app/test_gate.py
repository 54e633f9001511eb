"""`tacit gate`: exit codes, JUnit, Markdown, and the workflow in examples/."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import Judgments, Run
from tacit.data import write_qrels, write_run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An old run, one that is clearly worse, one that differs a little, and the judgments."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    qrels = {f"q{q}": {f"d{d}": int(rng.random() < 0.3) for d in range(20)} for q in range(40)}
    base = {q: {d: g + rng.normal(scale=0.5) for d, g in grades.items()} for q, grades in qrels.items()}
    runs = {
        "base": base,
        "worse": {q: {d: s - 1.5 * qrels[q][d] for d, s in found.items()} for q, found in base.items()},
        "other": {q: {d: g + rng.normal(scale=0.5) for d, g in grades.items()} for q, grades in qrels.items()},
    }
    for name, nested in runs.items():
        write_run(
            Run.from_dict({q: {d: float(s) for d, s in found.items()} for q, found in nested.items()}), f"{name}.run"
        )
    write_qrels(Judgments.from_dict(qrels), "qrels.txt")
    return tmp_path


@pytest.mark.parametrize(
    ("call", "code", "decision"),
    [
        ("base.run base.run", 0, "pass"),
        ("base.run base.run --strict", 0, "pass"),
        ("worse.run base.run --strict", 0, "pass"),
        ("base.run worse.run", 3, "worse"),
        ("base.run worse.run --margin 0.9", 0, "pass"),
        ("base.run worse.run --sequential", 3, "worse"),
        ("base.run other.run", 0, "cannot tell"),
        ("base.run other.run --strict", 4, "cannot tell"),
    ],
)
def test_exit_codes(call, code, decision, folder, capsys):
    assert main(["gate", "qrels.txt", *call.split(), "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert (found["decision"], found["exit"]) == (decision, code)
    assert (found["more_queries"] > 0) == (decision == "cannot tell")
    assert main(["gate", "qrels.txt", *call.split()]) == code
    assert f"{decision}: " in capsys.readouterr().out


def test_reports(folder, capsys):
    files = ["--junit", "gate.xml", "--markdown", "comment.md"]
    assert main(["gate", "qrels.txt", "base.run", "worse.run", *files]) == 3
    suite = ElementTree.parse("gate.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite[0][0].tag == "failure"
    text = Path("comment.md").read_text("utf-8")
    assert text.startswith("### ❌ Search quality: worse\n")
    assert "| most changed query |" in text
    assert main(["gate", "qrels.txt", "base.run", "other.run", *files]) == 0
    assert ElementTree.parse("gate.xml").getroot()[0][0][0].tag == "skipped"
    assert main(["gate", "qrels.txt", "base.run", "other.run", "--strict", *files]) == 4
    assert ElementTree.parse("gate.xml").getroot()[0][0][0].tag == "failure"
    assert main(["gate", "qrels.txt", "base.run", "base.run", *files]) == 0
    assert ElementTree.parse("gate.xml").getroot()[0].get("failures") == "0"


def test_the_sequential_mode_says_what_it_guarantees(folder, capsys):
    main(["gate", "qrels.txt", "base.run", "other.run", "--sequential"])
    assert "is valid at every look" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        ("qrels.txt base.run absent.run", 1, "absent.run"),
        ("qrels.txt base.run bad.run", 1, "bad.run:1"),
        ("qrels.txt base.run apart.run", 1, "the new run has results for none of the judged queries"),
        ("qrels.txt base.run", 2, "NEW"),
        ("qrels.txt base.run other.run --measure rank_loss", 2, "cannot gate by rank_loss"),
        ("qrels.txt base.run other.run --margin 2", 2, "margin"),
        ("qrels.txt base.run other.run --junit absent/x.xml", 1, "there is no folder"),
    ],
)
def test_mistakes_are_one_line(call, code, message, folder, capsys):
    (folder / "bad.run").write_text("x\n")
    (folder / "apart.run").write_text("other Q0 d1 1 1.0 x\n")
    assert main(["gate", *call.split()]) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


WORKFLOW = Path(__file__).parents[2] / "examples" / "github_gate.yml"


def steps():
    """(name, commands) of the steps that run commands, read from the workflow line by line."""
    found, lines = [], WORKFLOW.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if line.strip().startswith("run:"):
            name = next(text for text in reversed(lines[:number]) if "- name:" in text).split("name: ")[1]
            inline = line.split("run:")[1].strip()
            block = []
            for text in lines[number + 1 :] if inline == "|" else []:
                if not text.startswith(" " * 10):
                    break
                block.append(text.strip())
            found.append((name, "\n".join(block) if inline == "|" else inline))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("new", "code"), [("base", 0), ("worse", 3)])
def test_the_workflow_in_examples_runs(new, code, folder):
    """Every command of the workflow is run by bash; pip, gh and the ranking are stand-ins, tacit is real."""
    (folder / "search").mkdir()
    (folder / "bin").mkdir()
    for name in ("qrels.txt", "base.run"):
        shutil.copy(name, folder / "search" / name.replace("base", "main"))
    (folder / "search" / "tacit_rank-0.1.0-py3-none-any.whl").touch()
    scripts = {
        "bin/tacit": f'exec "{sys.executable}" -m tacit "$@"',
        "bin/pip": 'echo "$@" > pip.log',
        "bin/gh": 'cat "${@: -1}" > posted.md',
        "search/rank.sh": f"cat {new}.run",
    }
    for path, text in scripts.items():
        (folder / path).write_text(f"#!/bin/bash\n{text}\n")
        (folder / path).chmod(0o755)
    env = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PULL_REQUEST": "7"}
    env |= {"GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    codes = {
        name: subprocess.run(["bash", "-e", "-c", command], cwd=folder, env=env, check=False).returncode
        for name, command in steps()
    }
    assert codes.pop("Compare with the run of the main branch") == code
    assert set(codes.values()) == {0}
    assert len(codes) == 3
    assert (folder / "pip.log").read_text() == "install search/tacit_rank-0.1.0-py3-none-any.whl\n"
    assert (folder / "posted.md").read_text("utf-8") == (folder / "summary.md").read_text("utf-8")
    assert "Search quality" in (folder / "posted.md").read_text("utf-8")
