"""Documents belong to the workspace, not to a version; one process changes it; half-written files do no harm."""

import copy
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from urllib.parse import quote
from zlib import crc32

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tacit.app.main import main
from tacit.app.web import workspace
from tacit.app.web.counters import PREFIX
from tacit.app.web.document_log import DocumentLog, Entry
from tacit.app.web.service import create_app
from tacit.app.web.training import trainer
from tacit.app.web.training.verdicts import MEASURES, make_verdict
from tacit.app.web.workspace import Workspace
from tacit.core import Collection, DataError
from tacit.search import Searcher


def held(client):
    """All documents of the version that answers, as a client sees them."""
    documents = client.app.app.state.parts.workspace.active.searcher.documents_
    return {document.id: (document.title, document.text) for document in documents}


def train(workspace, method, during=lambda: None):
    """What a training does, without its process: the changes of `during` come while it runs."""
    name, folder = workspace.new_version()
    model = workspace.prepare_training(name)
    searcher = Searcher(method).fit(Searcher.load(model).documents_)
    during()
    searcher.save(folder)


class Service:
    """A service that can be restarted, and what it has acknowledged."""

    def __init__(self, model, store):
        self.model, self.store, self.number = model, store, 0
        self.restart()
        self.documents = held(self.client)

    def restart(self):
        if self.number:
            self.workspace.close()
        self.workspace = Workspace(self.model, Searcher.load(self.model), self.store)
        assert not self.workspace.read_only
        self.client = TestClient(create_app(self.workspace))

    def put(self, rng):
        self.number += 1
        known = rng.choice(sorted(self.documents))
        text = f"text number {self.number} about a cat"
        way = rng.choice(["add", "upsert", "put", "add again"])
        if way == "add again":
            assert self.client.post("/documents", json={"id": known, "text": text}).status_code == 400
            return
        doc_id = known if way != "add" and rng.random() < 0.7 else f"new-{self.number}"
        if way == "put":
            answer = self.client.put(f"/documents/{doc_id}", json={"text": text, "title": "T"})
        else:
            body = [{"id": doc_id, "text": text, "title": "T"}]
            answer = self.client.post("/documents", params={"upsert": way == "upsert"}, json=body)
        assert answer.status_code == 200, answer.text
        self.documents[doc_id] = ("T", text)

    def remove(self, rng):
        doc_id = rng.choice(sorted(self.documents))
        assert self.client.delete(f"/documents/{doc_id}").status_code == 200
        del self.documents[doc_id]

    def change(self, rng):
        (self.put if rng.random() < 0.7 else self.remove)(rng)

    def train(self, rng):
        train(self.workspace, rng.choice(["tfidf", "bm25"]), lambda: self.change(rng))

    def switch(self, rng):
        version = rng.choice(self.workspace.versions)
        assert self.client.post("/versions", json={"version": version, "confirm": True}).json() == {"active": version}

    def compare(self, rng):
        version = rng.choice(self.workspace.versions)
        documents = self.workspace.find(version).searcher.documents_
        assert {d.id: (d.title, d.text) for d in documents} == self.documents


@pytest.mark.parametrize("seed", range(4))
def test_every_version_holds_exactly_the_acknowledged_documents(model, store, seed):
    rng, service = random.Random(seed), Service(model, store)
    steps = [service.change] * 6 + [service.train, service.switch, service.switch, service.compare]
    for _ in range(40):
        rng.choice([*steps, lambda rng: service.restart()])(rng)
        assert held(service.client) == service.documents
        query = f"number {service.number}"
        assert {hit["id"] for hit in service.client.get("/search", params={"q": query}).json()["hits"]} <= set(
            service.documents
        )
    for version in service.workspace.versions:
        assert service.client.post("/versions", json={"version": version, "confirm": True}).status_code == 200
        assert held(service.client) == service.documents


