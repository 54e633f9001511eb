"""`tacit methods` and `--set`: every method is listed, every parameter can be set by name."""

import json

import pytest

from tacit import rerank, retrieve
from tacit.app.options import named_value
from tacit.search import Searcher

TABLES = {"collections": retrieve.METHODS, "lists": rerank.METHODS}
LISTS = "".join(
    f"{grade} qid:{query} 1:{grade + query % 2} 2:{query} #docid = {query}{grade}\n"
    for query in range(1, 9)
    for grade in (0, 1, 2)
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = ["red cat", "blue dog", "red dog and cat"]
    (tmp_path / "docs.jsonl").write_text(
        "".join(f'{{"id": "d{n}", "text": "{text}"}}\n' for n, text in enumerate(texts))
    )
    (tmp_path / "links.tsv").write_text("d0\td2\nd2\td0\n")
    (tmp_path / "lists.txt").write_text(LISTS)
    return tmp_path


def test_all_methods_are_listed_by_family(tacit):
    code, out, err = tacit("methods")
    assert (code, err) == (0, "")
    for table in TABLES.values():
        for method in table.values():
            assert f"\n    {method.name} " in out
            assert f"\n  {method.family}\n" in out
            assert out.count(f"  {method.summary}\n") >= 1
    found = json.loads(tacit("methods", "--json")[1])
    assert {kind: [entry["name"] for entry in entries] for kind, entries in found.items()} == {
        kind: list(table) for kind, table in TABLES.items()
    }


@pytest.mark.parametrize("name", [*retrieve.METHODS, *rerank.METHODS])
def test_every_parameter_is_listed_with_its_meaning(tacit, name):
    found = json.loads(tacit("methods", name, "--json")[1])
    table = TABLES[found["kind"]]
    assert [p["name"] for p in found["parameters"]] == [p.name for p in table[name].parameters()]
    assert [p["name"] for p in found["parameters"] if not p["meaning"]] == []
    assert tacit("methods", name)[0] == 0


def test_a_method_is_shown_with_one_line_for_each_parameter(tacit):
    lines = tacit("methods", "bm25")[1].splitlines()
    assert lines[0].startswith("bm25: ")
    wanted = [["k1", "1.5"], ["b", "0.75"], ["variant", "lucene"], ["delta", "0.5"]]
    assert [line.split()[:2] for line in lines[-4:]] == wanted
    code, out, err = tacit("methods", "bm26")
    assert (code, out) == (2, "")
    assert "did you mean 'bm25'" in err


def test_values_are_json_or_text():
    assert named_value('a=["x", null]') == ("a", ["x", None])
    assert named_value("a=b=c") == ("a", "b=c")
    assert named_value("a=NaN") == ("a", "NaN")


def test_fit_sets_parameters(folder, tacit):
    words = ("fit", "docs.jsonl", "--links", "links.tsv", "--method", "ssi-uv", "-o", "model", "--threads", 2)
    assert tacit(*words, "--dim", 3, "--set", "n_epochs=2", "--set", "tune=false")[0] == 0
    params = Searcher.load("model").ranker_.get_params()
    assert (params["dim"], params["n_epochs"], params["tune"], params["threads"]) == (3, 2, False, 2)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ("fit", "docs.jsonl", "-o", "m", "--method", "bm25", "--set", "k2=1"),
            "'bm25' has no parameter 'k2'; its parameters are k1=1.5",
        ),
        (("fit", "docs.jsonl", "-o", "m", "--set", "k1"), "want NAME=VALUE"),
        (("fit", "docs.jsonl", "-o", "m", "--set", "k1=1", "--set", "k1=2"), "k1 is set twice"),
        (("rank", "lists.txt", "lists.txt", "--set", "rounds=5"), "method 'standing' has no parameter 'rounds'"),
        (("rank", "--model", "m", "lists.txt", "--set", "n_rounds=5"), "--model and --set exclude each other"),
        (("learning-curve", "lists.txt", "--set", "rounds=5"), "has no parameter 'rounds'"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named_with_the_right_ones(folder, tacit, words, problem):
    code, out, err = tacit(*words)
    assert (code, out) == (2, "")
    assert problem in err
    assert err.count("\n") == 1


def test_rank_and_learning_curve_set_parameters(folder, tacit):
    words = ("--method", "rankboost", "--set", "n_rounds=3", "--save", "model", "-o", "my.run")
    assert tacit("rank", "lists.txt", "lists.txt", *words)[0] == 0
    assert rerank_params("model")["n_rounds"] == 3
    words = ("learning-curve", "lists.txt", "--share", 1, "--seeds", 1, "--json")
    both = tacit(*words, "--method", "rankboost", "--against", "linear", "--set", "n_rounds=1")
    assert (both[0], len(json.loads(both[1])["points"])) == (0, 2)


def rerank_params(path):
    from tacit import load

    return load(path).get_params()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("method", ["bm25", "lsi"])
def test_training_data_that_a_method_does_not_use_is_reported(folder, tacit, method):
    dim = ("--dim", 2) if method == "lsi" else ()
    code, _, err = tacit("fit", "docs.jsonl", "--links", "links.tsv", "--method", method, *dim, "-o", "m")
    assert code == 0
    assert f"tacit: warning: {method} does not learn from links: not used\n" in err
    assert "pairs" not in err.splitlines()[-1]
