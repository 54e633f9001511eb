"""A model on disk: a class name, JSON parameters and plain arrays, and the rules for their values.

The same rules apply on both sides: `load_model` returns what `save_model` accepts. JSON is strict: one value per key,
finite numbers, and a canonical form for checksums.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from tacit.core import TacitError
from tacit.store.files import shown

# Name of a dtype -> its format in the file (little-endian), and its name in safetensors.
DTYPES = {
    "bool": ("|b1", "BOOL"),
    "uint8": ("|u1", "U8"),
    "int8": ("|i1", "I8"),
    "uint16": ("<u2", "U16"),
    "int16": ("<i2", "I16"),
    "uint32": ("<u4", "U32"),
    "int32": ("<i4", "I32"),
    "uint64": ("<u8", "U64"),
    "int64": ("<i8", "I64"),
    "float16": ("<f2", "F16"),
    "float32": ("<f4", "F32"),
    "float64": ("<f8", "F64"),
}
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}", re.ASCII)
_ARRAY_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*", re.ASCII)
_MAX_NAME = 200
_MAX_DEPTH = 50
_MAX_BITS = 1024


@dataclass(frozen=True, eq=False)
class Stored:
    """A model as stored in its folder.

    Parameters
    ----------
    kind : str
        Name of the class, such as "LsiRanker".
    params : dict
        JSON values.
    arrays : dict of str to ndarray
        Arrays by name, such as "ranker/item_vectors", of the dtypes in `DTYPES`.
    """

    kind: str
    params: dict[str, Any]
    arrays: dict[str, np.ndarray]


def check_stored(stored: Stored) -> Stored:
    """Return the same model in written form: exact JSON values, little-endian contiguous arrays."""
    if not is_kind(stored.kind):
        raise TacitError(f"kind is {shown(stored.kind)}, want a class name of letters, digits and _")
    if not isinstance(stored.params, dict):
        raise TacitError(f"params is of type {type(stored.params).__name__}, want dict")
    params = _json_value("params", stored.params, 0)
    return Stored(stored.kind, params, {name: _plain(name, array) for name, array in stored.arrays.items()})


def is_kind(kind: object) -> bool:
    """Return whether a value is a valid class name."""
    return isinstance(kind, str) and _KIND.fullmatch(kind) is not None


def is_array_name(name: object) -> bool:
    """Return whether a value is a valid array name: parts of letters, digits, _ - . joined by /.

    >>> [is_array_name(name) for name in ("ranker/item_vectors", "../x", "/x", "__metadata__")]
    [True, False, False, False]
    """
    if not isinstance(name, str) or len(name) > _MAX_NAME or name == "__metadata__":  # reserved by safetensors
        return False
    return _ARRAY_NAME.fullmatch(name) is not None


def _plain(name: str, array: Any) -> np.ndarray:
    if not is_array_name(name):
        raise TacitError(
            f"array name {shown(name)} has characters other than letters, digits, _ - . with / between parts"
        )
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise TacitError(f"array {name!r} is of type {type(array).__name__}, want a plain numpy array")
    if array.dtype.name not in DTYPES:
        raise TacitError(f"array {name!r} has dtype {array.dtype.name}, want one of {', '.join(DTYPES)}")
    return np.asarray(array, dtype=DTYPES[array.dtype.name][0], order="C")


def _json_value(where: str, value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise TacitError(f"{shown(where)} is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, np.generic):
        value = value.item()  # the same number as a Python type
    if isinstance(value, str):
        return _json_text(where, value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _json_number(where, value)
    if isinstance(value, list):
        return [_json_value(f"{where}[{i}]", entry, depth + 1) for i, entry in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TacitError(f"{where} has the key {shown(key)}, want only strings as keys")
        return {_json_text(where, key): _json_value(f"{where}.{key}", entry, depth + 1) for key, entry in value.items()}
    raise TacitError(f"{where} is of type {type(value).__name__}, want a JSON value (dict, list, str, number, bool)")


def _json_text(where: str, text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:  # two surrogate halves would be read back as one character
        raise TacitError(f"{where} has {shown(text)}, want text that can be written as UTF-8") from error
    return str(text)


def _json_number(where: str, value: int | float) -> int | float:
    if isinstance(value, int):
        if value.bit_length() > _MAX_BITS:
            raise TacitError(f"{where} is a number of {value.bit_length()} bits, want at most {_MAX_BITS}")
        return int(value)
    if not math.isfinite(value):
        raise TacitError(f"{where} is {value}, want a finite number")
    return float(value)


def parse_json(data: bytes) -> Any:
    """Parse UTF-8 JSON; any problem raises ValueError.

    Python's parser accepts repeated keys, NaN and 1e999 (as infinity), and fails with RecursionError for deep nesting.

    >>> parse_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' occurs twice
    """
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_unique_keys, parse_float=_finite, parse_constant=_refuse_constant
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def digest_json(value: Any) -> str:
    """Return SHA-256 of the canonical form: sorted keys, no spaces, ASCII, floats by repr.

    >>> digest_json({"b": 1, "a": 0.5}) == digest_json({"a": 0.5, "b": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key {shown(key)} occurs twice")
        table[key] = value
    return table


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {shown(digits)} is beyond every float")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
