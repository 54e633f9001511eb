"""Words of any script, and pairs of characters of scripts without spaces between words.

A word is a run of Unicode letters and digits, in any script, with the combining marks that follow them (vowel signs of
Hindi or Tamil, points of Hebrew or Yiddish). All other characters separate words, including the underscore:
`linalg_norm` is two words, so a search for "norm" finds it. Words of one character count: "c", "r" and "x" have a
meaning in documentation.

Before that the text is folded: invisible joiners (soft hyphen, zero-width joiners, variation selectors) are removed,
then NFKC, lower case, NFKC again (small letters may compose where capitals do not), and the Greek final sigma becomes
the plain one. So a word depends only on its own characters, not on its neighbours, and all encodings of a character
give the same word. ASCII text, and the ASCII part of other text, needs none of this and takes a faster path with the
same result.

**Scripts without spaces.** A run of Chinese, Japanese, Thai, Lao, Khmer or Burmese letters becomes all pairs of
neighbouring characters. Each Chinese character is also a term, because many are words. A character here is a letter
with its marks. No dictionary is needed, and query and document match if they share two consecutive characters. All
other text is split by `UnicodeWords`.
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

# For UTF-8: small letters and digits, a space for every other ASCII character, all other bytes unchanged.
_ASCII_FOLD = bytes(
    byte if byte > 127 else ord(chr(byte).lower()) if chr(byte).isalnum() else 32 for byte in range(256)
)
_LETTERS = r"[^\W_]+"
# A stretch of other characters, with short ASCII parts between them.
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+(?:[\x00-\x7f]{1,20}[^\x00-\x7f]+)*")
_INVISIBLE = re.compile("[\u00ad\u180b-\u180f\u200c\u200d\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+")
BREAKS = " \n、。，"  # characters that never combine with a following one; there are more
# Marks are in the first two planes; scanning the other fifteen would only take time.
_SCANNED = range(0x300, 0x20000)
_CHINESE = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OTHERS = (
    "\u0e01-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
)


class Span(NamedTuple):
    """A token and its position: it was made from `text[start:end]`."""

    start: int
    end: int
    token: str


class Segmenter(ABC):
    """Splits text into words; a word never contains whitespace."""

    @abstractmethod
    def words(self, text: str) -> list[str]:
        """Return all words in order."""

    @abstractmethod
    def spans(self, text: str) -> list[Span]:
        """Return the same words with their positions in the original text."""

    def joined(self, text: str) -> bytes:
        """Return the same words as UTF-8 with spaces around them, for the counting loops."""
        return " ".join(self.words(text)).encode("utf-8", "surrogatepass")

    def joined_many(self, texts: Iterable[str], threads: int | None = None) -> Iterator[bytes]:
        """Yield `joined` of every text in turn; a slow segmenter can process many in parallel."""
        return map(self.joined, texts)


class UnicodeWords(Segmenter):
    """Splits text into folded words, without stop words or stemming.

    >>> UnicodeWords().words("C++ or Ｎｕｍｐｙ's linalg_norm(x)? हिन्दी")
    ['c', 'or', 'numpy', 's', 'linalg', 'norm', 'x', 'हिन्दी']
    """

    def words(self, text: str) -> list[str]:
        """Return all words in order."""
        return self.joined(text).decode("utf-8").split()

    def joined(self, text: str) -> bytes:
        """Return all words as UTF-8, separated by one or more spaces."""
        if not text.isascii():
            text = _fold_where_needed(text)
        return ascii_words(text)

    def spans(self, text: str) -> list[Span]:
        """Return the same words with their positions in the original text.

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
        """Yield words of folded text with their positions."""
        return ((found.start(), found.end(), found[0]) for found in word_matches(folded))


def ascii_words(text: str) -> bytes:
    """Return UTF-8 with ASCII letters in lower case and spaces for ASCII punctuation, at unchanged positions.

    >>> ascii_words("Don't_X")
    b'don t x'
    """
    return text.encode("utf-8").translate(_ASCII_FOLD)


def place_words(text: str, find: Callable[[str], Iterable[tuple[int, int, str]]]) -> list[Span]:
    """Yield words that `find` returns with positions in folded text, with positions in the original text."""
    starts = _segment_starts(text)
    pieces = [fold(text[start:end]) for start, end in pairwise([*starts, len(text)])]
    segment = list(chain.from_iterable([number] * len(piece) for number, piece in enumerate(pieces)))
    starts.append(len(text))
    return [
        Span(starts[segment[start]], starts[segment[end - 1] + 1], word) for start, end, word in find("".join(pieces))
    ]


