"""A small world of texts that several tests of the blend share."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links

N_DOCS, N_WORDS, N_TOPICS = 240, 90, 6


@pytest.fixture(scope="package")
def topics():
    """Documents of six topics, titles of two or three of their words, and questions of a topic's words."""
    rng = np.random.default_rng(5)
    topic = np.arange(N_DOCS) % N_TOPICS
    shares = np.full((N_TOPICS, N_WORDS), 0.3)
    for number in range(N_TOPICS):
        shares[number, number * 12 : number * 12 + 12] = 3.0
    shares /= shares.sum(axis=1, keepdims=True)
    items = np.stack([rng.multinomial(rng.integers(8, 40), shares[t]) for t in topic])
    titles = np.stack([rng.multinomial(rng.integers(0, 4), row / row.sum()) for row in items])
    queries = np.stack([rng.multinomial(rng.integers(2, 9), shares[t % N_TOPICS]) for t in range(40)])
    rows, columns = np.nonzero((np.arange(40) % N_TOPICS)[:, None] == topic[None, :])
    kept = rng.random(len(rows)) < 0.3
    return {
        "items": sp.csr_array(items.astype(np.float32)),
        "titles": sp.csr_array(titles.astype(np.float32)),
        "queries": sp.csr_array(queries.astype(np.float32)),
        "pairs": Links(rows[kept], columns[kept], 40, N_DOCS),
        "topic": topic,
    }
