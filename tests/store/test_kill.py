"""A save that is killed, fails or is interrupted at any moment leaves the old model or the new one, whole."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from tacit.core import StoreError
from tacit.store import Stored, changing_model, files, load_model, save_model
from tacit.store import folder as model_folder

MODELS = [
    Stored("Old", {"name": "old"}, {"x": np.arange(20_000, dtype=np.float32), "same": np.ones(3)}),
    Stored("New", {"name": "new"}, {"x": np.arange(30_000, dtype=np.float64), "same": np.ones(3)}),
]
OLD, NEW = MODELS
TWO_FILES = ["arrays.safetensors", "model.json"]

# Reads "FOLDER FIRST" lines, forks a child that saves the two models in turn for ever, answers with its number.
# A child that is forked from a started Python is ready to be killed within milliseconds.
SAVER = """
import os, sys, tempfile
import numpy as np
from tacit.store import Stored, save_model
os.fsync = lambda descriptor: None
models = [
    Stored("Old", {"name": "old"}, {"x": np.arange(20_000, dtype=np.float32), "same": np.ones(3)}),
    Stored("New", {"name": "new"}, {"x": np.arange(30_000, dtype=np.float64), "same": np.ones(3)}),
]
with tempfile.TemporaryDirectory() as folder:
    save_model(folder, models[0])  # what is imported on first use is imported before children are forked
for line in sys.stdin:
    folder, first = line.split()
    child = os.fork()
    if not child:
        turn = int(first)
        while True:
            save_model(folder, models[turn % 2])
            turn += 1
    os.write(1, f"{child}\\n".encode())
    if sys.stdin.readline() != "wait\\n":
        os.kill(child, 9)
        break
    os.write(1, f"{os.waitpid(child, 0)[1]}\\n".encode())
