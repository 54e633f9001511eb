"""Clicks on the command line: they train searchers and rankers of lists."""

import json

import pytest

from tacit.app.main import main

SESSIONS = [
    {"query": "1", "shown": ["a", "b"], "clicked": ["b"], "count": 4},
    {"query": "1", "shown": ["b", "a"], "clicked": ["b"]},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(session) + "\n" for session in SESSIONS))
    (tmp_path / "lists.txt").write_text("-1 qid:1 1:5 #docid = a\n-1 qid:1 1:3 #docid = b\n")
    (tmp_path / "docs.tsv").write_text("a\tcats purr\nb\tdogs bark at the one\n")
    return tmp_path


def test_lists_without_any_grade_learn_from_clicks(folder, capfd):
    assert main(["rank", "lists.txt", "lists.txt", "--method", "linear", "--clicks", "log.jsonl"]) == 0
    assert [line.split()[2] for line in capfd.readouterr().out.splitlines()] == ["b", "a"]
    assert main(["rank", "lists.txt", "lists.txt", "--clicks", "log.jsonl", "--preferences", "p"]) == 2


def test_searchers_learn_from_sessions(folder, capfd):
    assert main(["fit", "docs.tsv", "--clicks", "log.jsonl", "--position-one", "--method", "qe", "-o", "model"]) == 0
    assert "and 1 pairs" in capfd.readouterr().err
    assert main(["fit", "docs.tsv", "--position-one", "-o", "model"]) == 2
