"""Snippets: the passage of a document with the most words of the query."""

from __future__ import annotations

from collections.abc import Collection as AnyOf
from collections.abc import Iterator
from dataclasses import dataclass

from tacit.features import Tokenizer

MAX_TOKENS = 4000  # bounds the time that a book-length document takes


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


def make_snippet(text: str, wanted: AnyOf[str], tokenizer: Tokenizer, width: int = 160) -> Snippet:
    """The window of about `width` characters with the most distinct wanted words; ties by the number of matches."""
    spans = tokenizer.spans(text[: MAX_TOKENS * 12])[:MAX_TOKENS]
    hits = [(start, end, token) for start, end, token in spans if token in wanted]
    if not hits:
        return Snippet(_flat(text[:width].rsplit(" ", 1)[0] if len(text) > width else text))
    start, stop = _best_window(hits, width)
    left = max(0, start - (width - (stop - start)) // 3)
    left = 0 if left == 0 else text.find(" ", left, start) + 1 or left
    right = min(len(text), max(left + width, stop))
    if right < len(text):
        right = max(stop, text.rfind(" ", stop, right))
    matches = tuple((s - left, e - left) for s, e, _ in hits if left <= s and e <= right)
    return Snippet(_flat(text[left:right]), matches)


def _best_window(hits: list[tuple[int, int, str]], width: int) -> tuple[int, int]:
    def windows() -> Iterator[tuple[int, int, int, int]]:
        for first, (start, _, _) in enumerate(hits):
            inside = [hit for hit in hits[first:] if hit[1] - start <= width] or [hits[first]]
            yield len({token for _, _, token in inside}), len(inside), -start, inside[-1][1]

    _, _, negative_start, stop = max(windows())
    return -negative_start, stop


def _flat(text: str) -> str:
    """Replace each line break or tab by one space, so that spans stay valid."""
    return "".join(" " if character.isspace() else character for character in text)
