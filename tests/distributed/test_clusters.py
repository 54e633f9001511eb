"""Clusters that cannot be joined: one line each, and what is there stays."""

import json
import os
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from tacit.core import TacitError, UsageError
from tacit.distributed import ray_cluster

pytest.importorskip("ray", reason="needs tacit-rank[ray]")

TOKEN = "a" * 64


def test_a_cluster_that_does_not_answer_is_one_line(monkeypatch):
    monkeypatch.setattr("tacit.distributed.cluster.SECONDS", 0.1)
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{port.getsockname()[1]}"
        for problem in ("refused", "timed out"):
            line = f"the Ray cluster {address} cannot be joined: .*{problem}"
            with pytest.raises(TacitError, match=line), ray_cluster(address):
                pass
            port.listen()
    with pytest.raises(UsageError, match="'somewhere', want HOST:PORT or auto"), ray_cluster("somewhere"):
        pass


def test_a_cluster_that_cannot_be_started_is_one_line(monkeypatch):
    def failing(*_, **how):
        os.write(2, b"messages of Ray")
        raise Exception("The current node timed out\nduring startup.")

    monkeypatch.setattr("ray.init", failing)
    monkeypatch.setattr("tacit.distributed.cluster._find", lambda: None)
    line = "^no Ray cluster could be started on this machine: The current node timed out during startup.$"
    with pytest.raises(TacitError, match=line), ray_cluster("auto"):
        pass


def test_a_cluster_that_is_started_gives_the_same_model(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in row) for row in rng.integers(0, 40, (60, 12))]
    lines = [json.dumps({"id": str(row), "text": text}) + "\n" for row, text in enumerate(texts)]
    (tmp_path / "docs.jsonl").write_text("".join(lines))
    (tmp_path / "links.tsv").write_text("".join(f"{row}\t{(7 * row + 3) % 60}\n" for row in range(60)))
    options = "docs.jsonl --links links.tsv --method htr-residual --dim 4 --set max_epochs=2"
    for name, ray in (("one", ""), ("many", "--ray auto")):
        done = command(tmp_path, f"{options} -o {name} {ray}", environment())
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (0, "", 1), done.stderr
    one, many = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "many"))
    assert one == many


def command(folder, options, env, change=""):
    words = [sys.executable, "-c", FIT.format(change=change), "fit", *options.split()]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)


FIT = """
import sys
import ray
{change}
from tacit.app.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def guarded():
    """Address of a cluster that asks for a token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"start --head --node-ip-address 127.0.0.1 --port {port} --include-dashboard false --num-cpus 1 --block"
    start = [sys.executable, "-m", "ray.scripts.scripts", *options.split()]
    process = subprocess.Popen(start, env=environment(TOKEN), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while not answers(port):
            assert process.poll() is None, "the cluster ended"
            assert time.monotonic() < until, "the cluster did not start"
            time.sleep(0.2)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def answers(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def environment(token=None):
    given = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_gcs_server_port_wait_time_s": "1"}
    given |= {} if token is None else {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | given


@pytest.mark.parametrize(
    ("change", "token", "problem"),
    [
        ("", None, "its token is not given or wrong; want RAY_AUTH_MODE=token and the token in RAY_AUTH_TOKEN"),
        ("", "b" * 64, "its token is not given or wrong; want RAY_AUTH_MODE=token and the token in RAY_AUTH_TOKEN"),
        ("ray.__version__ = '9.9.9'", TOKEN, "Version mismatch: The cluster was started with: Ray: "),
    ],
)
def test_a_cluster_that_refuses_is_one_line_and_a_checkpoint_stays(guarded, tmp_path, change, token, problem):
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "text": "cats"}\n{"id": "b", "text": "dogs"}\n')
    (tmp_path / "links.tsv").write_text("a\tb\nb\ta\n")
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "training.json").write_text("{}")
    options = f"docs.jsonl --links links.tsv --method htr --checkpoint kept -o model --ray {guarded}"
    done = command(tmp_path, options, environment(token), change)
    assert done.returncode == 1
    assert done.stderr.startswith(f"tacit: the Ray cluster {guarded} cannot be joined: {problem}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "kept", "links.tsv"]
    assert (kept / "training.json").read_text() == "{}"
