"""Values of wrong types in Python: every public function raises TacitError in one line, or takes them.

Each parameter of each function of `import tacit` is given values that have nothing to do with it. Any other exception
than TacitError is a failure, except Python's own for a wrong number of arguments.
"""

import inspect
import io
import json
import os
import traceback
import warnings
from contextlib import redirect_stderr
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import tacit
from tacit import data, features, judge, metrics, store
from tacit.core import Collection, TacitError
from tacit.judge import JudgmentStore, fuse
from tacit.judge.fuse import fusion
from tacit.rerank import METHODS as LIST_METHODS

DOCS = Collection([f"d{n}" for n in range(6)], [""] * 6, [f"cat dog {n} fish{n % 3}" for n in range(6)])
VALUES = [
    *(None, 5, -1, 2.5, float("nan"), True, 10**40, -(10**400)),
    *("x", "", "\ud800", "a\0b", b"x"),
    *([], {}, (), set(), [1, [2]], ["a", None], {"a": 1}, {1: 2}, [b"x"], [["q", "d", 1]], [{"id": 1}], range(3)),
    *(np.zeros((2, 2)), np.zeros(0), sp.eye(3), sp.csr_array((2, 2)), object(), int, lambda x: x),
    *(np.array(["a"]), np.array([None]), np.zeros((2, 2), complex), 1j, np.datetime64("2020"), DOCS),
]
ARRAYS = [np.array(5), np.array([np.nan]), np.zeros((0, 3)), np.ones(3, bool), np.array([2**62]), (x for x in [1])]
SELECTION = ("filter", "facets", "sort", "offset", "group", "snippets")  # of `search` and `search_many`
SEARCHER = {
    "fit": {"documents": DOCS},
    "search": {"query": "cat"},
    "search_many": {"queries": ["cat"]},
    "explain": {"query": "cat", "document_id": "d1"},
    "add": {"documents": [{"id": "new", "text": "t"}]},
    "remove": {"ids": ["d1"]},
    "feedback": {"query": "cat", "liked": ["d1"]},
    "save": {},
    "suggest": {"prefix": "c"},
    "ask": {"query": "cat"},
    "features": {"texts": ["cat"]},
    "rank": {"queries": DOCS, "k": 3},
    "run": {"queries": DOCS},
    "learned_from": {"queries": DOCS},
}
FUNCTIONS = [name for name in tacit.__all__ if inspect.isfunction(getattr(tacit, name))]
PAIRS = {"query_ids": ["q"], "doc_ids": ["d"], "query": np.array([0]), "doc": np.array([0])}
TYPES = {
    "Collection": {"ids": ["a"], "titles": [""], "texts": ["x"]},
    "Judgments": PAIRS | {"grade": np.array([1.0])},
    "Links": {"sources": [0], "targets": [1], "n_sources": 2, "n_targets": 2},
    "Lists": {
        "X": np.zeros((1, 2)),
        "y": np.zeros(1),
        "starts": np.array([0, 1]),
        "query_ids": ["q"],
        "doc_ids": ["a"],
    },
    "Run": PAIRS | {"score": np.array([1.0])},
    "Ranking": {"items": np.array([[0]]), "scores": np.array([[1.0]])},
}
FILES = {  # readers with the text of a file that they read, and what else they need
    "read_collection": ('{"id": "a", "text": "cat"}', {}),
    "read_queries": ("q1\tcat", {}),
    "read_qrels": ("q1 0 d1 1", {}),
    "read_run": ("q1 Q0 d1 1 0.5 x", {}),
    "read_letor": ("1 qid:1 1:0.5 2:1", {}),
    "read_links": ("d1\td2", {"sources": DOCS}),
    "read_pairs": ("d1\td2", {"queries": DOCS, "docs": DOCS}),
    "read_clicks": ('{"query": "cat", "shown": ["d1"], "clicked": ["d1"]}', {"docs": DOCS}),
}
WRITERS = {
    "write_run": tacit.Run(["q"], ["d"], np.array([0]), np.array([0]), np.array([1.0])),
    "write_qrels": tacit.Judgments(["q"], ["d"], np.array([0]), np.array([0]), np.array([1.0])),
    "write_letor": tacit.Lists(np.zeros((1, 2)), np.zeros(1), np.array([0, 1]), ["q"], ["d"]),
}


def names(function):
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind not in kinds and p.name != "self"]