def test_judgments_about_new_documents_are_kept_after_a_switch(client, workspace):
    train(workspace, "tfidf")
    client.post("/documents", json={"id": "zebra", "text": "a zebra has stripes"})
    client.post("/versions", json={"version": "2", "confirm": True})
    body = {"query": "stripes", "document": "zebra", "grade": 1, "judge": "ann"}
    assert client.post("/judgments", json=body).status_code == 200
    assert client.get("/search", params={"q": "stripes"}).json()["hits"][0]["id"] == "zebra"


def test_the_last_document_can_be_replaced_but_not_removed(store, tmp_path):
    searcher = Searcher("bm25").fit(Collection(["only"], [""], ["a cat"]))
    searcher.save(tmp_path / "one.model")
    client = TestClient(create_app(Workspace(tmp_path / "one.model", searcher, store)))
    found = client.put("/documents/only", json={"text": "a dog barks"}).json()
    assert found == {"id": "only", "added": 0, "replaced": 1, "documents": 1}
    assert held(client) == {"only": ("", "a dog barks")}
    assert client.delete("/documents/only").status_code == 400
    assert held(client) == {"only": ("", "a dog barks")}


@pytest.mark.parametrize("name", [" ", " a", "a\tb", "a\u2028b"])
def test_ids_that_no_file_can_hold_are_refused(client, name):
    for answer in (
        client.post("/documents", json={"id": name, "text": "x"}),
        client.put(f"/documents/{quote(name)}", json={"text": "x"}),
    ):
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"].startswith("id is ")


def test_changes_by_the_command_line_reach_every_version(client, workspace, model, store, tmp_path):
    train(workspace, "tfidf")
    client.post("/versions", json={"version": "2", "confirm": True})
    (tmp_path / "new.jsonl").write_text('{"id": "yak", "text": "a yak has horns"}\n')
    assert main(["add", str(model), str(tmp_path / "new.jsonl")]) == 0
    assert main(["remove", str(model), "cats-0"]) == 0
    client.post("/documents", json={"id": "zebra", "text": "a zebra has stripes"})
    assert {"yak", "zebra"} < set(held(client))
    assert "cats-0" not in held(client)
    again = Workspace(model, Searcher.load(model), store)
    assert set(again.active.searcher.documents_.ids) == set(held(client))


def test_the_log_drops_an_unfinished_line_and_reports_a_damaged_one(tmp_path):
    log = DocumentLog(tmp_path / "documents.log")
    first = log.append([Entry("a", "", "one")], [])
    second = log.append([Entry("b", "", "x" * 200_000)], ["a"])
    whole = log.path.read_bytes()
    for cut in (first + 1, first + 100, second - 1):
        log.path.write_bytes(whole[:cut])
        assert log.since(0) == ({"a": Entry("a", "", "one")}, first)
        assert log.append([], ["c"]) == log.size()
        assert set(log.since(0).documents) == {"a", "c"}
    log.path.write_bytes(b"x" + whole[1:])
    with pytest.raises(DataError, match="byte 0 is damaged"):
        log.since(0)


@pytest.mark.parametrize(
    "text",
    [
        '{"put": [], "removed": "ab"}',
        '{"put": [["a", "", 1, {}]], "removed": []}',
        '{"put": [["a"]], "removed": []}',
        "[]",
        "[" * 100000,
        "{}",
        "null",
        '{"put": [["a", "", "", []]], "removed": []}',
        '{"put": 1, "removed": []}',
        "x",
    ],
    ids=range(10),
)
def test_a_line_with_a_right_checksum_that_was_never_written_is_damaged(tmp_path, text):
    log = DocumentLog(tmp_path / "documents.log")
    log.path.write_bytes(b"%08x %s\n" % (crc32(text.encode()), text.encode()))
    with pytest.raises(DataError, match="byte 0 is damaged"):
        log.since(0)


