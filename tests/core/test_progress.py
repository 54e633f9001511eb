"""A time limit ends work at a step of its progress, or at its end."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, TimeIsOver, progress_bar, time_limit, track
from tacit.retrieve import EmbeddingRanker


def test_work_in_time_is_not_disturbed():
    with time_limit(60):
        assert list(track("abc", "letters")) == ["a", "b", "c"]


def test_work_ends_at_the_next_step():
    done = []

    def work():
        for number in track(range(1000), "steps"):
            time.sleep(0.02)
            done.append(number)

    with pytest.raises(TimeIsOver, match="exceeded its time limit"), time_limit(0.1):
        work()
    assert 0 < len(done) < 10


def test_work_without_steps_is_told_at_its_end():
    with pytest.raises(TimeIsOver), time_limit(0.01):
        time.sleep(0.02)
    with progress_bar("after") as advance:  # the limit has gone with its work
        advance(1)


def test_an_inner_limit_does_not_extend_an_outer_one():
    with pytest.raises(TimeIsOver), time_limit(0.01), time_limit(60):
        time.sleep(0.02)
    with pytest.raises(TimeIsOver), time_limit(0):
        pytest.fail("there is no time")


def test_a_training_ends_in_the_middle():
    rng = np.random.default_rng(0)
    items = sp.csr_array(rng.random((30, 20), np.float32))
    pairs = Links(np.arange(30), np.roll(np.arange(30), 1), 30, 30)
    ranker = EmbeddingRanker(4, n_epochs=10**6, threads=1)
    with pytest.raises(TimeIsOver), time_limit(0.5):
        ranker.fit(items, items, pairs, queries_are_items=False)
