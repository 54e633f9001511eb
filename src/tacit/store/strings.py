"""Many strings as two arrays: `bytes` (UTF-8 end to end) and `offsets`, where string i is
`bytes[offsets[i]:offsets[i + 1]]`; read back without decoding any before it is asked for.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from tacit.core import StoreError, TacitError
from tacit.core.texts import LazyTexts
from tacit.store.parts import take_array, with_prefix

_CHUNK = 2**20


class StringTable(LazyTexts):
    """A sequence of strings that decodes each one when it is read.

    bytes: uint8; offsets: int64 (n_strings + 1). Equal to any sequence of the same strings.

    >>> table = unpack_strings("ids", pack_strings("ids", ["a", "", "日本"]))
    >>> table[-1], len(table), list(table[:2]), table == ["a", "", "日本"]
    ('日本', 3, ['a', ''], True)
    """

    def __init__(self, data: np.ndarray, offsets: np.ndarray) -> None:
        self.bytes, self.offsets = data, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _text(self, row: int) -> str:
        return str(self.bytes[self.offsets[row] : self.offsets[row + 1]].data, "utf-8")

    def __iter__(self) -> Iterator[str]:
        data, start = self.bytes.data, 0
        for end in map(int, self.offsets[1:]):
            yield str(data[start:end], "utf-8")
            start = end

    def __repr__(self) -> str:
        return f"StringTable({len(self)} strings, {self.bytes.size} bytes)"


def pack_strings(prefix: str, strings: Iterable[str]) -> dict[str, np.ndarray]:
    """Arrays `prefix/bytes` (uint8) and `prefix/offsets` (int64).

    >>> sorted(pack_strings("ids", ["a", "bc"])), pack_strings("ids", ["a", "bc"])["ids/offsets"].tolist()
    (['ids/bytes', 'ids/offsets'], [0, 1, 3])
    """
    encoded = [_encode(prefix, number, text) for number, text in enumerate(strings)]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(part) for part in encoded], out=offsets[1:])
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return with_prefix(prefix, {"bytes": data, "offsets": offsets})


def unpack_strings(prefix: str, arrays: Mapping[str, np.ndarray], *, length: int | None = None) -> StringTable:
    """The strings below a prefix; StoreError unless every one of them can be decoded (and there are `length`)."""
    data = take_array(arrays, f"{prefix}/bytes", dtype="uint8", shape=(None,))
    n_offsets = None if length is None else length + 1
    offsets = take_array(arrays, f"{prefix}/offsets", dtype="int64", shape=(n_offsets,))
    # Neighbours are compared and not subtracted: a difference can overflow.
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(data) or (offsets[1:] < offsets[:-1]).any():
        raise StoreError(f"array '{prefix}/offsets' does not rise from 0 to the {len(data)} bytes of its strings")
    fault = _utf8_fault(data, offsets)
    if fault:
        raise StoreError(f"array '{prefix}/bytes' is not UTF-8: {fault}")
    return StringTable(data, offsets)


def _encode(prefix: str, number: int, text: object) -> bytes:
    if not isinstance(text, str):
        raise TacitError(f"{prefix}: string {number} is of type {type(text).__name__}, want str")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TacitError(f"{prefix}: string {number} cannot be written as UTF-8: {error.reason}") from error


def _utf8_fault(data: np.ndarray, offsets: np.ndarray) -> str | None:
    """Valid as a whole and cut only where a character begins: then every string is valid."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _CHUNK):
            decoder.decode(data[start : start + _CHUNK].data)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return error.reason
    cuts = data[offsets[offsets < len(data)]]
    return "a string begins within a character" if ((cuts & 0xC0) == 0x80).any() else None
