"""Advice about a collection: the blend against BM25, on worlds with one right answer and on Cranfield."""

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.core import Collection, Judgments, TacitError, track
from tacit.judge.advise import advise, fit_recommended
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask
from tacit.retrieve import EmbeddingRanker

WORDS = {
    "animals": "cat dog fur paw tail",
    "maths": "matrix rank inverse vector sum",
    "food": "soup salt onion oven pan",
}


def make_world(n_docs=36, n_queries=15, seed=0):
    """Documents of three topics; a query has two words of a topic, and all documents of the topic are relevant."""
    rng = np.random.default_rng(seed)
    topics = [list(WORDS)[n % 3] for n in range(n_docs)]
    texts = [" ".join(rng.choice(WORDS[topic].split(), 4)) + f" word{rng.integers(50)}" for topic in topics]
    documents = Collection([f"d{n}" for n in range(n_docs)], [""] * n_docs, texts)
    asked = [list(WORDS)[n % 3] for n in range(n_queries)]
    queries = Collection(
        [f"q{n}" for n in range(n_queries)],
        [""] * n_queries,
        [" ".join(rng.choice(WORDS[t].split(), 2)) for t in asked],
    )
    relevant = {f"q{n}": {f"d{d}": 1 for d in range(n_docs) if topics[d] == asked[n]} for n in range(n_queries)}
    return documents, queries, Judgments.from_dict(relevant)


@pytest.fixture(scope="module")
def world():
    return make_world()


@pytest.fixture(scope="module")
def found(world):
    return advise(*world, measure="AP", threads=1)


def test_what_words_alone_do_not_say_is_gained(found):
    assert found.system in ("blend", "blend+labels")
    assert found.recommended.help
    assert found.recommended.gain > 0.02
    assert [row["system"] for row in found.rows] == ["bm25", "blend", "blend+labels"]
    assert found.queries == 15


def test_the_recommended_system_is_fitted_on_everything(found, world):
    documents, queries, qrels = world
    searcher = fit_recommended(found, documents, queries, qrels)
    assert searcher.method == "blend"
    assert searcher.search("cat fur")[0].id.startswith("d")


def test_taking_members_over_changes_nothing(world):
    task = CollectionTask.of(*world, ["AP", "Judged@10"], threads=1)
    base = CollectionCandidate("blend", task, "blend")
    train, test = np.arange(0, 10), np.arange(10, 15)
    alone, shared = (
        CollectionCandidate("blend+labels", task, "blend", learns=True, like=like).values(train, test)["AP"]
        for like in (None, base)
    )
    assert np.array_equal(alone, shared)


def test_documents_drawn_at_random_are_no_gain(world):
    documents, queries, _ = world
    rng = np.random.default_rng(1)
    drawn = {query: dict.fromkeys(rng.choice(documents.ids, 5, replace=False).tolist(), 1) for query in queries.ids}
    found = advise(documents, queries, Judgments.from_dict(drawn), measure="AP", threads=1)
    assert not found.recommended.help
    assert not found.labels.help


def test_queries_without_relevant_documents_are_told(world):
    documents, queries, _ = world
    with pytest.raises(TacitError, match="1 of 15 queries have a relevant document, want at least 2"):
        advise(documents, queries, Judgments.from_dict({"q0": {"d0": 1}, "q1": {"d0": 0}}))


@pytest.mark.skipif("TACIT_DATA" not in os.environ, reason="TACIT_DATA is not set: no Cranfield collection")
def test_on_cranfield_the_blend_is_shown_to_be_better():
    folder = Path(os.environ["TACIT_DATA"]) / "text" / "cranfield"
    documents = tacit.read_collection(folder / "docs.jsonl.gz")
    queries, qrels = tacit.read_queries(folder / "queries.jsonl"), tacit.read_qrels(folder / "qrels.txt")
    some = queries.take(np.arange(0, 225, 10))  # below 200 pairs, from which on a member is trained in every fold
    grades = qrels.to_dict()
    judged = Judgments.from_dict({query: grades[query] for query in some.ids if query in grades})
    found = advise(documents, some, judged, measure="AP", minutes=1e-6)  # the needed systems, a curve of two points
    assert found.recommended.help
    assert found.recommended.gain > 0.03
    assert found.curve[0]["queries"] == 0


def test_learned_weights_stand_in_where_a_member_takes_too_long(monkeypatch):
    """Training of the member `residual` runs into the time limit; the weights of the others are learned."""
    documents, queries, _ = make_world(n_docs=60, n_queries=30)
    everything = {query: dict.fromkeys(documents.ids[n % 3 :: 3], 1) for n, query in enumerate(queries.ids)}

    def endless(self, *_, **__):
        for _ in track(range(1000), "training"):
            time.sleep(0.05)

    with monkeypatch.context() as patched:
        patched.setattr(EmbeddingRanker, "fit", endless)
        found = advise(documents, queries, Judgments.from_dict(everything), measure="AP", threads=1, minutes=0.2)
    assert found.left_out == ("blend+labels",)
    assert [row["system"] for row in found.rows] == ["bm25", "blend", "blend+weights"]
    chosen = replace(found, system="blend+weights")
    searcher = fit_recommended(chosen, documents, queries, Judgments.from_dict(everything))
    assert searcher.ranker_.residual is False


def test_queries_without_a_word_of_the_documents_are_counted(world, caplog):
    documents, queries, qrels = world
    texts = ["" if row < 5 else text for row, text in enumerate(queries.texts)]
    advise(documents, Collection(queries.ids, queries.titles, texts), qrels, minutes=0.001, threads=1)
    assert (
        caplog.text.count("share no word with the documents, so no system finds anything: 5 of 15, such as 'q0'") == 1
    )
    with pytest.raises(TacitError, match="no query has a word of the documents, want their texts: the first is 'qid0'"):
        advise(documents, Collection(queries.ids, queries.titles, [f"qid{n}" for n in range(15)]), qrels, minutes=0.001)
