"""A fake trainer whose epochs are scripted shows which state is kept; training parameters of all margin rankers."""

from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import DivergedError, Links, TacitError
from tacit.retrieve import METHODS, ClLsiRanker, CrossMixtureRanker, EmbeddingRanker, FullPairRanker, epochs
from tacit.retrieve.epochs import Schedule, epoch_score, run_epochs
from tacit.retrieve.margin.base import MarginRanker, block_for, choose_rate_and_margin, passes_for


class Script:
    """Epoch e gives values[e]; NaN is a divergence. The state is the value reached."""

    def __init__(self, values):
        self.values, self.state, self.before, self.best, self.rates = iter(values), None, None, None, []

    def start_epoch(self):
        self.before = self.state

    def go_back(self):
        self.state = self.before

    def keep_best(self):
        self.best = self.state

    def take_best(self):
        self.state = self.best

    def is_sound(self):
        return not np.isnan(self.state)

    def epoch(self, rates):
        self.rates.append(rates)
        self.state = next(self.values)
        return 0.5


def run(values, rate=0.8):
    script = Script(values)
    history = run_epochs(script, script.epoch, lambda number: {"MAP": script.state}, "MAP", Schedule(rate, len(values)))
    return script, history


def test_ends_in_the_best_epoch_with_a_rate_that_falls_to_zero():
    script, history = run([0.1, 0.4, 0.4, 0.3])
    assert (script.state, history.best_epoch, history.rate) == (0.4, 2, 0.8)  # of equal ones the first
    assert np.allclose(script.rates, [(0.8, 0.6), (0.6, 0.4), (0.4, 0.2), (0.2, 0)])
    assert history.epochs[3] == {"epoch": 4, "loss": 0.5, "rate": pytest.approx(0.2), "MAP": 0.3}


def test_the_first_divergence_is_undone_and_halves_the_rate():
    script, history = run([0.1, np.nan, 0.2, 0.15])
    assert (script.state, history.best_epoch, history.rate) == (0.2, 3, 0.4)
    assert np.allclose(script.rates[2:], [(0.2, 0.1), (0.1, 0)])
    assert [epoch["epoch"] for epoch in history.epochs] == [1, 3, 4]


@pytest.mark.parametrize("values", [[np.nan, np.nan, 0.1], [0.1, np.nan, np.nan]])
def test_the_second_divergence_is_an_error(values):
    with pytest.raises(DivergedError, match=r"rate 0\.4, after 0\.8 had failed too; give a smaller rate"):
        run(values)


def test_a_single_epoch_has_no_second_chance():
    with pytest.raises(DivergedError, match=r"in epoch 1 at rate 0\.8; give"):
        run([np.nan])


def test_a_setting_that_diverges_is_never_chosen():
    def value(rate, margin):
        if rate > 1:
            raise DivergedError("too far")
        return -margin

    assert choose_rate_and_margin(value, (2.0, 0.5), (0.1, 0.2), 0.2) == (0.5, 0.1)


def test_small_training_sets_have_small_blocks_and_are_visited_often_in_an_epoch():
    assert (block_for(10), block_for(640), block_for(10**6)) == (4, 20, 64)
    assert (passes_for(10), passes_for(640), passes_for(10**6)) == (25, 3, 1)  # of 3, 32 and many blocks


def test_without_a_number_of_epochs_the_rate_is_constant_and_training_ends_after_patience():
    script = Script([0.1, 0.3, 0.5, 0.5, 0.4, 0.5, 0.9, 0.9])
    schedule = Schedule(0.8, max_epochs=8, patience=3)
    history = run_epochs(script, script.epoch, lambda number: {"MAP": script.state}, "MAP", schedule)
    assert [epoch["MAP"] for epoch in history.epochs] == [0.1, 0.3, 0.5, 0.5, 0.4, 0.5]  # 3 epochs after the last rise
    assert script.rates == [(0.8, 0.8)] * 6
    assert (script.state, history.best_epoch) == (0.5, 3)


def test_max_epochs_bounds_a_training_that_keeps_rising():
    script = Script([0.1, 0.2, 0.3, 0.4])
    history = run_epochs(script, script.epoch, lambda number: {"MAP": script.state}, "MAP", Schedule(0.8, None, 3, 2))
    assert (script.state, history.best_epoch, len(history.epochs)) == (0.3, 3, 3)


def test_a_divergence_halves_the_constant_rate():
    script = Script([0.1, np.nan, 0.2, 0.15, 0.1])
    history = run_epochs(script, script.epoch, lambda number: {"MAP": script.state}, "MAP", Schedule(0.8, None, 5, 2))
    assert script.rates == [(0.8, 0.8)] * 2 + [(0.4, 0.4)] * 3
    assert [epoch["rate"] for epoch in history.epochs] == [0.8, 0.4, 0.4, 0.4]
    assert history.best_epoch == 3


