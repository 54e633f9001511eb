"""Checkpoints: a folder from which a killed training resumes, with bit-identical results.

`training.json` identifies the training by class, parameters, and checksums of the data; another training is refused.
A fit may run epochs several times (tuning, stages), each in a folder `0`, `1`, ... with these files:

    0.json, 1.json    the last two states: progress, random state, losses, and the files of the arrays
    N-GROUP.bin       arrays of a group (parameters, average, best, start of the epoch), concatenated

A state is written to new files, synced, and valid once its JSON file is renamed. Arrays that have not changed since an
earlier state keep their file. If the process is killed, the previous state is intact. If a state is damaged (each file
has a CRC-32), the previous one is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Links, StoreError, check_number, check_path, cut
from tacit.core.folders import sync
from tacit.retrieve.snapshots import Arrays, Snapshots, row_blocks
from tacit.store.files import locked, os_errors, refusal, write_synced

TITLE, SLOTS, PART = "training.json", ("0.json", "1.json"), ".part"
FORM = 1  # increased when training changes: other numbers are refused
SECONDS = 60.0  # between two states within an epoch
LARGEST_SHARE = 0.1  # fraction of the time that writing states may take


class Checkpoint:
    """Folder for the state of a training.

    Parameters
    ----------
    folder : str or Path
        A new or empty folder, or one with the checkpoint of the same training.
    every : float, default=60.0
        Seconds between two states within an epoch; one is also written after each epoch.
    """

    def __init__(self, folder: str | Path, *, every: float = SECONDS) -> None:
        self.folder, self.every, self._n_stages = Path(check_path(folder, "checkpoint")), every, 0
        check_number("every", every, low=0)

    def part(self, name: str) -> Checkpoint:
        """Return the checkpoint of an inner model."""
        return Checkpoint(self.folder / name, every=self.every)

    def stage(self) -> Stage:
        """Return the stage for the next epochs of training."""
        self._n_stages += 1
        return Stage(self.folder / str(self._n_stages - 1), self.every)

    def check(self) -> None:
        """Raise StoreError unless a training can use the folder; call it before long files are read."""
        folder = self.folder
        with os_errors(folder, "cannot be used for a checkpoint"):
            folder.mkdir(parents=True, exist_ok=True)
            other = [name for name in os.listdir(folder) if name != TITLE and not name.endswith(PART)]
            if other and not (folder / TITLE).exists():
                raise refusal(folder, f"contains {min(other)!r} and no checkpoint, want a new or empty folder")
            if not os.access(folder, os.W_OK | os.X_OK):
                raise refusal(folder, "cannot be used for a checkpoint: no permission")

    @contextmanager
    def of(self, training: Mapping[str, Any]) -> Iterator[Checkpoint]:
        """Reserve the folder for a training (`describe`); raise if it belongs to another training."""
        self.check()
        with locked(self.folder, wait=0):
            with os_errors(self.folder, "the checkpoint cannot be written"):
                found = self._read_title()
                if found is None:
                    replace_file(self.folder / TITLE, json.dumps(training, indent=1).encode())
            if found not in (None, training):
                what = difference(found, training)
                raise refusal(self.folder, f"is the checkpoint of another training: {what}; give another folder")
            yield self

    def _read_title(self) -> Any:
        try:
            return json.loads((self.folder / TITLE).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise refusal(self.folder / TITLE, "is damaged; remove the folder to start anew") from error

    @property
    def has_state(self) -> bool:
        """Whether a training can resume from here."""
        return any(any(self.folder.rglob(slot)) for slot in SLOTS)

    def remove(self) -> None:
        """Delete the checkpoint; other files in its folder stay."""
        if not (self.folder / TITLE).exists():
            return
        for inner in [path for path in self.folder.iterdir() if path.is_dir()]:
            if inner.name.isdecimal():
                rmtree(inner)
            else:
                Checkpoint(inner).remove()
        (self.folder / TITLE).unlink()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()


class Stage:
    """States of one run of epochs; see the module docstring."""

    def __init__(self, folder: Path, every: float) -> None:
        self.folder, self.every = folder, every
        self.files = dict[str, Any]()  # of the last state, by group
        self._number, self._slots = 0, [dict[str, Any](), dict[str, Any]()]
        self._wait_until = time.monotonic() + every

    @property
    def is_due(self) -> bool:
        """Whether it is time to write a state within an epoch."""
        return time.monotonic() >= self._wait_until

    def load(self, state: Snapshots) -> dict[str, Any] | None:
        """Fill the arrays of the last valid state and return the rest of it; None if there is none."""
        found = [self._read_slot(slot) for slot in SLOTS]
        self._slots = [{} if slot is None else slot["files"] for slot in found]
        for slot in sorted((slot for slot in found if slot), key=lambda slot: -slot["number"]):
            try:
                for group, file in slot["files"].items():
                    read_arrays(self.folder / file["name"], state.live if group == "live" else state.room(group), file)
            except (OSError, StoreError):
                state.copies.clear()
                continue
            self._number, self.files = slot["number"], slot["files"]
            return dict(slot["progress"])
        if any(found):
            raise refusal(self.folder, "the checkpoint is damaged; remove its folder to start anew")
        return None

    def _read_slot(self, name: str) -> dict[str, Any] | None:
        try:
            data = (self.folder / name).read_bytes()
            crc, text = data.split(b"\n", 1)
            return json.loads(text) if int(crc) == zlib.crc32(text) else None
        except (FileNotFoundError, ValueError):
            return None

    def save(self, progress: Mapping[str, Any], groups: Mapping[str, Arrays], kept: Sequence[str]) -> None:
        """Write a state.

        Parameters
        ----------
        progress : mapping
            What JSON can hold.
        groups : mapping of str to arrays
            Arrays that have changed since the last state.
        kept : sequence of str
            Other groups, which are as the last state has them, if it does.
        """
        start = time.monotonic()
        try:
            self.folder.mkdir(exist_ok=True)
            self._write(progress, groups, {name: self.files[name] for name in kept if name in self.files})
        except OSError as error:
            self._tidy()
            stays = "; the one before stays valid: run the same command again to resume" if self.files else ""
            reason = " ".join((error.strerror or str(error)).split())
            raise refusal(self.folder, f"the checkpoint cannot be written: {reason}{stays}") from error
        took = time.monotonic() - start
        self._wait_until = time.monotonic() + max(self.every, took / LARGEST_SHARE)

    def reader(self, group: str, arrays: Arrays, name: str) -> Callable[[int, int], np.ndarray]:
        """Reads the vectors of one array, from one row to another, from the last state of a group of such arrays."""
        path, array = self.folder / self.files[group]["name"], arrays[name]
        size = int(array.shape[1]) * array.dtype.itemsize
        first = sum(math.prod(arrays[key].shape) * arrays[key].dtype.itemsize for key in arrays if key < name)

        def read(start: int, stop: int) -> np.ndarray:
            n_numbers = (stop - start) * int(array.shape[1])
            return np.fromfile(path, array.dtype, n_numbers, offset=first + start * size).reshape(stop - start, -1)

        return read

    def _write(self, progress: Mapping[str, Any], groups: Mapping[str, Arrays], files: dict[str, Any]) -> None:
        number = self._number + 1
        for group, arrays in groups.items():
            name = f"{number}-{group}.bin"
            files[group] = {"name": name, "crc": write_arrays(self.folder / name, arrays)}
        text = json.dumps({"number": number, "progress": progress, "files": files}).encode()
        replace_file(self.folder / SLOTS[number % 2], b"%d\n" % zlib.crc32(text) + text)
        self._number, self.files, self._slots[number % 2] = number, files, dict(files)
        self._tidy()

    def _tidy(self) -> None:
        """Remove files that no state names."""
        named = {file["name"] for slot in self._slots for file in slot.values()} | set(SLOTS)
        with suppress(OSError):
            for name in set(os.listdir(self.folder)) - named:
                (self.folder / name).unlink()


def describe(kind: str, params: Mapping[str, Any], **data: Any) -> dict[str, Any]:
    """Describe a training by class, parameters and checksums of its data, as JSON values."""
    given = {
        name: value for name, value in params.items() if name not in ("threads", "partitions")
    }  # these do not affect the result
    sums = {name: digest(value) for name, value in data.items()}
    training = {"form": FORM, "class": kind, "parameters": given, "data": sums}
    return dict(json.loads(json.dumps(training, default=repr)))


def digest(value: Any) -> str:
    """Return a checksum of features, links or triples, or a plain value."""
    found = hashlib.blake2b(digest_size=16)
    parts: Iterable[Any] = (value,)
    if sp.issparse(value):
        rows = sp.csr_array(value)
        indices = (rows.indices[block].astype(np.int64) for block in cut(rows.nnz, 1 << 20))
        parts = chain((rows.shape, rows.indptr.astype(np.int64)), indices, (rows.data,))
    elif isinstance(value, Links):
        parts = value.n_sources, value.n_targets, value.sources, value.targets, value.weights
    for part in parts:
        found.update(np.ascontiguousarray(part).data if isinstance(part, np.ndarray) else repr(part).encode())
    return found.hexdigest()


def difference(found: Any, wanted: Mapping[str, Any]) -> str:
    """The first thing in which two trainings differ.

    >>> difference({"parameters": {"dim": 3}}, {"parameters": {"dim": 5}})
    'its dim is 3, this one has 5'
    """
    for group in ("form", "class", "parameters", "data"):
        old, new = (side.get(group) if isinstance(side, dict) else None for side in (found, wanted))
        if not isinstance(old, dict) or not isinstance(new, dict):
            if old != new:
                return f"its {group} is {old!r}, this one has {new!r}"
            continue
        name = next((name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)), None)
        if name is not None and group == "data":
            return f"its {name.replace('_', ' ')} are other data than in this one"
        if name is not None:
            return f"its {name} is {old.get(name)!r}, this one has {new.get(name)!r}"
    return "its description differs"


def write_arrays(path: Path, arrays: Arrays) -> int:
    """Write arrays end to end by blocks, wait for the disk, and return their CRC-32."""
    crc = 0
    with path.open("wb") as file:
        for name in sorted(arrays):
            for part in row_blocks(arrays[name]):
                data = _raw(arrays[name][part])
                file.write(data)
                crc = zlib.crc32(data, crc)
        file.flush()
        os.fsync(file.fileno())
    return crc


def read_arrays(path: Path, arrays: Arrays, entry: Mapping[str, Any]) -> None:
    """Fill arrays with what `write_arrays` wrote; anything else raises StoreError."""
    crc = 0
    with path.open("rb") as file:
        for name in sorted(arrays):
            for part in row_blocks(arrays[name]):
                some = arrays[name][part]
                file.readinto(_raw(some))
                crc = zlib.crc32(_raw(some), crc)
                if not isinstance(arrays[name], np.ndarray):  # remote owners hold it, and `some` is a copy
                    arrays[name][part] = some
        if crc != entry["crc"] or file.read(1):
            raise refusal(path, "is damaged")


def _raw(array: np.ndarray) -> memoryview:
    """Return the bytes of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


def replace_file(path: Path, data: bytes) -> None:
    """Replace a small file atomically."""
    part = path.with_name(path.name + PART)
    part.unlink(missing_ok=True)
    write_synced(part, data)
    os.replace(part, path)
    sync(path.parent)
