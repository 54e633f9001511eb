"""`tacit add` and `tacit remove`: the model changes as a whole or not at all."""

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from tacit.search import Searcher, models
from tacit.store import files


@pytest.fixture
def folder(tmp_path, monkeypatch, tacit):
    monkeypatch.chdir(tmp_path)
    write("docs.jsonl", a="red cat", b="blue dog", c="red dog")
    write("new.jsonl", d="a red zebra", e="green zebra")
    tacit("fit", "docs.jsonl", "-o", "model")
    return tmp_path


def write(name, **texts):
    with open(name, "w") as file:
        file.writelines(json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items())


def contents(folder):
    return {path.name: path.read_bytes() for path in (folder / "model").iterdir()}


def test_documents_are_added_and_removed(folder, tacit):
    code, out, err = tacit("add", "model", "new.jsonl")
    assert (code, out) == (0, "")
    assert err == "documents added: 2, now in model: 5 (2 added since it was fitted)\n"
    found = json.loads(tacit("search", "model", "zebra", "--json")[1])["hits"]
    assert {hit["id"] for hit in found[:2]} == {"d", "e"}
    code, _, err = tacit("remove", "model", "d", "a")
    assert (code, err) == (0, "documents removed: 2, left in model: 3\n")
    assert list(Searcher.load("model").documents_.ids) == ["b", "c", "e"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("add", "model", "docs.jsonl"), "id 'a' already"),
        (("add", "model", "absent.jsonl"), "absent.jsonl"),
        (("add", "absent", "new.jsonl"), "absent"),
        (("remove", "model", "a", "gone"), "'gone'"),
        (("remove", "model", "a", "b", "c"), "at least one that stays"),
        (("add", "ranker", "new.jsonl"), "want a Searcher"),
    ],
)
def test_a_mistake_is_one_line_and_the_model_stays(folder, tacit, words, problem):
    (folder / "lists.txt").write_text("1 qid:1 1:3\n0 qid:1 1:1\n")
    tacit("rank", "lists.txt", "lists.txt", "--save", "ranker", "-o", "my.run")
    before = contents(folder)
    code, out, err = tacit(*words)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert problem in err
    assert contents(folder) == before


def test_a_save_that_fails_leaves_the_old_model(folder, tacit, monkeypatch):
    before = contents(folder)
    monkeypatch.setattr(
        "tacit.store.folder._commit", lambda folder: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    assert tacit("add", "model", "new.jsonl")[0] == 1
    assert contents(folder) == before


needs_locks = pytest.mark.skipif(files.fcntl is None, reason="needs locks of the operating system")


@needs_locks
@pytest.mark.parametrize("words", [("add", "model", "new.jsonl"), ("remove", "model", "a")])
def test_a_model_is_held_from_load_to_save(folder, tacit, monkeypatch, words):
    held = []
    for name in ("load", "save"):
        real = getattr(models, name)
        monkeypatch.setattr(models, name, lambda *args, real=real: (held.append(is_held(folder)), real(*args))[1])
    assert tacit(*words)[0] == 0
    assert held == [True, True]
    assert not is_held(folder)


def is_held(folder):
    descriptor = files._lock_now(folder / "model")
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


@needs_locks
@pytest.mark.filterwarnings("always:model. is being changed")
def test_two_processes_change_a_model_one_after_the_other(folder, tacit, monkeypatch):
    """The first has loaded the model and waits for documents on its standard input when the second begins."""
    command = [sys.executable, "-m", "tacit", "add", "model", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as first:

        def give_documents(seconds):
            if first.poll() is None:
                first.communicate(b'{"id": "f", "text": "a late fox"}\n')

        while not is_held(folder) and first.poll() is None:
            time.sleep(0.05)
        monkeypatch.setattr(files, "NOTICE_SECONDS", 0)
        monkeypatch.setattr(files, "time", SimpleNamespace(monotonic=time.monotonic, sleep=give_documents))
        code, _, err = tacit("add", "model", "new.jsonl")
    assert (code, first.returncode) == (0, 0)
    assert err.splitlines() == [
        "tacit: warning: model: is being changed by another process; waiting for it",
        "documents added: 2, now in model: 6 (3 added since it was fitted)",
    ]
    assert list(Searcher.load("model").documents_.ids) == list("abcfde")