def test_the_end_of_a_log_with_long_lines_is_found_in_linear_time(tmp_path):
    log = DocumentLog(tmp_path / "documents.log")
    first = log.append([Entry("a", "", "x" * (24 << 20))], [])  # quadratic time took 20 s
    start = time.process_time()
    assert log.append([], ["b"]) > first
    assert time.process_time() - start < 3
    with log.path.open("ab") as file:
        file.write(b"unfinished" * 300_000)
    log.append([], ["c"])
    assert list(log.since(first).documents) == ["b", "c"]


def test_a_log_that_cannot_be_written_changes_nothing(client, monkeypatch):
    before = held(client)

    def full(file, data):
        os.write(file, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    client.post("/documents", json={"id": "yak", "text": "horns"})
    with monkeypatch.context() as patched:
        patched.setattr("tacit.app.web.document_log._write_all", full)
        answer = client.post("/documents", json={"id": "zebra", "text": "stripes"})
        assert answer.status_code == 507
        assert "No space left" in answer.json()["error"]
    assert set(held(client)) == {*before, "yak"}
    assert client.post("/documents", json={"id": "zebra", "text": "stripes"}).status_code == 200


def test_a_model_folder_that_cannot_be_written_loses_no_document(client, model, store, workspace, monkeypatch, capsys):
    with monkeypatch.context() as patched:
        patched.setattr(Searcher, "save", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left")))
        assert client.post("/documents", json={"id": "zebra", "text": "stripes"}).status_code == 200
    assert "its documents are in the log" in capsys.readouterr().err
    workspace.close()
    again = Workspace(model, Searcher.load(model), store)
    assert "zebra" in again.active.searcher.documents_.row_of


# One process changes a workspace.


def test_a_second_service_is_read_only_says_so_and_follows(client, model, store, workspace, monkeypatch):
    monkeypatch.setattr("tacit.app.web.workspace.SECONDS_BEHIND", 0.05)
    other = Workspace(model, Searcher.load(model), store)
    second = TestClient(create_app(other))
    assert second.get("/health").json()["read_only"] == "another process serves this model"
    assert client.get("/health").json()["read_only"] is None
    answer = second.post("/documents", json={"id": "zebra", "text": "stripes"})
    assert answer.status_code == 403
    assert answer.json()["error"] == "this service is read-only: another process serves this model"
    client.post("/documents", json={"id": "yak", "text": "a yak has horns"})
    train(workspace, "tfidf")
    client.post("/versions", json={"version": "2", "confirm": True})
    end = time.monotonic() + 30
    while second.get("/health").json()["model"] != "2" and time.monotonic() < end:
        time.sleep(0.05)
    assert second.get("/search", params={"q": "horns"}).json()["hits"][0]["id"] == "yak"
    workspace.close()
    assert not Workspace(model, Searcher.load(model), store).read_only


def test_a_second_service_through_a_link_is_read_only_and_sees_the_same(client, model, store, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.model"
    link.symlink_to("../my.model")
    client.post("/documents", json={"id": "yak", "text": "a yak has horns"})
    second = Workspace(link, Searcher.load(link), store)
    assert second.read_only == "another process serves this model"
    assert "yak" in second.active.searcher.documents_.row_of
    (tmp_path / "new.jsonl").write_text('{"id": "zebra", "text": "stripes"}\n')
    assert main(["add", str(link), str(tmp_path / "new.jsonl")]) == 0
    client.post("/documents", json={"id": "gnu", "text": "a gnu"})
    assert {"yak", "zebra", "gnu"} < set(held(client))
    assert link.is_symlink()
    assert not (tmp_path / "elsewhere" / "link.model.versions").exists()


def test_a_read_only_service_refuses_every_change(model, searcher, store):
    app = create_app(Workspace(model, searcher, store, read_only=True))
    judgment = {"query": "q", "document": "cats-0", "judge": "ann"}
    bodies = {
        "/documents": {"id": "new", "text": "t"},
        "/documents/{document}": {"text": "t"},
        "/judgments": judgment | {"grade": 1},
        "/judgments/withdraw": judgment,
        "/queries": [{"text": "t"}],
        "/queries/{query}": {"text": "t"},
        "/import": {"text": "t"},
        "/guidelines": {"text": "t"},
        "/train": {},
        "/versions": {"version": "1"},
    }
    changing = [
        (method, path.removeprefix(PREFIX))
        for path, methods in app.app.openapi()["paths"].items()
        for method in methods
        if method != "get" and path.removeprefix(PREFIX) not in ("/search", "/feedback", "/rank")
    ]
    assert {path for _, path in changing} == set(bodies)
    with TestClient(app) as client:
        for method, path in changing:
            if (method, path) != ("delete", "/train"):  # nothing can be running
                place = path.replace("{document}", "cats-0").replace("{query}", "q")
                answer = client.request(method, place, json=bodies[path])
                assert answer.status_code == 403, (method, path, answer.text)
        assert client.get("/next", params={"judge": "ann"}).status_code == 403
        assert client.post("/feedback", json={"query": "cat", "liked": ["cats-0"]}).status_code == 200
    assert len(store) == 0


def test_names_of_versions_are_reserved_on_disk(workspace):
    names = {workspace.new_version()[0] for _ in range(3)}
    assert names == {"2", "3", "4"}
    assert workspace.versions == ["1"]  # none is trained yet
    (workspace.folder / "7").mkdir()
    assert workspace.new_version()[0] == "8"
    workspace.give_up("8")
    assert not (workspace.folder / "8.reserved").exists()


# Half-written files.


@pytest.mark.parametrize("content", [b"", b'{"text": "a', b"\xff\xfe", b"[1]", b"null", b'{"a": 1}'])
def test_a_damaged_verdict_is_no_verdict(client, workspace, content):
    train(workspace, "tfidf")
    (workspace.folder / "2.verdict.json").write_bytes(content)
    found = client.get("/versions").json()["versions"]
    assert [(row["version"], row["verdict"], row["status"]) for row in found] == [
        ("1", None, "live"),
        ("2", None, "unproven"),
    ]


def changed_somewhere(value, rng):
    """A copy of a JSON value of which one part is gone or of another kind."""
    value = copy.deepcopy(value)
    place, key = {"": value}, ""
    while isinstance(place[key], dict | list) and place[key] and (key == "" or rng.random() < 0.7):
        place = place[key]
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
    if rng.random() < 0.2:
        del place[key]
    else:
        place[key] = rng.choice([None, 5, -1, "x", [], {}, 1e308, float("nan"), True, ["x"], {"1": 2}])
    return value


def test_any_damage_to_a_verdict_ends_in_no_verdict_or_in_answers(client, workspace):
    train(workspace, "tfidf")
    values = {measure: np.linspace(0, 1, 12) for measure in MEASURES}
    shared = {"fingerprint": "f", "has_zeros": True, "identical": False}
    found = make_verdict("2", "1", {f"q{n}": f"text {n}" for n in range(12)}, values, values, **shared)
    used = {"judgments": 3, "judged": 12, "queries": 12, "left_out": {}}
    curve = [{"queries": 5, "mean": 0.5, "interval": [0.4, 0.6]}]
    found |= {"curve": curve, "used": used, "method": "tfidf"}
    workspace.keep_verdict("2", found)
    assert workspace.verdict("2") == found
    rng, refused = random.Random(3), 0
    contents = [json.dumps(changed_somewhere(found, rng)) for _ in range(200)] + [
        "[" * 100_000,
        '{"by_query":' * 50_000,
    ]
    for content in contents:
        (workspace.folder / "2.verdict.json").write_text(content)
        refused += workspace.verdict("2") is None
        for path in ("/versions", "/versions/2", "/versions/2/report", "/report", "/queries"):
            answer = client.get(path)  # the client raises what a route raises
            assert answer.status_code in (200, 404), (content[:1000], path)
    assert refused > 100


@pytest.mark.parametrize("content", [b"\xff\xfe", b"99", b"../x", b"", b"2\n2"])
def test_a_damaged_active_file_is_told_and_the_first_version_answers(workspace, model, store, content, capsys):
    train(workspace, "tfidf")
    (workspace.folder / "active").write_bytes(content)
    workspace.close()
    assert Workspace(model, Searcher.load(model), store).active.name == "1"
    assert ("not name a version" in capsys.readouterr().err) == bool(content.decode("latin-1").isascii() and content)


@pytest.mark.parametrize("content", [b"\xff", b"-5", b"99999999999", b"9" * 5000, b"x", b"1", b"50", "\u0663".encode()])
def test_a_damaged_position_applies_the_whole_log(client, workspace, model, store, content):
    client.post("/documents", json={"id": "zebra", "text": "stripes"})
    before = held(client)
    (workspace.folder / "1.position").write_bytes(content)
    assert held(TestClient(create_app(Workspace(model, Searcher.load(model), store)))) == before


@pytest.mark.parametrize(("code", "status"), [(errno.ENOSPC, 507), (errno.EDQUOT, 507), (errno.EROFS, 503)])
@pytest.mark.parametrize("path", ["/versions", "/train"])
def test_a_disk_that_refuses_is_one_line(client, monkeypatch, path, code, status):
    def refuse(*_, **__):
        raise OSError(code, os.strerror(code), "active")

    monkeypatch.setattr(workspace, "staged", refuse)
    answer = client.post(path, json={"version": "1"} if path == "/versions" else {})
    assert answer.status_code == status
    assert os.strerror(code) in answer.json()["error"]
    assert client.get("/train").json()["state"] == "idle"
    assert client.get("/versions").json()["active"] == "1"


@pytest.mark.parametrize("place", ["keep_verdict", "Popen"])
def test_a_training_ends_with_its_reason_when_the_disk_is_full(client, monkeypatch, place):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    if place == "Popen":
        monkeypatch.setattr(trainer, "Popen", refuse)
    else:
        said = {"verdict": {"version": "2", "text": "better"}}
        monkeypatch.setattr(trainer.Trainer, "_run", lambda self, job: self._note(said, {}) or "")
        monkeypatch.setattr(workspace.Workspace, "keep_verdict", refuse)
    assert client.post("/train", json={}).status_code == 202
    end = time.monotonic() + 30
    while (state := client.get("/train").json())["state"] == "running" and time.monotonic() < end:
        time.sleep(0.05)
    assert state["state"] == "failed"
    assert "No space left" in state["message"]


# The real process, killed.


def ask(address, path, method="GET", body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address + path, data, headers, method=method)) as answer:
        return json.load(answer)


def test_a_killed_service_has_every_document_that_it_acknowledged(model, workspace):
    train(workspace, "tfidf")
    workspace.close()
    acknowledged, rng = {"cats-1"}, random.Random(0)
    for turn in range(2):
        command = [sys.executable, "-m", "tacit", "serve", str(model), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            line = process.stderr.readline()
            assert "serving" in line, line
            address = line.split(" at ")[1].split("/ ")[0]
            for doc_id in acknowledged:
                assert ask(address, f"/documents/{doc_id}")["id"] == doc_id
            for number in range(6):
                doc_id = f"d{turn}-{number}"
                ask(address, f"/documents/{doc_id}", "PUT", {"text": f"text {number}"})
                acknowledged.add(doc_id)
                if rng.random() < 0.4:
                    ask(address, "/versions", "POST", {"version": rng.choice(["1", "2"]), "confirm": True})
            process.send_signal(signal.SIGKILL)
            process.wait()
    for version in ("1", "2"):
        (model.with_name(model.name + ".versions") / "active").write_text(version)
        found = Workspace(model, Searcher.load(model), workspace.store).active
        assert found.name == version
        assert acknowledged <= set(found.searcher.documents_.ids)
