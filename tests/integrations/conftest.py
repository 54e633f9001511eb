"""Tests against the real libraries; tests of those that `TACIT_INTEGRATIONS` names may not be skipped."""

import os
from importlib import import_module

import numpy as np
import pytest

from tacit.core import Collection, Judgments

REQUIRED = set(os.environ.get("TACIT_INTEGRATIONS", "").split())


@pytest.fixture(scope="session")
def need():
    """Imports a library; without it the test is skipped, or fails where the library is required."""

    def find(library):
        return import_module(library) if library in REQUIRED else pytest.importorskip(library)

    return find


@pytest.fixture(scope="session")
def world():
    """Documents of three topics, queries of two words of a topic, and judgments of some documents by topic."""
    rng = np.random.default_rng(0)
    topics = [[f"{name}{number}" for number in range(12)] for name in ("cat", "ship", "tree")]
    topic_of = rng.integers(0, 3, 60)
    texts = [" ".join(rng.choice([*topics[topic], "the", "a", "of"], 15)) for topic in topic_of]
    documents = Collection([f"d{row}" for row in range(60)], [text.split()[0] for text in texts], texts)
    wanted = np.arange(12) % 3
    queries = Collection(
        [f"q{row}" for row in range(12)], [""] * 12, [" ".join(rng.choice(topics[topic], 2)) for topic in wanted]
    )
    grades = {
        f"q{row}": {f"d{doc}": int(topic_of[doc] == topic) for doc in rng.choice(60, 20, replace=False).tolist()}
        for row, topic in enumerate(wanted)
    }
    return documents, queries, Judgments.from_dict(grades)
