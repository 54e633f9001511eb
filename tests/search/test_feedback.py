"""Feedback: marks decide, their neighbours follow, what is unmarked stands between; on real queries it pays."""

import json
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.app.main import main
from tacit.core import Collection, TacitError, UsageError
from tacit.data import read_collection, read_qrels, read_queries
from tacit.metrics import evaluate_rows
from tacit.search import Searcher
from tacit.search.feedback import feedback_scores, rerank

# "jaguar" is a car in some documents and an animal in others.
CARS = [f"jaguar car engine speed model{n}" for n in range(6)]
CATS = [f"jaguar animal forest prey habitat{n}" for n in range(6)]
TEXTS = [text for pair in zip(CARS, CATS, strict=True) for text in pair]
NAMES = [f"{kind}{n}" for n in range(6) for kind in ("car", "cat")]


@pytest.fixture(scope="module")
def searcher():
    docs = Collection([*NAMES, "other"], [""] * 13, [*TEXTS, "nothing of the kind"])
    return Searcher("bm25").fit(docs)


def test_one_liked_answer_brings_its_kind_up(searcher):
    ids = [hit.id for hit in searcher.feedback("jaguar", liked=["cat3"], k=6)]
    assert ids[0] == "cat3"
    assert all(name.startswith("cat") for name in ids)
    hits = searcher.feedback("jaguar", liked=["car1"], disliked=["cat0"], k=20)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert (hits[0].id, hits[-1].id) == ("car1", "cat0")
    assert all(hit.id.startswith("car") for hit in hits[:6])


def test_disliking_alone_pushes_the_kind_down(searcher):
    ids = [hit.id for hit in searcher.feedback("jaguar", disliked=["car0"], k=20)]
    places = {kind: np.mean([ids.index(name) for name in NAMES if name.startswith(kind)]) for kind in ("car", "cat")}
    assert places["cat"] < places["car"]
    assert ids[-1] == "car0"


def test_a_marked_document_that_was_no_candidate_joins(searcher):
    assert searcher.feedback("jaguar", liked=["other"])[0].id == "other"


@pytest.mark.parametrize(
    ("marks", "kind", "problem"),
    [({}, UsageError, "nothing is marked"), ({"liked": ["cat0"], "disliked": ["cat0"]}, UsageError, "both liked"),
     ({"liked": ["gone"]}, TacitError, "'gone'")],
)  # fmt: skip
def test_marks_that_make_no_sense_are_refused(searcher, marks, kind, problem):
    with pytest.raises(kind, match=problem):
        searcher.feedback("jaguar", **marks)


def test_candidates_that_are_all_alike_keep_their_order():
    content = sp.csr_array(np.ones((4, 1)))
    scores = feedback_scores(
        np.array([4.0, 3, 2, 1]), content, np.array([False, True, False, False]), np.zeros(4, bool)
    )
    assert scores.argsort()[::-1].tolist() == [0, 1, 2, 3]
    assert np.diff(scores).max() < -1e-3
    one = feedback_scores(np.array([1.0]), sp.csr_array(np.ones((1, 1))), np.array([True]), np.array([False]))
    assert one.tolist() == [0.0]


def test_the_command_takes_marks(searcher, tmp_path, capfd):
    searcher.save(tmp_path / "model")
    assert (
        main(["search", str(tmp_path / "model"), "jaguar", "--like", "cat1", "cat2", "--dislike", "car0", "--json"])
        == 0
    )
    hits = json.loads(capfd.readouterr().out)["hits"]
    assert {hits[0]["id"], hits[1]["id"]} == {"cat1", "cat2"}
    assert main(["search", str(tmp_path / "model"), "jaguar", "--like", "gone"]) == 1
    assert main(["search", str(tmp_path / "model"), "jaguar", "--like", "cat1", "--explain"]) == 2


def test_feedback_improves_real_queries(data_folder):
    folder = data_folder / "text" / "cacm"
    documents, queries = read_collection(folder / "docs.jsonl.gz"), read_queries(folder / "queries.jsonl")
    grades, searcher = read_qrels(folder / "qrels.txt").to_dict(), Searcher("bm25").fit(documents)
    gains = []
    for number in range(1, 40, 3):
        known, text = grades.get(queries.ids[number], {}), queries.texts[number]
        before = [hit.id for hit in searcher.search(text, 100)]
        marked = {
            True: [name for name in before[:5] if name in known],
            False: [n for n in before[:5] if n not in known],
        }
        after = [
            searcher.documents_.ids[row]
            for row in rerank(searcher, searcher.query_rows([text]), marked[True], marked[False])[0]
        ]
        rest = [[name for name in ids if name not in before[:5]] for ids in (before, after)]
        truth = [[float(name in known) for name in ids] for ids in rest]
        if any(truth[0]):
            values = [evaluate_rows(t, -np.arange(len(t))).means()["nDCG-letor@10"] for t in truth]
            gains.append(values[1] - values[0])
    assert np.mean(gains) > 0.05


def test_feedback_is_a_term_that_makes_explanations_add_up_to_the_list(searcher):
    marks = {"liked": ["cat3"], "disliked": ["car0"]}
    hits = searcher.feedback("jaguar", **marks, k=20)
    for hit, following in pairwise(hits):
        reasons = searcher.explain("jaguar", hit.id, **marks)
        assert sum(reason.value for reason in reasons) == pytest.approx(hit.score, abs=1e-5)
        assert [reason.kind for reason in reasons].count("feedback") == 1
        above = sum(reason.value for reason in searcher.explain("jaguar", hit.id, following.id, **marks))
        assert above == pytest.approx(hit.score - following.score, abs=1e-5)
    assert all(reason.kind != "feedback" for reason in searcher.explain("jaguar", "cat3"))
