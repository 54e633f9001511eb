"""Clusters that cannot be joined: one line each, and what is there stays."""

import os
import socket
import subprocess
import sys
import time

import pytest

from tacit.core import TacitError, UsageError
from tacit.distributed import ray_cluster

pytest.importorskip("ray", reason="needs tacit[ray]")

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


@pytest.fixture(scope="module")
def guarded():
    """Address of a cluster that asks for a token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = f"start --head --node-ip-address 127.0.0.1 --port {port} --include-dashboard false --num-cpus 1 --block"
    start = [sys.executable, "-m", "ray.scripts.scripts", *command.split()]
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


TRAIN = """
import sys
import ray
{change}
from tacit.app.main import main
sys.exit(main(sys.argv[1:]))
"""


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
    options = f"--links links.tsv --method htr --checkpoint kept -o model --ray {guarded}".split()
    command = [sys.executable, "-c", TRAIN.format(change=change), "fit", "docs.jsonl", *options]
    done = subprocess.run(command, cwd=tmp_path, env=environment(token), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"tacit: the Ray cluster {guarded} cannot be joined: {problem}")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "kept", "links.tsv"]
    assert (kept / "training.json").read_text() == "{}"