def word_matches(folded: str) -> Iterator[re.Match[str]]:
    """Yield runs of letters, digits and their marks in folded text."""
    return _word_pattern().finditer(folded)


def fold(text: str) -> str:
    """Return the text with one form for each character: visible characters, NFKC, lower case."""
    if text.isascii():
        return text.lower()
    lower = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).lower()
    return unicodedata.normalize("NFKC", lower).replace("ς", "σ")


def _fold_where_needed(text: str) -> str:
    """Replace each stretch that is not ASCII by its folded words."""
    pieces, done = list[str](), 0
    for start, end in not_ascii(text):
        pieces += text[done:start], *_word_pattern().findall(fold(text[start:end]))
        done = end
    return " ".join([*pieces, text[done:]])


def not_ascii(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each stretch that is not ASCII, extended to the spaces around it.

    A space never joins with its neighbours, so the words are the same as from the whole text.
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
    """Return a pattern for letters and digits with their marks, which Python's `\\w` does not include."""
    # Without the lookahead, every letter would be searched for among a hundred ranges of marks.
    return re.compile(f"{_LETTERS}(?:(?=[^\\x00-\u02ff])[{combining_marks()}]+(?:{_LETTERS})?)*")


@lru_cache(maxsize=1)
def combining_marks() -> str:
    """Return all characters that combine with the letter before them."""
    return "".join(char for char in map(chr, _SCANNED) if unicodedata.category(char) in ("Mn", "Mc"))


def _segment_starts(text: str) -> list[int]:
    """Yield positions at which the text may be split so that folding the pieces gives pieces of the folded text."""
    return [
        place for place, char in enumerate(text) if place == 0 or not _joins_previous(char) or text[place - 1] in BREAKS
    ]


@lru_cache(maxsize=4096)
def _joins_previous(char: str) -> bool:
    """Return whether folding may merge the character with the previous one: marks, Hangul vowels and finals."""
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
    digests = (
        hashlib.blake2b(title.encode(errors="surrogatepass"), digest_size=6).digest() if title else b""
        for title in folded
    )
    return np.fromiter((int.from_bytes(digest, "little") for digest in digests), np.int64)


class CharacterPairs(UnicodeWords):
    """Splits text into folded words, and scripts without spaces into pairs of characters.

    >>> CharacterPairs().words("Python 编程语言")
    ['python', '编', '编程', '程', '程语', '语', '语言', '言']
    >>> CharacterPairs().words("ภาษาไทย")
    ['ภา', 'าษ', 'ษา', 'าไ', 'ไท', 'ทย']
    """

    def joined(self, text: str) -> bytes:
        """Return all terms as UTF-8, separated by one or more spaces."""
        joined = super().joined(text)
        if joined.isascii():
            return joined
        return _runs().sub(lambda run: f" {' '.join(term for *_, term in _terms(run[0]))} ", joined.decode()).encode()

    def _places(self, folded: str) -> Iterator[tuple[int, int, str]]:
        return (place for word in word_matches(folded) for place in _places_of(word))


def _places_of(word: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    """Yield terms of one word, with positions in the original text."""
    done = word.start()
    for run in _runs().finditer(word.string, word.start(), word.end()):
        if done < run.start():
            yield done, run.start(), word.string[done : run.start()]
        yield from ((run.start() + start, run.start() + end, term) for start, end, term in _terms(run[0]))
        done = run.end()
    if done < word.end():
        yield done, word.end(), word.string[done : word.end()]


def _terms(run: str) -> Iterator[tuple[int, int, str]]:
    """Yield characters and pairs of one run, by start."""
    characters = list(_characters().finditer(run))
    for place, first in enumerate(characters):
        if len(characters) == 1 or _chinese().match(first[0]):
            yield first.start(), first.end(), first[0]
        if place + 1 < len(characters):
            second = characters[place + 1]
            yield first.start(), second.end(), first[0] + second[0]


@lru_cache(maxsize=1)
def _runs() -> re.Pattern[str]:
    return re.compile(f"[{_CHINESE}{_OTHERS}](?:[{_CHINESE}{_OTHERS}{combining_marks()}])*")


@lru_cache(maxsize=1)
def _characters() -> re.Pattern[str]:
    return re.compile(f".[{combining_marks()}]*")


@lru_cache(maxsize=1)
def _chinese() -> re.Pattern[str]:
    return re.compile(f"[{_CHINESE}]")