"""


class Saver:
    """A process that saves without end until it is killed; then another one can be started."""

    def __init__(self):
        self.server = subprocess.Popen([sys.executable, "-c", SAVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def start(self, folder, first=0):
        self._say(f"{folder} {first}")
        self.child = int(self.server.stdout.readline())

    def kill(self):
        os.kill(self.child, signal.SIGKILL)
        self._say("wait")
        assert int(self.server.stdout.readline()) == signal.SIGKILL, "it had ended by itself, with an error"

    def _say(self, line):
        self.server.stdin.write(f"{line}\n".encode())
        self.server.stdin.flush()

    def close(self):
        self.server.stdin.close()
        self.server.stdout.close()
        self.server.wait(timeout=10)


@pytest.fixture
def saver():
    process = Saver()
    yield process
    process.close()


def which(folder):
    """0 for the old model, 1 for the new one; anything else fails."""
    loaded = load_model(folder)
    number = ["Old", "New"].index(loaded.kind)
    wanted = MODELS[number]
    assert loaded.params == wanted.params
    assert set(loaded.arrays) == set(wanted.arrays)
    for name, array in wanted.arrays.items():
        assert loaded.arrays[name].dtype == array.dtype
        assert np.array_equal(loaded.arrays[name], array)
    return number


def time_of_a_save(folder):
    """Seconds, so that kills fall within a save on a fast disk and on a slow one."""
    save_model(folder, NEW)
    start = time.perf_counter()
    for model in (OLD, NEW, OLD):
        save_model(folder, model)
    return (time.perf_counter() - start) / 3


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_forty_kills_at_random_moments(tmp_path, saver):
    folder, rng, seen = tmp_path / "m", random.Random(0), set()
    seconds = time_of_a_save(folder)
    for round_number in range(400):
        saver.start(folder, round_number)
        time.sleep(rng.random() * 4 * seconds)
        saver.kill()
        seen |= {which(folder), "unfinished" if (folder / ".saving").exists() else "finished"}
        if round_number >= 40 and len(seen) == 4:
            break
    assert seen == {0, 1, "unfinished", "finished"}, "the kills did not come in all states of a save"
    save_model(folder, NEW)
    assert which(folder) == 1
    assert sorted(os.listdir(folder)) == TWO_FILES


@needs_fork
def test_kills_within_the_first_save_leave_nothing_or_a_model(tmp_path, saver):
    folder, rng, outcomes = tmp_path / "m", random.Random(1), set()
    seconds = time_of_a_save(folder)
    for round_number in range(400):
        shutil.rmtree(folder)
        saver.start(folder)
        time.sleep(rng.random() * 2 * seconds)
        saver.kill()
        is_there = (folder / "model.json").exists()
        outcomes.add(is_there)
        if is_there:
            which(folder)
        else:
            with pytest.raises(StoreError, match=r"there is no such model folder|has no model\.json"):
                load_model(folder)
        save_model(folder, NEW)
        assert sorted(os.listdir(folder)) == TWO_FILES
        if round_number >= 30 and len(outcomes) == 2:
            break
    assert outcomes == {False, True}


@needs_fork
def test_two_savers_and_a_reader_never_mix_models(tmp_path):
    folder = tmp_path / "m"
    save_model(folder, OLD)
    savers = [Saver(), Saver()]
    try:
        for number, process in enumerate(savers):
            process.start(folder, number)
        end = time.monotonic() + 0.7
        read = [which(folder) for _ in iter(lambda: time.monotonic() < end, False)]
        for process in savers:
            process.kill()
    finally:
        for process in savers:
            process.close()
    assert set(read) == {0, 1}
    which(folder)


def test_threads_that_save_at_once_leave_one_whole_model(tmp_path):
    folder, problems = tmp_path / "m", []

    def save(turn):
        try:
            for number in range(turn, turn + 5):
                save_model(folder, MODELS[number % 2])
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=save, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    which(folder)
    assert sorted(os.listdir(folder)) == TWO_FILES


class Fuse:
    """Counts the calls that reach the disk; call n fails, and so do all later ones if the process is `dead`."""

    def __init__(self, monkeypatch, blow_at, error, dead):
        self.calls, self.blow_at, self.error, self.dead = 0, blow_at, error, dead
        for name in ("open", "mkdir", "replace", "fsync", "chmod", "unlink", "rmdir"):
            monkeypatch.setattr(os, name, self._guarded(getattr(os, name)))
        real = model_folder.write_arrays

        def write_half(path, arrays, arrays_id):
            """Fails with half a file written, as a full disk or a kill would."""
            try:
                self._count()
            except BaseException:
                real(path, arrays, arrays_id)
                with path.open("r+b") as file:
                    file.truncate(path.stat().st_size // 2)
                raise
            real(path, arrays, arrays_id)

        monkeypatch.setattr(model_folder, "write_arrays", write_half)

    def _guarded(self, real):
        def call(*args, **kwargs):
            self._count()
            return real(*args, **kwargs)

        return call

    def _count(self):
        self.calls += 1
        if self.calls == self.blow_at or (self.dead and self.calls > self.blow_at):
            raise self.error


def prepare(folder, state):
    """A folder before the save under test; returns what a load must give if the save changes nothing."""
    if state == "missing":
        return None
    if state == "the same model":
        save_model(folder, NEW)
        return 1
    save_model(folder, OLD)
    if state == "killed between the renames":
        (folder / ".saving").mkdir()
        os.replace(folder / "arrays.safetensors", folder / ".saving" / "arrays.safetensors")
        save_model(folder.parent / "other", NEW)
        shutil.copy(folder.parent / "other" / "arrays.safetensors", folder)
    return 0


@pytest.mark.parametrize("state", ["missing", "old", "the same model", "killed between the renames"])
@pytest.mark.parametrize("dead", [False, True], ids=["one call fails", "nothing works after"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["disk", "ctrl-c"])
def test_every_call_that_can_fail(tmp_path, state, dead, error):
    for blow_at in range(1, 200):
        folder = tmp_path / str(blow_at) / "m"
        before = prepare(folder, state)
        assert before is None or which(folder) == before
        with pytest.MonkeyPatch.context() as patch:
            fuse = Fuse(patch, blow_at, error, dead)
            failed = not saves(folder, StoreError if isinstance(error, OSError) else KeyboardInterrupt)
        check_outcome(folder, before, failed)
        if fuse.calls < blow_at:
            assert not failed
            assert blow_at > 15
            return
    pytest.fail("the save never came to an end")


def saves(folder, expected_error):
    """Whether a save ends well; it may also end with that error and with no other."""
    try:
        save_model(folder, NEW)
    except expected_error:
        return False
    return True


def check_outcome(folder, before, failed):
    try:
        found = which(folder)
    except StoreError:
        found = None
    assert found in ((before, 1) if failed else (1,))
    save_model(folder, NEW)
    assert which(folder) == 1
    assert sorted(os.listdir(folder)) == TWO_FILES


def test_nothing_counts_before_the_disk_has_it(tmp_path, monkeypatch):
    """A power cut keeps renames that were not yet synced in any order, so each must wait for what it relies on."""
    folder, events = tmp_path / "m", []
    save_model(folder, OLD)
    rename = os.replace

    def record_sync(descriptor):
        events.append(("sync", os.fstat(descriptor).st_ino))

    def record_rename(source, target):
        events.append(("rename", os.stat(source).st_ino))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "replace", record_rename)
    save_model(folder, NEW)
    header, arrays, names = (
        path.stat().st_ino for path in (folder / "model.json", folder / "arrays.safetensors", folder)
    )
    finished, commit, promotion = (place for place, (what, _) in enumerate(events) if what == "rename")
    assert [events[place][1] for place in (finished, commit, promotion)] == [arrays, header, arrays]
    assert ("sync", arrays) in events[:finished]
    assert ("sync", header) in events[:commit]
    for earlier, later in ((finished, commit), (commit, promotion), (promotion, len(events))):
        assert ("sync", names) in events[earlier:later]


def test_a_failed_first_save_leaves_no_folder(tmp_path, monkeypatch):
    Fuse(monkeypatch, 6, OSError(28, "No space left on device"), dead=False)
    with pytest.raises(StoreError, match=r"m: cannot be written: No space left on device$"):
        save_model(tmp_path / "m", NEW)
    assert os.listdir(tmp_path) == []


def test_the_same_arrays_again_mend_a_damaged_file(tmp_path):
    save_model(tmp_path, OLD)
    file = tmp_path / "arrays.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    with pytest.raises(StoreError, match="checksum"):
        load_model(tmp_path)
    save_model(tmp_path, OLD)
    assert which(tmp_path) == 0


def in_a_thread(job):
    """What a function raises and warns of in another thread, which does not hold what this one holds."""
    found = []

    def run():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                job()
            except StoreError as error:
                found.append(str(error))
        found.extend(str(one.message) for one in told)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found


def test_a_saver_waits_for_another_and_gives_up_in_the_end(tmp_path):
    save_model(tmp_path, OLD)
    with files.locked(tmp_path):
        given_up, notice = in_a_thread(lambda: save_model(tmp_path, NEW, wait=0.3))
        assert given_up.endswith("another process has been changing this model for 0.3 seconds; try again later")
        assert notice == f"{tmp_path}: is being changed by another process; waiting for it"
        assert which(tmp_path) == 0
    assert in_a_thread(lambda: save_model(tmp_path, NEW)) == []
    assert which(tmp_path) == 1


def test_who_changes_a_model_saves_it_in_the_same_lock(tmp_path, monkeypatch):
    save_model(tmp_path / "m", OLD)
    monkeypatch.chdir(tmp_path)
    with changing_model(tmp_path / "m"):
        save_model("m", NEW)
        problem = in_a_thread(lambda: save_model(tmp_path / "m", OLD, wait=0.02))[0]
        assert problem.endswith("try again later"), "the save has freed the folder"
    assert in_a_thread(lambda: save_model(tmp_path / "m", OLD)) == []
    with changing_model(tmp_path / "absent"):
        assert not (tmp_path / "absent").exists()


def test_a_folder_that_goes_away_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    """As it does when the first save of another process fails."""
    folder, real = tmp_path / "m", files._try_flock

    def remove_first(descriptor):
        monkeypatch.setattr(files, "_try_flock", real)
        folder.rmdir()
        return real(descriptor)

    monkeypatch.setattr(files, "_try_flock", remove_first)
    save_model(folder, NEW)
    assert which(folder) == 1
