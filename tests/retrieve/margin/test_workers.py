"""Every part is worked on once, errors come back, and the workers goes home."""

import threading
from collections import Counter
from contextlib import suppress

import pytest

from tacit.retrieve.margin.block_sgd import WorkerPool


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("n_parts", [0, 1, 3, 40])
def test_every_part_is_done_once_in_every_phase(size, n_parts):
    n_before = threading.active_count()
    with WorkerPool(size) as workers:
        for _ in range(20):
            done = []  # appending is one step under the GIL
            workers.run(done.append, n_parts)
            assert Counter(done) == Counter(range(n_parts))
    assert threading.active_count() == n_before


def test_parts_run_at_once():
    """Each part waits for the other; one thread alone would wait for ever."""
    meeting = threading.Barrier(2, timeout=30)
    with WorkerPool(2) as workers:
        workers.run(lambda part: meeting.wait() and None, 2)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_an_error_in_any_part_is_raised_and_the_pool_works_on(size):
    def fail(part):
        if part == 2:
            raise IndexError("part two")

    with WorkerPool(size) as workers:
        for _ in range(5):
            with pytest.raises(IndexError, match="part two"):
                workers.run(fail, 4)
            done = []
            workers.run(done.append, 4)
            assert sorted(done) == [0, 1, 2, 3]


def test_an_error_of_a_helper_is_raised_here():
    """Both threads have a part before either goes on; only the helper fails."""
    meeting, here = threading.Barrier(2, timeout=30), threading.get_ident()

    def fail(part):
        meeting.wait()
        if threading.get_ident() != here:
            raise IndexError("far away")

    with WorkerPool(2) as workers, pytest.raises(IndexError, match="far away"):
        workers.run(fail, 2)


def test_the_threads_end_after_an_error_outside():
    n_before = threading.active_count()
    with suppress(KeyError), WorkerPool(3) as workers:
        workers.run(lambda part: None, 3)
        raise KeyError("outside")
    assert threading.active_count() == n_before