def problem(call, *args, **kwargs):
    """What is wrong with how a call fails; empty if nothing is."""
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            call(*args, **kwargs)
    except TacitError as error:
        return "several lines" if "\n" in str(error) else ""
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)
        own = [
            frame
            for frame in place
            if "tacit" in frame.filename and not frame.filename.endswith(("test_wrong_types.py", "core/arguments.py"))
        ]
        if own or not isinstance(error, TypeError):
            return f"{type(error).__name__}: {error} ({place[-1].filename}:{place[-1].lineno})"
    return ""


def problems(calls):
    found = ((label, problem(*call)) for label, *call in calls)
    return [f"{label}: {what}" for label, what in found if what]


@pytest.fixture(scope="module")
def searcher():
    return tacit.Searcher("bm25").fit(DOCS)


@pytest.mark.parametrize("name", SEARCHER)
def test_methods_of_a_searcher(name, searcher, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = SEARCHER[name]

    def call(parameter, value):
        changes = name in ("fit", "add", "remove")
        model = tacit.Searcher("bm25").fit(DOCS) if changes else searcher
        getattr(model, name)(**{**given, parameter: value})

    parameters = [*names(getattr(tacit.Searcher, name)), *(SELECTION if name.startswith("search") else ())]
    assert set(given) <= set(parameters)
    assert problems((f"{p}={v!r}", call, p, v) for p in parameters for v in VALUES) == []


def test_parameters_of_a_searcher():
    def call(parameter, value):
        tacit.Searcher(**{"method": "bm25", parameter: value}).fit(DOCS)

    known = [*names(tacit.Searcher.__init__), "seed", "threads"]
    assert problems((f"{p}={v!r}", call, p, v) for p in known for v in VALUES) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = getattr(tacit, name)
    n = len(names(function))
    calls = [(f"({v!r})", function, v) for v in VALUES] if n else []
    calls += [(f"(…, {v!r})", function, {"q": {"d": 1}}, v) for v in VALUES] if n > 1 else []
    assert problems(calls) == []


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    kind = getattr(tacit, name)
    needed = [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty]
    assert problems((f"({v!r}, …)", kind, *[v] * len(needed)) for v in VALUES) == []

    def call(parameter, value):
        kind(**{**TYPES[name], parameter: value})

    assert problems((f"{p}={v!r}", call, p, v) for p in names(kind) for v in VALUES) == []


@pytest.mark.parametrize("name", FILES)
def test_parameters_of_readers(name, tmp_path):
    text, given = FILES[name]
    (tmp_path / "file").write_text(text + "\n")
    read = getattr(tacit, name)

    def call(parameter, value):
        read(**{"path": tmp_path / "file", **given, parameter: value})

    parameters = [parameter for parameter in names(read) if parameter != "path"]
    assert problems((f"{p}={v!r}", call, p, v) for p in parameters for v in VALUES) == []


@pytest.mark.parametrize("name", WRITERS)
def test_paths_of_writers(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert problems((f"path={v!r}", getattr(tacit, name), WRITERS[name], v) for v in VALUES) == []


def test_measures():
    grades = {"q": {"d": 1}}
    assert problems((f"measures={v!r}", tacit.evaluate, grades, grades, v) for v in VALUES) == []


def test_judgments(tmp_path):
    with JudgmentStore(tmp_path / "my.judgments") as store:
        given = {"query": "cat", "document": "d1", "grade": 1, "judge": "ann"}
        parameters = names(JudgmentStore.record)

        def call(parameter, value):
            store.record(**{**given, parameter: value})

        assert problems((f"{p}={v!r}", call, p, v) for p in parameters for v in VALUES) == []
    assert problems((f"({v!r})", JudgmentStore, v) for v in VALUES if not isinstance(v, str)) == []


@pytest.mark.parametrize("name", ["rankboost", "standing", "bt"])
def test_rankers_of_lists(name):
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 3

    def fit(parameter, value):
        LIST_METHODS[name].make().fit(**{"X": X, "y": y, parameter: value})

    calls = [(f"{p}={v!r}", fit, p, v) for p in ("X", "y", "qid", "pairs", "validation") for v in VALUES]
    assert problems(calls) == []


@pytest.mark.parametrize("value", [10**12, 10**30, 10**400, -1], ids=["10^12", "10^30", "10^400", "-1"])
@pytest.mark.parametrize("parameter", ["seed", "threads", "dim"])
def test_sizes_that_no_method_can_use_are_refused_at_the_door(parameter, value):
    ranker = tacit.EmbeddingRanker(**{parameter: value})
    if parameter != "seed" or value != 10**12:
        with pytest.raises(TacitError, match=f"^{parameter} is .*, want a whole number"):
            ranker.fit(np.eye(4), np.eye(4), tacit.Links([0, 1], [1, 2], 4, 4))


VALUES_OF_QUERIES = np.linspace(0.1, 0.9, 8)
JUDGED = tacit.Judgments(["q"], ["d", "e"], np.array([0, 0]), np.array([0, 1]), np.array([1.0, 0.0]))
RUN = tacit.Run(["q"], ["d", "e"], np.array([0, 0]), np.array([0, 1]), np.array([2.0, 1.0]))
METRICS = {
    "assisted": {"judgments": JUDGED, "program": JUDGED, "runs": {"a": RUN}, "measures": "nDCG@10"},
    "compare_systems": {"values": {"a": VALUES_OF_QUERIES, "b": VALUES_OF_QUERIES + 0.1}, "metric": "AP"},
    "comparison_table": {"systems": {"a": {"AP": VALUES_OF_QUERIES}, "b": {"AP": VALUES_OF_QUERIES + 0.1}}},
    "covered": {"judgments": JUDGED, "run": RUN, "k": 3},
    "difference_bounds": {"judgments": JUDGED, "baseline": RUN, "other": RUN},
    "estimate": {"judgments": JUDGED, "run": RUN, "measures": "P@3"},
    "evaluate_rows": {"grades": [0, 1, 2], "scores": [0.1, 0.2, 0.3]},
    "holm": {"p_values": [0.1, 0.2]},
    "is_loss": {"metric": "AP"},
    "is_sampled": {"judgments": JUDGED},
    "standard_error": {"values": VALUES_OF_QUERIES},
    "t_interval": {"values": VALUES_OF_QUERIES},
    "whole_queries": {"judgments": JUDGED, "runs": {"a": RUN}},
}


@pytest.mark.parametrize("name", METRICS)
def test_functions_of_metrics(name):
    function = getattr(metrics, name)

    def call(parameter, value):
        function(**{**METRICS[name], parameter: value})

    assert problems((f"{p}={v!r}", call, p, v) for p in names(function) for v in VALUES) == []


def click_log():
    return data.ClickLog([data.Session("cat", ("d1", "d2"), frozenset(["d2"]), 1.0, 1)])


def context(make, **given):
    with make(**given):
        pass


PACKAGES = {  # functions of other packages with arguments that they take; `context` enters those that lock or replace
    "as_clicks": (data.as_clicks, lambda: {"data": click_log(), "documents": DOCS}),
    "check_known": (data.check_known, lambda: {"judgments": JUDGED, "queries": DOCS, "docs": DOCS}),
    "check_run_ids": (data.check_run_ids, lambda: {"query_ids": ["q"], "doc_ids": ["d"]}),
    "ClickLog": (data.ClickLog, lambda: {"sessions": click_log().sessions}),
    "find_file": (data.find_file, lambda: {"path": ".", "names": ("file",)}),
    "judged_pairs": (data.judged_pairs, lambda: {"judgments": JUDGED, "queries": DOCS, "docs": DOCS}),
    "changing_model": (partial(context, store.changing_model), lambda: {"path": "model", "new": False}),
    "check_destination": (store.check_destination, lambda: {"path": "model"}),
    "verify_model": (store.verify_model, lambda: {"path": "model"}),
    "component_sizes": (features.component_sizes, lambda: {"graph": sp.csr_array(np.eye(3))}),
    "correlated_words": (features.correlated_words, lambda: {"counts": np.eye(3), "n_frequent": 2, "k": 1}),
    "dice_table": (
        features.dice_table,
        lambda: {
            "correlated": features.correlated_words(np.eye(3), 2, 1),
            "terms": list("abc"),
            "vocabulary": list("abc"),
            "chosen": [0],
        },
    ),
    "informative_terms": (features.informative_terms, lambda: {"tfidf": np.eye(3), "n": 2, "first": 0}),
    "knn_graph": (features.knn_graph, lambda: {"X": np.eye(3), "k": 1}),
    "QueryDocumentFeatures": (features.QueryDocumentFeatures, lambda: {"fields": {"text": sp.csr_array(np.eye(2))}}),
    "choose_pairs": (judge.choose_pairs, lambda: {"pool": judge.Pool.from_run(RUN, 5), "n": 1}),
    "draw_sample": (judge.draw_sample, lambda: {"run": RUN, "n": 1}),
    "read_judgments": (judge.read_judgments, lambda: {"path": "qrels"}),
    "repair_store": (judge.repair_store, lambda: {"damaged": "no.judgments", "new": "new.judgments"}),
    "Family": (fuse.Family, lambda: {"normalization": "rrf"}),
    "Fusion": (fuse.Fusion, lambda: {"names": ("a", "b"), "weights": (1.0, 1.0), "family": fuse.Family("rrf")}),
    "read_legs": (fuse.read_legs, lambda: {"paths": ["a.run", "b.run"]}),
    "advise": (tacit.advise, lambda: {"data": DOCS, "queries": DOCS, "qrels": {"d1": {"d2": 1}}, "minutes": 0.001}),
}


@pytest.mark.parametrize("name", PACKAGES)
def test_functions_of_other_packages(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    function, given = PACKAGES[name]

    def call(parameter, value):
        function(**{**given(), parameter: value})

    parameters = [*given()] if isinstance(function, partial) else names(function)
    assert problems((f"{p}={v!r}", call, p, v) for p in parameters for v in [*VALUES, *ARRAYS]) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ({"normalization": "rrf", "weights": {"a": 10**400, "b": 1}}, "too large"),
        ({"normalization": "rrf", "weights": {"a": 1, "b": 1}, "rank_constant": -1}, "rank_constant is -1.0"),
        ({"normalization": "scaled", "weights": {"a": 1, "b": 1}, "scales": {"a": 0, "b": 1}}, "scales is 0.0"),
        ({"normalization": "scaled", "weights": {"a": 1, "b": 1}}, "scales has 0 numbers, want 2"),
        ({"normalization": [], "weights": {"a": 1, "b": 1}}, "normalization is"),
    ],
)
def test_hostile_fusions(tmp_path, text, problem):
    (tmp_path / "f.json").write_text(json.dumps(text))
    with pytest.raises(TacitError, match=problem):
        fuse.read_fusion(str(tmp_path / "f.json"))


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08 not gzip", b"\n" * 2_000, b"\xff", b'"' * 2_000], ids=range(4))
def test_files_that_hold_no_fusion(tmp_path, content, monkeypatch):
    monkeypatch.setattr(fusion, "MOST_CHARACTERS", 1000)
    (tmp_path / "f.json").write_bytes(content)
    with pytest.raises(TacitError, match=r"f\.json"):
        fuse.read_fusion(str(tmp_path / "f.json"))


def test_half_characters_in_titles_queries_and_ids():
    half = [f"\ud800 cat {n}" for n in range(6)]
    documents = Collection([f"d{n}" for n in range(6)], half, [f"cat dog {n} fish{n % 3}" for n in range(6)])
    queries, qrels = (
        Collection(["q\ud800", "r"], ["", ""], ["cat \ud800", "dog"]),
        {"q\ud800": {"d1": 1}, "r": {"d2": 1}},
    )
    for method in ("blend", "ssi-uv"):
        hits = tacit.Searcher(method).fit(documents, queries=queries, qrels=qrels).search("cat dog \ud800")
        assert hits or method == "ssi-uv"
    assert judge.draw_sample(tacit.Run.from_dict({"q\ud800": {"d\ud800": 1.0}}), 1)


def test_columns_of_different_lengths_are_named():
    with pytest.raises(TacitError, match=r"documents: the columns have different lengths: \{'id': 2, 'text': 1\}"):
        tacit.Searcher("bm25").fit({"id": ["a", "b"], "text": ["x"]})


def test_messages_are_bounded(tmp_path):
    (tmp_path / "qrels").write_text(f"q 0 d {'x' * 100_000}\n")
    with pytest.raises(TacitError, match=r"qrels:1: grade is 'xxx.*, want") as error:
        tacit.read_qrels(tmp_path / "qrels")
    assert len(str(error.value)) < 2_100


def test_a_number_is_no_path_of_a_store():
    """As a file descriptor it would be read, and closed."""
    read, write = os.pipe()
    try:
        for look in (judge.is_store, judge.read_judgments):
            with pytest.raises(TacitError, match="want a text, or a path"):
                look(read)
        os.fstat(read)
    finally:
        os.close(read)
        os.close(write)
