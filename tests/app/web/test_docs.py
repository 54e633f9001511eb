"""The page of documentation: every route stands in it, and its examples work."""

import re
import shlex
import threading
import time
from pathlib import Path

import pytest
import uvicorn

from tacit.app.web import server
from tacit.app.web.service import create_app
from tacit.app.web.workspace import Workspace
from tacit.core import Collection
from tacit.search import Searcher

PAGE = (Path(__file__).parents[3] / "docs" / "service.md").read_text("utf-8")


@pytest.fixture
def address(store):
    """A service on a free port."""
    ids = ["numpy.linalg.pinv", "numpy.linalg.svd", "sklearn.impute"]
    texts = ["pseudo inverse of a matrix", "inverse by singular values", "missing values"]
    workspace = Workspace(None, Searcher("bm25").fit(Collection(ids, [""] * 3, texts)), store)
    listening = server._listen("127.0.0.1", 0)
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    running = uvicorn.Server(uvicorn.Config(create_app(workspace, hosts=[host]), ws="none", log_level="error"))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    while not running.started:
        time.sleep(0.01)
    yield f"http://{host}"
    running.should_exit = True
    thread.join(10)


def test_every_route_stands_in_the_table(workspace):
    described = re.findall(r"^\| `([A-Z]+) (/[^`]*)`", PAGE, re.MULTILINE)
    routes = {
        (
            method.upper(),
            re.sub(r"\{(document|query)\}", "ID", path.removeprefix("/v1")).replace("{version}", "VERSION"),
        )
        for path, methods in create_app(workspace).app.openapi()["paths"].items()
        for method in methods
    }
    assert set(described) == routes
    assert len(described) == len(routes)


def test_the_examples_with_curl_work(client, monkeypatch, workspace):
    (block,) = re.findall(r"```sh\n(curl.*?)```", PAGE, re.DOTALL)
    commands = [shlex.split(line) for line in block.replace("\\\n", " ").splitlines()]
    assert len(commands) == 3
    for _, url, *rest in commands:
        path = url.removeprefix("http://127.0.0.1:8000")
        if not rest:
            assert client.get(path).status_code == 200
            continue
        (_, header, _, body) = rest
        content = body.replace("numpy.linalg.pinv", "cats-0")
        answer = client.post(path, content=content, headers=dict([header.split(": ")]))
        assert answer.status_code == 200, answer.text


def test_the_example_with_python_works(address, store):
    (block,) = re.findall(r"```python\n(import json.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(block.replace("http://127.0.0.1:8000", address), names)
    assert names["best"]["id"] == "numpy.linalg.pinv"
    assert [record.grade for record in store.current()] == [3.0]
    assert names["shown"]["document"]["id"] != "numpy.linalg.pinv"
