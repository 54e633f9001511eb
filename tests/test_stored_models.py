"""Model folders of the present format, written once and kept: every later tacit must read them as they are.

`python tests/test_stored_models.py` writes them with the scores they must give. Write them again only with a new format
version, or while the format is unreleased. Scores are compared within float32 rounding, since another kind of processor
may order sums otherwise.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tacit.core import Collection, Estimator, Judgments
from tacit.rerank import METHODS as LIST_METHODS
from tacit.retrieve import BlendRanker
from tacit.search import Searcher, load, save
from tacit.search.models import PACKAGES, find_class
from tacit.search.two_stage import TwoStageRanker
from tacit.store import Stored, load_model, save_model, verify_model

FOLDER = Path(__file__).parent / "models"
KEPT_NAMES = json.loads((FOLDER / "names.json").read_text("utf-8"))
MAX_BYTES = 60_000
QUERIES = ["a cat with fur", "inverse of a matrix", "onion soup"]
DOCS = Collection(
    ["a", "b", "c", "d", "e", "文書"],
    ["Cats", "Dogs", "Matrices", "Soup", "Kittens", ""],
    [
        "a cat has fur and purrs",
        "a dog barks in the garden",
        "the inverse of a singular matrix does not exist",
        "boil the onion for the soup",
        "a kitten is a young cat",
        "日本 cat",
    ],
)
VECTORS = np.round(np.random.default_rng(0).normal(size=(9, 3)), 2).astype(np.float32)
ROWS = np.round(np.random.default_rng(1).normal(size=(12, 3)), 2)
LISTS = np.repeat([0, 1, 2], 4)
ARRAYS = {
    "vectors": np.array([[0.5, -0.0], [np.nan, np.inf], [1e-45, 3.0]], np.float32),
    "scale": np.array(1 / 3),
    "flags": np.array([True, False, True]),
    "empty": np.empty((0, 3), np.int32),
    **{f"kinds/{name}": np.array([0, 1, 100], name) for name in ("int8", "uint16", "int64", "uint64", "float16")},
}
PARAMS = {"rate": 0.1, "tiny": 5e-324, "big": 2**70, "text": 'é\n"日本"', "none": None, "list": [True, [], {}]}


def fit_blend():
    """A searcher with every kind of member that few documents can have, and documents added and removed."""
    queries = Collection(["q0", "q1", "q2"], ["", "", ""], QUERIES)
    grades = {"q0": {"a": 1, "e": 1, "d": 0}, "q1": {"c": 1}, "q2": {"d": 1, "a": 0}}
    given = {"queries": queries, "qrels": Judgments.from_dict(grades), "vectors": VECTORS[:6]}
    searcher = Searcher("blend", dim=2).fit(DOCS, query_vectors=VECTORS[6:], **given)
    return searcher.add(Collection(["f"], ["Zebra"], ["a striped horse"])).remove(["b"])


def fit_standing():
    grades = np.where(np.arange(12) % 5, ROWS[:, 0] > 0, np.nan)
    return LIST_METHODS["standing"].offer(threads=1).fit(ROWS, grades, LISTS)


def stored_names():
    """Parameters, and attributes that must be stored, of every estimator that a folder can name."""
    own = [Searcher, TwoStageRanker, *BlendRanker.member_kinds()]
    exported = [getattr(package, name) for package in PACKAGES for name in package.__all__]
    kinds = [kind for kind in [*own, *exported] if isinstance(kind, type) and issubclass(kind, Estimator)]
    return {
        kind.__name__: {
            "params": kind._get_param_names(),
            "fitted": sorted(name for name, spec in kind._fitted.items() if not spec.startswith("?")),
        }
        for kind in kinds
    }


def found_by(model):
    if isinstance(model, Searcher):
        rows = model.query_rows(QUERIES, VECTORS[6:])
        return model.ranker_.scores(rows)
    return model.predict(ROWS, LISTS)


@pytest.mark.parametrize("name", ["blend", "standing"])
def test_kept_models_give_their_scores(name):
    wanted = json.loads((FOLDER / "scores.json").read_text("utf-8"))[name]
    assert [file.problem for file in verify_model(FOLDER / name)] == ["", ""]
    np.testing.assert_allclose(found_by(load(FOLDER / name)), wanted, rtol=1e-5, atol=1e-6)


def test_a_kept_searcher_has_its_documents():
    searcher = load(FOLDER / "blend")
    assert searcher.documents_.ids == ["a", "c", "d", "e", "文書", "f"]
    assert searcher.documents_.texts[-2:] == ["日本 cat", "a striped horse"]
    assert searcher.search("striped")[0].id == "f"


@pytest.mark.parametrize("mmap", [False, True])
def test_kept_arrays_have_their_bits(mmap):
    stored = load_model(FOLDER / "arrays", kinds=["Kept"], mmap=mmap)
    assert stored.params == PARAMS
    assert sorted(stored.arrays) == sorted(ARRAYS)
    for name, array in ARRAYS.items():
        assert (stored.arrays[name].dtype, stored.arrays[name].shape) == (array.dtype, array.shape)
        assert stored.arrays[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("name", sorted(KEPT_NAMES))
def test_names_that_folders_have_are_known(name):
    kind, kept = find_class(name), KEPT_NAMES[name]
    lost = [old for old in kept["params"] if kind._renamed.get(old, old) not in kind._get_param_names()]
    assert not lost, f"folders have the parameters {lost}: name them in {name}._renamed, or write a new format"
    stored = {kind._renamed.get(old, old) for old in kept["fitted"]}
    new = [known for known in stored_names()[name]["fitted"] if known not in stored]
    assert not new, f"folders lack the attributes {new}: name the old ones in {name}._renamed, or make them optional"


def test_kept_models_are_small():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) <= MAX_BYTES


def write():
    """Write all folders and their scores."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    scores = {}
    for name, fit in {"blend": fit_blend, "standing": fit_standing}.items():
        model = fit()
        save(model, FOLDER / name)
        scores[name] = np.round(found_by(model).astype(np.float64), 7).tolist()
    save_model(FOLDER / "arrays", Stored("Kept", PARAMS, ARRAYS))
    (FOLDER / "scores.json").write_text(json.dumps(scores) + "\n", "utf-8")
    (FOLDER / "names.json").write_text(json.dumps(stored_names()) + "\n", "utf-8")


if __name__ == "__main__":
    write()
