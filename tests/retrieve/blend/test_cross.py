"""`ssi-cross+cl-lsi`: a mixture that is not below either part, explanations, new items, stored models."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, UsageError
from tacit.retrieve import ClLsiRanker, CrossMixtureRanker, CrossRanker, EmbeddingRanker
from tacit.search.models import load, save

N, WORDS = 120, 40


@pytest.fixture(scope="module")
def world():
    """Documents of two languages: word w of one is word w + 3 of the other, with some noise."""
    rng = np.random.default_rng(0)
    items = (rng.random((N, WORDS)) < 0.12).astype(np.float32) + (rng.random((N, WORDS)) < 0.02)
    queries = np.roll(items, 3, axis=1) * (rng.random((N, WORDS)) < 0.8)
    queries[:, 0] += 0.1
    mates = Links(np.arange(100), np.arange(100), N, N)
    return sp.csr_array(queries.astype(np.float32)), sp.csr_array(items.astype(np.float32)), mates


@pytest.fixture(scope="module")
def fitted(world):
    return CrossMixtureRanker(dim=8, n_concepts=30).fit(*world, queries_are_items=False)


def found(ranker, queries):
    return np.mean(ranker.rank(queries[100:], 1).items[:, 0] == np.arange(100, N))


def test_the_mixture_finds_mates_of_unseen_documents(world, fitted):
    queries, items, mates = world
    alone = ClLsiRanker(30).fit(queries, items, mates, queries_are_items=False)
    assert found(fitted, queries) >= found(alone, queries) - 0.05 > 0.5


def test_vectors_that_learned_nothing_get_no_weight(world, monkeypatch):
    queries, items, mates = world

    def noise(self, rows, skip=None):
        return np.random.default_rng(1).normal(size=(rows.shape[0], N)).astype(np.float32)

    monkeypatch.setattr(CrossRanker, "_scores", noise)
    ranker = CrossMixtureRanker(dim=2, n_concepts=30).fit(queries, items, mates, queries_are_items=False)
    assert ranker.vectors_ is None
    assert ranker.mu_ == 0


def test_explanations_new_items_and_stored_models(world, fitted, tmp_path):
    queries, items, _ = world
    scores = fitted.scores(queries[[3]])[0].astype(np.float64)
    assert fitted.explain(queries[[3]], 3, 7).total == pytest.approx(scores[3] - scores[7], abs=1e-5)
    save(fitted, tmp_path / "m")
    again = load(tmp_path / "m", CrossMixtureRanker)
    assert np.array_equal(again.scores(queries), fitted.scores(queries))
    assert again.add_items(items[:2]).rank(queries[:2], N + 2).items.max() == N + 1


def test_pairs_are_needed(world):
    with pytest.raises(UsageError, match="no pair of mates"):
        CrossMixtureRanker().fit(world[0], world[1])


@pytest.mark.parametrize("best", [1, 2])
def test_training_that_stays_at_its_start_is_told(world, caplog, monkeypatch, best):
    def fit(self, *given, **more):
        self.best_epoch_, self.epochs_ = best, [{}, {}, {}]

    monkeypatch.setattr(EmbeddingRanker, "fit", fit)
    with caplog.at_level(logging.WARNING, logger="tacit"):
        CrossRanker().fit(*world)
    assert ("did not improve after the first of 3 epochs" in caplog.text) == (best == 1)
