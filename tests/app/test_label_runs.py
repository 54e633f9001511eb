"""`tacit label --runs`: what to judge in order to decide between systems."""

import csv
import io
import json

import pytest

from tacit.app.main import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, order in (("old", "abcd"), ("new", "abdc")):
        lines = [f"q Q0 {d} {rank} {9 - rank} x\n" for rank, d in enumerate(order, 1)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "queries.tsv").write_text("q\tred cat\n")
    return tmp_path


def test_only_what_differs_is_asked(folder, capsys):
    assert main(["label", "--runs", "old.run", "new.run", "--queries", "queries.tsv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["document"] for row in rows} == {"c", "d"}
    assert {(row["query"], row["text"], row["grade"], row["model"]) for row in rows} == {
        ("q", "red cat", "?", "old+new")
    }


def test_judged_pairs_are_left_out_and_probabilities_kept(folder, capsys):
    assert main(["label", "--runs", "old.run", "new.run", "-n", "1", "--judgments", "s", "-o", "next.csv"]) == 0
    text = (folder / "next.csv").read_text().replace("?", "1")
    (folder / "next.csv").write_text(text)
    assert main(["judgments", "import", "s", "next.csv", "--judge", "ann"]) == 0
    capsys.readouterr()
    assert main(["label", "--runs", "old.run", "new.run", "--judgments", "s", "--json", "--for", "measuring"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["for"] == "measuring"
    assert len(found["pairs"]) == 3
    assert all(pair["probability"] == 1 for pair in found["pairs"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("--runs old.run", "want 2 or more"),
        ("--runs old.run new.run --for training", "needs a MODEL"),
        ("--runs old.run new.run --strategy gain", "--strategy is for training"),
        ("", "want a MODEL, or --runs"),
        ("my.model", "--queries is required"),
        ("my.model --runs old.run new.run", "not both"),
        ("my.model --queries queries.tsv --for choosing", "needs --runs"),
    ],
)
def test_mistakes_are_one_line(call, message, folder, capsys):
    assert main(["label", *call.split()]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
