"""Headers and arrays that were changed and sealed again with a right checksum.

Every change of a model folder gives either a refusal of one line that names the folder, or a model with finite scores.
Each method is fitted once on a few documents, points or lists.
"""

import contextlib
import copy
import functools
import os
import random
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import ClickedLinks, Collection, Estimator, Links, Shown, StoreError, TacitError
from tacit.rerank import METHODS as LIST_METHODS
from tacit.retrieve import METHODS, BlendRanker, GraphEmbedding
from tacit.retrieve.vectors import join_vectors
from tacit.search import Searcher, load, models, save
from tacit.store import Stored, load_model, save_model, unpack_estimator

QUERIES = ["a cat with fur", "inverse of a singular matrix", "boil the onion soup", "puppy in the garden"]
SUBJECTS = ("cat fur purr", "puppy garden bark", "matrix inverse singular", "onion soup boil")
WORDS = ["old", "new", "red", "big"]
DOCS = Collection(
    [f"d{n}" for n in range(16)],
    [SUBJECTS[n % 4].split()[n // 4 % 3] for n in range(16)],
    [
        f"the {WORDS[n // 4]} {SUBJECTS[n % 4]} {SUBJECTS[n % 4].split()[n % 3]} in a {WORDS[n % 4]} day"
        for n in range(16)
    ],
)
LINKS = Links(np.arange(16), (np.arange(16) + 4) % 16, 16, 16)
POINTS = np.random.default_rng(0).normal(size=(12, 3))
GRAPHS = {"htr-linear": {"features": "linear"}, "htr-rbf": {"features": "rbf"}}
ROWS = np.round(np.random.default_rng(1).normal(size=(60, 4)), 3)
ROW_LISTS = np.repeat(np.arange(8), [8, 6, 9, 7, 8, 6, 7, 9])
NAMES = sorted([*METHODS, *LIST_METHODS, *GRAPHS])
SMALL = {"dim": 3, "n_epochs": 2, "n_buckets": 300, "n_rounds": 4, "n_trees": 3, "n_leaf_rows": 2, "n_precomputed": 3}
ESTIMATOR = {"estimator": {"class": "TfidfRanker", "params": {}}}
VALUES = [None, "x", -1, 0, 0.5, 1e300, 2**70, True, [], {}, "", [["a"]], ESTIMATOR, {"infinity": 1}, {"infinity": 2}]
VALUES += [10**12, -(2**62), 1e-300, 1e29]
CLASSES = ["TfidfRanker", "LsiRanker", "BlendRanker", "TextVectorizer", "Searcher", "KernelPca", "GraphEmbedding"]
CLASSES += ["RankBoostRanker", "StandingRanker", "BradleyTerryRanker", "LightGbmRanker", "ManifoldRanker", "AucRanker"]
# Changes of each model, drawn with a fixed seed; TACIT_ALL_CHANGES=1 tries every one (about 100,000).
N_CHANGES = 10**9 if os.environ.get("TACIT_ALL_CHANGES") else 40


def places(tree, at=()):
    """Every key and entry of a JSON value."""
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield (*at, key)
        yield from places(tree[key], (*at, key))


def changed(stored, at, value=None, delete=False):
    """The model with another value at a place of its header, or without the place."""
    params = copy.deepcopy(stored.params)
    inner = params
    for key in at[:-1]:
        inner = inner[key]
    if delete:
        del inner[at[-1]]
    else:
        inner[at[-1]] = copy.deepcopy(value)
    return Stored(stored.kind, params, stored.arrays)


def changed_arrays(name, array):
    yield f"{name}: zeros", np.zeros_like(array)
    yield f"{name}: cut", array[:-1]
    yield f"{name}: twice", np.concatenate([array, array])
    yield f"{name}: float64", array.astype(np.float64)
    yield f"{name}: int8", array.astype(np.int8)
    yield f"{name}: float16", array.astype(np.float16)
    yield f"{name}: uint64", array.astype(np.uint64)
    yield f"{name}: empty", array[:0]
    yield f"{name}: turned", array[::-1].copy()
    yield f"{name}: flat", array.reshape(-1)
    yield f"{name}: one more axis", array[None]
    large = 255 if array.dtype.kind == "u" else -1
    values = (np.nan, np.inf, -1.0, 1e38, 1e-40) if array.dtype.kind == "f" else (100, large)
    for value in values:
        yield f"{name}: all {value}", np.full_like(array, value)


def changes(stored):
    """A label and a function that makes the changed model, for every change: few of thousands are drawn and made."""
    for at in places(stored.params):
        yield f"without {at}", partial(changed, stored, at, delete=True)
        for value in VALUES:
            yield f"{at} = {value!r}", partial(changed, stored, at, value)
    yield from swapped(stored)
    for name, array in stored.arrays.items():
        rest = {other: kept for other, kept in stored.arrays.items() if other != name}
        yield f"without {name}", partial(Stored, stored.kind, stored.params, rest)
        for label, new in changed_arrays(name, array):
            yield label, partial(Stored, stored.kind, stored.params, {**rest, name: new})


def swapped(stored):
    """Nested estimators of another class, or in each other's places."""
    nested = {at: inner for at in places(stored.params) if isinstance(inner := found_at(stored.params, at), dict)}
    nested = {at: inner for at, inner in nested.items() if "class" in inner}
    for at in nested:
        for name in CLASSES:
            yield f"{at} is a {name}", partial(changed, stored, (*at, "class"), name)
        for other, inner in nested.items():
            yield f"{at} is {other}", partial(changed, stored, at, inner)


def found_at(tree, at):
    for key in at:
        tree = tree[key]
    return tree


def fit_small(name):
    """A fitted model of a method."""
    if name in GRAPHS:
        return GraphEmbedding(dim=2, n_epochs=2, **GRAPHS[name]).fit(POINTS)
    if name in LIST_METHODS:
        grades = np.where(np.arange(60) % 4, (ROWS[:, 0] > 0) + (ROWS[:, 1] > 0.5), np.nan)
        return LIST_METHODS[name].offer(threads=1, **SMALL).fit(ROWS, grades, ROW_LISTS)
    ranker = METHODS[name].make()
    known = {
        key: SMALL[key] for key in set(SMALL) & set(ranker._get_param_names()) if METHODS[name].params.get(key) != 0
    }
    searcher = Searcher(name, **known)
    if not ranker.two_dictionaries:
        return searcher.fit(DOCS, links=LINKS)
    both = Links(np.arange(16), np.arange(16), 16, 16)
    return searcher.fit(DOCS, queries=DOCS, pairs=both, **({"links": LINKS} if ranker.needs_links else {}))


@functools.cache
def stored_small(name):
    """What `save` writes of it."""
    written = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few documents and short lists
        patch.setattr(models, "save_model", lambda path, stored: written.append(stored))
        save(fit_small(name), "nowhere")
    return written[0]


def scores(model):
    if isinstance(model, Searcher):
        return model.ranker_.scores(model.features(QUERIES))
    if isinstance(model, GraphEmbedding):
        return model.embed(POINTS)
    return model.predict(ROWS, ROW_LISTS)


def check_refused_or_finite(path, label, scores=scores):
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


@pytest.mark.parametrize("name", NAMES)
def test_changed_folders(name, tmp_path, monkeypatch):
    path, stored = tmp_path / "m", stored_small(name)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        every = list(changes(stored))
        for label, make in random.Random(name).sample(every, min(N_CHANGES, len(every))):
            monkeypatch.setattr(models, "load_model", lambda path, make=make, **how: make())
            check_refused_or_finite(path, label)


@pytest.fixture(scope="module")
def whole_blend(tmp_path_factory):
    """A blend with every member, as stored, and queries."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("blend") / "model"
    items, queries = (sp.csr_array(rng.poisson(0.3, (n, 25)).astype(np.float32)) for n in (40, 12))
    titles, vectors, asked = items * (items.toarray() > 1), rng.normal(size=(40, 4)), rng.normal(size=(12, 4))
    sources, targets = np.arange(12), rng.integers(0, 40, 12)
    shown = Shown(sources, targets, np.full(12, 9.0), np.ones(12), np.zeros(12), 1.2, 2.0)
    rows, links = join_vectors(queries, asked), ClickedLinks(sources, targets, 12, 40, shown=shown)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.retrieve.blend.learning.learn_weights", lambda _, prior, *rest: (prior + 1, 1.0))
        ranker = BlendRanker(3, residual=True, vectors=1.0)
        ranker.fit(rows, items, links, titles=sp.csr_array(titles), vectors=vectors)
    assert list(ranker.weights_) == ["bm25", "latent", "feedback", "title", "residual", "vectors", "exact", "clicks"]
    save(ranker, path)
    return load_model(path), rows


@pytest.mark.parametrize("part", range(4))
def test_changed_folders_of_a_blend(part, whole_blend, monkeypatch):
    stored, rows = whole_blend
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        every = list(changes(stored))
        every = random.Random("blend").sample(every, min(4 * N_CHANGES, len(every)))
        for label, make in every[part::4]:
            monkeypatch.setattr(models, "load_model", lambda path, make=make, **how: make())
            check_refused_or_finite("folder", label, lambda model: model.scores(rows))


FIELDS = {
    "price": [n * 1.5 if n % 5 else None for n in range(16)],
    "color": ["red", "blue", None, "green"] * 4,
    "ok": [True, False] * 8,
    "tags": [["a", "b"], ["b"], [], ["c"]] * 4,
}
RICH = {
    "fields and synonyms": lambda documents, judged: Searcher("bm25", synonyms=["cat, kitten"]).fit(documents),
    "second stage": lambda documents, judged: Searcher("bm25", rerank="standing").fit(documents, **judged),
    "vectors": lambda documents, judged: Searcher("blend").fit(documents, vectors=np.eye(16)[:, :3], **judged),
}


def searched(model):
    """Scores of searches that read every part of a searcher, changes of its documents included."""
    first = model.documents_.ids[0]
    named = {"vector": [1.0, 0.0, 0.0]} if model.ranker_.vectors_dim else {}
    calls = [
        lambda: model.search("a cat", filter="price < 5 and color = red or tags = b", facets=["ok", "tags"], **named),
        lambda: model.search("kitten", sort="-price", group="color", offset=1, **named),
        lambda: model.explain("cat fur", first, **named),
        lambda: model.suggest("ca"),
        lambda: [model.documents_.fields(row) for row in range(len(model.documents_))],
        lambda: model.remove([first]),
        lambda: model.add([{"id": "new", "text": "cat"}]),
        lambda: model.search("cat", facets=["color"], **named),
    ]
    found = [1.0]
    for call in calls:
        with contextlib.suppress(TacitError):
            hits = call()
            found += [hit.score for hit in hits if hasattr(hit, "score")] if isinstance(hits, list) else []
    return found


@pytest.mark.parametrize("name", RICH)
def test_changed_folders_with_a_second_stage_fields_or_vectors(name, monkeypatch):
    documents = Collection(DOCS.ids, DOCS.titles, DOCS.texts, FIELDS)
    queries = Collection([f"q{n}" for n in range(8)], [""] * 8, QUERIES * 2)
    grades = {f"q{n}": {f"d{(3 * n + k) % 16}": k % 3 for k in range(6)} for n in range(8)}
    written = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        monkeypatch.setattr(models, "save_model", lambda path, stored: written.append(stored))
        save(RICH[name](documents, {"queries": queries, "qrels": grades}), "nowhere")
        every = list(changes(written[0]))
        for label, changed in random.Random(name).sample(every, min(N_CHANGES, len(every))):
            monkeypatch.setattr(models, "load_model", lambda path, changed=changed, **how: copy.deepcopy(changed))
            check_refused_or_finite("folder", label, searched)


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        ("lsi+tfidf", ("estimators", "ranker_", "numbers", "alpha_"), "0.5", "alpha_ is '0.5', want a number"),
        ("lsi+tfidf", ("estimators", "ranker_", "numbers", "alpha_"), None, "alpha_ is None, want a number"),
        (
            "hash-1m",
            ("estimators", "ranker_", "numbers", "alpha_"),
            1e300,
            r"alpha_ is 1e\+300, want a number of at most",
        ),
        ("prf", ("params", "mix"), "x", "FeedbackRanker: mix is 'x', want float"),
        ("prf", ("params", "n_top"), 0, "n_top is 0, want a whole number >= 1"),
        ("prf", ("params", "unheard_of"), 0, "FeedbackRanker: it has no 'unheard_of'"),
        ("lambdarank", ("params", "n_hidden"), 7, "theta_ contains 4 numbers, want 42"),
        ("lambdarank", ("params", "scale"), "x", "scale is 'x', want one of"),
        ("lambdarank", ("n_features",), 2**70, "n_features is .*, want a whole number from 0"),
        ("lambdarank", ("class",), "Path", "'Path' is no estimator"),
        ("lambdarank", ("class",), ["Path"], "header of an estimator"),
        (
            "htr-rbf",
            ("estimators", "map_", "params", "sigma"),
            2**70,
            "a parameter is 1180591620717411303424, want a whole number of at most 64",
        ),
        ("bm25", ("estimators", "ranker_", "numbers", "n_removed_"), -100, "n_removed_ is -100, want a whole number"),
        ("qe", ("estimators", "ranker_", "numbers", "n_expand_"), 0, "n_expand_ is 0, want a whole number >= 1"),
        (
            "bm25",
            ("estimators", "vectorizer_", "params", "ngrams", 1),
            10**12,  # a search took for ever
            r"ngrams\[1\] is 1000000000000, want a whole number .*<= 100",
        ),
    ],
)
def test_a_changed_header_is_refused_by_name(name, at, value, message, tmp_path):
    stored = stored_small(name)
    save_model(tmp_path / "m", changed(stored, at, value))
    with pytest.raises(StoreError, match=f"^{tmp_path}/m: .*{message}"):
        load(tmp_path / "m")


@pytest.mark.parametrize("name", ["lambdarank", "standing", "linear", "bt"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_a_spread_that_cannot_divide_is_refused(name, value, tmp_path):
    stored = stored_small(name)
    arrays = {**stored.arrays, "spread_": np.full_like(stored.arrays["spread_"], value)}
    save_model(tmp_path / "m", Stored(stored.kind, stored.params, arrays))
    with pytest.raises(StoreError, match=f"^{tmp_path}/m: .*spread_"):
        load(tmp_path / "m")


class Box(Estimator):
    _fitted = {"inner_": "?estimator"}  # noqa: RUF012


def test_estimators_nested_too_deeply_are_refused():
    header = {"class": "Box", "params": {}, "estimators": {}}
    for _ in range(9):
        header = {"class": "Box", "params": {}, "estimators": {"inner_": header}}
    assert isinstance(unpack_estimator(header, {}, lambda name: Box), Box)
    for _ in range(2):
        header = {"class": "Box", "params": {}, "estimators": {"inner_": header}}
    with pytest.raises(StoreError, match="header of an estimator is not what tacit writes"):
        unpack_estimator(header, {}, lambda name: Box)
