"""Texts that are decoded when they are read: compressed blocks of a file, and rows chosen from several sequences.

A block contains the UTF-8 of complete texts, at least 2 KiB of it, compressed by zlib:

    blocks   uint8: the compressed blocks, concatenated
    starts   int64 (n_blocks + 1): block b is blocks[starts[b]:starts[b + 1]]
    rows     int64 (n_blocks + 1): block b has the texts rows[b] to rows[b + 1] - 1
    ends     int64 (n_texts): where a text ends within its block; it begins where the previous one ends

Reading one text decompresses one block, in about 0.01 ms. Reading texts in order decompresses each block once.
Blocks of 16 KiB would be 4% smaller in total, but reading ten search results would take eight times as long.
"""

from __future__ import annotations

import tempfile
import zlib
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import index
from typing import IO, overload

import numpy as np

from tacit.core.errors import StoreError, TacitError

BLOCK_BYTES = 1 << 11
MEMORY_CHARACTERS = 1 << 28  # a larger collection is stored in a temporary file
_LEVEL = 2  # Wikipedia: 80 MB/s and 43% of the size; level 6: 22 MB/s and 39%
_MAX_RATIO = 1100  # above the maximum compression ratio of zlib


class LazyTexts(Sequence[str]):
    """A sequence of strings that decodes each when it is read. Equal to any sequence of the same strings."""

    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def _text(self, row: int) -> str:
        """Return the string of a valid row."""

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return [self._text(row) for row in range(*place.indices(len(self)))]
        row = index(place)
        row += len(self) if row < 0 else 0
        if not 0 <= row < len(self):
            raise IndexError(f"string {place} of {len(self)}")
        return self._text(row)

    def __iter__(self) -> Iterator[str]:
        return map(self._text, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))


class TextBlocks(LazyTexts):
    """Texts in compressed blocks; the module docstring describes the arrays.

    >>> writer = TextWriter(memory=0)
    >>> writer.extend(["they purr", "", "日本"])
    >>> texts = writer.finish()
    >>> texts, texts[-1], texts == ["they purr", "", "日本"]
    (TextBlocks(3 texts in 1 blocks), '日本', True)
    """

    def __init__(self, blocks: np.ndarray, starts: np.ndarray, rows: np.ndarray, ends: np.ndarray) -> None:
        self.blocks, self.starts, self.rows, self.ends = blocks, starts, rows, ends
        self._last = (-1, b"")  # the last block that was read

    def __len__(self) -> int:
        return len(self.ends)

    def __repr__(self) -> str:
        return f"TextBlocks({len(self)} texts in {len(self.starts) - 1} blocks)"

    def _text(self, row: int) -> str:
        block = int(np.searchsorted(self.rows, row, side="right")) - 1
        last, data = self._last
        if last != block:
            data = self._read(block)
            self._last = (block, data)
        start = int(self.ends[row - 1]) if row > self.rows[block] else 0
        end = int(self.ends[row])
        if not 0 <= start <= end <= len(data):
            raise _damaged(block)
        try:
            return str(memoryview(data)[start:end], "utf-8")
        except UnicodeDecodeError:
            raise _damaged(block) from None

    def _read(self, block: int) -> bytes:
        """Return the decompressed bytes of a block. Their number must be as expected; no more are decompressed."""
        packed = self.blocks[self.starts[block] : self.starts[block + 1]].data
        n_bytes = int(self.ends[self.rows[block + 1] - 1])
        decoder = zlib.decompressobj()
        try:
            data = decoder.decompress(packed, n_bytes + 1) if 0 <= n_bytes <= _MAX_RATIO * len(packed) else b""
        except zlib.error:
            raise _damaged(block) from None
        if len(data) != n_bytes or not decoder.eof:
            raise _damaged(block)
        return data


class TextRows(LazyTexts):
    """Rows of several sequences of texts, in any order.

    >>> both = join_texts(take_texts(TextRows.of(["a", "b", "c"]), [2, 0]), ["d"])
    >>> list(both), list(take_texts(both, [2, 1]))
    (['c', 'a', 'd'], ['d', 'a'])
    """

    def __init__(self, parts: Sequence[Sequence[str]], part: np.ndarray, row: np.ndarray) -> None:
        self.parts, self.part, self.row = parts, part, row

    @classmethod
    def of(cls, texts: Sequence[str]) -> TextRows:
        """Return all rows of a sequence."""
        if isinstance(texts, TextRows):
            return texts
        return cls([texts], np.zeros(len(texts), np.int32), np.arange(len(texts)))

    def __len__(self) -> int:
        return len(self.row)

    def _text(self, row: int) -> str:
        part: Sequence[str] = self.parts[self.part[row]]
        return part[int(self.row[row])]

    def runs(self) -> Iterator[tuple[Sequence[str], np.ndarray]]:
        """Yield runs of consecutive rows that come from the same part."""
        cuts = [0, *(np.flatnonzero(np.diff(self.part)) + 1).tolist(), len(self)]
        for first, end in pairwise(cuts):
            if first < end:
                yield self.parts[self.part[first]], self.row[first:end]


