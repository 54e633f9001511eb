"""Which documents pass the restrictions of a query.

A document contains a phrase if the phrase's words occur in sequence in its title or text, folded (case, width,
ligatures) and not stemmed. In Japanese, where segmentation depends on the context, the folded text is compared.
Numbers, dates, booleans and ids are compared as in filters (`released:2024`). Texts are read only for documents that
may be shown. If the ranker can list the documents with a word, the words of a phrase first reduce their number.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tacit.core import Collection, UsageError
from tacit.core.fields import KeywordColumn, KeywordsColumn, TextColumn
from tacit.features.text.lexicon import without_accents
from tacit.features.text.words import Segmenter, UnicodeWords, fold
from tacit.search.filters import parse_filter
from tacit.search.query.language import Restriction

TITLE = "title"
MAX_VALUES = 10_000  # of a keyword field whose words are searched
LEAST_LETTERS = 3  # of a word in a value of several words
_Named = KeywordColumn | KeywordsColumn


def words_of_values(fields: Mapping[str, Any], segmenter: Segmenter) -> dict[str, Restriction]:
    """Return by word, without accents, the restriction to the keyword field of which a value contains it.

    Of several fields, the one with the fewest values counts. Fields with more than MAX_VALUES values are left out:
    these are codes or addresses, not brands or categories.
    """
    found: dict[str, Restriction] = {}
    named = [(len(column.names), name) for name, column in fields.items() if isinstance(column, _Named)]
    for n_values, name in sorted(named):
        for value in fields[name].used_names() if n_values <= MAX_VALUES else ():
            words = segmenter.words(value)
            for word in words if len(words) == 1 else [word for word in words if len(word) >= LEAST_LETTERS]:
                found.setdefault(without_accents(word), Restriction(word, name))
    return found


class Contains:
    """Tests whether texts contain words in sequence.

    >>> [Contains(UnicodeWords(), "red shoe")(text) for text in ("A RED shoe!", "red shoes", "shoe, red")]
    [True, False, False]
    >>> Contains(UnicodeWords(), "red sho", is_prefix=True)("red shoes")
    True
    """

    def __init__(self, segmenter: Segmenter, phrase: str, is_prefix: bool = False) -> None:
        self.segmenter, self.by_words = segmenter, isinstance(segmenter, UnicodeWords)
        self.words = segmenter.words(phrase) if self.by_words else [fold(phrase)]
        self.wanted = f" {' '.join(self.words)}{'' if is_prefix else ' '}"

    def __call__(self, text: str) -> bool:
        """Return whether a text contains the words."""
        folded = fold(text)
        if not all(word in folded for word in self.words):
            return False
        return not self.by_words or self.wanted in f" {' '.join(self.segmenter.words(text))} "


def can_restrict(fields: Mapping[str, Any], name: str, value: str) -> bool:
    """Return whether documents have a field that can be compared with the value."""
    if name == TITLE and TITLE not in fields:
        return True
    if name not in fields:
        return False
    if isinstance(fields[name], KeywordColumn | KeywordsColumn | TextColumn):
        return True
    try:
        _equal(fields, name, value)
    except UsageError:
        return False
    return True


class Restricted:
    """The documents that pass all restrictions of a query.

    Parameters
    ----------
    documents : Collection
        Documents.
    fields : mapping
        Their typed fields by name.
    segmenter : Segmenter
        Splits their texts into words.
    restrictions : sequence of Restriction
        Words and phrases that they must or must not contain.

    Attributes
    ----------
    mask : ndarray of bool or None
        Documents that pass the restrictions that can be tested for all documents together; None: all.
    """

    def __init__(
        self,
        documents: Collection,
        fields: Mapping[str, Any],
        segmenter: Segmenter,
        restrictions: Sequence[Restriction],
    ) -> None:
        self.documents, self.fields = documents, fields
        self.mask: np.ndarray | None = None
        self._checks = list[tuple[Callable[[int], bool], bool]]()
        self._known = np.full(len(documents), -1, np.int8)
        for restriction in restrictions:
            contains = Contains(segmenter, restriction.text, restriction.is_prefix)
            if contains.words:  # punctuation alone restricts nothing
                self._add(restriction, contains)

    def unmasked(self) -> Restricted:
        """Return the restrictions without the mask, which the caller applies."""
        made = copy.copy(self)
        made.mask = None
        return made

    def narrow(self, mask: np.ndarray) -> None:
        """Restrict the documents further."""
        self.mask = mask if self.mask is None else self.mask & mask

    def passes(self, items: np.ndarray) -> np.ndarray:
        """Return which documents pass: bool (n_items).

        Each text is read once, in the order of the documents, so that a compressed block of texts is read once too.
        """
        for item in np.sort(items[self._known[items] < 0]).tolist() if self._checks else ():
            self._known[item] = all(check(item) != is_excluded for check, is_excluded in self._checks)
        passing = self._known[items] != 0
        return passing if self.mask is None else passing & self.mask[items]

    def _add(self, restriction: Restriction, contains: Contains) -> None:
        name, column = restriction.field, self.fields.get(restriction.field)
        if not name:
            columns = self.documents.titles, self.documents.texts  # a phrase does not cross from one into the other
            self._checks.append((lambda item: any(contains(c[item]) for c in columns), restriction.is_excluded))
        elif column is None:  # the title
            self._checks.append((lambda item: contains(self.documents.titles[item]), restriction.is_excluded))
        elif isinstance(column, TextColumn):
            self._checks.append((lambda item: contains(column[item] or ""), restriction.is_excluded))
        else:
            found = self._rows(column, contains, restriction)
            self.narrow(~found if restriction.is_excluded else found)

    def _rows(self, column: Any, contains: Contains, restriction: Restriction) -> np.ndarray:
        """Return which documents have the words in a keyword field, or the value in another field."""
        if not isinstance(column, KeywordColumn | KeywordsColumn):
            return _equal(self.fields, restriction.field, restriction.text)
        named = np.array([*map(contains, column.names), False])  # code -1 is a missing value
        if isinstance(column, KeywordColumn):
            return named[column.codes]
        rows = np.zeros(len(column), bool)
        rows[column.rows_of(np.flatnonzero(named[column.codes]))] = True
        return rows


def _equal(fields: Mapping[str, Any], name: str, value: str) -> np.ndarray:
    quoted = ('"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"' for part in (name, value))
    return parse_filter(" = ".join(quoted))(fields)
