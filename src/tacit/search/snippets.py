"""Snippets: the passage of a document with the most words of the query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AnySet
from dataclasses import dataclass

from tacit.features import Tokenizer
from tacit.features.text.words import Span

MAX_CHARACTERS = 24_000  # bounds the time that a book-length document takes


@dataclass(frozen=True)
class Snippet:
    """A passage and its matches with the query.

    Parameters
    ----------
    text : str
        Passage.
    matches : tuple of (int, int), default=()
        Start and end of each match within `text`.
    """

    text: str
    matches: tuple[tuple[int, int], ...] = ()

    def marked(self, before: str = "*", after: str = "*") -> str:
        """The text with marks around each match.

        >>> Snippet("the pseudo inverse", ((4, 10),)).marked()
        'the *pseudo* inverse'
        """
        pieces, end = [], 0
        for start, stop in self.matches:
            pieces += [self.text[end:start], before, self.text[start:stop], after]
            end = stop
        return "".join([*pieces, self.text[end:]])


def make_snippets(texts: Sequence[str], wanted: AnySet[str], tokenizer: Tokenizer, width: int = 160) -> list[Snippet]:
    """A snippet of each text: the window of about `width` characters with the most distinct wanted words.

    Ties are broken by the number of matches, then by position.
    """
    found = tokenizer.find([text[:MAX_CHARACTERS] for text in texts], wanted)
    return [_snippet(text, hits, width) for text, hits in zip(texts, found, strict=True)]


def _snippet(text: str, hits: Sequence[Span], width: int) -> Snippet:
    if not hits:
        return Snippet(_flat(text[:width].rsplit(" ", 1)[0] if len(text) > width else text))
    start, stop = _best_window(hits, width)
    left = max(0, start - (width - (stop - start)) // 3)
    left = 0 if left == 0 else text.find(" ", left, start) + 1 or left
    right = min(len(text), max(left + width, stop))
    if right < len(text):
        space = text.rfind(" ", stop, right)
        right = space if space >= 0 else right
    matches = _joined((s - left, e - left) for s, e, _ in hits if left <= s and e <= right)
    return Snippet(_flat(text[left:right]), matches)


def find_matches(texts: Sequence[str], wanted: AnySet[str], tokenizer: Tokenizer) -> list[tuple[tuple[int, int], ...]]:
    """Start and end of each match in short texts, such as titles."""
    return [_joined((start, end) for start, end, _ in hits) for hits in tokenizer.find(texts, wanted)]


def full_words(tokenizer: Tokenizer, texts: Sequence[str], wanted: AnySet[str]) -> dict[str, str]:
    """Return the most frequent written form of each wanted term in texts, in lower case; omits missing terms.

    >>> from tacit.features.text.tokenizers import tokenizer_for
    >>> full_words(tokenizer_for("en", stem=True), ["Missing values, missing data"], {"miss", "valu", "x"})
    {'miss': 'missing', 'valu': 'values'}
    """
    forms: dict[str, Counter[str]] = {}
    read = [text[:MAX_CHARACTERS] for text in texts]
    for text, spans in zip(read, tokenizer.find(read, wanted), strict=True):
        for start, end, token in spans:
            forms.setdefault(token, Counter())[text[start:end].lower()] += 1
    return {token: counts.most_common(1)[0][0] for token, counts in sorted(forms.items())}


def _joined(matches: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return matches by start, with overlapping ones merged (pairs of characters overlap).

    >>> _joined([(0, 2), (1, 3), (3, 4)])
    ((0, 3), (3, 4))
    """
    found = list[tuple[int, int]]()
    for start, end in matches:
        if found and start < found[-1][1]:
            first = found.pop()
            start, end = first[0], max(first[1], end)
        found.append((start, end))
    return tuple(found)


def _best_window(hits: Sequence[Span], width: int) -> tuple[int, int]:
    """Return start and end of the best run of hits; a hit longer than the window is a separate run."""
    counts, last = dict[str, int](), 0  # of the tokens of hits[first:last]
    best, n_hits, found = 0, 0, (0, 0)
    for first, (start, _, token) in enumerate(hits):
        while last < len(hits) and (last <= first or hits[last].end - start <= width):
            added = hits[last].token
            counts[added] = counts.get(added, 0) + 1
            last += 1
        if (len(counts), last - first) > (best, n_hits):  # the first of equal ones is chosen
            best, n_hits, found = len(counts), last - first, (start, hits[last - 1].end)
        counts[token] -= 1
        if not counts[token]:
            del counts[token]
    return found


def _flat(text: str) -> str:
    """Replace each line break or tab by one space, so that spans stay valid."""
    return re.sub(r"\s", " ", text)
