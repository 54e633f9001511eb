"""From a stream of texts to a stream of word numbers, and from places of columns to a count matrix.

Texts are read once and forgotten: what stays of each is its words as 4-byte numbers. No Python
object is made for a word that was met before. The counting is one sort of 8-byte keys (row, column),
which gives the rows of the matrix already sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError, UsageError
from tacit.features.text.tokenizers import Tokenizer

_STOP_WORD = -1
_END_OF_TEXT = b"\xff"  # stands in no UTF-8
_CHUNK = 1 << 16  # bytes that are numbered at once: the tables of a chunk stay in the cache


class WordStream(NamedTuple):
    """Words of many texts one after another: words[t] is a number, rows[t] the text it stands in."""

    words: np.ndarray
    rows: np.ndarray
    n_rows: int


class _WordNumbers:
    """Numbers distinct words from 0 as they first appear; the tables are those of `kernels.counting`."""

    def __init__(self) -> None:
        self._n_words = 0
        self._slots = np.full(64, -1, np.int32)
        self._hashes = np.empty(0, np.int64)
        self._starts = np.zeros(1, np.int64)
        self._spelled = np.empty(0, np.uint8)

    def read(self, texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the words of some texts, and how many words stand before the end of each text."""
        from tacit.kernels.counting import number_words

        joined = np.frombuffer(_END_OF_TEXT.join([*texts, b""]), np.uint8)
        self._reserve(len(joined))
        numbers, ends = np.empty(len(joined) // 2 + 1, np.int32), np.empty(len(texts), np.int64)
        tables = (self._slots, self._hashes, self._starts, self._spelled)
        self._n_words, n_written = number_words(joined, *tables, self._n_words, numbers, ends)
        return numbers[:n_written].copy(), ends

    def words(self) -> list[str]:
        """The distinct words by number."""
        spelled = self._spelled[: self._starts[self._n_words]].tobytes()
        return spelled.decode("utf-8", "surrogatepass").split(" ")[:-1]

    def _reserve(self, n_bytes: int) -> None:
        """Space for the words of so many bytes if all are new: each takes a byte and a separator."""
        from tacit.kernels.counting import refill_slots

        n_words = self._n_words + n_bytes // 2 + 1
        self._hashes = _grown(self._hashes, n_words)
        self._starts = _grown(self._starts, n_words + 1)
        self._spelled = _grown(self._spelled, int(self._starts[self._n_words]) + n_bytes + 1)
        if 2 * n_words > len(self._slots):
            self._slots = np.full(2 << (2 * n_words).bit_length(), -1, np.int32)
            refill_slots(self._slots, self._hashes, self._n_words)


def read_words(texts: Iterable[str], tokenizer: Tokenizer, number_of: Callable[[str], int]) -> WordStream:
    """Number the terms of all texts; `number_of` is asked once for each distinct word.

    >>> from tacit.features.text.tokenizers import tokenizer_for
    >>> stream = read_words(["a b", "", "b"], tokenizer_for("en"), {"a": 7, "b": 8}.__getitem__)
    >>> stream.words.tolist(), stream.rows.tolist(), stream.n_rows
    ([7, 8, 8], [0, 0, 2], 3)
    """
    numbers = _WordNumbers()
    words, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    for chunk in _chunks(texts, tokenizer):
        found, ends = numbers.read(chunk)
        words.append(found)
        lengths.append(np.diff(ends, prepend=0))
    n_rows = sum(map(len, lengths))
    rows = np.repeat(np.arange(n_rows, dtype=np.int32), np.concatenate(lengths))
    terms = map(tokenizer.term, numbers.words())
    renumber = np.array([_STOP_WORD if term is None else number_of(term) for term in terms], np.int32)
    return _without_stop_words(WordStream(renumber[np.concatenate(words)], rows, n_rows))


def row_blocks(stream: WordStream, n_words: int = 1 << 20) -> Iterator[WordStream]:
    """The stream cut between texts into parts of about n_words, so that work on a part stays small.

    >>> stream = WordStream(np.arange(5), np.array([0, 0, 1, 3, 3]), 4)
    >>> [(part.words.tolist(), part.rows.tolist(), part.n_rows) for part in row_blocks(stream, n_words=2)]
    [([0, 1], [0, 0], 1), ([2], [0], 2), ([3, 4], [0, 0], 1)]
    """
    cuts = np.unique(np.concatenate([[0], stream.rows[::n_words], [stream.n_rows]]))
    for (row, next_row), (place, next_place) in zip(
        pairwise(cuts.tolist()), pairwise(np.searchsorted(stream.rows, cuts).tolist()), strict=True
    ):
        part = slice(place, next_place)
        yield WordStream(stream.words[part], stream.rows[part] - row, next_row - row)


def count_matrix(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """How often each column stands in each row: float32 CSR with sorted rows.

    >>> count_matrix(np.array([0, 0, 2]), np.array([1, 1, 0]), (3, 2)).toarray().tolist()
    [[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]
    """
    n_rows, n_columns = shape
    keys = rows.astype(np.int64)
    keys *= n_columns
    keys += columns
    keys.sort()
    begins = np.ones(len(keys), bool)  # a new (row, column)
    np.not_equal(keys[1:], keys[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    counts = np.diff(first, append=len(keys)).astype(np.float32)
    distinct = keys[first]
    indptr = np.searchsorted(distinct, np.arange(n_rows + 1, dtype=np.int64) * n_columns)
    index_type = np.int32 if len(distinct) < 2**31 else np.int64
    indices = (distinct % max(n_columns, 1)).astype(index_type)
    return sp.csr_array((counts, indices, indptr.astype(index_type)), shape=shape)


def document_frequency(numbers: np.ndarray, rows: np.ndarray, n_numbers: int) -> np.ndarray:
    """In how many rows each number stands, (n_numbers,)."""
    keys = rows.astype(np.int64) * n_numbers + numbers
    return np.bincount(np.unique(keys) % max(n_numbers, 1), minlength=n_numbers)


def _chunks(texts: Iterable[str], tokenizer: Tokenizer) -> Iterator[list[bytes]]:
    """The words of the texts as bytes, some texts at a time."""
    if isinstance(texts, str):
        raise UsageError("texts is one string, want a list or another iterable of strings")
    chunk, n_bytes = [], 0
    for joined in tokenizer.segmenter.joined_many(_checked(texts)):
        chunk.append(joined)
        n_bytes += len(joined)
        if n_bytes >= _CHUNK:
            yield chunk
            chunk, n_bytes = [], 0
    if chunk:
        yield chunk


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TacitError(f"text {row} is of type {type(text).__name__}, want a string")
        yield text


def _grown(table: np.ndarray, size: int) -> np.ndarray:
    """The table itself if it is large enough, else a larger copy."""
    if len(table) >= size:
        return table
    larger = np.empty(size + size // 2, table.dtype)
    larger[: len(table)] = table
    return larger


def _without_stop_words(stream: WordStream) -> WordStream:
    kept = stream.words != _STOP_WORD
    if kept.all():
        return stream
    return WordStream(stream.words[kept], stream.rows[kept], stream.n_rows)
