"""A client that openapi-python-client generates from the description of the service: its types hold in a session."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.core import Collection
from tacit.search import Searcher

SESSION = Path(__file__).with_name("client_session.py")
TOKEN = "a-token-of-the-test"


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"{topic}-{number}" for number in range(12) for topic in ("cat", "ship")]
    texts = [" ".join(rng.choice([f"{name.split('-')[0]}{n}" for n in range(6)], 8)) for name in names]
    documents = Collection(names, [name.title() for name in names], texts, {"year": list(range(1, 25))})
    Searcher("bm25").fit(documents).save(tmp_path / "my.model")
    return tmp_path / "my.model"


@pytest.fixture
def service(need, model):
    """Address of the service of a model, which listens on a free port of this machine."""
    need("fastapi")
    command = [sys.executable, "-m", "tacit", "serve", str(model), "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TACIT_TOKEN": TOKEN}
    ) as process:
        assert process.stderr is not None
        said = iter(process.stderr.readline, "")
        address = next((found[0] for line in said if (found := re.search(r"http://[\d.:]+", line))), None)
        assert address, "the service ended before it listened"
        yield address
        process.terminate()


@pytest.fixture
def generated(need, service, tmp_path):
    """Folder with the package `tacit_client`."""
    need("openapi_python_client")
    from urllib.request import Request, urlopen

    request = Request(f"{service}/openapi.json", headers={"Authorization": f"Bearer {TOKEN}"})
    with urlopen(request) as answer:
        (tmp_path / "openapi.json").write_bytes(answer.read())
    (tmp_path / "config.json").write_text(json.dumps({"post_hooks": []}))  # no formatting
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    paths = ["--path", "openapi.json", "--config", "config.json", "--output-path", "made/tacit_client"]
    (tmp_path / "made").mkdir()
    done = subprocess.run([*command, *paths], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / "made"


def test_a_session_with_the_typed_client(need, service, generated, tmp_path):
    need("mypy")
    python = {**os.environ, "PYTHONPATH": os.pathsep.join([str(generated), os.environ.get("PYTHONPATH", "")])}
    types = ["-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), str(SESSION)]
    checked = subprocess.run(
        [sys.executable, *types],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MYPYPATH": str(generated)},
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    session = [sys.executable, str(SESSION), service]
    python["TACIT_TOKEN"] = TOKEN
    done = subprocess.run(session, cwd=tmp_path, capture_output=True, text=True, check=False, env=python)
    assert done.returncode == 0, done.stderr
