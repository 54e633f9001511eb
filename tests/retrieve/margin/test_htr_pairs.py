"""The mixture of vectors and pairs of words: its score, its weight, what it stores."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, TacitError
from tacit.features.text.weighting import best_words
from tacit.retrieve import EmbeddingRanker, HashedPairRanker, HtrPairsRanker
from tacit.retrieve.margin.htr_pairs import WEIGHTS
from tacit.retrieve.margin.tasks import make_task
from tacit.retrieve.training_data import TrainingData

N_DOCS, N_WORDS = 80, 30


@pytest.fixture(scope="module")
def world():
    """Documents whose words call for the words after them: document i links to i + 1."""
    rng = np.random.default_rng(5)
    dense = rng.random((N_DOCS, N_WORDS)) * (rng.random((N_DOCS, N_WORDS)) < 0.3) + 0.01 * np.eye(N_DOCS, N_WORDS)
    dense[1:] = 0.5 * dense[1:] + np.roll(dense[:-1], 1, axis=1)
    rows = sp.csr_array((dense / np.linalg.norm(dense, axis=1)[:, None]).astype(np.float32))
    return rows, Links(np.arange(N_DOCS - 1), np.arange(1, N_DOCS), N_DOCS, N_DOCS)


def fit(world, **params):
    rows, links = world
    return HtrPairsRanker(4, n_epochs=3, **params).fit(rows, rows, links)


def test_the_score_is_the_sum_of_both_models(world):
    rows, links = world
    ranker = fit(world, mu=0.7, max_words=5)
    vectors = EmbeddingRanker(4, items="residual", gamma=1.0, n_epochs=3).fit(rows, rows, links)
    cut = best_words(rows, 5)
    pairs = HashedPairRanker(4 * N_WORDS**2, rate=1.0, n_epochs=3).fit(cut, cut, links)
    expected = vectors.scores(rows) + 0.7 * pairs.scores(cut)
    np.testing.assert_allclose(ranker.scores(rows), expected, atol=1e-5)


def test_without_pairs_of_words_it_is_the_residual_form(world):
    rows, links = world
    alone = EmbeddingRanker(4, items="residual", gamma=1.0, n_epochs=3).fit(rows, rows, links)
    assert np.array_equal(fit(world, mu=0.0).scores(rows), alone.scores(rows))


class Told:
    """A task that says of each weight what a test wants."""

    target, candidates = "MAP", None

    def __init__(self, means, losses, spread):
        self.means, self.losses, self.spread = means, losses, spread

    def values(self, ranker):
        wiggle = self.spread * np.array([1, -1, 1, -1]) * ranker.mu_
        rank_loss = {"rank_loss": np.full(4, self.losses.get(ranker.mu_, 1.0))} if self.losses else {}
        return {"MAP": self.means.get(ranker.mu_, 0.0) + wiggle} | rank_loss


@pytest.mark.parametrize(
    ("losses", "spread", "chosen"),
    [
        ({0.4: 0.1, 1.0: 0.2, 5.0: 0.3}, 0.02, 1.0),  # 1 is as good as 5, and 0.4 is not
        ({0.4: 0.1, 1.0: 0.2, 5.0: 0.3}, 0.0, 5.0),  # every difference is certain
        ({0.4: 0.1, 1.0: 0.4, 5.0: 0.3}, 0.02, 5.0),  # the best has the least rank loss too
        ({}, 0.02, 5.0),  # triples know no rank loss
    ],
)
def test_the_weight_has_the_least_rank_loss_of_those_as_good_as_the_best(losses, spread, chosen):
    task = Told({0.4: 0.4, 1.0: 0.49, 5.0: 0.5}, losses, spread)
    assert HtrPairsRanker()._best_mu(task, WEIGHTS, least="rank_loss") == chosen


def test_triples_choose_by_their_order(world):
    rows, links = world
    rng = np.random.default_rng(0)
    worse = (links.targets + rng.integers(2, 70, len(links.targets))) % N_DOCS
    triples = np.column_stack([links.sources, links.targets, worse])
    ranker = HtrPairsRanker(4, n_epochs=3).fit(rows, rows, triples)
    task, chosen, accuracy = make_task(TrainingData(rows, rows, triples, queries_are_items=True), 0), ranker.mu_, []
    for ranker.mu_ in WEIGHTS:
        query, better, worse = task.held.T
        scores = ranker.scores(rows[query])
        gap = scores[np.arange(len(query)), better] - scores[np.arange(len(query)), worse]
        accuracy.append(np.mean((gap > 0) + 0.5 * (gap == 0)))
    assert chosen == WEIGHTS[int(np.argmax(accuracy))]
    assert len(set(accuracy)) > 1


@pytest.mark.parametrize(("name", "value"), [("max_words", 0), ("mu", -1), ("max_words", 2.5)])
def test_wrong_parameters_are_named(world, name, value):
    with pytest.raises(TacitError, match=f"{name} is {value}"):
        fit(world, **{name: value})


def test_new_items_get_both_parts_and_old_scores_keep_their_bits(world):
    rows, _ = world
    ranker = fit(world, mu=1.0)
    before = ranker.scores(rows)
    ranker.add_items(rows[:3])
    after = ranker.scores(rows)
    assert np.array_equal(after[:, :N_DOCS], before)
    vectors, words = ranker.vectors_, ranker.pairs_
    cut = ranker._heaviest(rows)
    expected = vectors.embed_queries(rows) @ vectors.embed_items(rows[:3]).T + (rows @ rows[:3].T).toarray()
    np.testing.assert_allclose(after[:, N_DOCS:], expected + words.score_rows(cut)[:, :3], atol=1e-5)
