"""`--vectors` of `tacit fit`, `search`, `add` and `features`."""

import json

import numpy as np
import pytest

from tacit.data import read_letor, read_run
from tacit.search import Searcher

WORDS = {"pets": "cat kitten purr fur paw", "maths": "matrix inverse rank solve", "food": "soup onion boil salt"}
NAMES = [f"{topic}-{row}" for row in range(12) for topic in WORDS]


def vectors_of(names):
    places = {topic: np.eye(3)[place] for place, topic in enumerate(WORDS)}
    return np.stack([places[name.split("-")[0]] + 0.1 for name in names])


def write(path, texts):
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items()))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A collection with vectors, queries with vectors, and a model."""
    from tacit.app.main import main

    folder, rng = tmp_path_factory.mktemp("vectors"), np.random.default_rng(0)
    write(folder / "docs.jsonl", {name: " ".join(rng.choice(WORDS[name.split("-")[0]].split(), 6)) for name in NAMES})
    write(folder / "new.jsonl", {"pets-new": "an unknown feline"})
    write(folder / "queries.jsonl", {"pets-q": "cat purr", "maths-q": "algebra", "food-q": "soup"})
    (folder / "qrels.txt").write_text("".join(f"{name}-q 0 {name}-3 1\n" for name in ("pets", "food")))
    np.save(folder / "docs.npy", vectors_of(NAMES))
    np.savez(folder / "docs.npz", ids=np.array(NAMES[::-1]), vectors=vectors_of(NAMES[::-1]))
    np.save(folder / "new.npy", vectors_of(["pets"]))
    np.save(folder / "query.npy", vectors_of(["maths"]))
    np.savez(folder / "queries.npz", ids=np.array(["maths-q", "other"]), vectors=vectors_of(["maths", "food"]))
    options = ["--vectors", folder / "docs.npy", "--set", "vectors=1", "--dim", "3"]
    assert main([str(word) for word in ("fit", folder / "docs.jsonl", *options, "-o", folder / "model")]) == 0
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def test_fit_reads_rows_in_order_or_by_id(folder, tacit, tmp_path):
    options = ("--set", "vectors=1", "--dim", 3, "-o", tmp_path / "model")
    code, _, err = tacit("fit", "docs.jsonl", "--vectors", "docs.npz", *options)
    assert (code, err.splitlines()[-1]) == (0, "vectors of 3 dimensions have weight 1")
    one, two = (Searcher.load(path).ranker_.given_vectors()["vectors"] for path in ("model", tmp_path / "model"))
    assert np.array_equal(one, two)
    np.save(tmp_path / "random.npy", np.random.default_rng(0).normal(size=(36, 30)))
    err = tacit("fit", "docs.jsonl", "--vectors", tmp_path / "random.npy", "-o", tmp_path / "model")[2]
    assert "vectors of 30 dimensions have weight 0" in err


def test_search_with_one_vector_or_many(folder, tacit, tmp_path):
    assert tacit("search", "model", "algebra")[1] == ""
    code, out, _ = tacit("search", "model", "algebra", "--vectors", "query.npy", "--json", "--explain")
    hits = json.loads(out)["hits"]
    assert (code, {hit["id"].split("-")[0] for hit in hits}) == (0, {"maths"})
    assert hits[0]["reasons"][0]["kind"] == "vector"
    assert "because: encoder +" in tacit("search", "model", "algebra", "--vectors", "query.npy", "--explain")[1]
    run = tmp_path / "my.run"
    code, _, err = tacit("search", "model", "--queries", "queries.jsonl", "--vectors", "queries.npz", "--run", run)
    assert code == 0
    assert "2 queries without a vector, ranked by the other members" in err
    found = read_run(run).to_dict()
    assert next(iter(found["maths-q"])).startswith("maths")
    plain = tmp_path / "plain.run"
    tacit("search", "model", "--queries", "queries.jsonl", "--run", plain)
    without = read_run(plain).to_dict()
    assert "maths-q" not in without
    assert found["pets-q"] == without["pets-q"]


def test_judged_queries_with_vectors(folder, tacit, tmp_path):
    np.save(tmp_path / "asked.npy", vectors_of(["pets", "maths", "food"]))
    options = ("--queries", "queries.jsonl", "--qrels", "qrels.txt", "--vectors", "docs.npy", "--dim", 3)
    more = ("--set", "strength=0.1", "--query-vectors", tmp_path / "asked.npy")
    code, _, err = tacit("fit", "docs.jsonl", *options, *more, "-o", tmp_path / "model")
    assert (code, "vectors of 3 dimensions have weight" in err) == (0, True)


def test_add(folder, tacit, tmp_path):
    for words, message in ((("--vectors", "new.npy"), ""), ((), "no --vectors are given")):
        Searcher.load("model").save(tmp_path / "model")
        code, _, err = tacit("add", tmp_path / "model", "new.jsonl", *words)
        assert (code, message in err) == (0, True)
        assert Searcher.load(tmp_path / "model").ranker_.given_vectors()["vectors"][-1].any() == bool(words)


def test_features(folder, tacit, tmp_path):
    np.save(tmp_path / "asked.npy", vectors_of(["pets", "maths", "food"]))
    options = ("--vectors", "docs.npz", "--query-vectors", tmp_path / "asked.npy", "-o", tmp_path / "lists.txt")
    code, _, err = tacit("features", "docs.jsonl", "--queries", "queries.jsonl", *options)
    assert (code, "vectors.cosine" in err) == (0, True)
    assert read_letor(tmp_path / "lists.txt").X[:, -1].max() > 0.99


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("fit", "docs.jsonl", "--vectors", "new.npy", "-o", "m"), 1, "new.npy: no ids; vectors: 1, want 36"),
        (("fit", "docs.jsonl", "--vectors", "queries.npz", "-o", "m"), 1, "has no vector of 36 of 36 texts"),
        (("fit", "docs.jsonl", "--vectors", "docs.jsonl", "-o", "m"), 1, "docs.jsonl: does not have a suffix of"),
        (("fit", "docs.jsonl", "--vectors", "absent.npy", "-o", "m"), 1, "absent.npy: there is no such file"),
        (("fit", "docs.jsonl", "--vectors", "docs.npy", "--method", "bm25", "-o", "m"), 2, "bm25 reads no vectors"),
        (("fit", "docs.jsonl", "--query-vectors", "queries.npz", "-o", "m"), 2, "--query-vectors needs --vectors"),
        (("search", "model", "cat", "--vectors", "docs.npy"), 1, "docs.npy: contains 36 vectors, want 1 for one QUERY"),
        (("search", "model", "cat", "--vectors", "wide.npy"), 1, "have 9 dimensions, want 3"),
        (("search", "model", "--queries", "queries.jsonl", "--vectors", "query.npy", "--run", "r"), 1, "want 3, one"),
        (("add", "model", "new.jsonl", "--vectors", "wide.npy"), 1, "have 9 dimensions, want 3"),
        (
            ("features", "docs.jsonl", "--queries", "queries.jsonl", "--vectors", "docs.npy"),
            2,
            "must be given together",
        ),
    ],
)
def test_mistakes_are_one_line(folder, tacit, words, code, problem):
    np.save("wide.npy", np.ones((1, 9)))
    found, out, err = tacit(*words)
    assert (found, out, err.count("\n")) == (code, "", 1)
    assert problem in err
