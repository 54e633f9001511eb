"""The tools of `tacit mcp` as functions; the searcher and `evaluate` are the oracles."""

import sys

import numpy as np
import pytest

from tacit.app.tools import MEASURES, N_TERMS, Tools
from tacit.core import Collection, Judgments, TacitError
from tacit.judge import Judgment, JudgmentStore
from tacit.metrics import estimate, evaluate
from tacit.search import Searcher

TEXTS = ["cats purr", "cats and ships", "old ships sail", "a cat on a ship", "dogs bark at cats"]


@pytest.fixture(scope="module")
def searcher():
    fields = {"kind": ["pet", "both", "ship", "both", "pet"], "year": [1, 2, 3, 4, 5]}
    return Searcher("bm25", stem=True).fit(Collection(list("abcde"), list("ABCDE"), TEXTS, fields))


@pytest.fixture
def store(tmp_path):
    with JudgmentStore(tmp_path / "my.judgments") as store:
        yield store


@pytest.fixture
def tools(searcher, store):
    return Tools(searcher, store, "helper")


def names(tools):
    return [function.__name__ for function in tools.functions()]


def test_judging_needs_a_store(searcher, tools):
    assert names(tools) == ["search", "explain", "judge", "evaluate"]
    assert names(Tools(searcher)) == ["search", "explain"]
    with pytest.raises(TacitError, match="there is no judgment store"):
        Tools(searcher).judge("cats", "a", 1)


def test_search_is_that_of_the_searcher(tools, searcher):
    found = tools.search("cats", k=2, filter="year > 1", offset=1, facet=["kind"])
    ours = searcher.search("cats", 2, filter="year > 1", offset=1, facets=["kind"])
    assert [(hit.rank, hit.id, hit.score, hit.title, hit.snippet, hit.fields) for hit in found.hits] == [
        (hit.rank, hit.id, hit.score, hit.title, hit.snippet.text, hit.fields) for hit in ours
    ]
    assert [hit.rank for hit in found.hits] == [2, 3]
    assert found.total == ours.total == 3
    assert {count.value: count.count for count in found.facets["kind"]} == {"both": 2, "pet": 1}
    assert tools.search("purrr").did_you_mean == searcher.search("purrr").suggestion is not None


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ({"query": "cats", "k": 0}, "k is 0, want a whole number >= 1 and <= 100"),
        ({"query": "cats", "k": 101}, "k is 101"),
        ({"query": "cats", "offset": -1}, "offset is -1"),
        ({"query": " "}, "the query is empty"),
        ({"query": "cats", "filter": "colour = red"}, "field of the filter is 'colour', want one of"),
        ({"query": "cats", "facet": ["colour"]}, "'colour'"),
    ],
)
def test_mistakes_of_a_search_are_one_line(tools, call, problem):
    with pytest.raises(TacitError, match=problem) as caught:
        tools.search(**call)
    assert "\n" not in str(caught.value)


def test_terms_sum_to_the_difference_of_the_scores(tools, searcher):
    score = {hit.id: hit.score for hit in searcher.search("old cats and ships")}
    whole = tools.explain("old cats and ships", "b")
    assert whole.total == pytest.approx(score["b"], rel=1e-5)
    both = tools.explain("old cats and ships", "b", "c")
    assert both.total == pytest.approx(score["b"] - score["c"], abs=1e-5)
    assert sum(term.value for term in both.terms) + both.others == pytest.approx(both.total)
    with pytest.raises(TacitError, match="no document has the id 'z', want one that search returns"):
        tools.explain("cats", "a", "z")


def test_a_long_explanation_keeps_its_sum():
    words = [f"word{n}" for n in range(3 * N_TERMS)]
    searcher = Searcher("bm25").fit(Collection(["x", "y"], ["", ""], [" ".join(words), "other text"]))
    found = Tools(searcher).explain(" ".join(words), "x")
    assert len(found.terms) == N_TERMS
    assert found.others > 0
    assert sum(term.value for term in found.terms) + found.others == pytest.approx(found.total)


