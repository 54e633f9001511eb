"""Typed queries: folds that keep related queries together, cut judgments, measures over the whole collection."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tacit.core import DataError, Links, UsageError
from tacit.experiments.collections import question_task, questions
from tacit.experiments.collections.question_task import read_languages, read_questions, shared_documents
from tacit.experiments.request import Request
from tacit.metrics import evaluate
from tacit.retrieve import Bm25Ranker
from tacit.search.encoders import Encoder

TOPICS = ["cat purr fur", "dog bark bone", "fish swim water", "bird fly wing", "horse run saddle"]
ASKED = ["kitten", "puppy", "trout", "sparrow", "pony"]  # words of queries that no document has


@pytest.fixture
def folder(tmp_path):
    """Forty documents of five topics; forty queries in words of their own and one word of the topic."""
    rng = np.random.default_rng(0)
    documents, queries, judgments = [], [], []
    for number in range(40):
        words = [*rng.permutation(TOPICS[number % 5].split())[:2], *rng.permutation(" ".join(TOPICS).split())[:3]]
        documents.append({"id": f"d{number}", "text": " ".join([*words, ASKED[number % 5]][: 6 if number < 20 else 5])})
        word = rng.permutation(" ".join(TOPICS).split())[0]
        queries.append({"id": f"q{number}", "text": f"{ASKED[number % 5]} {word}"})
        judgments += [f"q{number} 0 d{row} {1 + row % 2}" for row in range(number % 5, 40, 5)]
    judgments.append("q0 0 d1 0")
    for name, rows in (("docs", documents), ("queries", queries)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "qrels.txt").write_text("\n".join(judgments) + "\n")
    return tmp_path


def test_queries_that_share_a_document_through_others_are_one_group():
    groups = shared_documents(Links([0, 1, 1, 2, 3], [5, 5, 6, 6, 7], 4, 8))
    assert groups[0] == groups[1] == groups[2] != groups[3]


def test_every_query_is_tested_once_and_never_trained_on(folder):
    task = read_questions(folder, str(folder))
    folds = task.folds(0)
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(40))
    for fold in folds:
        assert not set(fold.train.tolist()) & set(fold.test.tolist())
        assert len(fold.train) + len(fold.test) == 40
        rows = np.sort(fold.train[:5])
        pairs = task.training_pairs(rows)
        assert sorted(set(rows[pairs.sources].tolist())) == rows.tolist()
        expected = {(row, d) for row, d in zip(task.pairs.sources.tolist(), task.pairs.targets.tolist(), strict=True)}
        assert {(rows[q], d) for q, d in zip(pairs.sources, pairs.targets, strict=True)} <= expected


def test_the_whole_collection_is_ranked_as_a_run_would_be(folder):
    task = read_questions(folder, str(folder))
    read = task.read(Bm25Ranker(), stem=True)
    queries, ranker = read.queries(task.queries.full_texts()), Bm25Ranker().fit(None, read.items)
    found = task.measure(ranker, queries, np.arange(40))
    run = ranker.rank(queries, 40).to_run(task.queries.ids, task.documents.ids, "bm25")
    assert tuple(found) == ("AP", "nDCG@10", "AP-judged", "nDCG-judged@10")  # there is a judged 0
    oracle = evaluate(task.judgments, run, list(found))
    order = [oracle.query_ids.index(name) for name in task.queries.ids]
    for name, values in found.items():
        np.testing.assert_allclose(values, oracle.values[name][order], atol=1e-12)


def test_a_run_has_a_row_for_each_number_of_judged_queries(folder):
    systems = ("bm25", "bm25-unstemmed", "htr-residual")
    report = questions.run(
        Request(
            data=folder, corpus=str(folder), systems=systems, params={"dim": 8, "rate": 0.5, "n_epochs": 10}, threads=1
        )
    )
    rows = json.loads(json.dumps(report.to_json()))["rows"]
    assert [(row["system"], row["queries"], row["share"]) for row in rows if row["system"] != "bm25-unstemmed"] == [
        ("bm25", 0, 0.0),
        *((system, n, round(n / 32, 4)) for n in (5, 10, 20) for system in ("bm25", "htr-residual")),
        ("bm25", 32, 1.0),
        ("htr-residual", 32, 1.0),
    ]
    assert {row["stem"] for row in rows if row["system"] == "bm25-unstemmed"} == {False}
    assert len({row["metrics"]["AP"] for row in rows if row["system"] == "bm25"}) == 1
    learned = {row["queries"]: row["metrics"]["AP"] for row in rows if row["system"] == "htr-residual"}
    assert learned[32] > rows[0]["metrics"]["AP"] + 0.1, "judged queries teach words that documents lack"
    assert {(test["queries"], test["metric"]) for test in report.tests()} >= {(0, "AP"), (32, "nDCG@10")}
    assert any(line[1] == "32" and line[3] == "htr-residual" for line in report.sections[1].rows)


def test_figures_are_drawn(folder, tmp_path):
    report = questions.run(Request(data=folder, corpus=str(folder), systems=("bm25", "qe"), quick=True))
    assert [len(row.values["AP"]) for row in report.rows] == [16] * 4  # two folds of 8
    ((name, draw),) = report.figures.items()
    draw(tmp_path / f"{name}.png")
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_mistakes_are_told(folder, tmp_path):
    with pytest.raises(UsageError, match="corpus is 'cranfeld', want one of .*did you mean 'cranfield'"):
        questions.run(Request(data=tmp_path, corpus="cranfeld"))
    with pytest.raises(UsageError, match="system is 'lsi'"):
        questions.run(Request(data=tmp_path, systems=("lsi",)))
    with pytest.raises(UsageError, match="--split is 'links', want one of related, queries"):
        questions.run(Request(data=tmp_path, corpus=str(folder), split="links"))
    (folder / "qrels.txt").write_text("q1 0 d1 1\n")
    with pytest.raises(DataError, match="found 1 judged query, want at least 5"):
        questions.run(Request(data=tmp_path, corpus=str(folder)))


def test_use_cases_are_answered_within_their_project(data_folder):
    task = read_questions(data_folder, "traceability")
    assert task.parts is not None
    assert len(task.folds(0)) == 4
    for fold in task.folds(0):
        names = [{task.queries.ids[row].partition(":")[0] for row in rows} for rows in (fold.train, fold.test)]
        assert len(names[1]) == 1
        assert not names[0] & names[1]
    read = task.read(Bm25Ranker(), stem=True)
    queries, ranker = read.queries(task.queries.full_texts()), Bm25Ranker().fit(None, read.items)
    found = task.measure(ranker, queries, np.arange(len(task.queries)))
    # By chance alone AP would be near the share of relevant classes, about 0.06.
    assert 0.3 < found["AP"].mean() < 0.6


def test_cranfield(data_folder):
    report = questions.run(Request(data=data_folder, corpus="cranfield", systems=("bm25", "bm25-unstemmed")))
    stemmed, plain = report.rows[:2]
    assert len(stemmed.values["AP"]) == 225
    assert stemmed.metrics["AP"] == pytest.approx(0.308, abs=0.01)
    assert stemmed.metrics["AP"] > plain.metrics["AP"] + 0.01


def test_claims_about_one_document_are_in_one_fold(data_folder):
    task = read_questions(data_folder, "scifact")
    for fold in task.folds(0):
        assert 0.15 < len(fold.test) / len(task.queries) < 0.25
        documents = [
            set(task.pairs.targets[np.isin(task.pairs.sources, rows)].tolist()) for rows in (fold.train, fold.test)
        ]
        assert not documents[0] & documents[1]


def test_folds_can_be_drawn_query_by_query(data_folder):
    found = {}
    for split in (None, "related", "queries"):
        request = Request(data=data_folder, corpus="stackfaq", systems=("htr-reconstruction",), quick=True, split=split)
        found[split] = questions.run(request)
    notes = [next(note for note in report.notes if "folds" in note) for report in found.values()]
    assert [note.partition("; ")[2][:20] for note in notes] == ["related queries are "] * 2 + ["folds are drawn quer"]
    assert "split" not in found[None].rows[0].setting
    assert found["queries"].rows[0].setting["split"] == "queries"
    same, other = (
        found[split].rows[-1].metrics["AP"] == found[None].rows[-1].metrics["AP"] for split in ("related", "queries")
    )
    assert same
    assert not other


def test_every_language_of_a_collection_is_measured(data_folder):
    parts = read_languages(data_folder, "xquad_12lang", threads=1)
    assert list(parts) == ["en", "ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"]
    assert {name: part.language for name, part in parts.items() if part.language != name} == {"vi": "any"}
    for name, part in parts.items():
        assert (len(part.documents), len(part.queries), len(part.judgments)) == (240, 1190, 1190)
        assert {query.partition("-")[0] for query in part.queries.ids} == {name}


def test_languages_are_a_table_of_their_own(folder, monkeypatch):
    parts = {
        "en": read_questions(folder, str(folder)),
        "de": replace(read_questions(folder, str(folder)), language="de"),
    }
    monkeypatch.setattr(questions, "read_languages", lambda *_: parts)
    request = Request(data=folder, corpus=str(folder), systems=("bm25", "blend"), quick=True, threads=1)
    section = questions.run(request).sections[-1]
    assert [line[:3] for line in section.rows] == [
        [metric, name, f"{name} stems"] for metric in ("AP", "nDCG@10") for name in ("en", "de")
    ]
    english = next(row for row in questions.run(request).rows if row.system == "blend")
    assert section.rows[0][4] == f"{english.metrics['AP']:.4f}"


def test_rows_with_an_encoder(folder, monkeypatch, tmp_path):
    """An encoder that knows the topics finds what words do not; rows are compared with it and with rank fusion."""
    words = [[*topic.split(), name] for topic, name in zip(TOPICS, ASKED, strict=True)]

    def encode(texts):
        own = [next((word for word in text.split() if word in ASKED), "") for text in texts]
        return np.array([[1.0 + 20 * (name in topic) for topic in words] for name in own])

    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(question_task, "load_encoder", lambda name: Encoder(encode, name))
    systems = ("bm25", "blend", "blend+encoder", "encoder", "rrf")
    request = Request(
        data=folder, corpus=str(folder), systems=systems, params={"dim": 8, "vectors": 4.0}, threads=1, encoder="e",
        quick=True,
    )  # fmt: skip
    report = questions.run(request)
    means = {row.system: row.metrics["AP"] for row in report.rows if row.setting["queries"] == 0}
    assert means["encoder"] > means["bm25"]
    assert means["blend+encoder"] > means["blend"]
    titles = [section.title for section in report.sections]
    assert any("against rrf" in title for title in titles)
    assert any("against encoder" in title for title in titles)
    with pytest.raises(UsageError, match="systems with an encoder need --encoder"):
        questions.run(replace(request, encoder=None))
