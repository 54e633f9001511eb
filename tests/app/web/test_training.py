"""Training in the background: a new version, its verdict, and switching to it and back."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tacit.app.web.service import create_app
from tacit.app.web.train_job import kept_vectors
from tacit.app.web.workspace import Workspace
from tacit.search import Searcher

# The job with a training that takes a minute.
SLOW_JOB = """
import time
from tacit.app.web import train_job
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


def wait_for_end(client, seconds=400):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state = client.get("/train").json()
        if state["state"] != "running":
            return state
        time.sleep(0.2)
    raise AssertionError("the training did not end")


def test_a_version_is_trained_compared_switched_to_and_left_again(client, workspace, documents, model, store):
    judge_all(client, documents)
    assert client.post("/train", json={"method": "lsi+tfidf", "params": {"dim": 4}}).status_code == 202
    assert "is running already" in client.post("/train", json={}).json()["error"]
    assert client.get("/search", params={"q": "kitten"}).json()["model"] == "1"  # searches go on
    state = wait_for_end(client)
    assert state["state"] == "done", state
    assert state["version"] == "2"
    verdict = state["verdict"]
    assert isinstance(verdict["helps"], bool)
    assert verdict["queries"] == 12
    assert verdict["text"]
    assert client.get("/search", params={"q": "kitten"}).json()["model"] == "1"  # nothing is switched unasked
    assert client.post("/versions", json={"version": "2"}).json() == {"active": "2"}
    assert client.get("/health").json()["method"] == "lsi+tfidf"
    assert client.get("/search", params={"q": "kitten", "model": "1"}).json()["model"] == "1"
    again = TestClient(create_app(Workspace(model, Searcher.load(model), store)))
    assert again.get("/health").json()["model"] == "2"  # after a restart too
    assert client.post("/versions", json={"version": "1"}).json() == {"active": "1"}
    found = {entry["version"]: entry["verdict"] for entry in client.get("/versions").json()["versions"]}
    assert found["1"] is None
    assert found["2"]["text"] == verdict["text"]


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
    assert "holds no judgments" in state["message"]
    assert "Traceback" not in state["message"]


def test_a_training_that_writes_many_warnings_ends(client, monkeypatch, tmp_path):
    noisy = tmp_path / "python"
    noisy.write_text(f"#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' 'w' >&2\nexec {sys.executable} \"$@\"\n")
    noisy.chmod(0o755)
    monkeypatch.setattr("tacit.app.web.trainer.sys.executable", str(noisy))
    client.post("/train", json={})
    state = wait_for_end(client)
    assert "holds no judgments" in state["message"]


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
    assert kept == pytest.approx(vectors / lengths, abs=1e-6)
    assert kept_vectors(running, Searcher("bm25")) == {}
    assert kept_vectors(Searcher("bm25").fit(documents), Searcher()) == {}
    assert kept_vectors(Searcher(dim=4).fit(documents), Searcher()) == {"vectors": None}