def take_texts(texts: Sequence[str], rows: np.ndarray | Sequence[int]) -> Sequence[str]:
    """Return the texts of some rows; texts on disk stay on disk."""
    if not isinstance(texts, TextBlocks | TextRows):
        return [texts[row] for row in rows]
    whole, rows = TextRows.of(texts), np.asarray(rows, np.int64)
    return TextRows(whole.parts, whole.part[rows], whole.row[rows])


def join_texts(first: Sequence[str], second: Sequence[str]) -> Sequence[str]:
    """Concatenate two sequences; texts on disk stay on disk."""
    if not any(isinstance(texts, TextBlocks | TextRows) for texts in (first, second)):
        return [*first, *second]
    one, two = TextRows.of(first), TextRows.of(second)
    part = np.concatenate([one.part, two.part + np.int32(len(one.parts))])
    return TextRows([*one.parts, *two.parts], part, np.concatenate([one.row, two.row]))


class TextWriter:
    """Collects texts in a list, or in blocks of a temporary file once the list is too large.

    Parameters
    ----------
    memory : int or None, default=None
        Maximum number of characters in the list; None for MEMORY_CHARACTERS.
    """

    def __init__(self, memory: int | None = None) -> None:
        self._memory = MEMORY_CHARACTERS if memory is None else memory
        self._texts, self._n_characters = list[str](), 0
        self._file: IO[bytes] | None = None
        self._starts, self._rows, self._ends = array("q", [0]), array("q", [0]), array("q")
        self._pending, self._n_pending = list[bytes](), 0

    def __del__(self) -> None:
        if self._file is not None:  # `finish` was not called
            self._file.close()

    def append(self, text: str) -> None:
        """Add one text."""
        if self._file is None:
            self._texts.append(text)
            self._n_characters += len(text)
            if self._n_characters > self._memory:
                self._spill()
            return
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TacitError(f"text {len(self._ends)} cannot be written as UTF-8: {error.reason}") from error
        self._pending.append(data)
        self._n_pending += len(data)
        self._ends.append(self._n_pending)
        if self._n_pending >= BLOCK_BYTES:
            self._end_block()

    def extend(self, texts: Iterable[str]) -> None:
        """Add many texts; complete blocks are copied without decompression."""
        if isinstance(texts, TextRows):
            for column, rows in texts.runs():
                whole = len(rows) == len(column) and bool((rows == np.arange(len(rows))).all())
                if whole:
                    self.extend(column)
                else:
                    self._append_all(map(column.__getitem__, rows.tolist()))
        elif isinstance(texts, TextBlocks) and len(texts):
            self._copy(texts)
        else:
            self._append_all(texts)

    def _append_all(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.append(text)

    def finish(self) -> Sequence[str]:
        """Return all texts in order: a list, or `TextBlocks` if they exceed `memory`."""
        if self._memory > 0 and self._file is None:
            return self._texts
        self._spill()
        self._end_block()
        assert self._file is not None
        self._write(b"", flush=True)
        size = self._starts[-1]
        blocks = np.asarray(np.memmap(self._file, np.uint8, "r")) if size else np.empty(0, np.uint8)
        self._file.close()  # the mapped array keeps the file
        return TextBlocks(blocks, *(np.array(column, np.int64) for column in (self._starts, self._rows, self._ends)))

    def _spill(self) -> None:
        if self._file is None:
            try:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
            except OSError as error:
                raise _cannot_write(error) from error
            texts, self._texts = self._texts, []
            self.extend(texts)

    def _copy(self, texts: TextBlocks) -> None:
        self._spill()
        self._end_block()
        n_texts, size = len(self._ends), self._starts[-1]
        for first in range(0, len(texts.blocks), 1 << 24):
            self._write(texts.blocks[first : first + (1 << 24)].data)
        self._starts.extend((texts.starts[1:] + size).tolist())
        self._rows.extend((texts.rows[1:] + n_texts).tolist())
        self._ends.extend(texts.ends.tolist())

    def _end_block(self) -> None:
        if self._pending:
            packed = zlib.compress(b"".join(self._pending), _LEVEL)
            self._write(packed)
            self._starts.append(self._starts[-1] + len(packed))
            self._rows.append(len(self._ends))
            self._pending, self._n_pending = [], 0

    def _write(self, data: bytes | memoryview, flush: bool = False) -> None:
        assert self._file is not None
        try:
            self._file.write(data)
            if flush:
                self._file.flush()
        except OSError as error:
            raise _cannot_write(error) from error


def _cannot_write(error: OSError) -> TacitError:
    folder = tempfile.gettempdir()
    return TacitError(f"{folder}: cannot write texts: {error.strerror or error}; set TMPDIR to another folder")


def _damaged(block: int) -> StoreError:
    return StoreError(f"the texts are damaged: block {block} cannot be decompressed")
