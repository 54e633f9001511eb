"""Words of any script that puts spaces or signs between them.

A word is a run of Unicode letters and digits, in any script, together with the combining marks
that follow them (vowel signs of Hindi or Tamil, points of Hebrew or Yiddish). Everything else
separates, the underscore too: `linalg_norm` is two words, so that a reader who asks for "norm"
finds it. Words of one character count: "c", "r" and "x" mean something in documentation.

Before that the text is folded: invisible joiners (soft hyphen, zero-width joiners, variation
selectors) go, then NFKC, lower case, NFKC again (small letters may compose where capitals do not)
and the Greek final sigma becomes the plain one. So a word depends on its own characters alone, not
on its neighbours, and every spelling of a character gives the same word. ASCII text needs none of
this and takes a short way that gives the same words; so does the ASCII part of any other text.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

# For UTF-8: small letters and digits, a space for every other ASCII character, all else as it is.
_ASCII_FOLD = bytes(
    byte if byte > 127 else ord(chr(byte).lower()) if chr(byte).isalnum() else 32 for byte in range(256)
)
_LETTERS = r"[^\W_]+"
# A stretch of other characters, with what little ASCII there is between them.
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+(?:[\x00-\x7f]{1,20}[^\x00-\x7f]+)*")
_INVISIBLE = re.compile("[\u00ad\u180b-\u180f\u200c\u200d\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+")
BREAKS = " \n、。，"  # characters that nothing after them is melted into; there are more
# Marks stand in the first two planes; scanning the other fifteen would only cost time.
_SCANNED = range(0x300, 0x20000)


class Span(NamedTuple):
    """A token and where it stands: `text[start:end]` is what it was made from."""

    start: int
    end: int
    token: str


class Segmenter(ABC):
    """Cuts text into words; a word never holds white space."""

    @abstractmethod
    def words(self, text: str) -> list[str]:
        """All words in order."""

    @abstractmethod
    def spans(self, text: str) -> list[Span]:
        """The same words with their places in the text as it was given."""

    def joined(self, text: str) -> bytes:
        """The same words as UTF-8 with spaces around them: what the counting loops read."""
        return " ".join(self.words(text)).encode("utf-8", "surrogatepass")

    def joined_many(self, texts: Iterable[str], threads: int | None = None) -> Iterator[bytes]:
        """`joined` of every text in turn; a segmenter that is slow works on many at once."""
        return map(self.joined, texts)


class UnicodeWords(Segmenter):
    """Cuts text into folded words, without stop words or stems.

    >>> UnicodeWords().words("C++ or Ｎｕｍｐｙ's linalg_norm(x)? हिन्दी")
    ['c', 'or', 'numpy', 's', 'linalg', 'norm', 'x', 'हिन्दी']
    """

    def words(self, text: str) -> list[str]:
        """All words in order."""
        return self.joined(text).decode("utf-8").split()

    def joined(self, text: str) -> bytes:
        """All words as UTF-8 with one or more spaces between."""
        if not text.isascii():
            text = _fold_where_needed(text)
        return ascii_words(text)

    def spans(self, text: str) -> list[Span]:
        """The same words with their places in the text as it was given.

        >>> UnicodeWords().spans("(ﬁne) Ｃafés")
        [Span(start=1, end=4, token='fine'), Span(start=6, end=11, token='cafés')]
        """
        spans, done = list[Span](), 0
        for start, end in [*not_ascii(text), (len(text), len(text))]:
            spans += (Span(done + s, done + e, word) for s, e, word in self._places(text[done:start].lower()))
            if start < end:
                found = place_words(text[start:end], self._places)
                spans += (Span(start + s, start + e, word) for s, e, word in found)
            done = end
        return spans

    def _places(self, folded: str) -> Iterator[tuple[int, int, str]]:
        """Words of folded text with their places."""
        return ((found.start(), found.end(), found[0]) for found in word_matches(folded))


def ascii_words(text: str) -> bytes:
    """UTF-8 with the ASCII letters small, and spaces for ASCII signs: words and spaces at the places they had.

    >>> ascii_words("Don't_X")
    b'don t x'
    """
    return text.encode("utf-8").translate(_ASCII_FOLD)


def place_words(text: str, find: Callable[[str], Iterable[tuple[int, int, str]]]) -> list[Span]:
    """Words that `find` gives with their places in folded text, at their places in the text itself."""
    starts = _segment_starts(text)
    pieces = [fold(text[start:end]) for start, end in pairwise([*starts, len(text)])]
    segment = list(chain.from_iterable([number] * len(piece) for number, piece in enumerate(pieces)))
    starts.append(len(text))
    return [
        Span(starts[segment[start]], starts[segment[end - 1] + 1], word) for start, end, word in find("".join(pieces))
    ]


def word_matches(folded: str) -> Iterator[re.Match[str]]:
    """Runs of letters, digits and their marks in folded text."""
    return _word_pattern().finditer(folded)


def fold(text: str) -> str:
    """The text with all spellings of a character made one: visible characters, NFKC, lower case."""
    if text.isascii():
        return text.lower()
    lower = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).lower()
    return unicodedata.normalize("NFKC", lower).replace("ς", "σ")


def _fold_where_needed(text: str) -> str:
    """Put the folded words in the place of each stretch that is not ASCII."""
    pieces, done = list[str](), 0
    for start, end in not_ascii(text):
        pieces += text[done:start], *_word_pattern().findall(fold(text[start:end]))
        done = end
    return " ".join([*pieces, text[done:]])


def not_ascii(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each stretch that is not ASCII, cut at the spaces around it.

    A space never joins what follows or precedes it, so the words come out as from the whole text.
    """
    done = 0
    for match in _NOT_ASCII.finditer(text):
        if match.end() <= done:
            continue
        start = text.rfind(" ", done, match.start()) + 1 or done
        end = text.find(" ", match.end())
        done = len(text) if end < 0 else end
        yield start, done


