"""`arrays.safetensors`: written array by array, read or memory-mapped through one open file.

The format: 8 bytes with the length of the header (little-endian), the header in JSON (name -> dtype, shape,
data_offsets, and `__metadata__`), then the numbers of all arrays end to end. We write it ourselves, because the
safetensors library copies all arrays before it writes the first. We read it ourselves, because the file must be checked
before anything is allocated, and because checks and reading must see the same file even if another process replaces it:
an open file does not change.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from tacit.core import StoreError
from tacit.store.files import open_plain, refusal, shown
from tacit.store.header import MAX_JSON_BYTES, ArrayEntry, Header
from tacit.store.stored import DTYPES, parse_json

_ID_KEY = "tacit_arrays_id"
_CHUNK = 4 * 2**20
SMALL_BYTES = 32 * 2**20  # arrays up to this size are always compared with their checksums


def describe_array(array: np.ndarray) -> ArrayEntry:
    """Return the header entry of an array (contiguous, little-endian)."""
    return ArrayEntry(array.dtype.name, array.shape, hashlib.sha256(_raw_bytes(array)).hexdigest())


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], arrays_id: str) -> None:
    """Write the file; the caller syncs it."""
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # so that every array is aligned
    tensors: dict[str, Any] = {"__metadata__": {_ID_KEY: arrays_id}}
    start = 0
    for name in order:
        array = arrays[name]
        offsets = [start, start + array.nbytes]
        tensors[name] = {"dtype": DTYPES[array.dtype.name][1], "shape": list(array.shape), "data_offsets": offsets}
        start += array.nbytes
    text = json.dumps(tensors, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "xb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(_raw_bytes(arrays[name]))


def read_arrays_id(path: Path) -> str | None:
    """Return the id of the header to which the file belongs, or None if it is absent or not such a file."""
    try:
        with open_plain(path) as file:
            return _find_id(_read_tensors(path, file)[0])
    except StoreError:
        return None


@dataclass(frozen=True)
class ArraysFile:
    """An open file whose header agrees with `model.json` and with its own size; `starts` are positions in the file."""

    path: Path
    file: IO[bytes]
    entries: Mapping[str, ArrayEntry]
    starts: Mapping[str, int]

    def read(self, *, verify: bool) -> dict[str, np.ndarray]:
        """Read all arrays into memory."""
        return {name: self._read_one(name, entry, verify) for name, entry in self.entries.items()}

    def map(self, *, verify: bool) -> dict[str, np.ndarray]:
        """Return all arrays memory-mapped; changes to them stay in memory.

        Without `verify`, checksums of large arrays are not compared.
        """
        # Not read-only, because numba would compile every loop again for read-only arrays.
        whole = np.asarray(np.memmap(self.file, dtype=np.uint8, mode="c"))
        arrays = {}
        for name, entry in self.entries.items():
            start = self.starts[name]
            window = whole[start : start + entry.n_bytes]
            if verify or entry.n_bytes <= SMALL_BYTES:
                self._check(name, hashlib.sha256(window.data))
            arrays[name] = window.view(entry.layout).reshape(entry.shape)
            self._check_bools(name, arrays[name])
        return arrays

    def damaged(self) -> list[str]:
        """Return the names of the arrays whose checksums do not match."""
        return [name for name, entry in self.entries.items() if self._digest(name, entry) != entry.sha256]

    def _digest(self, name: str, entry: ArrayEntry) -> str:
        digest = hashlib.sha256()
        self.file.seek(self.starts[name])
        for begin in range(0, entry.n_bytes, _CHUNK):
            digest.update(self.file.read(min(_CHUNK, entry.n_bytes - begin)))
        return digest.hexdigest()

    def _read_one(self, name: str, entry: ArrayEntry, verify: bool) -> np.ndarray:
        try:
            array = np.empty(entry.shape, entry.layout)
        except MemoryError as error:
            raise refusal(self.path, f"array {shown(name)} needs {entry.n_bytes} bytes of memory") from error
        self.file.seek(self.starts[name])
        target, digest = _raw_bytes(array), hashlib.sha256()
        for begin in range(0, entry.n_bytes, _CHUNK):
            chunk = target[begin : begin + _CHUNK]
            if self.file.readinto(chunk) != len(chunk):  # type: ignore[attr-defined]
                raise refusal(self.path, f"ends within array {shown(name)}")
            digest.update(chunk)
        if verify or entry.n_bytes <= SMALL_BYTES:
            self._check(name, digest)
        self._check_bools(name, array)
        return array

    def _check(self, name: str, digest: Any) -> None:
        if digest.hexdigest() != self.entries[name].sha256:
            raise refusal(self.path, f"is damaged: the checksum of array {shown(name)} does not match")

    def _check_bools(self, name: str, array: np.ndarray) -> None:
        # A bool of 2 is neither true nor false, and numpy and compiled code treat it differently.
        if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
            raise refusal(self.path, f"array {shown(name)} contains values other than true and false")


def open_arrays(path: Path, header: Header) -> ArraysFile:
    """Open the arrays of a model; refuse a file of another save, of another size or with a wrong header."""
    file = open_plain(path)
    try:
        tensors, data_start = _read_tensors(path, file)
        if _find_id(tensors) != header.arrays_id:
            raise refusal(path, "does not belong to model.json: it contains the arrays of another model")
        starts = _check_tensors(path, tensors, header.arrays, data_start)
        wanted = data_start + sum(entry.n_bytes for entry in header.arrays.values())
        size = os.fstat(file.fileno()).st_size
        if size != wanted:
            raise refusal(path, f"has {size} bytes, want {wanted}")
        return ArraysFile(path, file, header.arrays, starts)
    except BaseException:
        file.close()
        raise


def _read_tensors(path: Path, file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """Return the JSON header and the position at which the numbers begin."""
    size = os.fstat(file.fileno()).st_size
    n_json = int.from_bytes(file.read(8), "little")
    if not 2 <= n_json <= min(size - 8, MAX_JSON_BYTES):
        raise refusal(path, f"is not a safetensors file: a header of {n_json} bytes in a file of {size}")
    try:
        tensors = parse_json(file.read(n_json))
    except ValueError as error:
        raise refusal(path, f"its header is not valid JSON: {error}") from error
    if not isinstance(tensors, dict):
        raise refusal(path, f"its header is {shown(tensors)}, want a table")
    return tensors, 8 + n_json


def _find_id(tensors: dict[str, Any]) -> str | None:
    metadata = tensors.get("__metadata__")
    found = metadata.get(_ID_KEY) if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else None


def _check_tensors(
    path: Path, tensors: dict[str, Any], entries: Mapping[str, ArrayEntry], data_start: int
) -> dict[str, int]:
    """Return where each array starts in the file; all must be as in `model.json`, end to end and aligned."""
    odd = sorted((set(tensors) - {"__metadata__"}) ^ set(entries))
    if odd:
        raise refusal(path, f"array {shown(odd[0])} is {'missing' if odd[0] in entries else 'not in model.json'}")
    starts = {}
    for name, entry in entries.items():
        start = _find_start(tensors[name], entry)
        if start is None:
            raise refusal(path, f"array {shown(name)} is not laid out as model.json says")
        starts[name] = data_start + start
    expected = data_start
    for name in sorted(entries, key=lambda name: (starts[name], entries[name].n_bytes)):
        if starts[name] != expected or expected % entries[name].layout.itemsize:
            raise refusal(path, f"array {shown(name)} overlaps another, leaves a gap or is not aligned")
        expected += entries[name].n_bytes
    return starts


def _find_start(fields: Any, entry: ArrayEntry) -> int | None:
    """Return the position of an array among the numbers, if its entry in the file is as expected."""
    offsets = fields.get("data_offsets") if isinstance(fields, dict) else None
    if not isinstance(offsets, list) or len(offsets) != 2 or type(offsets[0]) is not int:
        return None
    start: int = offsets[0]
    wanted = {
        "dtype": DTYPES[entry.dtype][1],
        "shape": list(entry.shape),
        "data_offsets": [start, start + entry.n_bytes],
    }
    return start if fields == wanted else None


def _raw_bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
