"""`tacit fit --checkpoint`: killed and interrupted processes go on with the same command."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

WORDS = ["apple", "banana", "cherry", "date", "elder", "fig", "grape", "hazel", "iris", "juniper", "kiwi"]
KILLED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores it
from tacit.app.main import main
from tacit.retrieve import checkpoint
checkpoint.SECONDS = checkpoint.Checkpoint.__init__.__kwdefaults__["every"] = 0.01
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    lines = [f'{{"id": "{i}", "text": "{" ".join(rng.choice(WORDS, 6))} word{i % 40}"}}' for i in range(600)]
    (folder / "docs.jsonl").write_text("\n".join(lines))
    links = {(i, int(j)) for i in range(600) for j in rng.integers(0, 600, 4) if i != j}
    (folder / "links.tsv").write_text("".join(f"{i}\t{j}\n" for i, j in sorted(links)))
    return folder


def command(files, output, *further, method="htr-residual", epochs=12):
    given = [files / "docs.jsonl", "--links", files / "links.tsv", "--method", method, "-o", output, *further]
    return ["fit", *map(str, given), "--dim", "8", "--set", f"max_epochs={epochs}", "--set", f"patience={epochs}"]


def model_bytes(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def start(files, output, checkpoint, epochs=12):
    """A process that trains, once it has written a state."""
    words = command(files, output, "--checkpoint", str(checkpoint), epochs=epochs)
    process = subprocess.Popen([sys.executable, "-c", KILLED, *words], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None and not [*checkpoint.glob("0/*.json")]:
        time.sleep(0.005)
    return process


def test_a_killed_training_goes_on_to_the_same_bytes(files, tmp_path, tacit):
    assert tacit(*command(files, tmp_path / "whole"))[0] == 0
    n_killed = 0
    for wait in (0.05, 0.4):
        process = start(files, tmp_path / "cut", tmp_path / "c")
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        n_killed += process.wait() == -signal.SIGKILL
        process.stderr.close()
    assert n_killed
    assert tacit(*command(files, tmp_path / "cut", "--checkpoint", tmp_path / "c"))[0] == 0
    assert model_bytes(tmp_path / "cut") == model_bytes(tmp_path / "whole")
    assert not (tmp_path / "c").exists()  # removed once the model is saved


def test_an_interrupted_training_says_how_to_go_on(files, tmp_path, tacit):
    process = start(files, tmp_path / "m", tmp_path / "c", epochs=1000)  # a busy machine must not end it first
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    lines = [line for line in err.splitlines() if line.startswith("tacit:")]
    assert lines == [
        f"tacit: interrupted; the training is saved in {tmp_path / 'c'}: run the same command again to resume"
    ]
    assert not (tmp_path / "m").exists()
    other = "--checkpoint", tmp_path / "c", "--set", "rate=0.2"
    code, _, err = tacit(*command(files, tmp_path / "m", *other, epochs=1000))
    assert (code, err.count("\n")) == (1, 1)
    assert "is the checkpoint of another training: its rate is 0.1, this one has 0.2" in err


def test_mistakes_are_told_before_anything_is_read(tmp_path, tacit):
    (tmp_path / "file").write_text("x")
    missing = tmp_path / "missing.jsonl"
    code, _, err = tacit("fit", missing, "-o", tmp_path / "m", "--checkpoint", tmp_path / "file")
    assert code == 1
    assert f"{tmp_path / 'file'}: cannot be used for a checkpoint" in err
    code, _, err = tacit("fit", missing, "-o", tmp_path / "m", "--method", "bm25", "--checkpoint", tmp_path / "c")
    assert code == 2
    assert "bm25 does not train in epochs, so --checkpoint has no effect" in err
