"""A world of topics has one right answer; the contract; what happens when numbers run away."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import DivergedError, Links, TacitError, UsageError
from tacit.retrieve import CosineRanker, ReconstructionRanker
from tacit.retrieve.epochs import diverged
from tacit.retrieve.latent.reconstruction import (
    HalvesTask,
    ReconstructionSettings,
    ReconstructionTrainer,
    leave_out_words,
)
from tacit.retrieve.snapshots import Snapshots
from tacit.search.models import find_class
from tacit.store import pack_estimator, unpack_estimator

N_DOCS, PER_TOPIC, N_TOPICS = 120, 12, 4


def topic_rows(seed=0, n_docs=N_DOCS):
    """Each document has 4 of the 12 words of its topic and 3 of 20 words that all topics share."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((n_docs, N_TOPICS * PER_TOPIC + 20), np.float32)
    for d in range(n_docs):
        rows[d, (d % N_TOPICS) * PER_TOPIC + rng.choice(PER_TOPIC, 4, replace=False)] = 1
        rows[d, N_TOPICS * PER_TOPIC + rng.choice(20, 3, replace=False)] = 1
    return sp.csr_array(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def rows():
    return topic_rows()


@pytest.fixture(scope="module")
def fitted(rows):
    return ReconstructionRanker(dim=8, n_epochs=10).fit(None, rows)


def test_finds_documents_of_the_topic_that_share_no_word(fitted, rows):
    one_word = sp.csr_array(([1.0], ([0], [0])), shape=(1, rows.shape[1]), dtype=np.float32)
    same_topic = np.arange(N_DOCS) % N_TOPICS == 0
    with_word = rows[:, [0]].toarray().ravel() > 0
    best = fitted.rank(one_word, k=20).items[0]
    assert same_topic[best].mean() > 0.9
    assert (~with_word[best]).any()
    assert same_topic[CosineRanker().fit(None, rows).rank(one_word, k=20).items[0]].mean() < 0.7


def test_losses_fall_and_epochs_are_told(fitted):
    first, last = fitted.epochs_[0], fitted.epochs_[-1]
    assert set(first) == {"epoch", "loss", "rate", "reconstruction", "margin", "found"}
    assert last["margin"] < first["margin"]
    assert last["found"] > 0.05  # chance among 115; a topic is all that halves have in common
    assert fitted.best_epoch_ == 1 + int(np.argmax([epoch["found"] for epoch in fitted.epochs_]))


def test_another_seed_gives_another_model_and_the_same_seed_the_same(fitted, rows):
    again, other = (ReconstructionRanker(dim=8, n_epochs=10, seed=seed).fit(None, rows) for seed in (0, 1))
    assert np.array_equal(again.item_vectors_, fitted.item_vectors_)
    assert np.array_equal(again.concepts_, fitted.concepts_)
    assert not np.array_equal(other.concepts_, fitted.concepts_)


def test_new_items_get_the_image_of_a_query_and_old_scores_keep_their_bits(rows):
    ranker = ReconstructionRanker(dim=8, n_epochs=3).fit(None, rows[:100])
    before = ranker.scores(rows)
    ranker.add_items(rows[100:])
    assert np.array_equal(ranker.scores(rows)[:, :100], before)
    assert np.array_equal(ranker.item_vectors_[100:], ranker.embed_items(rows[100:]))
    assert np.array_equal(ranker.embed_items(rows[100:]), ranker.embed_queries(rows[100:]))
    topic = np.arange(N_DOCS) % N_TOPICS
    best = ranker.scores(rows[:100])[:, 100:].argmax(axis=1)
    assert np.mean(topic[100 + best] == topic[:100]) > 0.9


def test_terms_add_up(fitted, rows):
    scores = fitted.scores(rows[[7]])[0]
    found = fitted.explain(rows[[7]], 3, 9)
    assert found.total == pytest.approx(scores[3] - scores[9], abs=1e-5)
    assert {term.kind for term in found.terms} == {"word", "item"}


def test_state_and_back(fitted, rows):
    again = unpack_estimator(*pack_estimator(fitted), find_class)
    assert np.array_equal(again.scores(rows), fitted.scores(rows))
    assert again.chosen() == fitted.chosen()


def test_alpha_one_is_the_learned_part_alone_and_pairs_choose_it(fitted, rows):
    alone = ReconstructionRanker(dim=8, n_epochs=10, alpha=1.0).fit(None, rows)
    expected = alone.embed_queries(rows) @ alone.item_vectors_.T
    np.testing.assert_allclose(alone.scores(rows), expected, atol=1e-5)
    near = CosineRanker().fit(None, rows).rank(rows, k=1, exclude=sp.csr_array(np.eye(N_DOCS))).items[:, 0]
    pairs = Links(np.arange(N_DOCS), near, N_DOCS, N_DOCS)
    chosen = ReconstructionRanker(dim=8, n_epochs=2).fit(rows, rows, pairs)
    assert fitted.alpha_ == 0.5
    assert chosen.alpha_ < 0.5  # nearest by words alone is what these pairs are


@pytest.mark.parametrize("n_docs", [1, 2, 3, 45])
def test_small_collections(n_docs):
    rows = topic_rows(n_docs=n_docs)
    ranker = ReconstructionRanker(dim=5, n_epochs=2).fit(None, rows)
    assert np.isfinite(ranker.scores(rows)).all()
    assert (ranker.rank(rows, k=1).items[:, 0] == np.arange(n_docs)).mean() > 0.9


def test_empty_documents_and_empty_collections():
    rows = topic_rows(n_docs=50)
    rows.data[rows.indptr[3] : rows.indptr[4]] = 0
    scores = ReconstructionRanker(dim=5, n_epochs=2).fit(None, rows).scores(rows)
    assert (scores[3] == 0).all()
    assert np.isfinite(scores).all()
    nothing = ReconstructionRanker().fit(None, sp.csr_array((4, 6), dtype=np.float32))
    assert (nothing.scores(np.ones((1, 6))) == 0).all()


def test_dense_rows_are_as_good_as_sparse_ones(fitted, rows):
    dense = ReconstructionRanker(dim=8, n_epochs=10).fit(None, rows.toarray())
    np.testing.assert_allclose(dense.scores(rows.toarray()), fitted.scores(rows), atol=1e-3)


def test_numbers_that_run_away_halve_the_rate_once_and_then_stop(rows, monkeypatch):
    calm = Snapshots.is_sound
    looks = []

    def unsound_at_first(trainer):
        looks.append(trainer)
        return len(looks) > 1 and calm(trainer)

    monkeypatch.setattr(Snapshots, "is_sound", unsound_at_first)
    ranker = ReconstructionRanker(dim=4, n_epochs=3, rate=0.2).fit(None, rows)
    assert ranker.rate_ == 0.1
    assert [epoch["epoch"] for epoch in ranker.epochs_] == [2, 3]
    with pytest.raises(DivergedError, match=r"epoch \d at rate .*after .* had failed too"):
        ReconstructionRanker(dim=4, n_epochs=6, rate=1e9).fit(None, rows)
    assert "epoch 2 at rate 0.1" in str(diverged(2, 0.1, True))


def test_going_back_undoes_an_epoch(rows):
    concepts = np.eye(rows.shape[1], 4, dtype=np.float32)
    trainer, rng = ReconstructionTrainer(rows, concepts, ReconstructionSettings()), np.random.default_rng(0)
    before = trainer.query_table.copy(), trainer.vectors.copy()
    trainer.state.start_epoch()
    trainer.epoch(rng, (0.5, 0.4))
    assert not np.array_equal(trainer.query_table, before[0])
    trainer.state.go_back()
    assert np.array_equal(trainer.query_table, before[0])
    assert np.array_equal(trainer.vectors, before[1])


def test_left_out_words_keep_lengths_and_places(rows):
    some = leave_out_words(rows, 0.5, np.random.default_rng(0))
    assert np.array_equal(some.indices, rows.indices)
    assert 0.4 < np.mean(some.data == 0) < 0.6
    np.testing.assert_allclose(np.linalg.norm(some.toarray(), axis=1), 1, atol=1e-5)
    assert np.array_equal(leave_out_words(rows, 1.0, np.random.default_rng(0)).data, rows.data)


def test_halves_share_no_word_and_perfect_images_are_found(rows):
    task = HalvesTask(rows[:30], np.random.default_rng(0))
    assert not task.asking.multiply(task.sought).data.any()
    trainer = ReconstructionTrainer(rows[30:], np.ones((rows.shape[1], 1), np.float32), ReconstructionSettings())
    assert task.measure(trainer, 1) == {"found": 1.0}  # all images are equal, so no rival stands above


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rate", 0),
        ("margin", -1),
        ("query_share", 0),
        ("query_share", 1.5),
        ("gamma", -1),
        ("n_drawn", 0),
        ("n_epochs", 0),
    ],
)
def test_refuses_wrong_parameters(rows, name, value):
    with pytest.raises(TacitError, match=f"{name} is"):
        ReconstructionRanker(**{name: value}).fit(None, rows)


