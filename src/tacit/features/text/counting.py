"""From a stream of texts to a stream of word numbers, and from column numbers to a count matrix.

Texts are read once, about a million words at a time. Stored are 8 bytes for each distinct word of a text, and about 40
for each distinct word of the collection; columns that are not needed are dropped at the end. No Python object is
created for a word that was seen before. Counting is one sort of 8-byte keys (row, column), which gives the rows of the
matrix already sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError, UsageError, shown
from tacit.core.mapped import allocate
from tacit.core.threads import cluster, gather
from tacit.features.text.tokenizers import Tokenizer

_STOP_WORD = -1
_END_OF_TEXT = b"\xff"  # never occurs in UTF-8
_CHUNK = 1 << 16  # bytes numbered together: the tables of a chunk fit in the cache
PART_WORDS = 1 << 20  # words counted together
LARGE_ENTRIES = 1 << 23  # 32 MiB of 4-byte numbers

NumberTerms = Callable[[list[str]], np.ndarray]
TellWords = Callable[[list[str], np.ndarray, np.ndarray], None]


class WordStream(NamedTuple):
    """Words of many consecutive texts: words[t] is a number, rows[t] its text."""

    words: np.ndarray
    rows: np.ndarray
    n_rows: int


class WordNumbers:
    """Numbers distinct words from 0 in order of appearance, with the tables of `kernels.counting`."""

    def __init__(self) -> None:
        self._n_words = 0
        self._slots = np.full(64, -1, np.int32)
        self._hashes = np.empty(0, np.int64)
        self._starts = np.zeros(1, np.int64)
        self._spelled = np.empty(0, np.uint8)

    def read(self, texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of the words of some texts, and the number of words before the end of each text."""
        ends = np.empty(len(texts), np.int64)
        return self._read(_END_OF_TEXT.join([*texts, b""]), ends)[0].copy(), ends

    def places(self, text: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of the words of a text, and the byte at which each begins.

        >>> [found.tolist() for found in WordNumbers().places(b"to  be to")]
        [[0, 1, 0], [0, 4, 7]]
        """
        return self._read(text + _END_OF_TEXT, np.empty(1, np.int64))

    def _read(self, text: bytes, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from tacit.kernels.counting import number_words

        joined = np.frombuffer(text, np.uint8)
        self._reserve(len(joined))
        numbers, places = np.empty((2, len(joined) // 2 + 1), np.int32)
        tables = (self._slots, self._hashes, self._starts, self._spelled)
        self._n_words, n_written = number_words(joined, *tables, self._n_words, numbers, places, ends)
        return numbers[:n_written], places[:n_written]

    def lengths(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers of bytes of words."""
        return self._starts[numbers + 1] - 1 - self._starts[numbers]

    def number(self, terms: list[str]) -> np.ndarray:
        """Return numbers of terms, which contain no spaces; new terms get the next numbers.

        >>> numbers = WordNumbers()
        >>> numbers.number(["b", "a", "b"]).tolist(), numbers.number(["c", "a"]).tolist(), numbers.spell([2, 0])
        ([0, 1, 0], [2, 1], ['c', 'b'])
        """
        return self.read([" ".join(terms).encode("utf-8", "surrogatepass")])[0]

    def __len__(self) -> int:
        return self._n_words

    def hashes(self) -> np.ndarray:
        """Return hashes of the distinct words by number, each below 2^32."""
        return self._hashes[: self._n_words]

    def words(self, first: int = 0) -> list[str]:
        """Return the distinct words by number, from a number on."""
        spelled = self._spelled[self._starts[first] : self._starts[self._n_words]].tobytes()
        return spelled.decode("utf-8", "surrogatepass").split(" ")[:-1]

    def spell(self, numbers: Iterable[int]) -> list[str]:
        """Return the words with some numbers."""
        starts, spelled = self._starts, self._spelled
        return [
            spelled[starts[word] : starts[word + 1] - 1].tobytes().decode("utf-8", "surrogatepass") for word in numbers
        ]

    def _reserve(self, n_bytes: int) -> None:
        """Make space for this many bytes of words if all are new: each word takes a byte and a separator."""
        from tacit.kernels.counting import refill_slots

        n_words = self._n_words + n_bytes // 2 + 1
        self._hashes = _grown(self._hashes, n_words)
        self._starts = _grown(self._starts, n_words + 1)
        self._spelled = _grown(self._spelled, int(self._starts[self._n_words]) + n_bytes + 1)
        if 2 * n_words > len(self._slots):
            self._slots = np.full(2 << (2 * n_words).bit_length(), -1, np.int32)
            refill_slots(self._slots, self._hashes, self._n_words)


def word_parts(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    number_terms: NumberTerms,
    threads: int | None = None,
    told: TellWords | None = None,
) -> Iterator[WordStream]:
    """Number the terms of all texts, some texts at a time; `number_terms` is called once for each distinct word.

    At the end `told` is called with the words before stemming, their counts, and the numbers of their terms.
    """
    frequency = np.zeros(0, np.int64)
    numbers, term_of = WordNumbers(), np.empty(0, np.int32)
    words, lengths = list[np.ndarray](), list[np.ndarray]()
    for chunk in gather(tokenizer.segmenter.joined_many(checked_texts(texts), threads), len, _CHUNK):
        found, ends = numbers.read(chunk)
        words.append(found)
        lengths.append(np.diff(ends, prepend=0))
        if told is not None:
            frequency = _padded(frequency, len(numbers))
            frequency += np.bincount(found, minlength=len(frequency))
        if sum(map(len, words)) >= PART_WORDS:
            term_of = _renumbered(numbers, term_of, tokenizer, number_terms)
            yield _part(words, lengths, term_of)
            words, lengths = [], []
    if words:
        term_of = _renumbered(numbers, term_of, tokenizer, number_terms)
        yield _part(words, lengths, term_of)
    if told is not None:
        told(numbers.words(), frequency[: len(numbers)], term_of)


def _padded(counts: np.ndarray, size: int) -> np.ndarray:
    """Return the counts, grown to twice the needed length if too short, so that they are seldom copied."""
    return counts if len(counts) >= size else np.pad(counts, (0, 2 * size - len(counts)))


def _renumbered(
    numbers: WordNumbers, term_of: np.ndarray, tokenizer: Tokenizer, number_terms: NumberTerms
) -> np.ndarray:
    """Return the table from words to terms, extended by new words."""
    terms = [tokenizer.term(word) for word in numbers.words(len(term_of))]
    new = np.full(len(terms), _STOP_WORD, np.int32)
    new[[place for place, term in enumerate(terms) if term]] = number_terms([term for term in terms if term])
    return np.concatenate([term_of, new])


def _part(words: list[np.ndarray], lengths: list[np.ndarray], term_of: np.ndarray) -> WordStream:
    length = np.concatenate(lengths)
    rows = np.repeat(np.arange(len(length), dtype=np.int32), length)
    return _without_stop_words(WordStream(term_of[np.concatenate(words)], rows, len(length)))


def read_words(texts: Iterable[str], tokenizer: Tokenizer, number_terms: NumberTerms) -> WordStream:
    """Return all of `word_parts` as one stream, 8 bytes for each word of each text.

    >>> from tacit.features.text.tokenizers import tokenizer_for
    >>> stream = read_words(["a b", "", "b"], tokenizer_for("en"), WordNumbers().number)
    >>> stream.words.tolist(), stream.rows.tolist(), stream.n_rows
    ([0, 1, 1], [0, 0, 2], 3)
    """
    words, rows, n_rows = [np.empty(0, np.int32)], [np.empty(0, np.int32)], 0
    for part in word_parts(texts, tokenizer, number_terms):
        words.append(part.words)
        rows.append(part.rows + np.int32(n_rows))
        n_rows += part.n_rows
    return WordStream(np.concatenate(words), np.concatenate(rows), n_rows)


def row_blocks(stream: WordStream, n_words: int = 1 << 20) -> Iterator[WordStream]:
    """Yield the stream, split between texts into parts of about n_words, so that work on a part stays small.

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
    """Return the count of each column in each row: float32 CSR with sorted rows.

    >>> count_matrix(np.array([0, 0, 2]), np.array([1, 1, 0]), (3, 2)).toarray().tolist()
    [[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]
    """
    n_rows, n_columns = shape
    keys = rows.astype(np.int64)
    keys *= n_columns
    keys += columns
    keys.sort()
    begins = np.ones(len(keys), bool)  # start of a new (row, column)
    np.not_equal(keys[1:], keys[:-1], out=begins[1:])
    first = np.flatnonzero(begins)
    counts = np.diff(first, append=len(keys)).astype(np.float32)
    distinct = keys[first]
    indptr = np.searchsorted(distinct, np.arange(n_rows + 1, dtype=np.int64) * n_columns)
    index_type = np.int32 if len(distinct) < 2**31 else np.int64
    indices = (distinct % max(n_columns, 1)).astype(index_type)
    return sp.csr_array((counts, indices, indptr.astype(index_type)), shape=shape)


def stack_rows(blocks: Iterable[sp.csr_array], n_columns: int) -> sp.csr_array:
    """Return blocks of rows as one matrix; each block is released after it is copied, to save memory.

    >>> stack_rows([sp.csr_array(np.eye(2, dtype=np.float32))] * 2, 2).toarray()[:, 0].tolist()
    [1.0, 0.0, 1.0, 0.0]
    """
    return _joined(list(large_blocks(blocks)), n_columns)


def large_blocks(blocks: Iterable[sp.csr_array]) -> Iterator[sp.csr_array]:
    """Yield the same rows in blocks of at least LARGE_ENTRIES, except the last.

    Arrays of that size are returned to the system when they are released; small ones would fragment the heap.
    """
    small, n_entries = list[sp.csr_array](), 0
    for block in blocks:
        small.append(block)
        n_entries += block.nnz
        if n_entries >= LARGE_ENTRIES:
            yield _joined(small, block.shape[1])
            small, n_entries = [], 0
    if small:
        yield _joined(small, small[-1].shape[1])


def _joined(parts: list[Any], n_columns: int) -> sp.csr_array:
    """Return the parts as one matrix; the list is emptied.

    In a cluster a large matrix is memory-mapped, because its owners read it once and it need not stay in memory.
    """
    if len(parts) == 1 and parts[0].shape[1] == n_columns and cluster.get() is None:
        return parts.pop()
    n_entries, n_rows = sum(part.nnz for part in parts), sum(part.shape[0] for part in parts)
    index_type = np.int32 if n_entries < 2**31 else np.int64
    make = np.empty if cluster.get() is None else allocate
    data, indices = make((n_entries,), np.float32), make((n_entries,), index_type)
    indptr = np.zeros(n_rows + 1, index_type)
    row = entry = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        end = entry + part.nnz
        data[entry:end], indices[entry:end] = part.data, part.indices
        indptr[row + 1 : row + 1 + part.shape[0]] = part.indptr[1:] + index_type(entry)
        row, entry = row + part.shape[0], end
    return sp.csr_array((data, indices, indptr), shape=(n_rows, n_columns))


def choose_columns(counts: sp.csr_array, column_of: np.ndarray, n_columns: int) -> sp.csr_array:
    """Return counts with column c moved to column_of[c], without columns where that is negative.

    >>> choose_columns(sp.csr_array(np.array([[1.0, 2, 3]])), np.array([1, -1, 0]), 2).toarray().tolist()
    [[3.0, 1.0]]
    """
    columns = column_of[counts.indices]
    kept = columns >= 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[counts.indptr].astype(counts.indptr.dtype)
    chosen = sp.csr_array((counts.data[kept], columns[kept], indptr), shape=(counts.shape[0], n_columns))
    chosen.sort_indices()
    return chosen


class WordTotals:
    """Number of occurrences and of rows of each word, over all added blocks of counts."""

    def __init__(self) -> None:
        self._frequency = self._df = np.zeros(0, np.int64)

    def add(self, counts: sp.csr_array) -> None:
        """Add a block; it may have more columns than earlier ones."""
        missing = counts.shape[1] - len(self._df)
        if missing > 0:
            more = (0, missing + len(self._df))  # doubled, so that the totals are seldom copied
            self._frequency, self._df = np.pad(self._frequency, more), np.pad(self._df, more)
        np.add.at(self._frequency, counts.indices, counts.data.astype(np.int64))
        np.add.at(self._df, counts.indices, 1)

    def of(self, n_words: int, min_df: int) -> np.ndarray:
        """Return the number of occurrences of each word, 0 for words in fewer than min_df rows."""
        return np.where(self._df < min_df, 0, self._frequency)[:n_words]


def document_frequency(numbers: np.ndarray, rows: np.ndarray, n_numbers: int) -> np.ndarray:
    """Return the number of rows with each number, (n_numbers,)."""
    keys = rows.astype(np.int64) * n_numbers + numbers
    return np.bincount(np.unique(keys) % max(n_numbers, 1), minlength=n_numbers)


def checked_texts(texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts; raise an error with the row for other types."""
    if isinstance(texts, str):
        raise UsageError("texts is one string, want a list or another iterable of strings")
    if not isinstance(texts, Iterable) or sp.issparse(texts):
        raise UsageError(f"texts is {shown(texts)}, want a list or another iterable of strings")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TacitError(f"text {row} is of type {type(text).__name__}, want a string")
        yield text


def _grown(table: np.ndarray, size: int) -> np.ndarray:
    """Return the table itself if it is large enough, else a larger copy."""
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
