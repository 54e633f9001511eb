"""Advice from clicks: gains that the shown order cannot explain are claimed, others are not."""

import json
from collections import Counter

import numpy as np
import pytest

from tacit.app.main import main
from tacit.core import Collection, DataError, Judgments, TacitError, UsageError
from tacit.data import ClickLog, Session
from tacit.judge.advise import advise, fit_recommended
from tacit.judge.advise.clicks import ClickCandidate, ClickTask, ShownCandidate
from tacit.judge.advise.collections import CollectionCandidate, CollectionTask

TOPICS = {"animals": "cat dog fur paw tail", "maths": "matrix rank inverse vector sum"}


def make_world(n_docs=20, n_queries=12, seed=0):
    """Documents of two topics, queries of one word each, and which topic each is of."""
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    texts = [" ".join(rng.choice(TOPICS[names[n % 2]].split(), 4)) for n in range(n_docs)]
    documents = Collection([f"d{n}" for n in range(n_docs)], [""] * n_docs, texts)
    asked = [f"{TOPICS[names[n % 2]].split()[n // 2 % 5]} {n}" for n in range(n_queries)]
    return documents, Collection([f"q{n}" for n in range(n_queries)], [""] * n_queries, asked)


def make_log(documents, queries, *, by_topic, n_each=20, seed=1):
    """Ten documents in random order; users click those of the topic, or the first ones whatever they are."""
    rng, sessions = np.random.default_rng(seed), []
    for query in range(len(queries)):
        shown = tuple(f"d{n}" for n in rng.permutation(len(documents))[:10])
        for _ in range(n_each):
            chance = [0.6 * (int(doc[1:]) % 2 == query % 2) if by_topic else 0.8 / rank**2
                      for rank, doc in enumerate(shown, start=1)]  # fmt: skip
            clicked = frozenset(doc for doc, p in zip(shown, chance, strict=True) if rng.random() < p)
            sessions.append(Session(f"q{query}", shown, clicked, 1.0, len(sessions) + 1))
    return ClickLog(sessions)


@pytest.fixture(scope="module")
def world():
    return make_world()


@pytest.fixture(scope="module")
def log(world):
    return make_log(*world, by_topic=True)


@pytest.fixture(scope="module")
def found(world, log):
    return advise(world[0], world[1], clicks=log, threads=1)


def test_a_better_order_than_the_shown_one_is_claimed(found):
    assert (found.baseline, found.queries) == ("shown", 12)
    assert [row["system"] for row in found.rows] == ["shown", "bm25", "blend", "blend+clicks"]
    assert found.recommended.help
    assert found.recommended.gain > 0.05
    assert "favours the shown order" in found.to_json()["note"]
    assert "Corrected for positions" in found.text


def test_clicks_on_the_first_documents_are_no_gain_of_anything(world):
    found = advise(world[0], world[1], clicks=make_log(*world, by_topic=False), threads=1)
    assert not found.recommended.help
    assert not found.labels.help
    assert found.system == "shown"
    with pytest.raises(TacitError, match="the advice is the shown order"):
        fit_recommended(found, *world)


def test_counts_without_the_shown_order_make_no_claim(world, log):
    counts = Counter((session.query, doc) for session in log.sessions for doc in session.clicked)
    sessions = [
        Session(query, (doc,), frozenset([doc]), float(n), line)
        for line, ((query, doc), n) in enumerate(counts.items())
    ]
    found = advise(world[0], world[1], clicks=ClickLog(sessions, ordered=False), threads=1)
    assert found.baseline == "bm25"
    assert (found.recommended.help, found.labels.help) == (False, False)
    assert "the system that showed them is favoured" in found.note


