"""Training without a fixed number of epochs: averages, dropped words, decay and threads, against slow versions."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, TacitError
from tacit.kernels.rows import drop_words
from tacit.retrieve import CrossRanker, EmbeddingRanker, FullPairRanker, HashedPairRanker, SparsePairRanker
from tacit.retrieve.margin.tasks import PairTask
from tacit.store import pack_estimator

N, WORDS = 40, 25
RANKERS = {
    "mapped": lambda **how: EmbeddingRanker(4, rate=0.3, margin=0.2, **how),
    "tied": lambda **how: EmbeddingRanker(4, items="tied", identity="learned", rate=0.3, **how),
    "residual": lambda **how: EmbeddingRanker(4, items="residual", gamma=1.0, n_words=9, rate=0.3, **how),
    "free": lambda **how: EmbeddingRanker(4, items="free", identity="none", gamma=1.0, rate=0.3, **how),
    "full": lambda **how: FullPairRanker(**how),
    "hashed": lambda **how: HashedPairRanker(2000, **{"dropout": 0.3} | how),
    "sparse": lambda **how: SparsePairRanker(3, **how),
}


def corpus(seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.random((N, WORDS)) * (rng.random((N, WORDS)) < 0.4)
    rows = sp.csr_array((dense / np.linalg.norm(dense, axis=1, keepdims=True)).astype(np.float32))
    is_linked = rng.random((N, N)) < 0.1
    np.fill_diagonal(is_linked, False)
    return rows, Links(*np.nonzero(is_linked), N, N)


def arrays_of(trainer):
    """Copies of the parameters in training."""
    if hasattr(trainer, "tables"):
        tables = trainer.tables
        return [part.copy() for part in (tables.queries, tables.mapped, tables.items, tables.diagonal)]
    return [trainer.weights.numbers.copy(), np.array([trainer.alpha])]


def averaged_of(trainer):
    if hasattr(trainer, "tables"):
        tables = trainer.averaged
        return [part.copy() for part in (tables.queries, tables.mapped, tables.items, tables.diagonal)]
    weights, alpha = trainer.averaged
    return [weights.numbers.copy(), np.array([alpha])]


@pytest.mark.parametrize("average", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("form", ["mapped", "tied", "residual", "full", "hashed"])
def test_the_average_is_that_of_the_states_of_all_epochs(form, average, monkeypatch):
    rows, links = corpus()
    states, averages, trainers, values = [], [], [], PairTask.values

    def remember(self, trainer, rng, rates, epoch=PairTask.epoch):
        trainers.append(trainer)
        return epoch(self, trainer, rng, rates)

    def look(self, ranker):
        states.append(arrays_of(trainers[-1]))
        averages.append(averaged_of(trainers[-1]))
        return values(self, ranker)

    monkeypatch.setattr(PairTask, "epoch", remember)
    monkeypatch.setattr(PairTask, "values", look)
    ranker = RANKERS[form](average=average, max_epochs=13, patience=13)
    ranker.fit(rows, rows, links)
    assert len(states) == 13
    wanted = states[0]
    for number, state in enumerate(states, 1):
        weight = max(1 / number, 1 - average)
        wanted = [(1 - weight) * old.astype(float) + weight * new for old, new in zip(wanted, state, strict=True)]
        for found, part in zip(averages[number - 1], wanted, strict=True):
            np.testing.assert_allclose(found, part, rtol=1e-5, atol=1e-6)
    plain = [np.mean([state[0] for state in states[:10]], axis=0)]
    assert np.allclose(averages[9][0], plain[0], rtol=1e-5, atol=1e-6) == (
        average == 0.9
    )  # a plain mean of the first ten
    kept = averages[ranker.best_epoch_ - 1][0]
    if form in ("full", "hashed"):
        found = ranker.weights_ if form == "full" else ranker.buckets_
        assert np.array_equal(found.reshape(-1), kept)
    else:
        assert np.array_equal(ranker.query_table_, kept)


def test_with_a_number_of_epochs_nothing_is_averaged():
    rows, links = corpus()
    one, other = (RANKERS["mapped"](n_epochs=5, average=average).fit(rows, rows, links) for average in (0.0, 0.9))
    assert np.array_equal(one.query_table_, other.query_table_)


@pytest.mark.parametrize("form", RANKERS)
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(form):
    rows, links = corpus()
    states = [
        pack_estimator(RANKERS[form](max_epochs=6, patience=3, threads=threads).fit(rows, rows, links))
        for threads in (1, 2, 3)
    ]
    for header, arrays in states[1:]:
        assert {name: value for name, value in header.items() if name != "params"} == {
            name: value for name, value in states[0][0].items() if name != "params"
        }
        for name, array in arrays.items():
            first = states[0][1][name]
            pair = (first.data, array.data) if sp.issparse(array) else (first, array)
            assert np.array_equal(*pair), name


def test_words_are_dropped_in_the_rows_that_are_visited_and_restored_at_the_next_visit():
    indptr, data = np.array([0, 3, 3, 5, 9]), np.arange(1.0, 10, dtype=np.float32)
    dropped, widths = data.copy(), np.diff(indptr)
    draws = np.array([0.9, 0.1, 0.2, 0.5, 0.3, 0.29], np.float32)  # four of row 3, two of row 2
    drop_words(np.array([3, 2]), widths, draws, np.float32(0.3), indptr, data, dropped)
    assert dropped.tolist() == [1, 2, 3, 4, 0, 6, 0, 0, 9]
    drop_words(np.array([3]), widths, np.full(4, 0.3, np.float32), np.float32(0.3), indptr, data, dropped)
    assert dropped.tolist() == [1, 2, 3, 4, 0, 6, 7, 8, 9]
    # The same rows cut to leading words: one of row 0, none of row 2, two of row 3.
    fewer, short = np.array([0, 1, 1, 1, 3]), np.array([1, 6, 7], np.float32)
    cut = short.copy()
    drop_words(np.array([2, 3]), widths, draws, np.float32(0.3), fewer, short, cut)
    assert cut.tolist() == [1, 0, 7]  # the draws of row 3 come after both of row 2


@pytest.mark.parametrize("form", ["mapped", "residual", "hashed"])
def test_dropout_leaves_out_its_share_of_the_words_and_leaves_the_rows_as_they_were(form, monkeypatch):
    rows, links = corpus()
    before, shares = rows.data.copy(), []
    epoch = PairTask.epoch

    def count(self, trainer, rng, rates):
        loss = epoch(self, trainer, rng, rates)
        for indptr, data, dropped in trainer._droppable:
            visited = np.repeat(np.diff(self.pairs.indptr) > 0, np.diff(indptr))
            assert ((dropped == data) | (dropped == 0)).all()
            shares.append((dropped[visited] == 0).mean())
        return loss

    monkeypatch.setattr(PairTask, "epoch", count)
    RANKERS[form](max_epochs=4, dropout=0.3).fit(rows, rows, links)
    assert len(shares) >= 4 * (2 if form == "residual" else 1)  # the residual form here has a second, shorter matrix
    assert np.mean(shares) == pytest.approx(0.3, abs=0.03)
    assert np.array_equal(rows.data, before)


def test_decay_shrinks_the_vectors_of_words_after_each_epoch(monkeypatch):
    """With no step at all, what is left of the first table is (1 - decay) for each epoch."""
    rows, links = corpus()
    monkeypatch.setattr(PairTask, "epoch", lambda self, trainer, rng, rates: 0.0)
    first = RANKERS["mapped"](n_epochs=1, decay=0.0).fit(rows, rows, links).query_table_
    tables = []
    monkeypatch.setattr(
        PairTask,
        "values",
        lambda self, ranker: tables.append(ranker.query_table_.copy()) or {"MAP": np.array([len(tables)])},
    )
    RANKERS["mapped"](max_epochs=3, decay=0.1, average=0.0).fit(rows, rows, links)
    for number, table in enumerate(tables, 1):
        np.testing.assert_allclose(table, 0.9**number * first, rtol=1e-5)
    tables.clear()
    RANKERS["tied"](n_epochs=2, decay=0.1).fit(rows, rows, links)  # at half the rate half of it; a tied table once
    np.testing.assert_allclose(tables[1], 0.9 * 0.95 * first, rtol=1e-5)


def test_training_ends_by_itself_and_says_when():
    rows, links = corpus()
    ranker = RANKERS["mapped"](patience=2).fit(rows, rows, links)
    assert 3 <= len(ranker.epochs_) < 60
    assert {epoch["rate"] for epoch in ranker.epochs_} == {0.3}
    assert RANKERS["mapped"](max_epochs=4).fit(rows, rows, links).epochs_[-1]["epoch"] == 4


@pytest.mark.parametrize("share", ["both", "target"])
def test_two_tasks_are_trained_until_the_first_stops_rising(share):
    rows, links = corpus()
    ranker = CrossRanker(4, share=share, patience=2, max_epochs=5).fit(rows, rows, links, links=links)
    assert 3 <= len(ranker.epochs_) <= 5
    assert np.isfinite(ranker.scores(rows)).all()


@pytest.mark.parametrize(
    "wrong", [{"max_epochs": 0}, {"patience": 0}, {"average": 1.0}, {"dropout": -0.1}, {"decay": 2.0}]
)
def test_impossible_training_parameters_are_named(wrong):
    rows, links = corpus()
    (name,) = wrong
    with pytest.raises(TacitError, match=f"{name} is"):
        EmbeddingRanker(4, **wrong).fit(rows, rows, links)
