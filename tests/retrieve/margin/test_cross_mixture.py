"""`ssi-cross+cl-lsi`: a mixture that is not below either part, explanations, new items, stored models."""

import json
import logging

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, UsageError
from tacit.retrieve import ClLsiRanker, CrossMixtureRanker, CrossRanker, EmbeddingRanker, find_same_words
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

    monkeypatch.setattr(CrossRanker, "score_rows", noise)
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


@pytest.fixture(scope="module")
def with_names(world):
    """The same documents; each, whether it has a mate for training or not, also has a name that both share."""
    queries, items, mates = world
    names = sp.csr_array(0.5 * np.eye(N, dtype=np.float32))
    both = [sp.csr_array(sp.hstack([rows, names], format="csr")) for rows in (queries, items)]
    words = [f"{side}{word}" for side in "qi" for word in range(WORDS)]
    same = find_same_words([*words[:WORDS], *map(str, range(N))], [*words[WORDS:], *map(str, range(N))])
    return *both, mates, same


def test_shared_words_find_what_translation_alone_does_not(with_names, tmp_path):
    queries, items, mates, same = with_names
    alone = CrossMixtureRanker(dim=8, n_concepts=30).fit(queries, items, mates, queries_are_items=False)
    mixed = CrossMixtureRanker(dim=8, n_concepts=30).fit(
        queries, items, mates, queries_are_items=False, same_words=same
    )
    assert (alone.nu_, alone.words_) == (0, None)
    assert mixed.chosen()["nu"] > 0
    assert found(mixed, queries) == 1 > found(alone, queries)
    scores = mixed.scores(queries[[110]])[0].astype(np.float64)
    explained = mixed.explain(queries[[110]], 110, 7)
    assert explained.total == pytest.approx(scores[110] - scores[7], abs=1e-5)
    assert ("word", WORDS + 110, WORDS + 110) in [term[:3] for term in explained.terms]
    save(mixed, tmp_path / "m")
    again = load(tmp_path / "m", CrossMixtureRanker).add_items(items[:2]).remove_items([0])
    assert np.array_equal(again.scores(queries)[:, : N - 1], mixed.scores(queries)[:, 1:])


def test_shared_words_that_mislead_do_no_harm(with_names):
    queries, items, mates, _ = with_names
    words = [*map(str, range(WORDS)), *(f"name{number}" for number in range(N))]
    wrong = find_same_words(words, words[:WORDS] + [f"{word}!" for word in words[WORDS:]])  # word w means w + 3
    ranker = CrossMixtureRanker(dim=8, n_concepts=30).fit(
        queries, items, mates, queries_are_items=False, same_words=wrong
    )
    alone = CrossMixtureRanker(dim=8, n_concepts=30).fit(queries, items, mates, queries_are_items=False)
    assert found(ranker, queries) >= found(alone, queries) - 0.05


def test_models_from_before_shared_words_are_read(world, fitted, tmp_path):
    save(fitted, tmp_path / "m")
    header = json.loads((tmp_path / "m" / "model.json").read_text())
    text = json.dumps(header)
    assert '"nu_": 0.0' in text
    old = load(tmp_path / "m", CrossMixtureRanker)
    del old.nu_
    assert np.array_equal(old.scores(world[0]), fitted.scores(world[0]))


def test_pairs_are_needed(world):
    with pytest.raises(UsageError, match="no pair of mates"):
        CrossMixtureRanker().fit(world[0], world[1])


@pytest.mark.parametrize("best", [1, 2])
def test_training_that_stays_at_its_start_is_told(world, caplog, monkeypatch, best):
    def fit(self, data):
        self.best_epoch_, self.epochs_ = best, [{}, {}, {}]

    monkeypatch.setattr(EmbeddingRanker, "_fit", fit)
    with caplog.at_level(logging.WARNING, logger="tacit"):
        CrossRanker().fit(*world)
    assert ("did not improve after the first of 3 epochs" in caplog.text) == (best == 1)
