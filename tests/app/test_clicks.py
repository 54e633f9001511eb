"""Clicks on the command line: they train searchers and rankers of lists."""

import json

import numpy as np
import pytest

from tacit.app.main import main
from tacit.rerank import METHODS

SESSIONS = [
    {"query": "1", "shown": ["a", "b"], "clicked": ["b"], "count": 40},
    {"query": "1", "shown": ["b", "a"], "clicked": ["b"]},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(session) + "\n" for session in SESSIONS))
    (tmp_path / "lists.txt").write_text("-1 qid:1 1:5 #docid = a\n-1 qid:1 1:3 #docid = b\n")
    (tmp_path / "docs.tsv").write_text("a\tcats purr\nb\tdogs bark at the one\n")
    (tmp_path / "queries.tsv").write_text("1\tthe one\n")
    return tmp_path


def ranked(capfd):
    return [line.split()[2] for line in capfd.readouterr().out.splitlines()]


def test_lists_without_any_grade_learn_from_clicks(folder, capfd):
    assert main(["rank", "lists.txt", "lists.txt", "--method", "linear", "--clicks", "log.jsonl"]) == 0
    assert ranked(capfd) == ["b", "a"]
    assert main(["rank", "lists.txt", "lists.txt", "--clicks", "log.jsonl", "--preferences", "p"]) == 2


def test_few_clicks_keep_the_shown_order(folder, capfd):
    (folder / "log.jsonl").write_text(json.dumps(SESSIONS[0] | {"count": 1}))
    assert main(["rank", "lists.txt", "lists.txt", "--method", "linear", "--clicks", "log.jsonl"]) == 0
    assert ranked(capfd) == ["a", "b"]


@pytest.mark.parametrize("log", ["the one\tb\t40\nthe one\ta\n", "1\tb\t40\n1\ta\n"])
def test_counts_by_text_or_id_train_rankers_of_lists(folder, capfd, log):
    (folder / "log.tsv").write_text(log)
    options = ["--method", "linear", "--clicks", "log.tsv", "--queries", "queries.tsv"]
    assert main(["rank", "lists.txt", "lists.txt", *options]) == 0
    assert ranked(capfd) == ["b", "a"]
    assert (
        main(["fit", "docs.tsv", "--method", "qe", "--clicks", "log.tsv", "--queries", "queries.tsv", "-o", "m"]) == 0
    )
    assert "and 2 pairs" in capfd.readouterr().err
    assert main(["rank", "lists.txt", "lists.txt", "--queries", "queries.tsv"]) == 2


def test_searchers_learn_from_sessions(folder, capfd):
    fit = ["fit", "docs.tsv", "--clicks", "log.jsonl", "--position-one", "--method", "qe", "-o", "model"]
    assert main([*fit, "--queries", "queries.tsv"]) == 0
    assert "and 1 pair," in capfd.readouterr().err
    assert main(fit) == 1  # ids are no texts
    assert "no training query has a word of the documents, want texts: the first is '1'" in capfd.readouterr().err
    assert main(["fit", "docs.tsv", "--position-one", "-o", "model"]) == 2


@pytest.mark.parametrize("rerank", [(), ("--rerank", "linear")])
def test_a_query_that_was_asked_before_has_the_clicked_document_first(folder, capfd, rerank):
    (folder / "docs.tsv").write_text("a\tone one one\nb\tdogs bark at the one\nc\tcats purr at one\n")
    fit = ["fit", "docs.tsv", "--clicks", "log.jsonl", "--queries", "queries.tsv", "-o", "model", *rerank]
    assert main(fit) == 0
    assert "clicks change the results of 1 query in the log\n" in capfd.readouterr().err
    assert main(["search", "model", "The ONE", "--explain", "-k", "1"]) == 0
    shown = capfd.readouterr().out
    assert "b" in shown.split()[:4]
    assert "clicks +" in shown
    assert main(["search", "model", "one", "--json", "-k", "1"]) == 0
    assert json.loads(capfd.readouterr().out)["hits"][0]["id"] == "a"  # another query


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_from_clicks_or_says_what_it_needs(tmp_path, monkeypatch, capfd, method):
    if method in ("lightgbm", "lightgbm-pointwise", "sslambdamart"):
        pytest.importorskip("lightgbm")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows, log = [], []
    for query in range(4):
        X = rng.random((12, 3))
        rows += [f"-1 qid:{query} 1:{x[0]:.3f} 2:{x[1]:.3f} 3:{x[2]:.3f} #docid = d{n}" for n, x in enumerate(X)]
        shown = [f"d{n}" for n in np.argsort(-X[:, 0])[:6]]
        log += [{"query": str(query), "shown": shown, "clicked": shown[n : n + 1]} for n in range(4)]
    (tmp_path / "lists.txt").write_text("\n".join(rows))
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, log)))
    code = main(["rank", "lists.txt", "lists.txt", "--method", method, "--clicks", "log.jsonl", "-o", "out"])
    errors = [line for line in capfd.readouterr().err.splitlines() if line.startswith("tacit: ")]
    assert (code, len(errors)) in ((0, 0), (1, 1))
    assert (code == 1) == (method in ("lightgbm", "lightgbm-pointwise", "guarded", "tsvm", "manifold"))
