"""The syntax of a typed query.

    "singular value"     documents must contain these words in sequence
    -sparse              documents must not contain the word; also -"sparse matrix"
    title:inverse        the title, or another field, must contain the word; also title:"pseudo inverse", -brand:acme
    comput*              words with this prefix are also searched

Everything else is plain text, and no text is an error. A quotation mark counts at the start of a word and with a second
one at the end of a word, so `5" disk` is plain. A minus counts before a word of at least three letters, so `e-mail`,
`-O2`, `rm -rf`, `--help` and `-1` are plain; in quotes (`-"O2"`) anything can be excluded. `name:` counts if the
documents have such a field, so `http://…` and `std::sort` are plain. An asterisk counts after at least two letters.
Texts with more than MAX_CHARACTERS or with several lines are documents rather than queries, and plain throughout.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

MAX_CHARACTERS = 120  # of typed queries with syntax; quotes in longer texts, such as whole questions, are just quotes
_SYNTAX = re.compile(r'["“”„«»:*]|(?:^|\s)-')
_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_PART = re.compile(
    r'(?P<minus>-?)(?:(?P<field>[^\s:"-][^\s:"]*):)?"(?P<phrase>[^"]*)"(?=[\s.,;:!?)\]]|$)[.,;:!?)\]]*|(?P<bare>\S+)'
)
_NAMED = re.compile(r'(?P<minus>-?)(?P<field>[^\s:"-][^\s:"]*):(?P<value>[^\s"]+)')
_EXCLUDED = re.compile(r"-(?P<word>[^\W\d_]{3,}|[\u2e80-\U0003ffff]+)(?P<star>\*?)[.,;:!?]*")
_PREFIX = re.compile(r"(?P<word>\w{2,})\*")


class Restriction(NamedTuple):
    """A phrase that documents must contain, in one field or anywhere; with `is_excluded`, must not contain."""

    text: str
    field: str = ""
    is_excluded: bool = False
    is_prefix: bool = False


class ParsedQuery(NamedTuple):
    """A parsed query: text for ranking, restrictions on documents, and prefixes of words."""

    text: str
    restrictions: tuple[Restriction, ...] = ()
    prefixes: tuple[str, ...] = ()


def parse_query(text: str, has_field: Callable[[str, str], bool]) -> ParsedQuery:
    """Read the syntax of a query; `has_field(name, value)` says whether documents have a field that can have the value.

    >>> parse_query('"red shoes" -blue brand:acme run* e-mail', lambda name, value: name == "brand")
    ParsedQuery(text='red shoes run e-mail', restrictions=(Restriction(text='red shoes', field='', is_excluded=False, \
is_prefix=False), Restriction(text='blue', field='', is_excluded=True, is_prefix=False), Restriction(text='acme', \
field='brand', is_excluded=False, is_prefix=False)), prefixes=('run',))
    """
    if len(text) > MAX_CHARACTERS or "\n" in text or not _SYNTAX.search(text):
        return ParsedQuery(text)
    kept, restrictions, prefixes = list[str](), list[Restriction](), list[str]()
    for part in _PART.finditer(text.translate(_QUOTES)):
        found = _restriction(part, has_field)
        if found is not None:
            restrictions.append(found)
            if not found.is_excluded and found.field in ("", "title"):
                kept.append(found.text)
        elif prefix := _PREFIX.fullmatch(part[0]):
            prefixes.append(prefix["word"])
            kept.append(prefix["word"])
        else:
            kept.append(part[0])
    if not restrictions and not prefixes:
        return ParsedQuery(text)
    return ParsedQuery(" ".join(kept), tuple(restrictions), tuple(prefixes))


def may_read_texts(text: str) -> bool:
    """Return whether a query has a phrase, an excluded word or a word of the title, for which texts are read.

    >>> may_read_texts('a "red shoe"'), may_read_texts("shoe brand:acme")
    (True, False)
    """
    return bool(parse_query(text, lambda name, value: name == "title").restrictions)


def _restriction(part: re.Match[str], has_field: Callable[[str, str], bool]) -> Restriction | None:
    """Parse a part of a query as a restriction; None if it is plain text."""
    if part["phrase"] is not None:
        phrase, field = part["phrase"].strip(), part["field"] or ""
        known = not field or has_field(field, phrase)
        return Restriction(phrase, field, bool(part["minus"])) if known and phrase else None
    excluded = _EXCLUDED.fullmatch(part[0])
    if excluded:
        return Restriction(excluded["word"], "", True, bool(excluded["star"]))
    named = _NAMED.fullmatch(part[0])
    if named and has_field(named["field"], named["value"]):
        is_prefix = len(named["value"]) > 1 and named["value"].endswith("*")
        return Restriction(named["value"].removesuffix("*"), named["field"], bool(named["minus"]), is_prefix)
    return None
