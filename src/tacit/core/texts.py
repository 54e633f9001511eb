"""Texts that are not Python strings until they are read: compressed blocks of a file, and rows chosen from several.

A block is the UTF-8 of whole texts end to end, at least 2 KiB of it, compressed by zlib:

    blocks   uint8: the compressed blocks end to end
    starts   int64 (n_blocks + 1): block b is blocks[starts[b]:starts[b + 1]]
    rows     int64 (n_blocks + 1): block b has the texts rows[b] to rows[b + 1] - 1
    ends     int64 (n_texts): where a text ends within its block; it begins where the one before it ends

One text costs the decompression of one block, about a hundredth of a millisecond; texts in order cost each block once.
Blocks of 16 KiB would be 4 % smaller in all, and ten results of a search would take eight times as long to read.
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
MEMORY_CHARACTERS = 1 << 28  # a collection of more than these is kept in a temporary file
_LEVEL = 2  # 80 MB/s and 43 % of the size for Wikipedia; level 6: 22 MB/s and 39 %
_MAX_RATIO = 1100  # zlib compresses no data further


class LazyTexts(Sequence[str]):
    """A sequence of strings that makes each one when it is read; equal to any sequence of the same strings."""

    __hash__ = None  # type: ignore[assignment]

    @abstractmethod
    def _text(self, row: int) -> str:
        """The string of a row that is there."""

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
    """Texts in compressed blocks; the arrays are those of the module docstring.

    >>> writer = TextWriter(memory=0)
    >>> writer.extend(["they purr", "", "日本"])
    >>> texts = writer.finish()
    >>> texts, texts[-1], texts == ["they purr", "", "日本"]
    (TextBlocks(3 texts in 1 blocks), '日本', True)
    """

    def __init__(self, blocks: np.ndarray, starts: np.ndarray, rows: np.ndarray, ends: np.ndarray) -> None:
        self.blocks, self.starts, self.rows, self.ends = blocks, starts, rows, ends
        self._last = (-1, b"")  # the block that was read last

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
        """The plain bytes of a block; their number must be the one expected, and nothing more is unpacked."""
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
        """All rows of a sequence."""
        if isinstance(texts, TextRows):
            return texts
        return cls([texts], np.zeros(len(texts), np.int32), np.arange(len(texts)))

    def __len__(self) -> int:
        return len(self.row)

    def _text(self, row: int) -> str:
        part: Sequence[str] = self.parts[self.part[row]]
        return part[int(self.row[row])]

    def runs(self) -> Iterator[tuple[Sequence[str], np.ndarray]]:
        """The parts in order, each with the rows that are taken from it before another part follows."""
        cuts = [0, *(np.flatnonzero(np.diff(self.part)) + 1).tolist(), len(self)]
        for first, end in pairwise(cuts):
            if first < end:
                yield self.parts[self.part[first]], self.row[first:end]


def take_texts(texts: Sequence[str], rows: np.ndarray | Sequence[int]) -> Sequence[str]:
    """The texts of some rows; those that are outside of memory stay there."""
    if not isinstance(texts, TextBlocks | TextRows):
        return [texts[row] for row in rows]
    whole, rows = TextRows.of(texts), np.asarray(rows, np.int64)
    return TextRows(whole.parts, whole.part[rows], whole.row[rows])


def join_texts(first: Sequence[str], second: Sequence[str]) -> Sequence[str]:
    """Both sequences one after the other; what is outside of memory stays there."""
    if not any(isinstance(texts, TextBlocks | TextRows) for texts in (first, second)):
        return [*first, *second]
    one, two = TextRows.of(first), TextRows.of(second)
    part = np.concatenate([one.part, two.part + np.int32(len(one.parts))])
    return TextRows([*one.parts, *two.parts], part, np.concatenate([one.row, two.row]))


class TextWriter:
    """Collects texts: a list as long as it is small, then blocks in a temporary file.

    Parameters
    ----------
    memory : int or None, default=None
        Characters that may be kept as a list; None for MEMORY_CHARACTERS.
    """

    def __init__(self, memory: int | None = None) -> None:
        self._memory = MEMORY_CHARACTERS if memory is None else memory
        self._texts, self._n_characters = list[str](), 0
        self._file: IO[bytes] | None = None
        self._starts, self._rows, self._ends = array("q", [0]), array("q", [0]), array("q")
        self._pending, self._n_pending = list[bytes](), 0

    def __del__(self) -> None:
        if self._file is not None:  # `finish` was never reached
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
        """Add many texts; whole blocks are copied as they are."""
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
        """All texts in order: a list, or `TextBlocks` if there were too many for memory or none may be there."""
        if self._memory > 0 and self._file is None:
            return self._texts
        self._spill()
        self._end_block()
        assert self._file is not None
        self._write(b"", flush=True)
        size = self._starts[-1]
        blocks = np.asarray(np.memmap(self._file, np.uint8, "r")) if size else np.empty(0, np.uint8)
        self._file.close()  # the array that maps it keeps it
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
    return TacitError(
        f"{folder}: texts cannot be written there: {error.strerror or error}; TMPDIR may name another folder"
    )


def _damaged(block: int) -> StoreError:
    return StoreError(f"the texts are damaged: block {block} cannot be unpacked")
