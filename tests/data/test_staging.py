"""Outputs that a kill cuts short: the next one to the same target tidies up, and never takes what is in use."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.data import open_output, staged

WRITER = """
import sys
from tacit.data import staged
with staged(sys.argv[1], folder=sys.argv[2] == "folder") as path:
    if sys.argv[2] == "folder":
        open(path + "/part", "w").write("half")
    print(path, flush=True)
    sys.stdin.read()
"""


def start_writer(target, kind):
    program = [sys.executable, "-c", WRITER, str(target), kind]
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return process, Path(process.stdout.readline().strip())


def end(process, sign):
    process.send_signal(sign)
    process.communicate()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_is_reclaimed(tmp_path, kind):
    target = tmp_path / "out"
    process, left = start_writer(target, kind)
    end(process, signal.SIGKILL)
    assert left.exists()
    with staged(tmp_path / "another"):
        assert left.exists(), "another target's leftovers are not ours"
    with staged(target, folder=kind == "folder"):
        assert not left.exists()
    assert sorted(os.listdir(tmp_path)) == ["another", "out"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_being_written_stays(tmp_path, kind):
    target = tmp_path / "out"
    process, held = start_writer(target, kind)
    try:
        with open_output(target) as out:
            out.write("mine\n")
            assert held.exists()
    finally:
        end(process, signal.SIGKILL)
    assert target.read_text() == "mine\n"


def test_files_that_only_look_alike_stay(tmp_path):
    (tmp_path / ".tacit-notes.tmp").write_text("mine")
    (tmp_path / f".tacit-{'0' * 16}-x.tmp").write_text("mine")
    with open_output(tmp_path / "out") as out:
        out.write("x")
    assert len(os.listdir(tmp_path)) == 3


def test_bytes_and_names_are_on_the_disk_in_this_order(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr("tacit.data.files.sync", lambda path: done.append(os.path.basename(path)))
    rename = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("rename"), rename(a, b)))
    with staged(tmp_path / "out", folder=True) as stage:
        Path(stage, "part").write_text("x")
    assert done == ["part", os.path.basename(stage), "rename", tmp_path.name]


def write_and_stop(target):
    with staged(target, folder=True) as stage:
        Path(stage, "part").write_text("x")
        raise KeyboardInterrupt


def test_a_block_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_and_stop(tmp_path / "out")
    assert os.listdir(tmp_path) == []
