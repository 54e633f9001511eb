"""Synonyms in Solr's format, applied to queries.

    tv, television, telly      a query with one of them is also searched for the others
    ipod, i-pod => ipod        each phrase on the left is replaced by the right side

Empty lines and lines that begin with # are ignored; a comma within a phrase is written as \\,.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tacit.core import DataError, UsageError, check_list, shown
from tacit.data.files import read_lines

MAX_RULES = 100_000
_COMMA = re.compile(r"(?<!\\),")


class Rule(NamedTuple):
    """Phrases with the same meaning; with `replaces`, the right side replaces the left."""

    given: tuple[str, ...]
    meant: tuple[str, ...]
    replaces: bool

    def to_line(self) -> str:
        """Return the rule as a line of a file."""
        given, meant = (", ".join(phrase.replace(",", "\\,") for phrase in side) for side in (self.given, self.meant))
        return f"{given} => {meant}" if self.replaces else given


def read_synonyms(source: str | os.PathLike[str] | Sequence[str]) -> list[Rule]:
    """Read rules from a file, or from lines.

    >>> [rule.to_line() for rule in read_synonyms(["# shop", "tv,telly", "i pod => ipod"])]
    ['tv, telly', 'i pod => ipod']
    """
    if isinstance(source, str | os.PathLike):
        path, lines = str(source), list(read_lines(source))
    else:
        path, lines = "synonyms", list(enumerate(check_list("synonyms", source, "a file or its lines"), start=1))
    for _, line in lines:
        if not isinstance(line, str):
            raise UsageError(f"synonyms hold {shown(line)}, want lines such as 'tv, television', or a file of them")
    rules = list(_rules(lines, path))
    if len(rules) > MAX_RULES:
        raise DataError(f"{len(rules)} rules, want at most {MAX_RULES}", path=path)
    return rules


def _rules(lines: Sequence[tuple[int, str]], path: str) -> Iterator[Rule]:
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        sides = line.split("=>")
        if len(sides) > 2:
            raise DataError(f"found => {len(sides) - 1} times, want it once", path=path, line=number)
        phrases = [_phrases(side, path, number) for side in sides]
        if len(sides) == 1 and len(phrases[0]) < 2:
            found = f"found {line.strip()[:60]!r}"
            raise DataError(f"{found}, want at least two words with a comma between, or a =>", path=path, line=number)
        yield Rule(phrases[0], phrases[-1], len(sides) == 2)


def _phrases(side: str, path: str, line: int) -> tuple[str, ...]:
    found = tuple(phrase.replace("\\,", ",").strip() for phrase in _COMMA.split(side))
    if not all(found):
        raise DataError(f"found nothing in a place of {side.strip()[:60]!r}, want a word", path=path, line=line)
    return found
