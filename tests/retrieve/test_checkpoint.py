"""Trainings that are cut short at any block go on from their checkpoint to the same bits."""

import errno
import json
import os
import time

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.core import Links, StoreError, UsageError
from tacit.retrieve import (
    BlendRanker,
    Bm25Ranker,
    CfhRanker,
    CrossRanker,
    EmbeddingRanker,
    FullPairRanker,
    HtrPairsRanker,
    ReconstructionRanker,
    SparsePairRanker,
    checkpoint,
    epochs,
)
from tacit.retrieve.blend import embeddings
from tacit.retrieve.checkpoint import Checkpoint
from tacit.retrieve.latent import reconstruction
from tacit.store import pack_estimator

N, WORDS = 90, 24
HOW = {"max_epochs": 3, "patience": 2, "threads": 1}
RANKERS = {
    "mapped": EmbeddingRanker(3, **HOW),
    "residual": EmbeddingRanker(3, items="residual", gamma=1.0, identity="learned", **HOW),
    "tuned": EmbeddingRanker(3, items="free", identity="none", tune=True, **HOW),
    "printed": EmbeddingRanker(3, recipe="printed", **HOW),
    "full": FullPairRanker(**HOW),
    "sparse": SparsePairRanker(4, **HOW),
    "htr+pairs": HtrPairsRanker(3, n_buckets=2000, **HOW),
    "cfh": CfhRanker(3, n_words=12, **HOW),
    "cross": CrossRanker(3, share="target", **HOW),
    "reconstruction": ReconstructionRanker(dim=3, n_epochs=4),
    "blend": BlendRanker(dim=3, residual=True),
}


class Killed(BaseException):
    """Nothing may catch it."""


def corpus(seed=0):
    rng = np.random.default_rng(seed)
    dense = rng.random((N, WORDS)) * (rng.random((N, WORDS)) < 0.3)
    dense[np.arange(N), np.arange(N) % WORDS] = 0.5
    rows = sp.csr_array((dense / np.linalg.norm(dense, axis=1, keepdims=True)).astype(np.float32))
    linked = np.triu(rng.random((N, N)) < 0.06, 1)
    return rows, Links(*np.nonzero(linked), N, N)


def fit(ranker, place=None, seed=0):
    rows, links = corpus(seed)
    if ranker.features == "counts":
        rows = (3 * rows).ceil()
    further = {"links": links} if ranker.needs_links else {}
    return ranker.clone().fit(rows, rows, links, checkpoint=place, queries_are_items=True, **further)


def bits(ranker):
    header, arrays = pack_estimator(ranker)
    return json.dumps(header), {name: array.tobytes() for name, array in arrays.items()}


