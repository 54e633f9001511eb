"""Headers and arrays that were changed and sealed again with a right checksum.

Every change of a model folder gives either a refusal of one line that names the folder, or a model with finite scores.
The folders are those of `models_v1`, once as they are and once as this version writes them.
"""

import contextlib
import copy
import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

from tacit.core import Estimator, StoreError, TacitError
from tacit.retrieve import GraphEmbedding
from tacit.search import Searcher, load, models, save
from tacit.store import Stored, load_model, save_model, unpack_estimator

FOLDER = Path(__file__).parent / "models_v1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
FOLDERS = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
ESTIMATOR = {"estimator": {"class": "TfidfRanker", "params": {}}}
VALUES = [None, "x", -1, 0, 0.5, 1e300, 2**70, True, [], {}, "", [["a"]], ESTIMATOR, {"infinity": 1}, {"infinity": 2}]
N_CHANGES = 40  # of each folder and version, drawn with a fixed seed


def places(tree, at=()):
    """Every key and entry of a JSON value."""
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield (*at, key)
        yield from places(tree[key], (*at, key))


def changed_params(params, at, value, delete):
    params = copy.deepcopy(params)
    inner = params
    for key in at[:-1]:
        inner = inner[key]
    if delete:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return params


def changed_arrays(name, array):
    yield f"{name}: zeros", np.zeros_like(array)
    yield f"{name}: cut", array[:-1]
    yield f"{name}: twice", np.concatenate([array, array])
    yield f"{name}: float64", array.astype(np.float64)
    yield f"{name}: int8", array.astype(np.int8)
    yield f"{name}: flat", array.reshape(-1)
    yield f"{name}: one more axis", array[None]
    values = (np.nan, np.inf, -1.0) if array.dtype.kind == "f" else (100, 255 if array.dtype.kind == "u" else -1)
    for value in values:
        yield f"{name}: all {value}", np.full_like(array, value)


def changes(stored):
    for at in places(stored.params):
        yield f"without {at}", Stored(stored.kind, changed_params(stored.params, at, None, True), stored.arrays)
        for value in VALUES:
            params = changed_params(stored.params, at, value, False)
            yield f"{at} = {value!r}", Stored(stored.kind, params, stored.arrays)
    for name, array in stored.arrays.items():
        rest = {other: kept for other, kept in stored.arrays.items() if other != name}
        yield f"without {name}", Stored(stored.kind, stored.params, rest)
        for label, new in changed_arrays(name, array):
            yield label, Stored(stored.kind, stored.params, {**rest, name: new})


def scores(model):
    if isinstance(model, Searcher):
        texts = EXPECTED["cross_queries" if model.is_across else "queries"]
        return model.ranker_.scores(model.features(texts))
    if isinstance(model, GraphEmbedding):
        return model.embed(np.array(EXPECTED["points"]))
    return model.predict(np.array(EXPECTED["rows"]), EXPECTED["row_lists"])


def check_refused_or_finite(path, label):
    refusal = ""
    try:
        model = load(path)
    except StoreError as error:
        refusal = str(error)
    if refusal:
        assert refusal.startswith(f"{path}: "), label
        assert "\n" not in refusal, label
        return
    with contextlib.suppress(TacitError):  # the rows that we ask for may not fit what the header now says
        assert np.isfinite(scores(model)).all(), label


def stored_as_today(path, monkeypatch):
    written = []
    with monkeypatch.context() as patch:
        patch.setattr(models, "save_model", lambda path, stored: written.append(stored))
        save(load(path), path)
    return written[0]


@pytest.mark.parametrize("version", [1, 3])
@pytest.mark.parametrize("name", FOLDERS)
def test_changed_folders(name, version, monkeypatch):
    path = FOLDER / name
    stored = load_model(path) if version == 1 else stored_as_today(path, monkeypatch)
    every = list(changes(stored))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for label, changed in random.Random(name).sample(every, min(N_CHANGES, len(every))):
            monkeypatch.setattr(models, "load_model", lambda path, changed=changed, **how: changed)
            check_refused_or_finite(path, label)


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        ("lsi+tfidf", ("ranker", "numbers", "alpha_"), "0.5", "alpha_ is '0.5', want a number"),
        ("lsi+tfidf", ("ranker", "numbers", "alpha_"), None, "alpha_ is None, want a number"),
        ("hash-1m", ("ranker", "numbers", "alpha_"), 1e300, r"alpha_ is 1e\+300, want a number of at most"),
        ("prf", ("params", "mix"), "x", "FeedbackRanker: mix is 'x', want float"),
        ("prf", ("params", "n_top"), 0, "n_top is 0, want a whole number >= 1"),
        ("prf", ("params", "unheard_of"), 0, "FeedbackRanker: it has no 'unheard_of'"),
        ("lambdarank", ("params", "n_hidden"), 7, "theta_ holds 18 numbers, want 42"),
        ("lambdarank", ("params", "scale"), "x", "scale is 'x', want one of"),
        ("lambdarank", ("n_features",), 2**70, "n_features is .*, want a whole number from 0"),
        ("lambdarank", ("class",), "Path", "'Path' is no estimator"),
        ("lambdarank", ("class",), ["Path"], "header of an estimator"),
        (
            "htr-rbf",
            ("map", "sigma"),
            2**70,
            "a parameter is 1180591620717411303424, want a whole number of at most 64",
        ),
        ("qe", ("ranker", "numbers", "n_expand_"), 0, "n_expand_ is 0, want a whole number >= 1"),
    ],
)
def test_a_changed_header_is_refused_by_name(name, at, value, message, tmp_path):
    stored = load_model(FOLDER / name)
    save_model(tmp_path / "m", Stored(stored.kind, changed_params(stored.params, at, value, False), stored.arrays))
    with pytest.raises(StoreError, match=f"^{tmp_path}/m: .*{message}"):
        load(tmp_path / "m")


@pytest.mark.parametrize("name", ["lambdarank", "standing", "linear", "bt"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_a_spread_that_cannot_divide_is_refused(name, value, tmp_path):
    stored = load_model(FOLDER / name)
    arrays = {**stored.arrays, "spread_": np.full_like(stored.arrays["spread_"], value)}
    save_model(tmp_path / "m", Stored(stored.kind, stored.params, arrays))
    with pytest.raises(StoreError, match=f"^{tmp_path}/m: .*spread_"):
        load(tmp_path / "m")


class Box(Estimator):
    _fitted = {"inner_": "estimator"}  # noqa: RUF012


def test_estimators_nested_too_deeply_are_refused():
    header = None
    for _ in range(10):
        header = {"class": "Box", "estimators": {"inner_": header}}
    assert isinstance(unpack_estimator(header, {}, lambda name: Box), Box)
    for _ in range(2):
        header = {"class": "Box", "estimators": {"inner_": header}}
    with pytest.raises(StoreError, match="header of an estimator is not what tacit writes"):
        unpack_estimator(header, {}, lambda name: Box)
