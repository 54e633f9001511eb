"""The demonstration on a small corpus: the default first, and summaries that are cut from what is searched."""

import io
import json
from argparse import Namespace

import numpy as np
import pytest

from tacit.app import demo as command
from tacit.core import Collection, Links
from tacit.experiments import demo
from tacit.experiments.demo import compare_on_summaries, run_demo

NAMES = [f"pkg.{topic}" for topic in ("alpha", "beta", "gamma", "delta", "kappa", "sigma", "omega", "theta")]


@pytest.fixture
def documents():
    words = [name.partition(".")[2] for name in NAMES]
    titles = [f"{name}: Compute the {word} number of a matrix." for name, word in zip(NAMES, words, strict=True)]
    texts = [f"The {word} number, {word} again. " + "What is returned has the shape of x. " * 6 for word in words]
    odd = ("pkg.odd: Count the zebra stripes of pictures.", "Nothing here is about the animal. " * 8)
    return Collection([*NAMES, "pkg.odd"], [*titles, odd[0]], [*texts, odd[1]], name="pydocs")


@pytest.fixture
def links(documents):
    pairs = np.array([(row, (row + step) % len(documents)) for row in range(len(documents)) for step in (1, 2)])
    return Links(*pairs.T, len(documents), len(documents))


def test_summaries_are_questions_and_not_part_of_the_text(documents, links):
    report = compare_on_summaries(documents, links, 100, seed=0)
    assert [row.system for row in report.rows] == ["bm25", "bm25 on stems", "blend", "blend with links"]
    for row in report.rows:
        # Each summary finds its object by the topic, except the zebra, of which the text says nothing.
        assert sorted(row.values["MRR"])[1:] == [1.0] * len(NAMES)
        assert min(row.values["MRR"]) < 1


def test_short_or_repeated_summaries_and_empty_texts_are_no_questions(documents):
    more = Collection(
        ["a", "b", "c"], ["a: Same in every way.", "b: Same in every way.", "c: Short one."], ["x" * 300] * 3
    )
    both = Collection([*documents.ids, *more.ids], [*documents.titles, *more.titles], [*documents.texts, *more.texts])
    few = Links(np.array([0]), np.array([1]), len(both), len(both))
    assert len(compare_on_summaries(both, few, 100, seed=0).rows[0].values["MRR"]) == len(documents)
    bare = Collection(both.ids, both.titles, ["short"] * 3 + [both.texts[row] for row in range(3, len(both))])
    assert len(compare_on_summaries(bare, few, 100, seed=0).rows[0].values["MRR"]) == len(documents) - 3


def test_the_default_is_shown_first_and_the_json_has_every_part(documents, links, monkeypatch):
    monkeypatch.setattr(demo, "DEMO_METHODS", ("blend", "tfidf"))
    found = run_demo(documents, links, quick=True)
    assert [row.system for row in found.links.rows] == list(found.searchers) == ["blend", "tfidf"]
    assert found.searchers["blend"].n_pairs_ > 0
    monkeypatch.setattr("tacit.data.read_pydocs", lambda: (documents, links))
    out = io.StringIO()
    assert command.run(Namespace(quick=True, seed=0, json=True), out) == 0
    whole = json.loads(out.getvalue())
    assert {"rows", "typed", "answers"} <= whole.keys()
    assert whole["typed"][-1]["system"] == "blend with links"
    assert len(whole["answers"]) == 5