@pytest.fixture(autouse=True, scope="module")
def short_members():
    """Members of a blend are trained for a few epochs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reconstruction, "MOST_EPOCHS", 3)
        patch.setattr(embeddings, "EmbeddingRanker", Short)
        yield


class Short(EmbeddingRanker):
    """Three epochs by default."""

    def __init__(self, dim=100, *, max_epochs=3, **training):
        super().__init__(dim, max_epochs=max_epochs, **training)


@pytest.fixture(scope="module")
def whole(short_members):
    """Rankers trained without a checkpoint."""
    return {name: bits(fit(ranker)) for name, ranker in RANKERS.items()}


def cut_short(monkeypatch, moments):
    """Let the process die at some of the moments at which a block ends or a file is replaced, counted from now."""
    count = iter(range(10**9))
    block, replace = epochs.EpochLog.block, os.replace

    def die_in_block(self, work):
        def work_or_die():
            loss = work()
            if next(count) in moments:
                raise Killed
            return loss

        return block(self, work_or_die)

    def die_in_file(part, path):
        if next(count) in moments:
            raise Killed
        replace(part, path)

    monkeypatch.setattr(epochs.EpochLog, "block", die_in_block)
    monkeypatch.setattr(checkpoint.os, "replace", die_in_file)


@pytest.mark.parametrize("name", RANKERS)
def test_a_training_cut_short_again_and_again_has_the_same_bits(name, tmp_path, monkeypatch, whole):
    place, n_kills = Checkpoint(tmp_path / "c", every=0.0), 0
    few = name in ("printed", "reconstruction")  # without blocks: only files are replaced
    steps = np.arange(1, 90, 2) if few else np.random.default_rng(3).integers(2, 300, 90).cumsum()
    cut_short(monkeypatch, set(steps.tolist()))
    for _ in range(90):
        try:
            found = fit(RANKERS[name], Checkpoint(place.folder, every=0.0))
            break
        except Killed:
            n_kills += 1
    assert n_kills > 1
    assert bits(found) == whole[name]
    assert place.has_state
    place.remove()
    assert not place.folder.exists()


@pytest.mark.parametrize("name", ["residual", "full", "reconstruction"])
def test_a_finished_training_is_not_trained_again(name, tmp_path, monkeypatch, whole):
    fit(RANKERS[name], tmp_path / "c")
    for _ in range(2):  # the second reads what the first wrote
        with monkeypatch.context() as inner:
            inner.setattr(epochs.EpochLog, "start_epoch", None)
            again = fit(RANKERS[name], tmp_path / "c")
        assert bits(again) == whole[name]
        assert len(again.epochs_) >= 3


def test_the_history_is_the_same_too(tmp_path, monkeypatch):
    wanted = fit(RANKERS["mapped"]).epochs_
    cut_short(monkeypatch, {100, 201})
    for _ in range(2):
        with pytest.raises(Killed):
            fit(RANKERS["mapped"], Checkpoint(tmp_path / "c", every=0.0))
    assert fit(RANKERS["mapped"], tmp_path / "c").epochs_ == wanted


def test_blocks_that_the_checkpoint_has_are_not_trained_again(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "LARGEST_SHARE", 1e9)
    trained = []
    train = EmbeddingRanker._run_epochs.__globals__["BlockTrainer"]._train_block
    monkeypatch.setattr(
        "tacit.retrieve.margin.block_sgd.BlockTrainer._train_block",
        lambda self, work, size: trained.append(1) or train(self, work, size),
    )
    fit(RANKERS["mapped"])
    n_whole = len(trained)
    trained.clear()
    with monkeypatch.context() as inner:
        cut_short(inner, {200})
        with pytest.raises(Killed):
            fit(RANKERS["mapped"], Checkpoint(tmp_path / "c", every=0.0))
    n_first = len(trained)
    fit(RANKERS["mapped"], tmp_path / "c")
    assert 0 < n_first < n_whole
    assert n_whole <= len(trained) <= n_whole + 1  # the block after the last state


def test_a_divergence_after_a_kill_goes_back_to_the_start_of_the_epoch(tmp_path, monkeypatch):
    sound = epochs.Snapshots.is_sound

    def diverges_once(state):
        if diverges_once.left:
            diverges_once.left -= 1
            return False
        return sound(state)

    monkeypatch.setattr(epochs.Snapshots, "is_sound", diverges_once)
    diverges_once.left = 1
    wanted = fit(RANKERS["residual"])
    assert wanted.rate_ == 0.05
    diverges_once.left = 1
    with monkeypatch.context() as inner:
        cut_short(inner, {70})  # within the first epoch
        with pytest.raises(Killed):
            fit(RANKERS["residual"], Checkpoint(tmp_path / "c", every=0.0))
    assert bits(fit(RANKERS["residual"], tmp_path / "c")) == bits(wanted)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": 0.2}, "its rate is 0.1, this one has 0.2"),
        ({"seed": 5}, "its seed is 0, this one has 5"),
        ({"max_epochs": 9}, "its max_epochs is 3, this one has 9"),
    ],
)
def test_the_checkpoint_of_other_parameters_is_refused(change, message, tmp_path):
    fit(RANKERS["mapped"], tmp_path / "c")
    with pytest.raises(StoreError, match=f"c: is the checkpoint of another training: {message}; give another folder"):
        fit(RANKERS["mapped"].clone().set_params(**change), tmp_path / "c")
    fit(RANKERS["mapped"].clone().set_params(threads=2), tmp_path / "c")  # threads change no bit


def test_the_checkpoint_of_other_data_is_refused(tmp_path):
    fit(RANKERS["mapped"], tmp_path / "c")
    with pytest.raises(StoreError, match="its items are other data"):
        fit(RANKERS["mapped"], tmp_path / "c", seed=1)
    with pytest.raises(StoreError, match="its class is 'EmbeddingRanker', this one has 'FullPairRanker'"):
        fit(RANKERS["full"], tmp_path / "c")


def test_a_folder_in_use_or_with_other_things_or_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="file: cannot be used for a checkpoint"):
        fit(RANKERS["mapped"], tmp_path / "file")
    with pytest.raises(StoreError, match="contains 'file' and no checkpoint, want a new or empty folder"):
        fit(RANKERS["mapped"], tmp_path)
    assert (tmp_path / "file").exists()
    place = Checkpoint(tmp_path / "c")
    with place.of({}), pytest.raises(StoreError, match="another process has this folder in use"):
        fit(RANKERS["mapped"], place.folder)
    with pytest.raises(UsageError, match="Bm25Ranker is not trained in epochs"):
        Bm25Ranker().fit(None, corpus()[0], checkpoint=tmp_path / "d")
    Checkpoint(tmp_path / "nowhere").remove()


def test_removing_a_checkpoint_leaves_other_files(tmp_path):
    fit(RANKERS["htr+pairs"], tmp_path / "c")
    (tmp_path / "c" / "notes.txt").write_text("mine")
    Checkpoint(tmp_path / "c").remove()
    assert [file.name for file in (tmp_path / "c").iterdir()] == ["notes.txt"]


def stopped(tmp_path, monkeypatch, moment=200):
    with monkeypatch.context() as inner:
        cut_short(inner, {moment})
        with pytest.raises(Killed):
            fit(RANKERS["residual"], Checkpoint(tmp_path / "c", every=0.0))
    return tmp_path / "c" / "0"


@pytest.mark.parametrize("how", ["json", "array", "short", "missing"])
def test_of_a_damaged_state_the_one_before_is_taken(how, tmp_path, monkeypatch, whole):
    stage = stopped(tmp_path, monkeypatch)
    slots = {name: json.loads((stage / name).read_bytes().split(b"\n", 1)[1]) for name in ("0.json", "1.json")}
    newest = max(slots, key=lambda name: slots[name]["number"])
    arrays = stage / slots[newest]["files"]["live"]["name"]
    damaged = stage / newest if how == "json" else arrays
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data[:-1] if how == "short" else data)
    if how == "missing":
        damaged.unlink()
    assert bits(fit(RANKERS["residual"], tmp_path / "c")) == whole["residual"]


def test_a_checkpoint_without_any_whole_state_is_refused(tmp_path, monkeypatch):
    stage = stopped(tmp_path, monkeypatch)
    for file in stage.glob("*.bin"):
        file.write_bytes(b"x")
    with pytest.raises(StoreError, match="the checkpoint is damaged; remove its folder to start anew"):
        fit(RANKERS["residual"], tmp_path / "c")
    (tmp_path / "c" / "training.json").write_text("{")
    with pytest.raises(StoreError, match="training.json: is damaged"):
        fit(RANKERS["residual"], tmp_path / "c")


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path, monkeypatch, whole):
    stopped(tmp_path, monkeypatch)
    fsync, left = os.fsync, iter([1] * 2)

    def full(file):
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    with monkeypatch.context() as inner:
        inner.setattr(os, "fsync", full)
        with pytest.raises(StoreError) as error:
            fit(RANKERS["residual"], Checkpoint(tmp_path / "c", every=0.0))
    assert "the checkpoint cannot be written: No space left on device; the one before stays valid" in str(error.value)
    assert "\n" not in str(error.value)
    names = {file.name for file in (tmp_path / "c" / "0").iterdir()}
    slots = [json.loads((tmp_path / "c" / "0" / slot).read_bytes().split(b"\n", 1)[1]) for slot in ("0.json", "1.json")]
    assert names == {"0.json", "1.json"} | {file["name"] for slot in slots for file in slot["files"].values()}
    assert bits(fit(RANKERS["residual"], tmp_path / "c")) == whole["residual"]


def test_states_within_an_epoch_take_a_tenth_of_the_time_at_most(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stage = checkpoint.Stage(tmp_path / "0", every=5.0)
    monkeypatch.setattr(checkpoint, "write_arrays", lambda path, arrays: now.__setitem__(0, now[0] + 3) or 0)
    assert not stage.is_due
    now[0] += 5
    assert stage.is_due
    stage.save({}, {"live": {}}, [])
    now[0] += 29
    assert not stage.is_due
    now[0] += 1.1
    assert stage.is_due
