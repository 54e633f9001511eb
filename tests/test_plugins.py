"""The template of docs/own-methods.md, installed: its ranker and experiment work like those of tacit."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import Lists, TacitError
from tacit.data import write_letor
from tacit.search import load

ROOT = Path(__file__).parent.parent
FILES = {
    "pyproject.toml": "toml",
    "my_rankers/__init__.py": "python",
    "my_rankers/ranker.py": "python",
    "my_rankers/study.py": "python",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder as an installer leaves it: the package and its metadata with the entry points."""
    page = (ROOT / "docs" / "own-methods.md").read_text("utf-8")
    blocks = re.findall(r"```(toml|python)\n(.*?)```", page, re.DOTALL)
    folder = tmp_path_factory.mktemp("installed")
    for (name, kind), (found, text) in zip(FILES.items(), blocks, strict=True):
        assert kind == found
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    info = folder / "my_rankers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-rankers\nVersion: 1.0\n")
    entries = re.search(r'entry-points."tacit.methods"\]\n(.*)', (folder / "pyproject.toml").read_text(), re.DOTALL)[1]
    broken = "broken = my_rankers:NOTHING\n"
    (info / "entry_points.txt").write_text("[tacit.methods]\n" + entries.replace('"', "") + broken)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(rng.random(60) < 0.5, np.nan, (X[:, 1] > 0).astype(float))
    write_letor(Lists(X, y, np.arange(0, 61, 10), [f"q{n}" for n in range(6)], [""] * 60), folder / "lists.txt")
    return folder


SESSION = """
import io, json, sys
from contextlib import redirect_stdout
from tacit.app.main import main

def run(*words):
    with redirect_stdout(io.StringIO()) as out:
        assert main(words) == 0, words
    return out.getvalue()

rank = ["rank", "lists.txt", "lists.txt", "--method", "mean-feature", "--set", "power=0.5"]
found = {"methods": json.loads(run("methods", "--json")), "rank": run(*rank, "--save", "m.model", "-o", "first.run")}
found["experiments"] = run("reproduce")
found["study"] = json.loads(run("reproduce", "my-study", "--json"))
import tacit
ranker = tacit.load("m.model")
found["loaded"] = [type(ranker).__name__, ranker.power, int(abs(ranker.weights_).argmax())]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def session(place):
    """What the commands print where the package is installed, and the messages beside."""
    paths = os.pathsep.join([str(place), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", SESSION],
        cwd=place, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_a_registered_ranker_is_listed_trained_saved_and_loaded(session):
    found, messages = session
    assert "mean-feature" in [method["name"] for method in found["methods"]["lists"]]
    assert "mean-feature" not in [method["name"] for method in found["methods"]["collections"]]
    assert "entry point broken = my_rankers:NOTHING of tacit.methods is not used" in messages
    assert found["loaded"] == ["MeanFeatureRanker", 0.5, 1]


def test_a_registered_experiment_runs(session):
    found, _ = session
    assert " ".join(found["experiments"].split()).count("my-study one number needs nothing") == 1
    assert found["study"]["rows"][0]["metrics"] == {"AP": 0.6}


def test_without_the_package_its_model_is_refused(session, place):
    with pytest.raises(TacitError, match="'MeanFeatureRanker' is no estimator that this version knows"):
        load(place / "m.model")


def test_links_of_an_own_folder(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in range(30)]
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    docs = [{"id": f"d{n}", "title": "", "text": " ".join(rng.choice(words, 12))} for n in range(80)]
    (folder / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    links = {(f"d{a}", f"d{b}") for a, b in rng.integers(0, 80, (400, 2)).tolist() if a != b}
    (folder / "links.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in sorted(links)))
    command = ["reproduce", "links", "--corpus", "mine", "--quick", "--systems", "tfidf,bm25", "--json"]
    assert main(command) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["corpus"], [row["system"] for row in report["rows"]]) == ("mine", ["tfidf", "bm25"])
    (folder / "links.tsv").unlink()
    assert main(command) == 1
    assert capsys.readouterr().err == "tacit: mine: there is no links.tsv, want links between the documents\n"
