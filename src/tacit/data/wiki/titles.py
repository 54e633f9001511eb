"""Titles and namespaces of a wiki, normalised like MediaWiki before it looks up a page.

Underscores and other whitespace become single spaces; entities and percent-encoding are decoded; the part after "#" is
a section, not part of the title; the first letter is a capital, unless the wiki is configured otherwise; a name before
the first colon may be a namespace, in any case, in English or in the language of the wiki.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import unquote

FILE, CATEGORY = 6, 14
# The English names are valid in every wiki, in addition to its own names.
_CANONICAL = {
    "media": -2, "special": -1, "talk": 1, "user": 2, "user talk": 3, "project": 4, "project talk": 5, "wikipedia": 4,
    "wp": 4, "file": FILE, "file talk": 7, "image": FILE, "image talk": 7, "mediawiki": 8, "mediawiki talk": 9,
    "template": 10, "template talk": 11, "help": 12, "help talk": 13, "category": CATEGORY, "category talk": 15,
}  # fmt: skip
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")  # of writing direction; MediaWiki removes them
_LANGUAGE = re.compile("[a-z]{2,3}(-[a-z]+)*|simple", re.ASCII)


class Site:
    """Namespaces of a wiki and its rule for titles.

    Parameters
    ----------
    namespaces : mapping of str to int, default={}
        Numbers of the namespaces by name, in addition to the English names.
    first_letter : bool, default=True
        Whether the first letter of a title is always a capital.

    Examples
    --------
    >>> site = Site({"Категория": 14})
    >>> site.split("computer_ accessibility#History"), site.split(" категория:Rock &amp; roll")
    ((0, 'Computer accessibility'), (14, 'Rock & roll'))
    """

    def __init__(self, namespaces: Mapping[str, int] | None = None, first_letter: bool = True) -> None:
        own = {name.replace("_", " ").lower(): number for name, number in (namespaces or {}).items()}
        self._namespaces = {name: number for name, number in (_CANONICAL | own).items() if name}
        self._first_letter = first_letter

    def split(self, title: str) -> tuple[int, str]:
        """Return the namespace and the normalised title without it; empty for a section of the same page."""
        title = title.partition("#")[0]
        if "&" in title:
            title = html.unescape(title).partition("#")[0]
        if "%" in title:
            title = unquote(title, errors="replace")
        if not title.isascii():
            title = unicodedata.normalize("NFC", _MARKS.sub("", title))
        title = " ".join(title.replace("_", " ").split())
        namespace = 0
        if ":" in title:
            namespace, title = self._without_namespace(title.removeprefix(":").lstrip())
        return namespace, self._capital(title)

    def is_language_link(self, target: str) -> bool:
        """Return whether an unlabelled link goes to the same article in another language, and so shows no text.

        >>> Site().is_language_link("fr:Anarchisme"), Site().is_language_link("Alien: Covenant")
        (True, False)
        """
        prefix, colon, _ = target.partition(":")
        return bool(colon) and _LANGUAGE.fullmatch(prefix.strip()) is not None

    def _without_namespace(self, title: str) -> tuple[int, str]:
        name, colon, rest = title.partition(":")
        number = self._namespaces.get(name.strip().lower()) if colon else None
        return (0, title) if number is None else (number, rest.strip())

    def _capital(self, title: str) -> str:
        first = title[:1].upper() if self._first_letter else title[:1]
        return title if len(first) != 1 else first + title[1:]  # MediaWiki does not change letters such as ß
