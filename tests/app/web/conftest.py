"""A small service in memory, or in a folder, and a client for it."""

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tacit.app.web.service import create_app
from tacit.app.web.workspace import Workspace
from tacit.core import Collection
from tacit.judge import JudgmentStore
from tacit.search import Searcher

HOSTILE = '<script>alert(1)</script> & "quotes" \u202eright to left \U0001f600 matrix'
TOPICS = {"cats": "cat kitten purr fur paw", "maths": "matrix inverse singular rank", "soup": "soup onion boil salt"}


@pytest.fixture(scope="session")
def documents():
    rng = np.random.default_rng(0)
    names = [f"{topic}-{n}" for n in range(12) for topic in TOPICS]
    texts = [" ".join(rng.choice(TOPICS[name.split("-")[0]].split(), 12)) for name in names]
    return Collection([*names, "hostile"], [*(name.title() for name in names), HOSTILE], [*texts, HOSTILE * 20])


@pytest.fixture
def searcher(documents):
    return Searcher("bm25").fit(documents)


@pytest.fixture
def store(tmp_path):
    with JudgmentStore(tmp_path / "my.judgments") as store:
        yield store


@pytest.fixture
def model(tmp_path, searcher):
    searcher.save(tmp_path / "my.model")
    return tmp_path / "my.model"


@pytest.fixture
def workspace(model, searcher, store):
    return Workspace(model, searcher, store)


@pytest.fixture
def client(workspace):
    with TestClient(create_app(workspace)) as client:
        yield client
