"""`model.json`: class, parameters and arrays, with a checksum of itself.

Keys: format, format_version, tacit_version, class, parameters, byte_order, arrays (name -> dtype, shape, sha256 of the
bytes), arrays_id (SHA-256 of that table; the arrays file has the same id, which links the two files), sha256 (of
everything else in canonical JSON).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import TacitError
from tacit.store.files import read_bounded, refusal, shown
from tacit.store.stored import DTYPES, digest_json, is_array_name, is_kind, parse_json

FORMAT = "tacit-model"
FORMAT_VERSION = 3  # versions 1 and 2 were never released and are refused
MAX_JSON_BYTES = 16 * 2**20
_KEYS = {
    *("format", "format_version", "tacit_version", "class", "parameters", "byte_order"),
    *("arrays", "arrays_id", "sha256"),
}
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MAX_DIMENSIONS = 32  # the limit of numpy 1
_MAX_BYTES = 2**62  # of one array, counting empty axes as 1, so that no product overflows in numpy


@dataclass(frozen=True)
class ArrayEntry:
    """One array as described in the header."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str

    @property
    def layout(self) -> np.dtype[Any]:
        """Return the dtype as stored in the file."""
        return np.dtype(DTYPES[self.dtype][0])

    @property
    def n_bytes(self) -> int:
        """Return the exact size in the file for any shape."""
        return math.prod(self.shape) * self.layout.itemsize


@dataclass(frozen=True)
class Header:
    """The contents of `model.json`."""

    kind: str
    params: dict[str, Any]
    arrays: dict[str, ArrayEntry]

    @property
    def arrays_id(self) -> str:
        """The id that the arrays file must have to belong to this header."""
        return digest_json(_array_table(self))


def encode_header(header: Header) -> bytes:
    """Return the text of `model.json`."""
    from tacit import __version__  # late import, because the package may import this module while it loads

    fields: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tacit_version": __version__,
        "class": header.kind,
        "parameters": header.params,
        "byte_order": "little",
        "arrays": _array_table(header),
        "arrays_id": header.arrays_id,
    }
    fields["sha256"] = digest_json(fields)
    data = json.dumps(fields, indent=1, allow_nan=False).encode("ascii")
    if len(data) > MAX_JSON_BYTES:
        raise TacitError(f"parameters and array names take {len(data)} bytes, want at most {MAX_JSON_BYTES}")
    return data


def read_header(path: Path) -> Header:
    """Read and check `model.json`; raise a StoreError for any problem."""
    fields = read_fields(path)
    _check_version(path, fields)
    if set(fields) != _KEYS:
        odd = sorted(_KEYS ^ set(fields))[0]
        raise refusal(path, f"the key {shown(odd)} is {'missing' if odd in _KEYS else 'unknown'}")
    rest = {key: value for key, value in fields.items() if key != "sha256"}
    if _digest(path, rest) != fields["sha256"]:
        raise refusal(path, "is damaged: the checksum of its text does not match")
    if not is_kind(fields["class"]) or not isinstance(fields["parameters"], dict) or fields["byte_order"] != "little":
        raise refusal(path, "class, parameters or byte_order is not what a tacit model has")
    header = Header(fields["class"], fields["parameters"], _read_table(path, fields["arrays"]))
    if header.arrays_id != fields["arrays_id"]:
        raise refusal(path, "arrays_id does not belong to the table of arrays")
    return header


def read_fields(path: Path) -> dict[str, Any]:
    """Return the keys of a `model.json` of any version; refuse a file of another program."""
    data = read_bounded(path, MAX_JSON_BYTES)
    try:
        fields = parse_json(data)
    except ValueError as error:
        raise refusal(path, f"is not valid JSON: {error}") from error
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        found = shown(fields.get("format")) if isinstance(fields, dict) else "nothing"
        raise refusal(path, f"is not a tacit model: format is {found}, want {FORMAT!r}")
    return fields


def _check_version(path: Path, fields: dict[str, Any]) -> None:
    version = fields.get("format_version")
    if type(version) is not int or version < 1:
        raise refusal(path, f"format_version is {shown(version)}, want a whole number from 1 to {FORMAT_VERSION}")
    if version > FORMAT_VERSION:
        writer = shown(fields.get("tacit_version"))
        raise refusal(
            path,
            f"has format version {shown(version)}, this tacit reads up to {FORMAT_VERSION}: "
            f"it needs tacit {writer}, which wrote it, or a later one",
        )
    if version < FORMAT_VERSION:
        raise refusal(path, f"has format version {version}, this tacit reads {FORMAT_VERSION}: fit it again")


def _array_table(header: Header) -> dict[str, Any]:
    return {
        name: {"dtype": entry.dtype, "shape": list(entry.shape), "sha256": entry.sha256}
        for name, entry in header.arrays.items()
    }


def _read_table(path: Path, table: object) -> dict[str, ArrayEntry]:
    if not isinstance(table, dict):
        raise refusal(path, f"arrays is {shown(table)}, want a table")
    for name, fields in table.items():
        if not is_array_name(name):
            raise refusal(path, f"array name {shown(name)} is not allowed")
        fault = _entry_fault(fields)
        if fault:
            raise refusal(path, f"array {shown(name)}: {fault}")
    return {name: ArrayEntry(f["dtype"], tuple(f["shape"]), f["sha256"]) for name, f in table.items()}


def _entry_fault(fields: Any) -> str | None:
    if not isinstance(fields, dict) or set(fields) != {"dtype", "shape", "sha256"}:
        return f"its entry is {shown(fields)}, want dtype, shape and sha256"
    if not isinstance(fields["dtype"], str) or fields["dtype"] not in DTYPES:
        return f"dtype is {shown(fields['dtype'])}, want one of {', '.join(DTYPES)}"
    if not isinstance(fields["sha256"], str) or not _SHA256.fullmatch(fields["sha256"]):
        return f"sha256 is {shown(fields['sha256'])}, want 64 hexadecimal digits"
    shape = fields["shape"]
    whole = isinstance(shape, list) and all(type(length) is int and length >= 0 for length in shape)
    if not whole or len(shape) > _MAX_DIMENSIONS:
        return f"shape is {shown(shape)}, want up to {_MAX_DIMENSIONS} whole numbers >= 0"
    if math.prod(max(length, 1) for length in shape) * 8 > _MAX_BYTES:
        return f"shape {shown(shape)} is larger than any array"
    return None


def _digest(path: Path, value: Any) -> str:
    try:
        return digest_json(value)
    except (RecursionError, ValueError) as error:
        raise refusal(path, "is nested too deeply") from error