@lru_cache(maxsize=1)
def _word_pattern() -> re.Pattern[str]:
    """Letters and digits with the marks that follow them; Python's `\\w` knows no marks."""
    # Without the look at what comes next, every letter would be sought among a hundred ranges of marks.
    return re.compile(f"{_LETTERS}(?:(?=[^\\x00-\u02ff])[{combining_marks()}]+(?:{_LETTERS})?)*")


@lru_cache(maxsize=1)
def combining_marks() -> str:
    """All characters that belong to the letter before them."""
    return "".join(char for char in map(chr, _SCANNED) if unicodedata.category(char) in ("Mn", "Mc"))


def _segment_starts(text: str) -> list[int]:
    """Where the text may be cut so that folding the pieces gives the pieces of the folded text."""
    return [
        place for place, char in enumerate(text) if place == 0 or not _joins_previous(char) or text[place - 1] in BREAKS
    ]


@lru_cache(maxsize=4096)
def _joins_previous(char: str) -> bool:
    """Whether folding may melt the character into the one before it: marks, Hangul vowels and finals."""
    if char.isascii():
        return False
    if _INVISIBLE.match(char):
        return True
    first = unicodedata.normalize("NFKD", char)[0]
    return unicodedata.category(first).startswith("M") or "\u1160" <= first <= "\u11ff"


def title_keys(titles: Iterable[str]) -> np.ndarray:
    """Return a hash of 48 bits of each title, int64; 0 for an empty one. Case and spaces do not matter.

    >>> keys = title_keys(["C++", " c++ ", "C", ""])
    >>> (keys == keys[0]).tolist(), int(keys[3])
    ([True, True, False, False], 0)
    """
    folded = (" ".join(fold(title).split()) for title in titles)
    digests = (hashlib.blake2b(title.encode(), digest_size=6).digest() if title else b"" for title in folded)
    return np.fromiter((int.from_bytes(digest, "little") for digest in digests), np.int64)
