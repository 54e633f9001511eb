"""Words as people write them, in addition to the terms of a vocabulary: typos, prefixes and accents.

A vocabulary contains stems, and of a large collection only the most frequent ones. A lexicon adds the most frequent
spellings of each term, and hashes of terms outside the vocabulary, so that no word of any document is treated as a
typo.

The nearest word is the one with the fewest edits (insertion, deletion, substitution, or a swap of two neighbours: the
restricted Damerau distance), then the one with the same first letter, then the most frequent. Words are compared only
if their letter counts permit so few edits: an edit changes the counts of at most two letters by one each.

**Spelling.** The runs of four characters of words are sparse rows. Runs are numbered by a hash, so no table of runs is
needed for words of later texts. With a vocabulary of 40,000 runs, about one in 25 shares its number with another run;
words are still distinct, because they have several runs.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.features.text.counting import WordNumbers, count_matrix

if TYPE_CHECKING:
    from tacit.features.text.vectorizer import TextVectorizer

N_FORMS = 3  # spellings stored for each term, the most frequent
N_BINS = 32  # letters are counted by their code modulo this
LEAST_LETTERS = (4, 8)  # minimum length of a word with one edit, and with two
LAST_ALPHABET = "\u0e00"  # later scripts have no letters, or no spaces
_LAST_ACCENTED = "\u0530"  # Latin, Greek and Cyrillic are below
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
N_CHARACTERS = 4
N_RUNS = 1 << 20  # numbers of runs
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio


@dataclass
class Surfaces:
    """Counts of words before stemming, collected while texts are counted.

    Attributes
    ----------
    numbers : WordNumbers
        The distinct words.
    frequency : ndarray of int64
        Occurrences of each word.
    terms : ndarray of int32
        Number of the term of each word, negative for stop words.
    """

    numbers: WordNumbers = field(default_factory=WordNumbers)
    frequency: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    terms: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    def add(self, words: list[str], frequency: np.ndarray, terms: np.ndarray) -> None:
        """Add the words of further texts."""
        if not words:
            return
        places = self.numbers.number(words)
        n_new = len(self.numbers) - len(self.frequency)
        self.frequency, self.terms = np.pad(self.frequency, (0, n_new)), np.pad(self.terms, (0, n_new))
        np.add.at(self.frequency, places, frequency)
        self.terms[places] = terms

    def forms(self, column_of: np.ndarray) -> tuple[list[str], np.ndarray]:
        """Return the most frequent words of each column, most frequent first, and their columns."""
        column, known = np.full(len(self.terms), -1, np.int64), self.terms >= 0
        column[known] = column_of[self.terms[known]]
        words = np.flatnonzero(column >= 0)
        words = words[np.lexsort((words, -self.frequency[words], column[words]))]
        first = np.searchsorted(column[words], column[words])
        words = words[np.arange(len(words)) - first < N_FORMS]
        words = words[np.lexsort((words, -self.frequency[words]))]
        return self.numbers.spell(words.tolist()), column[words].astype(np.int32)


class Near(NamedTuple):
    """A similar word of a lexicon: its number, and the number of edits, 0 if only accents differ."""

    number: int
    distance: int


class Lexicon:
    """Words of a vocabulary in their original spelling, most frequent first.

    Parameters
    ----------
    words : sequence of str
        Words.
    columns : ndarray of shape (n_words,), int32
        Column of each word.
    knows_term : callable
        Returns whether some document has a term.

    Examples
    --------
    >>> lexicon = Lexicon(["search", "searching", "café"], np.array([0, 0, 1]), lambda term: False)
    >>> [lexicon.words[lexicon.nearest(word).number] for word in ("serch", "saerching", "cafe")]
    ['search', 'searching', 'café']
    >>> lexicon.nearest("matrix"), [lexicon.words[number] for number in lexicon.starting_with("sear", 5)]
    (None, ['search', 'searching'])
    """

    def __init__(self, words: Sequence[str], columns: np.ndarray, knows_term: Callable[[str], bool]) -> None:
        self.words, self.columns, self.knows_term = words, columns, knows_term

    @classmethod
    def of(cls, vectorizer: TextVectorizer) -> Lexicon:
        """Return the lexicon of a fitted vectorizer; without stored spellings, the words of its vocabulary."""
        rare = vectorizer.rare_
        table = vectorizer.column_of

        def knows(term: str) -> bool:
            return term in table or (rare is not None and is_rare(term, rare))

        if vectorizer.forms_ is not None and vectorizer.form_columns_ is not None:
            return cls(vectorizer.forms_, vectorizer.form_columns_, knows)
        single = [column for column, word in enumerate(vectorizer.vocabulary_) if " " not in word]
        return cls([vectorizer.vocabulary_[column] for column in single], np.array(single, np.int32), knows)

    def nearest(self, word: str) -> Near | None:
        """Return the most likely intended word; None if there is none, or if the word is too short or not plain."""
        plain = self._unaccented.get(without_accents(word))
        if plain is not None:
            return Near(plain, 0)
        if not word.isalpha() or max(word) >= LAST_ALPHABET:
            return None
        for distance, least in enumerate(LEAST_LETTERS, start=1):
            if len(word) >= least and (found := self._within(word, distance)) is not None:
                return Near(found, distance)
        return None

    def starting_with(self, prefix: str, most: int) -> list[int]:
        """Return numbers of the most frequent words with a prefix."""
        order, words = self._sorted
        found = order[bisect_left(words, prefix) : bisect_left(words, prefix + "\U0010ffff")]
        return sorted(found)[:most]

    def _within(self, word: str, distance: int) -> int | None:
        """Return the best word at that distance."""
        letters, lengths = self._letters
        near = np.flatnonzero(np.abs(lengths - len(word)) <= distance)
        differing = np.abs(letters[near] - letter_counts([word])).sum(axis=1)
        near = near[differing <= 2 * distance]
        best = [
            (self.words[number][0] != word[0], number)
            for number in near.tolist()
            if edit_distance(word, self.words[number], distance) <= distance
        ]
        return min(best)[1] if best else None

    @cached_property
    def _letters(self) -> tuple[np.ndarray, np.ndarray]:
        return letter_counts(self.words), np.array([len(word) for word in self.words])

    @cached_property
    def _sorted(self) -> tuple[list[int], list[str]]:
        order = sorted(range(len(self.words)), key=self.words.__getitem__)
        return order, [self.words[number] for number in order]

    @cached_property
    def _unaccented(self) -> dict[str, int]:
        """Return the most frequent word with the same letters without accents."""
        found: dict[str, int] = {}
        for number, word in enumerate(self.words):
            found.setdefault(without_accents(word), number)
        return found


def letter_counts(words: Sequence[str]) -> np.ndarray:
    """Return the count of letters of each bin in each word: int16 (n_words, N_BINS)."""
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    rows = np.repeat(np.arange(len(words)), [len(word) for word in words])
    counts = np.bincount(rows * N_BINS + codes % N_BINS, minlength=len(words) * N_BINS)
    return counts.reshape(len(words), N_BINS).astype(np.int16)


def edit_distance(one: str, two: str, most: int) -> int:
    """Return the number of insertions, deletions, substitutions and swaps between two words; more than `most` if so.

    >>> edit_distance("teh", "the", 2), edit_distance("serch", "search", 2), edit_distance("cat", "horse", 2) > 2
    (1, 1, True)
    """
    before, last = [0] * (len(two) + 1), list(range(len(two) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i] + [0] * len(two)
        for j, other in enumerate(two, start=1):
            row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == two[j - 2] and one[i - 2] == other:
                row[j] = min(row[j], before[j - 2] + 1)
        if min(row) > most and min(last) > most:
            return most + 1
        before, last = last, row
    return last[-1]


@lru_cache(1 << 16)
def without_accents(word: str) -> str:
    """Return a folded word without the accents of Latin, Greek and Cyrillic letters.

    >>> without_accents("müller"), without_accents("straße"), without_accents("हिन्दी") == "हिन्दी"
    ('muller', 'strasse', True)
    """
    if word.isascii():
        return word
    kept, base = list[str](), ""
    for char in unicodedata.normalize("NFKD", word):
        is_mark = unicodedata.category(char) == "Mn"
        if not (is_mark and base < _LAST_ACCENTED):
            kept.append(char)
        base = base if is_mark else char
    return unicodedata.normalize("NFKC", "".join(kept)).translate(_LETTERS)


def hashes_of(numbers: WordNumbers, kept: np.ndarray) -> np.ndarray:
    """Return sorted hashes of the words outside the vocabulary, int32."""
    dropped = np.ones(len(numbers), bool)
    dropped[kept] = False
    return np.unique(numbers.hashes()[dropped].astype(np.uint32).view(np.int32))


def is_rare(word: str, hashes: np.ndarray) -> bool:
    """Return whether a word's hash is among sorted hashes; false positives: one in about 2^32 / len(hashes) words."""
    numbers = WordNumbers()
    numbers.number([word])
    mine = numbers.hashes().astype(np.uint32).view(np.int32)
    place = np.searchsorted(hashes, mine)
    return bool(len(hashes) and len(mine) and hashes[min(int(place[0]), len(hashes) - 1)] == mine[0])


