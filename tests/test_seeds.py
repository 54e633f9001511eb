"""Seeds beyond 32 bits, which some libraries do not take, give models like all others."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links
from tacit.features import TextVectorizer
from tacit.rerank import METHODS as LIST_METHODS
from tacit.retrieve import METHODS

SEEDS = (2**32 - 1, 2**32, 2**63 - 1)
TEXTS = [f"{'cat dog' if n % 2 else 'ship sea'} word{n % 5} word{n % 3} word{n % 7}" for n in range(30)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["lsi", "lsi+tfidf", "ssi-uv"])
def test_rankers_of_collections(name, seed):
    rows = TextVectorizer().fit_transform(TEXTS)
    links = Links(np.arange(28), np.arange(28) + 2, 30, 30)
    first, again = (
        METHODS[name]
        .offer(seed=seed, dim=2, n_epochs=2, threads=1)
        .fit(rows, rows, links)
        .scores(sp.csr_array(rows[:3]))
        for _ in range(2)
    )
    assert np.isfinite(first).all()
    assert first.tobytes() == again.tobytes()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["lightgbm", "sslambdamart", "lambdarank", "kpca-pooled", "iw"])
def test_rankers_of_lists(name, seed):
    X = np.random.default_rng(0).normal(size=(24, 3))
    ranker = LIST_METHODS[name].offer(seed=seed, threads=1, n_rounds=3, n_epochs=2, n_trees=2, n_leaf_rows=2)
    assert np.isfinite(ranker.fit(X, X[:, 0] > 0, np.repeat([0, 1, 2], 8)).predict(X, np.repeat([0, 1, 2], 8))).all()