def test_a_handful_of_documents_is_not_visited_thousands_of_times():
    few = topic_rows(n_docs=5)
    assert len(ReconstructionRanker(dim=2).fit(None, few).epochs_) == 100


@pytest.mark.parametrize("start", ["normal", "scaled"])
def test_the_printed_recipe_learns_and_is_stored(start):
    rows, topic = topic_rows(), np.arange(N_DOCS) % N_TOPICS
    ranker = ReconstructionRanker(6, recipe="printed", start=start, alpha=1.0, n_epochs=100, rate=0.03, gamma=0.3)
    ranker.fit(None, rows)
    assert ranker.epochs_[0]["rate"] == ranker.epochs_[-1]["rate"]
    best = ranker.rank(rows, k=10).items
    assert (topic[best] == topic[:, None]).mean() > {"normal": 0.35, "scaled": 0.55}[start]  # chance: 1 / 4
    again = unpack_estimator(*pack_estimator(ranker), find_class)
    assert np.array_equal(again.scores(rows), ranker.scores(rows))


def test_the_printed_recipe_refuses_what_contradicts_it():
    rows = sp.csr_array(np.eye(50, dtype=np.float32))
    for given in ({"margin": 0.3}, {"query_share": 0.7}, {"n_drawn": 3}):
        with pytest.raises(UsageError, match=f"{next(iter(given))} is .* with recipe='printed'"):
            ReconstructionRanker(4, recipe="printed", **given).fit(None, rows)
    two_terms = ReconstructionRanker(4, both_ways=False, n_epochs=1).fit(None, rows)
    assert two_terms.margin == 0.1
