"""Terms of scripts without spaces between words: characters instead of words.

A run of Chinese, Japanese, Thai, Lao, Khmer or Burmese letters becomes all pairs of neighbouring characters. Each
Chinese character is also a term, because many are words. A character here is a letter with its marks. No dictionary is
needed, and query and document match if they share two consecutive characters. All other text is split by
`words.UnicodeWords`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tacit.features.text.words import UnicodeWords, combining_marks, word_matches

_CHINESE = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OTHERS = (
    "\u0e01-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
)


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