def test_a_gain_that_positions_explain_is_withheld(world, log):
    task = ClickTask.of_log(world[0], log, ["nDCG@10"])
    shown = ShownCandidate(task, log).values(np.empty(0, np.int64), np.arange(12))
    assert set(shown) == {"nDCG@10", "corrected nDCG@10"}
    # Worked by hand: two documents, shown a then b; 4 clicks on a, 1 on b, by the first rank's share of all clicks.
    docs = Collection(["a", "b"], [""] * 2, ["x", "y"])
    pages = [Session("x", ("a", "b"), frozenset("a"), 4.0, 1), Session("x", ("a", "b"), frozenset("b"), 1.0, 2)]
    pages += [Session("y", ("a", "b"), frozenset("a"), 5.0, 3)]
    values = ShownCandidate(ClickTask.of_log(docs, ClickLog(pages), ["nDCG@10"]), ClickLog(pages)).values(
        np.empty(0, np.int64), np.arange(2)
    )
    assert values["nDCG@10"] == pytest.approx([1.0, 1.0])  # a has most clicks, and is shown first
    assert values["corrected nDCG@10"][0] < 1.0  # b has more clicks than its place lets expect


def test_clicks_of_measured_queries_are_not_learned_from(world, log, monkeypatch):
    documents, queries = world
    qrels = Judgments.from_dict({f"q{n}": {f"d{d}": 1 for d in range(n % 2, 20, 2)} for n in range(8)})
    task = CollectionTask.of(documents, queries, qrels, ["AP"], threads=1)
    by_text = [session._replace(query=queries.texts[queries.row_of[session.query]]) for session in log.sessions]
    candidate = ClickCandidate("c", task, "blend", like=CollectionCandidate("b", task, "blend"), log=ClickLog(by_text))
    asked = []
    pairs = ClickLog.pairs
    monkeypatch.setattr(ClickLog, "pairs", lambda self, *a, **k: asked.append(self) or pairs(self, *a, **k))
    candidate.values(np.array([0, 1, 2]), np.array([3, 4]))
    assert candidate.learns
    learned_from = {session.query for session in asked[0].sessions}
    assert learned_from == {queries.texts[n] for n in (0, 1, 2, 8, 9, 10, 11)}


def test_what_clicks_add_is_measured_on_judged_queries(world, log):
    qrels = Judgments.from_dict({f"q{n}": {f"d{d}": 1 for d in range(n % 2, 20, 2)} for n in range(10)})
    found = advise(world[0], world[1], qrels, clicks=log, threads=1)
    assert [row["system"] for row in found.rows] == ["bm25", "blend", "blend+labels", "blend+clicks"]
    assert set(found.to_json()["clicks"]) == {"help", "gain", "interval", "p", "reason"}
    assert "our clicks " in found.text
    assert found.note == ""


def test_mistakes_are_told(world, log):
    with pytest.raises(UsageError, match="want nDCG for clicks"):
        advise(world[0], world[1], clicks=log, measure="AP")
    with pytest.raises(DataError, match="0 queries with a click on a known document"):
        advise(Collection(["z"], [""], ["text"]), world[1], clicks=log)
    with pytest.raises(UsageError, match="want one that is at most 1 and better if larger"):
        advise(world[0], world[1], clicks=log, measure="rank_loss")
    with pytest.raises(UsageError, match="or clicks"):
        advise(world[0], world[1])


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--qrels", "qrels.txt"], 2, "--qrels needs --queries"),
        (["--queries", "queries.jsonl"], 2, "--queries needs --qrels or --clicks"),
        (["--clicks", "log.jsonl"], 1, "log.jsonl:1: unknown ids in 1 of 1 line, the first is document 'zz'"),
        (["--clicks", "none.jsonl"], 1, "no click in"),
        (["--clicks", "log.jsonl", "--group", "topic"], 2, "--group needs"),
    ],
)
def test_the_command_tells_mistakes_in_one_line(tmp_path, monkeypatch, capsys, words, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "text": "x"}\n')
    (tmp_path / "log.jsonl").write_text(json.dumps({"query": "q", "shown": ["zz"], "clicked": ["zz"]}))
    (tmp_path / "none.jsonl").write_text(json.dumps({"query": "q", "shown": ["a"], "clicked": []}))
    assert main(["advise", "docs.jsonl", *words]) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
