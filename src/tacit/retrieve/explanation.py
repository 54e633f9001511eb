"""Explanations of scores and of score differences, as terms that sum to them.

`TermKind` lists the kinds of terms. A member of a blend that scores items regardless of words has terms of the kind
"item" with the word -1; its `heading` says what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tacit.core import Features

TermKind = Literal["word", "pair", "item", "vector", "clicks", "similar", "title", "stage"]
# Headings under which explanations show the terms of a ranker outside a blend; members have their own (`heading`).
HEADINGS: dict[TermKind, str] = {
    "word": "Words",  # a word that query and item share
    "pair": "Meaning",  # a word of the query and a word of the item
    "item": "Learned for this document",  # a word of the query and the item as a whole
    "vector": "Encoder",  # the given vectors of query and item
    "clicks": "Clicks",  # clicks on the item for the same query
    "similar": "Similar judged queries",  # judgments of the item for similar queries
    "title": "The title as a whole",  # the title of the item is the typed text
    "stage": "Second stage",
}


class Term(NamedTuple):
    """One contribution; words are column numbers, and `item_word` is -1 for the item as a whole.

    `member` names the ranker inside a blend that the term comes from, and `heading` is the member's; "" for a ranker
    alone.
    """

    kind: TermKind
    query_word: int
    item_word: int
    value: float
    member: str = ""
    heading: str = ""


@dataclass(frozen=True)
class Explanation:
    """Terms, largest first; their sum is the score of item a, minus the score of item b if there is one."""

    terms: list[Term]

    @property
    def total(self) -> float:
        """The sum of all terms."""
        return float(sum(term.value for term in self.terms))


def sparse_row(rows: Features, number: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns and float64 values of one row that are not zero."""
    row = _dense(rows, number)
    columns = np.flatnonzero(row)
    return columns, row[columns]


def difference(rows: Features, a: int, b: int | None) -> np.ndarray:
    """Return row a minus row b (or row a alone) as a float64 vector."""
    first = _dense(rows, a)
    return first if b is None else first - _dense(rows, b)


def word_terms(words: np.ndarray, values: np.ndarray, item: np.ndarray) -> list[Term]:
    """Shared words: x_w * y_w."""
    found = values * item[words]
    return [Term("word", int(w), int(w), float(v)) for w, v in zip(words, found, strict=True) if v != 0]


def item_terms(words: np.ndarray, values: np.ndarray, table: np.ndarray, vector: np.ndarray) -> list[Term]:
    """Words of the query against the item's own vector: x_w * (T_w . v)."""
    found = values * (table[words].astype(np.float64) @ vector)
    return [Term("item", int(w), -1, float(v)) for w, v in zip(words, found, strict=True) if v != 0]


def pair_terms(
    words: np.ndarray, values: np.ndarray, query_table: np.ndarray, item: np.ndarray, item_table: np.ndarray
) -> list[Term]:
    """Pairs of words: x_w * (U_w . V_t) * y_t."""
    others = np.flatnonzero(item[: len(item_table)])
    joined = query_table[words].astype(np.float64) @ item_table[others].astype(np.float64).T
    joined *= values[:, None] * item[others][None, :]
    rows, columns = np.nonzero(joined)
    return [
        Term("pair", int(words[r]), int(others[c]), float(joined[r, c])) for r, c in zip(rows, columns, strict=True)
    ]


def strongest_first(terms: list[Term]) -> list[Term]:
    """Sort by size, then by words, so the order is deterministic."""
    return sorted(terms, key=lambda term: (-abs(term.value), term.kind, term.query_word, term.item_word, term.member))


def _dense(rows: Features, number: int) -> np.ndarray:
    row = rows[number] if isinstance(rows, np.ndarray) else rows[[number]].toarray().ravel()
    return row.astype(np.float64)


def mix_terms(*parts: tuple[float, list[Term]]) -> list[Term]:
    """Return the terms of a weighted sum of models, given as (weight, terms); terms of the same words are added.

    >>> first, second = [Term("word", 1, 1, 0.5)], [Term("word", 1, 1, 0.5), Term("pair", 1, 2, 2.0)]
    >>> [(term.kind, term.value) for term in mix_terms((1.0, first), (0.5, second))]
    [('word', 0.75), ('pair', 1.0)]
    """
    found: dict[tuple[str, int, int], Term] = {}
    for weight, terms in parts:
        for term in terms:
            before, value = found.get(term[:3]), weight * term.value
            found[term[:3]] = term._replace(value=value if before is None else before.value + value)
    return list(found.values())
