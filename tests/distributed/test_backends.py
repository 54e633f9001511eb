"""What every backend has to do, by the same tests for each."""

import numpy as np
import pytest

from tacit.core import TacitError
from tacit.core.threads import cluster, map_tasks
from tacit.distributed import OwnerLostError, ray_cluster


class Shelf:
    """What an owner holds in these tests."""

    def __init__(self, numbers):
        self.numbers, self.calls = numbers.copy(), []

    def add(self, more):
        self.calls.append(more.tolist() if isinstance(more, np.ndarray) else more)
        self.numbers += more

    def take(self, rows):
        return self.numbers[rows]

    def state(self):
        return self.calls, cluster.get() is None


@pytest.fixture
def backend(on_cluster):
    with on_cluster():
        yield cluster.get()


def test_owners_get_calls_in_order_and_keep_what_is_theirs(backend):
    numbers = np.arange(4.0)
    owners = [backend.own(Shelf, numbers) for _ in range(2)]
    more = np.ones(4)
    for step in range(3):
        owners[0].call("add", more * step)  # no answer is waited for
    waits = [owner.call("take", np.array([3, 0])) for owner in owners]
    owners[0].call("add", 100)
    assert [wait().tolist() for wait in waits] == [[6.0, 3.0], [3.0, 0.0]]
    assert numbers.tolist() == [0, 1, 2, 3]
    assert owners[0].call("state")() == ([[step] * 4 for step in (0, 1, 2)] + [100], True)


def test_what_arrives_is_a_copy_that_cannot_be_written(backend):
    owner, more = backend.own(Shelf, np.zeros(2)), np.ones(2)
    owner.call("add", more)()
    more += 5
    taken = owner.call("take", np.arange(2))()
    owner.call("add", 1)()
    assert taken.tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        taken += 1


def test_a_shared_value_goes_to_all_owners(backend):
    owners, shared = [backend.own(Shelf, np.zeros(3)) for _ in range(3)], backend.share(np.arange(3.0))
    assert [owner.call("add", shared)() for owner in owners] == [None] * 3
    assert [owner.call("take", np.arange(3))().tolist() for owner in owners] == [[0, 1, 2]] * 3


def test_an_owner_that_is_ended_is_lost(backend):
    kept, ended = (backend.own(Shelf, np.zeros(1)) for _ in range(2))
    ended.call("state")()
    ended.end()
    wait = ended.call("state")
    with pytest.raises(OwnerLostError):
        wait()
    ended.end()
    assert kept.call("take", np.array([0]))() == 0


def test_what_work_raises_is_raised_where_its_answer_is_waited_for(backend):
    owner = backend.own(Shelf, np.zeros(1))
    wait = owner.call("take", np.array([7]))
    with pytest.raises(IndexError, match="^index 7 is out of bounds"):
        wait()
    assert owner.call("take", np.array([0]))() == 0
    with pytest.raises(ZeroDivisionError, match="^division by zero$"):
        list(map_tasks(_divide, [1, 0]))


def _divide(number):
    return 1 / number


def test_tasks_know_no_cluster(backend):
    assert list(map_tasks(_has_cluster, [0])) == [False]
    assert cluster.get() is backend


def _has_cluster(_):
    return cluster.get() is not None


def test_the_cluster_is_in_use_within_its_context_alone(on_cluster):
    with on_cluster():
        assert cluster.get().n_machines in (2, 3)  # a test may have lost one
    assert cluster.get() is None


def test_a_machine_with_another_version_is_one_line(machines, monkeypatch):
    with ray_cluster(machines.address):
        monkeypatch.setattr("tacit.distributed.ray_backend.__version__", "9.9")
        line = r"^a machine of the cluster has tacit \S+, want 9.9 as here$"
        with pytest.raises(TacitError, match=line):
            list(map_tasks(sum, [[1]]))
        with pytest.raises(TacitError, match=line):
            cluster.get().own(Shelf, np.zeros(1)).call("state")()
