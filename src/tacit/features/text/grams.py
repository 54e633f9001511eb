"""Word n-grams as numbers, so that strings are built only for selected grams.

A gram of n words is the pair (gram of its first n - 1 words, last word). With numbered prefixes and words, the pair is
one 8-byte key: prefix * n_words + word. A gram never spans two texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from tacit.features.text.counting import WordStream, count_matrix, stack_rows


def extend_grams(prefix: np.ndarray, stream: WordStream, size: int, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions at which a gram of `size` words begins, and its keys.

    prefix[t]: number of the gram of size - 1 words that begins at t, negative to ignore it. Words with a negative
    number are ignored too.
    """
    n_buckets = max(len(prefix) - size + 1, 0)
    last = stream.words[size - 1 :]
    inside = stream.rows[:n_buckets] == stream.rows[size - 1 :]
    places = np.flatnonzero(inside & (prefix[:n_buckets] >= 0) & (last >= 0))
    return places, prefix[places].astype(np.int64) * n_words + last[places]


class GramTable:
    """Finds the words and n-grams of a vocabulary in a stream of words.

    `word_number` numbers every word that occurs in a gram; all other words are `unknown`. Level n has the sorted keys
    of the grams and prefixes of n words, and the column of each (-1 for a prefix that is not a gram of the vocabulary).

    >>> table = GramTable(["new york", "york"])
    >>> words = table.number("new york new jersey".split())
    >>> table.count([WordStream(words, np.zeros(4, np.int64), 1)]).toarray().tolist()
    [[1.0, 1.0]]
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.n_columns = len(vocabulary)
        self._levels: list[tuple[np.ndarray, np.ndarray]] = []
        self._columns: dict[str, int] | None = None
        if " " not in "\n".join(vocabulary):  # words alone are their own columns
            self.word_number = {word: column for column, word in enumerate(vocabulary)}
            self.unknown = len(self.word_number)
            self._word_column = np.append(np.arange(self.unknown, dtype=np.int32), np.int32(-1))
            return
        grams = [gram.split(" ") for gram in vocabulary]
        self.word_number = {}
        for gram in grams:
            for word in gram:
                self.word_number.setdefault(word, len(self.word_number))
        self.unknown = len(self.word_number)
        self._word_column = np.full(self.unknown + 1, -1, np.int32)
        self._build_levels(grams)

    def _build_levels(self, grams: list[list[str]]) -> None:
        sizes = np.array([len(gram) for gram in grams], np.int64)
        numbers = [[self.word_number[word] for word in gram] for gram in grams]
        prefix = np.array([gram[0] for gram in numbers], np.int64)
        single = np.flatnonzero(sizes == 1)
        self._word_column[prefix[single]] = single
        for size in range(2, int(sizes.max(initial=1)) + 1):
            rows = np.flatnonzero(sizes >= size)
            last = np.array([numbers[row][size - 1] for row in rows], np.int64)
            keys, prefix[rows] = np.unique(prefix[rows] * (self.unknown + 1) + last, return_inverse=True)
            columns = np.full(len(keys), -1, np.int32)
            whole = np.flatnonzero(sizes == size)
            columns[prefix[whole]] = whole
            self._levels.append((keys, columns))

    def columns_of_words(self) -> Mapping[str, int]:
        """Return columns of single words by word."""
        if self._columns is None:
            found = {word: int(self._word_column[number]) for word, number in self.word_number.items()}
            self._columns = {word: column for word, column in found.items() if column >= 0}
        return self._columns

    def number(self, terms: list[str]) -> np.ndarray:
        """Return numbers of words in this table."""
        return np.array([self.word_number.get(term, self.unknown) for term in terms], np.int32)

    def stream(self, terms: list[str]) -> WordStream:
        """Return the terms of one text as a stream."""
        return WordStream(self.number(terms), np.zeros(len(terms), np.int32), 1)

    def count(self, parts: Iterable[WordStream]) -> sp.csr_array:
        """Return counts of the vocabulary in streams whose words are numbered by this table."""
        return stack_rows(map(self._count_part, parts), self.n_columns)

    def _count_part(self, stream: WordStream) -> sp.csr_array:
        rows, columns = [], []
        prefix, column = stream.words, self._word_column[stream.words]
        for size in range(1, len(self._levels) + 2):
            if size > 1:
                keys, column_of = self._levels[size - 2]
                prefix = self._find_grams(prefix, stream, size, keys)
                column = np.where(prefix >= 0, column_of[prefix], -1)
            found = column >= 0
            rows.append(stream.rows[found])
            columns.append(column[found])
        return count_matrix(np.concatenate(rows), np.concatenate(columns), (stream.n_rows, self.n_columns))

    def _find_grams(self, prefix: np.ndarray, stream: WordStream, size: int, keys: np.ndarray) -> np.ndarray:
        """Return the number of the gram that begins at each position, -1 if the vocabulary has no such gram."""
        places, wanted = extend_grams(prefix, stream, size, self.unknown + 1)
        number = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        grams = np.full(len(prefix), -1, np.int32)
        grams[places] = np.where(keys[number] == wanted, number, -1)
        return grams
