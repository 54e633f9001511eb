"""A fake trainer whose epochs are scripted shows which state is kept; training parameters of all margin rankers."""

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import DivergedError, Links, TacitError
from tacit.retrieve import METHODS, ClLsiRanker, EmbeddingRanker, FullPairRanker
from tacit.retrieve.margin.base import MarginRanker, block_for, choose_rate_and_margin, epochs_for
from tacit.retrieve.training import run_epochs


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
    history = run_epochs(script, script.epoch, lambda: {"MAP": script.state}, "MAP", rate, len(values))
    return script, history


def test_ends_in_the_best_epoch_with_a_rate_that_falls_to_zero():
    script, history = run([0.1, 0.4, 0.4, 0.3])
    assert (script.state, history.best_epoch, history.rate) == (0.4, 2, 0.8)  # of equal ones the first
    assert np.allclose(script.rates, [(0.8, 0.6), (0.6, 0.4), (0.4, 0.2), (0.2, 0)])
    assert history.epochs[3] == {"epoch": 4, "loss": 0.5, "MAP": 0.3}


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


def test_small_training_sets_have_small_blocks_and_many_epochs():
    assert (block_for(10), block_for(640), block_for(10**6)) == (4, 20, 64)
    assert (epochs_for(10), epochs_for(10**6)) == (200, 8)


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
    if METHODS[name].estimator is ClLsiRanker:
        return
    assert issubclass(METHODS[name].estimator, MarginRanker)
    given = {"n_epochs": 3, "tune": True, "n_drawn": 7, "n_hardest": 2, "max_positives": 4, "seed": 5, "threads": 1}
    given |= {"rate": 0.3, "margin": 0.6}
    assert METHODS[name].make(**given).get_params().items() >= given.items()
