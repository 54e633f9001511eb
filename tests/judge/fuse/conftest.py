"""Random legs with missing documents, ties and equal scores, as plain dictionaries and as runs."""

import numpy as np
import pytest


def make_random_legs(seed, n_queries=12, n_legs=2, n_docs=30, depth=15):
    """{leg: {query: {document: score}}} with ties; the second leg lacks the last query, one list has equal scores."""
    rng = np.random.default_rng(seed)
    legs = {}
    for leg in range(n_legs):
        scale = 10.0**leg
        legs[f"leg{leg}"] = found = {}
        for q in range(n_queries - (leg == 1)):
            docs = rng.choice(n_docs, depth, replace=False)
            scores = np.round(rng.gamma(2, 1, depth), 1) * scale
            if q == 1 and leg == 0:
                scores[:] = scale
            found[f"q{q}"] = {f"d{d}": float(s) for d, s in zip(docs, scores, strict=True)}
    return legs


def make_random_qrels(seed, n_queries=12, n_docs=30):
    rng = np.random.default_rng(seed + 1000)
    return {f"q{q}": {f"d{d}": int(rng.integers(0, 4)) for d in rng.choice(n_docs, 18, replace=False)}
            for q in range(n_queries)}  # fmt: skip


def make_skilled_legs(seed, n_queries=40, strengths=(3.0, 0.5), n_docs=40):
    """Legs whose scores follow the grades with a given strength, and the grades."""
    rng = np.random.default_rng(seed)
    qrels = {f"q{q}": {f"d{d}": int(rng.random() < 0.15) for d in range(n_docs)} for q in range(n_queries)}
    legs = {}
    for leg, strength in enumerate(strengths):
        legs[f"leg{leg}"] = {
            q: {d: float(strength * grade + rng.normal()) + 10 for d, grade in grades.items()}
            for q, grades in qrels.items()
        }
    return legs, qrels


@pytest.fixture
def random_legs():
    return make_random_legs


@pytest.fixture
def random_qrels():
    return make_random_qrels


@pytest.fixture
def skilled_legs():
    return make_skilled_legs
