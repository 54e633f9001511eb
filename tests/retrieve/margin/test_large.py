"""What changes for large collections: mapped copies, which must not change a bit, and sampled validation."""

import mmap
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links
from tacit.core.mapped import allocate, release
from tacit.retrieve import EmbeddingRanker, FullPairRanker, HtrPairsRanker, ReconstructionRanker, snapshots
from tacit.retrieve.margin import tasks
from tacit.retrieve.snapshots import copy_into, row_blocks
from tacit.retrieve.training_data import TrainingData
from tacit.store import pack_estimator, unpack_estimator

N, WORDS = 120, 30
RANKERS = {
    "mapped": EmbeddingRanker(4, max_epochs=4),
    "residual": EmbeddingRanker(4, items="residual", gamma=1.0, identity="learned", max_epochs=4),
    "free": EmbeddingRanker(4, items="free", identity="none", gamma=1.0, max_epochs=4),
    "full": FullPairRanker(max_epochs=3),
    "reconstruction": ReconstructionRanker(dim=4, n_epochs=3),
}


def corpus():
    rng = np.random.default_rng(0)
    dense = rng.random((N, WORDS)) * (rng.random((N, WORDS)) < 0.3) + 0.001
    rows = sp.csr_array((dense / np.linalg.norm(dense, axis=1, keepdims=True)).astype(np.float32))
    linked = np.triu(rng.random((N, N)) < 0.05, 1)
    return rows, Links(*np.nonzero(linked), N, N)


def is_mapped(array):
    while isinstance(array, np.ndarray | memoryview):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return isinstance(array, mmap.mmap)


def resident():
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.parametrize("form", RANKERS)
def test_mapped_copies_change_no_bit(form, monkeypatch):
    rows, links = corpus()
    usual = RANKERS[form].clone().fit(rows, rows, links)
    monkeypatch.setattr("tacit.core.mapped.MAPPED_BYTES", 0)
    monkeypatch.setattr(snapshots, "BLOCK_BYTES", 64)
    mapped = RANKERS[form].clone().fit(rows, rows, links)
    if isinstance(mapped, EmbeddingRanker):
        assert is_mapped(mapped.item_vectors_)
    assert mapped.epochs_ == usual.epochs_
    assert np.array_equal(mapped.scores(rows), usual.scores(rows))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_mapped_array_keeps_its_numbers_when_its_pages_leave_memory(monkeypatch):
    monkeypatch.setattr("tacit.core.mapped.MAPPED_BYTES", 0)
    array = allocate((5000, 3))
    array[:] = np.arange(15000).reshape(5000, 3)
    large = allocate((1 << 20, 16))
    large[:] = 1
    held = resident()
    release(large)
    release(array)
    assert held - resident() > 50 << 20  # of 64 MiB
    assert (large == 1).all()
    other = allocate((5000, 3))
    copy_into(other, array)
    assert is_mapped(array)
    assert np.array_equal(other, np.arange(15000).reshape(5000, 3))
    assert sum(part.stop - part.start for part in row_blocks(array)) == 5000
    release(np.zeros(3))  # nothing to release


def test_without_room_on_the_disk_memory_is_used(monkeypatch):
    def full(**how):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tacit.core.mapped.MAPPED_BYTES", 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    array = allocate((4, 2))
    assert not is_mapped(array)
    assert array.tolist() == [[0, 0]] * 4


@pytest.mark.parametrize("make", [lambda: RANKERS["residual"].clone(), lambda: RANKERS["full"].clone(), None])
def test_validation_of_many_items_ranks_a_stated_sample(make, monkeypatch):
    monkeypatch.setattr(tasks, "MOST_ITEMS", 100)
    monkeypatch.setattr(tasks, "SAMPLED_ITEMS", 40)
    rows, links = corpus()
    if make is None:
        ranker = HtrPairsRanker(4, max_epochs=2, n_buckets=5000).fit(rows, rows, links)
        inner = ranker.vectors_
    else:
        ranker = inner = make().fit(rows, rows, links)
    assert 40 <= inner.validation_items_ < N
    assert inner.chosen()["validation_items"] == inner.validation_items_
    assert ranker.scores(rows).shape == (N, N)  # the ranker itself has all items
    header, arrays = pack_estimator(inner)
    loaded = unpack_estimator(header, arrays, lambda name: type(inner))
    assert loaded.validation_items_ == inner.validation_items_
    again = inner.clone().fit(rows, rows, links)
    assert np.array_equal(again.scores(rows), inner.scores(rows))


def test_sampled_measures_are_those_of_the_sampled_candidates(monkeypatch):
    monkeypatch.setattr(tasks, "MOST_ITEMS", 100)
    monkeypatch.setattr(tasks, "SAMPLED_ITEMS", 40)
    rows, links = corpus()
    task = tasks.make_task(TrainingData(rows, rows, links, queries_are_items=True), 0)
    ranker = EmbeddingRanker(4, items="residual", max_epochs=1).fit(rows, rows, links)
    found = task.values(ranker.with_items(task.candidates))
    scores = ranker.scores(task.held.queries)[:, task.candidates]
    for query, row in enumerate(scores):
        relevant = task.held.relevant[[query]].toarray()[0]
        row = np.where(task.held.excluded[[query]].toarray()[0], -np.inf, row)
        order = np.argsort(-row, kind="stable")
        places = 1 + np.flatnonzero(relevant[order])
        assert found["MAP"][query] == pytest.approx(np.mean(np.arange(1, len(places) + 1) / places))


def test_small_collections_are_validated_on_all_items():
    rows, links = corpus()
    assert tasks.make_task(TrainingData(rows, rows, links, queries_are_items=True), 0).candidates is None
    assert RANKERS["mapped"].clone().fit(rows, rows, links).validation_items_ is None
