"""Strict JSON: one value per key, finite numbers, and a canonical form for checksums."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, NoReturn

from tacit.store.files import shown


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
