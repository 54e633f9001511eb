"""Training in the background: a new version, its verdict, and switching to it and back."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tacit.app.web.service import create_app
from tacit.app.web.training import train_job
from tacit.app.web.training.measuring import measure_now
from tacit.app.web.training.train_job import kept_vectors
from tacit.app.web.training.trainer import Trainer
from tacit.app.web.training.verdicts import MEASURES, make_verdict
from tacit.app.web.workspace import Workspace
from tacit.core import Judgments
from tacit.judge import JudgmentStore
from tacit.metrics import evaluate
from tacit.search import Searcher, encoders

# The job with a training that takes a minute.
SLOW_JOB = """
import time
from tacit.app.web.training import train_job
train_job.train = lambda job: (print("training", flush=True), time.sleep(60))
train_job.main()
"""


def judge_all(client, documents, n_queries=12):
    """Queries of three topics, whose documents are graded 1, and one document of another topic graded 0."""
    words = {"cats": "kitten fur", "maths": "inverse rank", "soup": "onion salt"}
    for number in range(n_queries):
        topic = list(words)[number % 3]
        text = f"{words[topic]} {number}"
        for document in documents.ids[:12]:
            grade = int(document.startswith(topic))
            body = {"query": text, "document": document, "grade": grade, "judge": "ann"}
            assert client.post("/judgments", json=body).status_code == 200


def test_a_version_is_measured_without_a_training(client, workspace, documents, store):
    nothing = client.get("/versions/1/measures").json()
    assert (nothing["measures"], nothing["reason"]) == ({}, "there are no judgments")
    judge_all(client, documents)
    found = client.get("/versions/1/measures").json()
    assert (found["version"], found["queries"], found["program"], found["reason"]) == ("1", 12, None, None)
    run = workspace.active.searcher.run(store.queries(), k=1000)
    grades = {query: {} for query in store.queries().ids}
    for record in store.current():
        grades[record.query][record.document] = record.grade
    expected = evaluate(Judgments.from_dict(grades), run, ["nDCG@10", "AP"]).means()
    assert found["measures"]["nDCG@10"]["mean"] == pytest.approx(expected["nDCG@10"])
    assert found["measures"]["AP"]["mean"] == pytest.approx(expected["AP"])
    assert np.mean([query["value"] for query in found["by_query"]]) == pytest.approx(expected["nDCG@10"])
    assert client.delete("/documents/soup-11").status_code == 200  # which nobody judged; the result is not kept
    assert client.get("/versions/1/measures").json()["queries"] == 12
    for record in store.current():  # every change counts at once
        if record.grade:
            store.withdraw(record.text, record.document, record.judge)
    assert "want at least 2" in client.get("/versions/1/measures").json()["reason"]
    assert client.get("/versions/7/measures").status_code == 404


def test_judgments_of_removed_documents_are_not_used(client, documents):
    judge_all(client, documents)
    assert client.delete("/documents/cats-1").status_code == 200
    assert client.get("/versions/1/measures").json()["queries"] == 12
    assert client.post("/train", json={"method": "bm25"}).status_code == 202
    state = wait_for_end(client)
    assert (state["state"], state["used"]["judgments"]) == ("done", 132), state


def test_measures_name_the_program_and_leave_out_versions_that_have_learned(searcher, store, documents):
    store.record("kitten fur", "cats-1", 3, "llm", kind="program")
    store.record("onion salt", "soup-1", 3, "llm", kind="program")
    assert measure_now(searcher, store)["program"] == "llm"
    store.record("onion salt", "soup-1", 3, "other", kind="program")
    assert measure_now(searcher, store)["reason"] == "several programs have judged, and no person"
    store.record("kitten fur", "cats-1", 3, "ann")
    store.record("onion salt", "soup-1", 3, "ann")
    assert measure_now(searcher, store)["program"] is None
    searcher.n_pairs_ = 5
    assert "has learned from labels" in measure_now(searcher, store)["reason"]


def wait_for_end(client, seconds=400):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state = client.get("/train").json()
        if state["state"] not in ("running", "cancelling"):
            return state
        time.sleep(0.2)
    raise AssertionError("the training did not end")


def test_a_version_is_trained_compared_switched_to_and_left_again(client, workspace, documents, model, store):
    judge_all(client, documents)
    assert client.post("/train", json={"method": "lsi+tfidf", "params": {"dim": 4}}).status_code == 202
    assert "another training run is in progress" in client.post("/train", json={}).json()["error"]
    assert client.get("/search", params={"q": "kitten"}).json()["model"] == "1"  # searches go on
    state = wait_for_end(client)
    assert state["state"] == "done", state
    assert state["version"] == "2"
    verdict = state["verdict"]
    assert (verdict["version"], verdict["against"]) == ("2", "1")
    assert state["used"] == {"judgments": 144, "judged": 12, "queries": 12, "left_out": {}, "program": None}
    assert state["done"] == state["total"]
    assert state["elapsed"] > 0
    assert verdict["queries"] == 12
    assert verdict["text"]
    assert client.get("/search", params={"q": "kitten"}).json()["model"] == "1"  # nothing is switched unasked
    assert client.post("/versions", json={"version": "2"}).json() == {"active": "2"}
    assert client.get("/health").json()["method"] == "lsi+tfidf"
    assert client.get("/search", params={"q": "kitten", "model": "1"}).json()["model"] == "1"
    again = TestClient(create_app(Workspace(model, Searcher.load(model), store)))
    assert again.get("/health").json()["model"] == "2"  # after a restart too
    assert client.post("/versions", json={"version": "1"}).json() == {"active": "1"}
    found = {entry["version"]: entry for entry in client.get("/versions").json()["versions"]}
    assert found["1"]["verdict"] is None
    assert found["1"]["label"] == "Starting model"
    assert found["2"]["verdict"]["text"] == verdict["text"]
    assert found["2"]["comparison"]["against"] == "1"
    assert len(client.get("/versions/2").json()["comparison"]["by_query"]) == 12
    assert verdict["text"].split(":")[0] in client.get("/versions/2/report").text
    assert client.get("/versions/9").status_code == client.get("/versions/1/report").status_code == 404


def test_training_on_the_same_judgments_again_changes_nothing(client, documents):
    judge_all(client, documents, n_queries=3)
    body = {"query": "nothing relevant", "document": "cats-0", "grade": 0, "judge": "ann"}
    client.post("/judgments", json=body)
    client.post("/train", json={"method": "tfidf"})
    assert wait_for_end(client)["state"] == "done"
    client.post("/versions", json={"version": "2"})
    client.post("/train", json={"method": "tfidf"})
    state = wait_for_end(client)
    assert state["verdict"]["status"] == "identical"
    assert state["verdict"]["text"].startswith("Training changed nothing: version 3 returns the same results")
    assert state["used"]["left_out"] == {"have no document of grade 1 or more": 1}


def test_a_training_is_cancelled_and_leaves_nothing(client, workspace, documents):
    judge_all(client, documents, n_queries=3)
    client.post("/train", json={})
    assert client.delete("/train").json()["state"] == "cancelling"
    state = wait_for_end(client)
    assert state["state"] == "cancelled"
    assert workspace.versions == ["1"]
    assert "no training run is in progress" in client.delete("/train").json()["error"]


@pytest.mark.parametrize("state", ["running", "cancelling"])
def test_a_version_is_kept_once_it_has_its_verdict(workspace, searcher, monkeypatch, state):
    """Whoever stops the learning curve, or whatever ends it, keeps the version."""
    values = {measure: np.linspace(0, 1, 10) for measure in MEASURES}
    queries = {f"q{n}": f"text {n}" for n in range(10)}
    verdict = make_verdict("2", "1", queries, values, values, fingerprint="f", has_zeros=False, identical=False)
    used = {"judgments": 1, "judged": 1, "queries": 1, "left_out": {}, "program": None}

    def run(trainer, job):
        searcher.save(job["out"])
        trainer._note({"stage": "Learning curve", "done": 0, "total": 9}, {})
        trainer._note({"verdict": verdict | {"curve": [], "used": used, "method": "blend"}}, {})
        trainer._set(state=state)
        return "killed"

    monkeypatch.setattr(Trainer, "_run", run)
    workspace.store.record("kitten", "cats-0", 1, "ann")
    trainer = Trainer(workspace)
    trainer.start(None, None, {})
    while trainer.state["state"] in ("running", "cancelling"):
        time.sleep(0.01)
    assert trainer.state["state"] == "done"
    why = ": killed" if state == "running" else ""
    assert trainer.state["message"] == f"Version 2 is trained. Its learning curve was not measured{why}."
    assert workspace.verdict("2")["version"] == "2"


def test_the_time_left_is_that_of_fits_of_the_same_stage(workspace):
    trainer = Trainer(workspace)
    trainer._fits = [("Training", 40.0), ("Measuring 1", 1.0)]
    assert trainer._seconds_of_a_fit("Measuring 2") == 40
    trainer._fits += [("Measuring 2", 10.0), ("Measuring 2", 6.0)]
    assert trainer._seconds_of_a_fit("Measuring 2") == 8
    trainer._fits += [("Curve", 2.0), ("Curve", 9.0)]  # later ones learn from more queries
    assert trainer._seconds_of_a_fit("Curve") == 9


def test_a_version_without_a_verdict_goes_live_only_when_that_is_confirmed(client, workspace, searcher):
    _, folder = workspace.new_version()
    searcher.save(folder)
    answer = client.post("/versions", json={"version": "2"})
    assert answer.status_code == 409
    assert "version 2 has not been compared with version 1" in answer.json()["error"]
    assert client.get("/versions").json()["versions"][1]["status"] == "unproven"
    assert client.post("/versions", json={"version": "2", "confirm": True}).json() == {"active": "2"}
    assert client.post("/versions", json={"version": "1"}).json() == {"active": "1"}  # back is always possible


def test_a_training_ends_with_the_service(model, store):
    job = {"model": str(model), "store": str(store.path), "out": str(model) + ".2", "method": "bm25", "judge": None}
    command = [sys.executable, "-c", SLOW_JOB]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "training\n"
        process.stdin.close()
        assert process.wait(10) == 1


def test_events_tell_of_the_training_until_its_end(client, documents):
    judge_all(client, documents, n_queries=3)
    client.post("/train", json={"method": "tfidf"})
    with client.stream("GET", "/train/events", headers={"accept": "text/event-stream"}) as events:
        lines = [json.loads(line.removeprefix("data: ")) for line in events.iter_lines() if line.startswith("data: ")]
    assert lines[-1]["state"] in ("done", "failed")
    assert len(lines) >= 2


def test_a_training_that_cannot_work_says_why(client):
    client.post("/train", json={})
    state = wait_for_end(client)
    assert state["state"] == "failed"
    assert "has no judgments" in state["message"]
    assert "Traceback" not in state["message"]


def test_a_training_with_a_program_says_what_its_grades_add(client, documents, store, model, tmp_path, capsys):
    judge_all(client, documents, n_queries=4)
    for document in documents.ids[:12]:
        store.record("kitten fur 0", document, int(document.startswith("cats")), judge="gpt-9", kind="program")
    answer = client.post("/train", json={"assist": "ann"})
    assert answer.status_code == 400
    assert "want a program judge: gpt-9" in answer.json()["error"]
    answer = client.post("/train", json={"assist": "gpt-9", "method": "qe"})
    assert "qe does not learn from a program's grades" in answer.json()["error"]
    job = {"model": str(model), "store": str(store.path), "out": str(tmp_path / "2"), "method": "blend"}
    train_job.train(job | {"version": "2", "against": "1", "judge": None, "assist": "gpt-9", "params": {"dim": 4}})
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    verdict = next(one["verdict"] for one in said if "verdict" in one)
    names = [name for one in said for name in one if name in ("stages", "verdict", "curve")]
    assert names == ["stages", "verdict", "curve"]  # nobody waits for the learning curve to hear the verdict
    before = said[[*map(list, said)].index(["verdict"]) - 1]
    assert before["done"] == before["total"]
    assert {one["stage"] for one in said if "stage" in one} == set(
        next(one["stages"] for one in said if "stages" in one)
    )
    assert verdict["assist"]["used"] is False
    assert "not used: people judged 4 queries" in verdict["assist"]["text"]


def test_a_training_that_writes_many_warnings_ends(client, monkeypatch, tmp_path):
    noisy = tmp_path / "python"
    noisy.write_text(f"#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' 'w' >&2\nexec {sys.executable} \"$@\"\n")
    noisy.chmod(0o755)
    monkeypatch.setattr("tacit.app.web.training.trainer.sys.executable", str(noisy))
    client.post("/train", json={})
    state = wait_for_end(client)
    assert "has no judgments" in state["message"]


def test_a_model_without_a_folder_cannot_be_trained(searcher, store):
    client = TestClient(create_app(Workspace(None, searcher, store)))
    answer = client.post("/train", json={})
    assert answer.status_code == 400
    assert "give a MODEL" in answer.json()["error"]


@pytest.mark.parametrize("name", ["../../etc", "0", "x", "99"])
def test_names_of_versions_are_no_paths(client, name):
    assert client.post("/versions", json={"version": name}).status_code == 400


def test_a_new_version_keeps_the_vectors_of_the_documents(documents):
    vectors = np.random.default_rng(0).normal(size=(len(documents), 5))
    vectors[3] = 0
    running = Searcher(dim=4).fit(documents, vectors=vectors)
    kept = kept_vectors(running, Searcher())["vectors"]
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    assert kept == pytest.approx(vectors / lengths, abs=1e-3)
    assert kept_vectors(running, Searcher("bm25")) == {}
    assert kept_vectors(Searcher("bm25").fit(documents), Searcher()) == {}
    assert kept_vectors(Searcher(dim=4).fit(documents), Searcher()) == {}


def test_a_new_version_learns_the_weight_of_its_encoder_and_is_compared_with_it(documents, monkeypatch, tmp_path):
    """Words of the queries lead to another topic, so that only the encoder finds what is wanted."""
    misleading = {"cats": "inverse rank", "maths": "onion salt", "soup": "kitten fur"}
    topics = list(misleading)

    def encode(texts):
        names = [text.lower().split("-")[0].split()[0] for text in texts]
        return np.array([[1.0 + 9 * (name == topic) for topic in topics] for name in names])

    model = encoders.Encoder(encode, "known", encoders.MODEL2VEC, "abc")
    monkeypatch.setattr(encoders, "load_encoder", lambda name: model)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    Searcher(dim=4, vectors=0.5, encoder="known").fit(documents).save(tmp_path / "model")
    with JudgmentStore(tmp_path / "judgments.sqlite") as store:
        for n in range(12):
            topic = topics[n % 3]
            for name in [name for name in documents.ids if name.startswith(topic)][:5]:
                store.record(f"{topic} {misleading[topic]} {n}", name, 1, judge="ann")
    told = list[dict]()
    monkeypatch.setattr(train_job, "say", lambda **what: told.append(what))
    job = {"model": str(tmp_path / "model"), "store": str(tmp_path / "judgments.sqlite"), "judge": "ann"}
    job |= {"version": "2", "against": "1"}
    train_job.train(job | {"method": "blend", "params": {"dim": 4, "vectors": 0.5}, "out": str(tmp_path / "new")})
    trained = Searcher.load(tmp_path / "new")
    assert trained.encoder_ == Searcher.load(tmp_path / "model").encoder_
    assert trained.ranker_.weights_["vectors"] > 0.5
    found = next(one["verdict"] for one in told if "verdict" in one)["measured"]
    assert found["2"]["AP"]["mean"] > found["1"]["AP"]["mean"] + 0.1  # without the encoder, both would be equal
