"""Selects the hits to show: filter, groups, order, page; and counts the values of fields.

The ranking does not change: documents excluded by a filter are left out, and the scores and order of all others stay
the same. If few documents pass a filter, only these are ranked, bit-identical to the ranking of all. Otherwise the
ranking is extended, to a depth estimated from the fraction that passes.

Facets, `total` and sort orders are over the matches: documents that contain a content word of the query. `blend` also
ranks documents that are only similar to these. They come last by relevance, but would dominate the counts, and a
sort by price would put the cheapest of them first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.core import Collection, UsageError, check_choice, check_kind, check_list, check_number
from tacit.core.fields import BooleanColumn, Column, KeywordColumn, KeywordsColumn
from tacit.search.filters import fields_of
from tacit.search.query.restrictions import Restricted

MAX_VALUES = 100  # values of a field that are listed, the most frequent first

Matches = Callable[[int, "np.ndarray | None"], tuple[np.ndarray, np.ndarray, bool]]


@dataclass(frozen=True)
class Selection:
    """The part of a ranking to show.

    Parameters
    ----------
    filter : str or None, default=None
        Filter (`search.filters`).
    facets : tuple of str, default=()
        Fields whose values are counted over all matches.
    sort : str or None, default=None
        Field to sort the matches by, `-field` for descending; matches without it come last.
    offset : int, default=0
        Number of first hits to skip.
    group : str or None, default=None
        Field of which each value is shown once, by its best hit; all documents without it are shown.
    snippets : bool, default=True
        Whether hits have snippets.
    """

    filter: str | None = None
    facets: tuple[str, ...] = ()
    sort: str | None = None
    offset: int = 0
    group: str | None = None
    snippets: bool = True

    def __post_init__(self) -> None:
        check_number("offset", self.offset, low=0, whole=True)
        for name in ("filter", "sort", "group"):
            check_kind(name, getattr(self, name), str | None, "a text or None")
        for name in self.facets:
            check_kind("facets", name, str, "names of fields")
        check_kind("snippets", self.snippets, bool | np.bool_, "True or False")

    @property
    def is_plain(self) -> bool:
        """Whether the first hits of the ranking are shown unchanged."""
        return self.filter is None and not self.facets and not self.sort and not self.offset and self.group is None

    def prepare(self, documents: Collection, mask: np.ndarray | None) -> Prepared:
        """Apply the selection to a collection, of which the mask passes the filter; UsageError for unknown fields."""
        fields = fields_of(documents) if self.facets or self.sort or self.group else {}
        facets = {name: _column("facet", name, fields) for name in self.facets}
        group = None if self.group is None else _column("group", self.group, fields)
        sort = None if self.sort is None else _sorted_by(self.sort, fields)
        if isinstance(group, KeywordsColumn) or isinstance(sort, KeywordsColumn):
            raise UsageError(f"{self.group or self.sort} is a list of keywords, want a field with one value")
        return Prepared(self, len(documents), mask, facets, sort, group)


@dataclass(frozen=True)
class Selected:
    """Rows and scores of the hits to show, and the counts; `total` is None if it is not known."""

    items: np.ndarray
    scores: np.ndarray
    total: int | None
    facets: dict[str, dict[Any, int]]


@dataclass(frozen=True)
class Prepared:
    """A selection on a collection, for any number of queries."""

    asked: Selection
    n_documents: int
    mask: np.ndarray | None
    facets: dict[str, Column]
    sort: Column | None
    group: Column | None

    @property
    def counts_matches(self) -> bool:
        """Whether all matches must be known."""
        return bool(self.facets) or self.sort is not None

    def select(
        self, matches: Matches, k: int, restricted: Restricted | None = None, with_words: np.ndarray | None = None
    ) -> Selected:
        """Return the hits of one query among documents that pass its restrictions.

        `matches(depth, mask)` returns rows and scores of documents that pass the mask, best first, and whether these
        are all; `depth` is the depth of the ranking. `with_words` is a mask of the documents that are counted and
        sorted, None for all.
        """
        if restricted is not None and restricted.mask is not None:
            return self._masked(restricted.mask).select(matches, k, restricted.unmasked(), with_words)
        if not self.counts_matches:
            return self._ranked(matches, k, restricted)
        counted = self if with_words is None else self._masked(with_words)
        items, scores, _ = matches(self.n_documents, counted.mask)
        if restricted is not None:
            kept = restricted.passes(items)
            items, scores = items[kept], scores[kept]
        facets = {name: count_values(column, items) for name, column in self.facets.items()}
        if self.sort is None and with_words is not None:  # the ranking continues after the documents that are counted
            return replace(self._ranked(matches, k, restricted), total=len(self._shown_once(items)), facets=facets)
        if self.sort is not None:
            order = _order(self.sort, items, (self.asked.sort or "").startswith("-"))
            items, scores = items[order], scores[order]
        best = self._shown_once(items)
        page = best[self.asked.offset : self.asked.offset + k]
        return Selected(items[page], scores[page], len(best), facets)

    def _ranked(self, matches: Matches, k: int, restricted: Restricted | None) -> Selected:
        """Return the hits by relevance, from as few documents as needed."""
        depth = self._first_depth(k)
        while True:
            items, scores, complete = matches(min(depth, self.n_documents), self.mask)
            if restricted is not None:
                kept = restricted.passes(items)
                items, scores = items[kept], scores[kept]
            complete = complete or depth >= self.n_documents
            best = self._shown_once(items)
            if complete or len(best) >= self.asked.offset + k:
                break
            depth *= 4
        page = best[self.asked.offset : self.asked.offset + k]
        return Selected(items[page], scores[page], len(best) if complete else None, {})

    def _shown_once(self, items: np.ndarray) -> np.ndarray:
        """Return the places of the items to show: of each group the first."""
        return np.arange(len(items)) if self.group is None else _first_of_each(self.group, items)

    def _masked(self, mask: np.ndarray) -> Prepared:
        return replace(self, mask=mask if self.mask is None else self.mask & mask)

    def _first_depth(self, k: int) -> int:
        share = 1.0 if self.mask is None else max(np.count_nonzero(self.mask) / len(self.mask), 1e-9)
        more = 1 if self.group is None else 4
        return int(min(self.n_documents, (self.asked.offset + k) * more / share * 1.3 + (32 if share < 1 else 0)))


def _column(what: str, name: str, fields: dict[str, Column]) -> Column:
    known = {label: column for label, column in fields.items() if getattr(column, "kind", "") not in ("text", "id")}
    if not known:
        raise UsageError(f"{what} is {name!r}, and the documents have no such field, nor any other")
    check_choice(what, name, known)
    return known[name]


def _sorted_by(sort: str, fields: dict[str, Column]) -> Column:
    name, _, order = sort.replace(":", " ").rpartition(" ")
    if name in fields and order.lower() in ("asc", "desc"):
        raise UsageError(f"sort is {sort!r}, want {name!r} for ascending and '-{name}' for descending order")
    return _column("sort", sort.removeprefix("-"), fields)


def _first_of_each(column: Column, items: np.ndarray) -> np.ndarray:
    """Places of the first item of each value; items without a value are all kept."""
    keys = _keys(column.take(items))
    missing = ~column.take(items).present()
    keys[missing] = -1.0 - np.arange(int(missing.sum()))  # codes and the ranks of values are not negative
    return np.sort(np.unique(keys, return_index=True)[1])


def _keys(column: Column) -> np.ndarray:
    """A number for each row, equal for equal values and in their order; 0 or more where there is a value."""
    values: Any = column.codes if isinstance(column, KeywordColumn) else getattr(column, "values", None)
    keys: np.ndarray = np.unique(values, return_inverse=True)[1].astype(np.float64)
    return keys


def _order(column: Column, items: np.ndarray, descending: bool) -> np.ndarray:
    """Places in the order of the field, ties by relevance, missing values last."""
    taken = column.take(items)
    if isinstance(column, KeywordColumn) and column.numbers is not None:
        keys = column.numbers[column.codes[items]]
    else:
        keys = _keys(taken)
    keys = keys * (-1.0 if descending else 1.0)
    keys[~taken.present()] = np.inf
    return np.argsort(keys, kind="stable")


def count_values(column: Column, items: np.ndarray) -> dict[Any, int]:
    """Count the items with each value, most frequent first, equal counts in the order of the values."""
    taken = column.take(items)
    if isinstance(taken, KeywordColumn | KeywordsColumn):
        codes = np.bincount(_codes_once(taken), minlength=len(taken.names))
        best = np.argsort(-codes, kind="stable")[:MAX_VALUES]
        return {taken.names[code]: int(codes[code]) for code in best.tolist() if codes[code]}
    values: Any = getattr(taken, "values", None)
    found, first, counts = np.unique(values[taken.present()], return_index=True, return_counts=True)
    rows = np.flatnonzero(taken.present())[first]
    best = np.argsort(-counts, kind="stable")[:MAX_VALUES]
    as_bool = isinstance(taken, BooleanColumn)
    return {bool(found[at]) if as_bool else taken[rows[at]]: int(counts[at]) for at in best.tolist()}


def _codes_once(column: KeywordColumn | KeywordsColumn) -> np.ndarray:
    """Return the codes of all rows, each once per row."""
    entries = np.flatnonzero(column.codes >= 0)
    codes: np.ndarray = column.codes[entries]
    if isinstance(column, KeywordsColumn):
        pairs = np.unique(np.stack([column.rows_of(entries), codes]), axis=1)
        codes = pairs[1]
    return codes


def make_selection(
    filter: str | None = None,
    facets: Sequence[str] | str = (),
    sort: str | None = None,
    offset: int = 0,
    group: str | None = None,
    snippets: bool = True,
) -> Selection:
    """Create a selection from user input; a single facet may be given by its name alone."""
    names = (facets,) if isinstance(facets, str) else tuple(check_list("facets", facets, "names of fields"))
    return Selection(filter, names, sort, offset, group, snippets)
