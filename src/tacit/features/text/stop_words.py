"""Stop words that a user wants dropped: the English list of scikit-learn, a file, or given words.

tacit itself drops no words. Its own lists, of words that count less, are in `function_words`: one for each language.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from tacit.core import DataError, TacitError, UsageError, check_list, shown

StopWords: TypeAlias = str | os.PathLike[str] | Iterable[str] | None

_ENGLISH = ("en", "english")


def load_stop_words(given: StopWords) -> list[str]:
    """Return the stop words as a list, as written in the source.

    given: None for no stop words, "en" for the built-in English list, a path of a file with words separated by
    whitespace, or the words themselves.

    >>> load_stop_words(["the", "of"]), "the" in load_stop_words("en")
    (['the', 'of'], True)
    """
    if given is None:
        return []
    if isinstance(given, str) and given.lower() in _ENGLISH:
        # Late import: scikit-learn takes longer than a short command.
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return sorted(ENGLISH_STOP_WORDS)
    if isinstance(given, str | os.PathLike):
        return _read_words(Path(given))
    words = check_list("stop_words", given, "words, a file of words or 'en'")
    for word in words:
        if not isinstance(word, str):
            raise TacitError(f"stop_words contains {shown(word)}, want words, a file of words or 'en'")
    return words


def _read_words(path: Path) -> list[str]:
    if not path.is_file():
        raise UsageError(f"stop_words is {str(path)!r}, want 'en', a list of words, or a file that exists")
    try:
        return path.read_text(encoding="utf-8").split()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error
    except UnicodeDecodeError as error:
        raise DataError(f"is not UTF-8 text: {error.reason} at byte {error.start}", path=path) from error