# MAP and rank loss of each epoch, which epoch is kept after it, and MAP / (rank loss + .0001)^.15.
CURVE = [
    (0.400, 0.0099, 1, 0.7981),
    (0.500, 0.0049, 2, 1.1069),
    (0.510, 0.0059, 2, 1.0986),  # 2 % more MAP, 20 % more rank loss
    (0.500, 0.0039, 4, 1.1446),  # the same MAP as epoch 2 with less rank loss
    (0.530, 0.0049, 5, 1.1734),  # 6 % more MAP, 25 % more rank loss
    (0.280, 0.0000, 5, 1.1147),  # no rank loss at all does not make up for half of the MAP
]


def test_the_kept_epoch_is_the_best_by_mean_average_precision_and_rank_loss():
    for number, (_, _, kept, _) in enumerate(CURVE, 1):
        script, losses = Script([row[0] for row in CURVE]), iter([row[1] for row in CURVE])
        history = run_epochs(
            script,
            script.epoch,
            lambda number, script=script, losses=losses: {"MAP": script.state, "rank_loss": next(losses)},
            "MAP",
            Schedule(0.8, max_epochs=number, patience=9),
        )
        assert (history.best_epoch, script.state) == (kept, CURVE[kept - 1][0])
    for found, loss, _, wanted in CURVE:
        assert epoch_score({"MAP": found, "rank_loss": loss}, "MAP") == pytest.approx(wanted, abs=1e-4)


def test_without_rank_loss_the_best_epoch_is_kept():
    assert epoch_score({"accuracy": 0.7, "other": 3.0}, "accuracy") == 0.7


def test_progress_counts_epochs_by_blocks_and_says_where_training_ends(monkeypatch):
    shown, changes = [0.0], []

    @contextmanager
    def bar(label):
        def advance(amount, **change):
            shown.append(shown[-1] + amount)
            changes.append(change)

        yield advance

    monkeypatch.setattr(epochs, "progress_bar", bar)
    rows, links = chain()
    ranker = EmbeddingRanker(2, max_epochs=5, patience=2, seed=1).fit(rows, rows, links)
    n_run = ranker.epochs_[-1]["epoch"]
    assert shown[-1] == pytest.approx(n_run)  # whole epochs
    assert len(shown) > 75 * n_run  # in steps of blocks
    told = [change["description"] for change in changes if change]
    ends = [change["total"] for change in changes if change]
    assert told[:2] == ["training, epoch 1 of 2 or more", f"training, epoch 2 of {ends[1]} or more"]
    assert ends[-1] >= n_run
    changes.clear()
    EmbeddingRanker(2, n_epochs=2).fit(rows, rows, links)
    assert [change["description"] for change in changes if change] == [f"training, epoch {n} of 2" for n in (1, 2)]


def chain(n=90, n_words=30):
    rng = np.random.default_rng(0)
    rows = rng.random((n, n_words)) * (rng.random((n, n_words)) < 0.3) + 0.01
    rows = sp.csr_array((rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))
    return rows, Links(
        np.repeat(np.arange(n - 3), 3), (np.arange(3 * (n - 3)) % 3) + np.repeat(np.arange(n - 3), 3) + 1, n, n
    )


@pytest.mark.parametrize("kind", [EmbeddingRanker, FullPairRanker])
def test_negative_sampling_is_a_parameter(kind):
    rows, links = chain()

    def scores(**given):
        return kind(n_epochs=2, **given).fit(rows, rows, links).scores(rows)

    usual = scores()
    assert np.array_equal(usual, scores(n_drawn=100, n_hardest=20, max_positives=20))  # what the defaults mean here
    for changed in ({"n_drawn": 5}, {"n_hardest": 1}, {"max_positives": 1}):
        assert not np.array_equal(usual, scores(**changed))
    for name in ("n_drawn", "n_hardest", "max_positives"):
        with pytest.raises(TacitError, match=f"{name} is 0"):
            scores(**{name: 0})


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.estimator.needs_pairs])
def test_every_trained_method_has_the_same_training_parameters(name):
    if METHODS[name].estimator in (ClLsiRanker, CrossMixtureRanker):
        return
    assert issubclass(METHODS[name].estimator, MarginRanker)
    given = {
        "n_epochs": 3,
        "max_epochs": 9,
        "patience": 2,
        "average": 0.5,
        "dropout": 0.1,
        "tune": True,
        "n_drawn": 7,
        "n_hardest": 2,
        "max_positives": 4,
        "seed": 5,
        "threads": 1,
    }
    given |= {"rate": 0.3, "margin": 0.6}
    assert METHODS[name].make(**given).get_params().items() >= given.items()
