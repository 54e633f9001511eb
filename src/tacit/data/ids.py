"""Which ids files can carry.

An id must survive a line of tab-separated text: not empty, no control characters (tab, line break,
NUL), no blanks at its ends. Blanks inside are fine in collections and links ("New York"), but TREC
files are split at blanks, so runs and judgments take words only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.core import TacitError

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")  # with the marks that readers of lines take away


def id_problem(text: str) -> str:
    """What is wrong with the id, or an empty string.

    >>> id_problem("New York"), id_problem(" x"), id_problem("")
    ('', "is ' x', want no blanks at its ends", 'is empty')
    """
    if not text:
        return "is empty"
    if text != text.strip():
        return f"is {text!r}, want no blanks at its ends"
    if _CONTROL.search(text):
        return f"is {text!r}, want no tabs, line breaks or other control characters"
    return ""


def check_ids(what: str, ids: Iterable[str], *, words: bool = False) -> None:
    """Raise unless a file can carry every id; with `words`, blanks inside are refused too.

    >>> check_ids("document id", ["a", "New York"], words=True)
    Traceback (most recent call last):
    tacit.core.errors.TacitError: document id is 'New York', want no blanks: TREC files cannot carry them
    """
    for text in ids:
        problem = id_problem(text)
        if not problem and words and text.split() != [text]:
            problem = f"is {text!r}, want no blanks: TREC files cannot carry them"
        if problem:
            raise TacitError(f"{what} {problem}")
