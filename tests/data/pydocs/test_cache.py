"""A cache is read back exactly or not at all; nothing that happens to it is an error."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.core import Collection, Links, cache_folder
from tacit.data.pydocs import corpus as pydocs_cache
from tacit.data.pydocs.corpus import cache_name, read_cache, write_cache

KEY = "pydocs 1, numpy 2.0"
DOCUMENTS = Collection(["a", "b", "c"], ["A", "", "C"], ["words", "näïve ✓ \ud800\n\0", ""], name="tiny")
LINKS = Links([2, 0, 2], [0, 1, 1], 3, 3)
PAIRS = [(0, 1), (2, 0), (2, 1)]


def same(kept):
    documents, links = kept
    return (
        list(documents) == list(DOCUMENTS)
        and documents.name == "tiny"
        and list(zip(links.sources.tolist(), links.targets.tolist(), strict=True)) == PAIRS
        and (links.n_sources, links.n_targets) == (3, 3)
    )


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "not" / "yet" / "there"
    write_cache(folder, KEY, DOCUMENTS, LINKS)
    return folder


def test_what_was_written_is_read(folder):
    assert same(read_cache(folder, KEY))
    assert os.listdir(folder) == [cache_name(KEY)]


def test_an_empty_collection_is_kept_too(tmp_path):
    write_cache(tmp_path, KEY, Collection([], [], []), Links([], [], 0, 0))
    documents, links = read_cache(tmp_path, KEY)
    assert len(documents) == len(links) == 0


def test_the_same_content_gives_the_same_bytes(folder, tmp_path):
    write_cache(tmp_path, KEY, DOCUMENTS, LINKS.take(np.array([1, 0, 2])))
    assert (tmp_path / cache_name(KEY)).read_bytes() == (folder / cache_name(KEY)).read_bytes()


def test_another_key_is_another_file_and_a_renamed_file_is_foreign(folder):
    other = "pydocs 2, numpy 2.0"
    assert read_cache(folder, other) is None
    os.rename(folder / cache_name(KEY), folder / cache_name(other))
    assert read_cache(folder, other) is None


def test_every_truncation_is_noticed(folder):
    path = folder / cache_name(KEY)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert read_cache(folder, KEY) is None, length


def test_no_damaged_byte_changes_what_is_read(folder):
    path = folder / cache_name(KEY)
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        kept = read_cache(folder, KEY)
        assert kept is None or same(kept), at  # gzip's head holds a time and a system that nobody reads


HEAD = {"kind": "tacit collection with links", "key": KEY, "name": "tiny", "documents": 1}
ROW = {"id": "a", "title": "A", "text": "words", "links": []}


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [[]],
        [HEAD],
        ["x", ROW],
        [HEAD | {"kind": "other"}, ROW],
        [HEAD | {"name": 7}, ROW],
        [HEAD, ROW, ROW],
        [HEAD | {"documents": 2}, ROW, ROW],
        [HEAD, 3],
        [HEAD, {"id": "a"}],
        [HEAD, ROW | {"text": None}],
        [HEAD, ROW | {"id": ["a"]}],
        [HEAD, ROW | {"links": [1]}],
        [HEAD, ROW | {"links": [-1]}],
        [HEAD, ROW | {"links": ["0"]}],
        [HEAD, ROW | {"links": [0.5]}],
        [HEAD, ROW | {"links": [[0], [0, 0]]}],
        [HEAD, ROW | {"links": 0}],
    ],
)
def test_foreign_files_are_ignored(tmp_path, lines):
    with gzip.open(tmp_path / cache_name(KEY), "wt") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    assert read_cache(tmp_path, KEY) is None


@pytest.mark.parametrize(
    "content", [b"", b"plain text", b"\x1f\x8b", gzip.compress(b"{", mtime=0), gzip.compress(b"\xff\xfe\n", mtime=0)]
)
def test_files_that_are_not_ours_at_all_are_ignored(tmp_path, content):
    (tmp_path / cache_name(KEY)).write_bytes(content)
    assert read_cache(tmp_path, KEY) is None


def test_folders_that_cannot_be_used_are_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / cache_name(KEY)).mkdir()
    for folder in (None, tmp_path / "file" / "inside", tmp_path / "file", tmp_path):
        write_cache(folder, KEY, DOCUMENTS, LINKS)
        assert read_cache(folder, KEY) is None
    assert sorted(os.listdir(tmp_path)) == ["file", cache_name(KEY)]
    assert (tmp_path / "file").read_text() == "in the way"


def test_ctrl_c_while_writing_leaves_the_old_file_and_nothing_else(folder, monkeypatch):
    dumps = json.dumps

    def interrupt(value):
        if value.get("id") == "c":
            raise KeyboardInterrupt
        return dumps(value)

    monkeypatch.setattr(pydocs_cache.json, "dumps", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_cache(folder, KEY, Collection(["b", "c"], ["", ""], ["new", "new"]), Links([], [], 2, 2))
    assert os.listdir(folder) == [cache_name(KEY)]
    assert same(read_cache(folder, KEY))


KILLED = """
import os, signal, sys
from pathlib import Path
from tacit.core import Collection, Links
from tacit.data.pydocs import corpus as pydocs_cache

class Deadly(list):
    def __iter__(self):
        yield "half"
        os.kill(os.getpid(), signal.SIGKILL)

documents = Collection(["a", "b"], ["", ""], Deadly(["", ""]))
pydocs_cache.write_cache(Path(sys.argv[1]), sys.argv[2], documents, Links([], [], 2, 2))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_killed_writer_leaves_the_old_file(folder):
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), KEY], check=False)
    assert done.returncode == -signal.SIGKILL
    assert same(read_cache(folder, KEY))


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.setenv("TACIT_CACHE", "")
    assert cache_folder() == tmp_path / "shared" / "tacit"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache" / "tacit"

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    assert cache_folder() is None