def spelling_rows(words: Sequence[str]) -> sp.csr_array:
    """Return the count of each run of four characters in each word, float32 (n_words, N_RUNS).

    A shorter word is one run.

    >>> rows = spelling_rows(["retrieve", "retrieval", "sea", "season"])
    >>> (rows @ rows.T).toarray().astype(int)[0].tolist(), rows[[2]].nnz
    ([5, 4, 0, 0], 1)
    """
    lengths = np.array([len(word) for word in words], np.int64)
    padded = np.maximum(lengths, N_CHARACTERS)
    spelled = "".join(word.ljust(N_CHARACTERS, "\0") for word in words)
    characters = np.frombuffer(spelled.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    n_runs = padded - N_CHARACTERS + 1
    first = np.cumsum(n_runs) - n_runs
    starts = np.arange(n_runs.sum()) + np.repeat(np.cumsum(padded) - padded - first, n_runs)
    hashes = np.zeros(len(starts), np.uint64)
    for place in range(N_CHARACTERS):
        hashes = (hashes ^ characters[starts + place]) * _FACTOR
        hashes ^= hashes >> np.uint64(29)
    columns = (hashes % np.uint64(N_RUNS)).astype(np.int64)
    return count_matrix(np.repeat(np.arange(len(words)), n_runs), columns, (len(words), N_RUNS))
