"""Outputs are checked before work begins; closed streams and interrupts end in one line."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from tacit.app.export import write_arrays
from tacit.core import TacitError

DOCS = "".join(json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(["red cat", "blue dog"]))
LISTS = "1 qid:1 1:3 #docid = a\n0 qid:1 1:1 #docid = b\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text(DOCS)
    (tmp_path / "lists.txt").write_text(LISTS)
    (tmp_path / "queries.tsv").write_text("1\tcat\n")
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("gone/target")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("fit", "absent.jsonl", "-o", "dangling"), "link to a place that does not exist"),
        (("fit", "absent.jsonl", "-o", "dangling/model"), "link to a place that does not exist"),
        (("fit", "absent.jsonl", "-o", "file/model"), "is a file"),
        (("rank", "absent.txt", "lists.txt", "-o", "gone/my.run"), "there is no folder"),
        (("rank", "absent.txt", "lists.txt", "-o", "dangling"), "there is no folder"),
        (("rank", "absent.txt", "lists.txt", "-o", "."), "is a folder"),
        (("rank", "absent.txt", "lists.txt", "--save", "dangling"), "link to a place that does not exist"),
        (("features", "absent.jsonl", "--queries", "queries.tsv", "-o", "gone/lists.txt"), "there is no folder"),
        (("search", "absent", "--queries", "queries.tsv", "--run", "gone/my.run"), "there is no folder"),
        (("advise", "absent.txt", "--report", "gone/advice.html"), "there is no folder"),
        (("learning-curve", "absent.txt", "--out", "file"), "file"),
        (("reproduce", "links", "--data", "absent", "--out", "file"), "file"),
    ],
)
def test_an_output_that_cannot_be_written_is_reported_first(folder, tacit, words, problem):
    """The inputs do not exist, which would be the message if they were read first."""
    code, out, err = tacit(*words)
    assert (code, out) == (1, "")
    assert problem in err
    assert "absent" not in err
    assert err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_reported_first(folder, tacit):
    (folder / "locked").mkdir(mode=0o500)
    for words in (("fit", "absent.jsonl", "-o", "locked/m"), ("rank", "absent.txt", "x", "-o", "locked/r")):
        code, _, err = tacit(*words)
        assert (code, "permission" in err, "absent" in err) == (1, True, False)


def test_a_parameter_that_cannot_be_saved_is_reported_before_reading(folder, tacit):
    code, _, err = tacit("fit", "absent.jsonl", "-o", "m", "--set", 'strength={"a": 1}')
    assert (code, "cannot be saved" in err, "absent" in err) == (1, True, False)
    code, _, err = tacit("rank", "absent.txt", "x", "--save", "m", "--set", 'list_spread={"a": 1}')
    assert (code, "cannot be saved" in err, "absent" in err) == (1, True, False)


def test_ids_with_blanks_are_reported_before_ranking(folder, tacit, monkeypatch):
    (folder / "docs.jsonl").write_text('{"id": "a b", "text": "cat"}\n{"id": "c", "text": "dog"}\n')
    assert tacit("fit", "docs.jsonl", "-o", "model")[0] == 0
    monkeypatch.setattr("tacit.search.Searcher.run", lambda *args, **kwargs: pytest.fail("ranked"))
    code, _, err = tacit("search", "model", "--queries", "queries.tsv", "--run", "my.run")
    assert (code, "'a b'" in err) == (1, True)


def shell(command):
    done = subprocess.run(
        ["sh", "-c", command.replace("tacit", f"{sys.executable} -m tacit", 1)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "code", "problem"),
    [
        ("tacit search model cat >&-", 1, "tacit: standard output: Bad file descriptor\n"),
        ("tacit search model cat 2>&-", 0, ""),
        ("tacit search model - <&-", 1, "tacit: the query is empty, want at least one word\n"),
        ("tacit fit - -o other <&-", 1, "tacit: <stdin>: has no documents\n"),
        ("tacit fit docs.jsonl --method bm25 -o other <&- >&- 2>&-", 0, ""),
        ("tacit search model cat > /dev/full", 1, "tacit: standard output: No space left on device\n"),
    ],
)
def test_closed_streams_end_in_one_line(folder, tacit, command, code, problem):
    tacit("fit", "docs.jsonl", "--method", "bm25", "-o", "model")
    found, _, err = shell(command)
    assert (found, err) == (code, problem)
    if "other" in command and not code:
        assert tacit("search", "other", "cat")[0] == 0


@pytest.mark.parametrize("module", ["tacit.app.main", "argparse", "numpy", "numba", "scipy.sparse"])
def test_an_interrupt_during_import_is_one_line(folder, module):
    code = (
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv = ['tacit', 'fit', 'docs.jsonl', '-o', 'model']\n"
        "from tacit.__main__ import console\n"
        "console()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode in (130, -signal.SIGINT)
    assert (done.stdout, done.stderr) == ("", "tacit: interrupted\n")
    assert not (folder / "model").exists()


def test_a_full_disk_names_the_folder_of_an_export(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", refuse)
    with pytest.raises(TacitError, match="arrays: cannot be written: No space left on device"):
        write_arrays(tmp_path / "arrays", {"a": np.zeros(1)}, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ("judgments", "repair", "a\0b", "-o", "new.judgments"),
        ("judge", "s", "--model", "m", "--queries", "queries.tsv", "--with", "command:true", "--prompt", "a\0b"),
    ],
)
def test_names_that_no_file_has_are_one_line(folder, tacit, words):
    assert tacit("fit", "docs.jsonl", "--method", "bm25", "-o", "m")[0] == 0
    code, _, err = tacit(*words)
    assert (code, err.count("\n")) == (2, 1)
    assert "want the name of a file or folder" in err