def test_grades_are_those_of_a_program(tools, store, searcher):
    stored = tools.judge("cats", "a", 2)
    tools.judge("cats", "a", 1)
    tools.judge("cats", "b", None)
    (changed, unknown) = store.current()
    assert (changed.query, changed.document, changed.grade) == (stored.query, "a", 1.0)
    assert (changed.judge, changed.kind, unknown.grade) == ("helper", "program", None)
    with pytest.raises(TacitError, match="no document has the id 'z'"):
        tools.judge("cats", "z", 1)
    with pytest.raises(TacitError, match="grade is -1"):
        tools.judge("cats", "a", -1)
    store.record("cats", "a", 2, "ann")
    with pytest.raises(TacitError, match="judge 'ann' is a person in .*; an assistant needs another name"):
        Tools(searcher, store, "ann")


def test_evaluate_measures_by_peoples_grades_alone(tools, store, searcher):
    with pytest.raises(TacitError, match="judged by no one, want a person's judgments"):
        tools.evaluate()
    tools.judge("dogs", "e", 3)
    with pytest.raises(TacitError, match="judged by helper, want a person's judgments"):
        tools.evaluate()
    grades = {"cats": {"a": 2, "c": 0}, "ships": {"c": 1, "a": 0, "gone": 1}, "old bark": {"a": 0}}
    for query, documents in grades.items():
        for document, grade in documents.items():
            store.record(query, document, grade, "ann")
    tools.judge("cats", "c", 3)
    found = tools.evaluate()
    queries = Collection(list(grades), [""] * 3, list(grades))
    oracle = evaluate(Judgments.from_dict(grades), searcher.run(queries), MEASURES)
    assert {name: value.mean for name, value in found.measures.items()} == pytest.approx(oracle.means())
    assert found.measures["AP"].low <= found.measures["AP"].mean <= found.measures["AP"].high
    assert (found.queries, found.judges) == (3, ["ann"])
    unjudged = 1 - oracle.means()["Judged@10"]
    assert found.missing == [
        "1 query left out, because only programs have judged",
        "1 judged document not in the model",
        "3 judged queries measured; differences between models need at least 10",
        "1 query without a relevant document, counted as 0",
        f"{unjudged:.0%} of the first 10 results are unjudged and count as not relevant",
    ]


def test_evaluate_names_queries_without_text_and_those_of_the_training(store):
    documents = Collection(list("abcde"), list("ABCDE"), TEXTS)
    queries = Collection(["q1", "q2"], ["", ""], ["cats", "ships"])
    grades = Judgments.from_dict({"q1": {"a": 1, "c": 0}, "q2": {"c": 1, "a": 0}})
    trained = Searcher("ssi-d", n_epochs=1).fit(documents, queries=queries, qrels=grades)
    store.record("cats", "a", 1, "ann")
    store.record("sailing", "c", 1, "ann")
    store.import_records([Judgment("bare", "a", 1.0, "ann", "2026-01-01T00:00:00Z")])
    missing = Tools(trained, store).evaluate().missing
    assert "1 judged query left out, because the store has no text" in missing
    assert "1 query also used to train the model, so these measures are too high" in missing


def test_evaluate_estimates_from_sampled_judgments(tools, store, searcher):
    rows = [("cats", "a", 1, 0.5), ("cats", "c", 0, 1.0), ("ships", "c", 1, 0.5), ("ships", "b", 0, 0.5)]
    for query, document, grade, probability in rows:
        store.record(query, document, grade, "ann", probability=probability)
    found = tools.evaluate()
    judgments = Judgments(
        ["cats", "ships"], ["a", "b", "c"], np.array([0, 0, 1, 1]), np.array([0, 2, 2, 1]),
        np.array([1.0, 0, 1, 0]), np.array([0.5, 1, 0.5, 0.5]),
    )  # fmt: skip
    run = searcher.run(Collection(["cats", "ships"], ["", ""], ["cats", "ships"]))
    oracle = estimate(judgments, run, ["P@10", "DCG@10"])
    assert {name: mean.mean for name, mean in found.measures.items()} == pytest.approx(
        {name: one.value for name, one in oracle.items()}
    )
    assert "so these are estimates" in found.missing[-1]


def test_command_without_the_package(tacit, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "tacit.integrations.mcp", raising=False)
    expected = "tacit: tacit mcp needs the package mcp: pip install 'tacit-rank[mcp]'\n"
    assert tacit("mcp", "no.model") == (1, "", expected)
