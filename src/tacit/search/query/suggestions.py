"""Completions of a partly typed query: titles of documents, and judged queries.

The prefix may match the first word of a text or one of the next few ("inv" gives "Pseudo inverse"), folded and without
accents. Queries come before titles, matches of the first word before later ones, then shorter texts before longer
ones. All starts are sorted, so a prefix is a range; a partial sort finds the best texts within it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

import numpy as np

from tacit.features.text.lexicon import without_accents
from tacit.features.text.words import fold

MAX_STARTS = 4  # words of a text from which it can be completed
MAX_CHARACTERS = 200  # longer texts are not offered


class Completions:
    """Texts that can be completed.

    Parameters
    ----------
    titles : iterable of str
        Titles.
    queries : iterable of str, default=()
        Queries.

    Examples
    --------
    >>> found = Completions(["Pseudo inverse", "Inverse of a matrix", "Soup"], ["invert an image"])
    >>> found.find("INV"), found.find("inverse "), found.find("zoo")
    (['invert an image', 'Inverse of a matrix', 'Pseudo inverse'], ['Inverse of a matrix'], [])
    """

    def __init__(self, titles: Iterable[str], queries: Iterable[str] = ()) -> None:
        kept = dict.fromkeys(_offered(queries), 0)
        n_queries = len(kept)
        self.texts = list(dict.fromkeys([*kept, *_offered(titles)]))
        starts = [
            (start, text, order) for text, shown in enumerate(self.texts) for order, start in enumerate(_starts(shown))
        ]
        starts.sort()
        self._starts = [start for start, _, _ in starts]
        self._text = np.array([text for _, text, _ in starts], np.int64)
        length = np.array([len(text) for text in self.texts], np.int64)
        later = np.array([order > 0 for _, _, order in starts], np.int64)
        is_title = (self._text >= n_queries).astype(np.int64)
        size = len(self.texts) + 1
        shorter = length[self._text] if starts else length[:0]
        self._order = ((is_title * 2 + later) * (MAX_CHARACTERS + 1) + shorter) * size + self._text

    def find(self, prefix: str, k: int = 10) -> list[str]:
        """Return the best k texts that begin with a prefix, or have a word that does."""
        wanted = _folded(prefix.lstrip())
        if not wanted.strip():
            return []
        first, end = bisect_left(self._starts, wanted), bisect_left(self._starts, wanted + "\U0010ffff")
        order = self._order[first:end]
        most = min(len(order), MAX_STARTS * k)  # a text may occur once for each of its words
        best = np.sort(np.partition(order, most - 1)[:most]) if most else order
        return [self.texts[row] for row in dict.fromkeys((best % (len(self.texts) + 1)).tolist())][:k]


def _offered(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        shown = " ".join(text.split())
        if 0 < len(shown) <= MAX_CHARACTERS:
            yield shown


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else without_accents(fold(text))


def _starts(text: str) -> Iterator[str]:
    """Return the ends of the text that start at each of its first words."""
    folded = _folded(text)
    for _ in range(MAX_STARTS):
        yield folded
        _, space, folded = folded.partition(" ")
        if not space:
            return
