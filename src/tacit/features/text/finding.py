"""Positions of some terms in texts, for snippets: one compiled pass over their bytes, for any stemmer.

Every distinct word of any text is numbered by the hash table of `counting.WordNumbers`, and its term is looked up once.
So a text is read as numbers, and the numbers of words with wanted terms are marked in an array. Words that are not
ASCII are split by the segmenter between two breaks, and the results for short stretches are cached.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AnySet
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tacit.core.threads import gather
from tacit.features.text.counting import WordNumbers
from tacit.features.text.words import BREAKS, Span, ascii_words, not_ascii

if TYPE_CHECKING:
    from tacit.features.text.tokenizers import Tokenizer

CHUNK = 1 << 18  # characters read together
MOST_WORDS = 1 << 18  # distinct words to cache, about 60 MB; then the cache is emptied
N_STRETCHES, LONGEST_STRETCH = 1 << 15, 40  # number and maximum length, in characters, of cached stretches
_BREAKS = re.compile(f"[{BREAKS}]")


class TermFinder:
    """Finds terms in texts; equal to `Tokenizer.spans`, but faster the more texts have been read.

    >>> from tacit.features.text.tokenizers import tokenizer_for
    >>> TermFinder(tokenizer_for("en", stem=True)).find(["Cats, a café's CAT", "dogs"], {"cat"})
    [[Span(start=0, end=4, token='cat'), Span(start=15, end=18, token='cat')], []]
    """

    def __init__(self, tokenizer: Tokenizer, *, chunk: int = CHUNK, most_words: int = MOST_WORDS) -> None:
        self._tokenizer, self._lock = tokenizer, threading.Lock()
        self._chunk, self._most_words = chunk, most_words
        self._remembered = lru_cache(N_STRETCHES)(self._spans_of)
        self._forget()

    def _forget(self) -> None:
        self._numbers, self._is_wanted = WordNumbers(), np.zeros(0, bool)
        self._terms, self._words_of = list[str](), defaultdict[str, list[int]](list)  # "" for stop words

    def find(self, texts: Sequence[str], wanted: AnySet[str]) -> list[list[Span]]:
        """Return the positions of the wanted terms in each text, in order."""
        found = [list[Span]() for _ in texts]
        for part in gather(enumerate(texts), lambda numbered: len(numbered[1]), self._chunk):
            bare = [self._without_others(text, wanted, found[row]) for row, text in part]
            starts = [0, *accumulate(len(text) + 1 for text in bare)]
            for start, end, term in self._find_ascii(" ".join(bare), wanted):
                place = bisect_right(starts, start) - 1
                found[part[place][0]].append(Span(start - starts[place], end - starts[place], term))
        for spans, text in zip(found, texts, strict=True):
            if not text.isascii():
                spans.sort()
        return found

    def _without_others(self, text: str, wanted: AnySet[str], found: list[Span]) -> str:
        """Return the text with spaces for stretches that are not ASCII, whose spans are appended to `found`."""
        if text.isascii():
            return text
        pieces, done = list[str](), 0
        for start, end in not_ascii(text):
            pieces += text[done:start], " " * (end - start)
            found += self._find_between_breaks(text[start:end], start, wanted)
            done = end
        return "".join([*pieces, text[done:]])

    def _find_ascii(self, text: str, wanted: AnySet[str]) -> Iterator[tuple[int, int, str]]:
        with self._lock:
            numbers, places = self._read(ascii_words(text))
            marked = [word for term in wanted for word in self._words_of.get(term, ())]
            self._is_wanted[marked] = True
            found = np.flatnonzero(self._is_wanted[numbers])
            self._is_wanted[marked] = False
            starts, words = places[found], numbers[found]
            ends = starts + self._numbers.lengths(words)
            terms = [self._terms[word] for word in words.tolist()]
        return zip(starts.tolist(), ends.tolist(), terms, strict=True)

    def _read(self, text: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Return number and position of each word, after looking up the terms of new words."""
        if len(self._terms) > self._most_words:
            self._forget()
        numbers, places = self._numbers.places(text)
        first = len(self._terms)
        if len(self._numbers) > first:
            for word, spelled in enumerate(self._numbers.words(first), start=first):
                term = self._tokenizer.term(spelled) or ""
                self._terms.append(term)
                self._words_of[term].append(word)
            self._is_wanted = np.zeros(len(self._terms), bool)
        return numbers, places

    def _find_between_breaks(self, text: str, start: int, wanted: AnySet[str]) -> Iterator[Span]:
        """Return terms of text that is not ASCII, split at breaks, which never join with their neighbours."""
        for stretch in _BREAKS.split(text):
            spans = self._remembered(stretch) if len(stretch) <= LONGEST_STRETCH else self._spans_of(stretch)
            for first, end, term in spans:
                if term in wanted:
                    yield Span(start + first, start + end, term)
            start += len(stretch) + 1

    def _spans_of(self, stretch: str) -> tuple[Span, ...]:
        return tuple(self._tokenizer.spans(stretch)) if stretch else ()
