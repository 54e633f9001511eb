"""Collections of documents or queries: ids, titles, texts and further fields in row order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple, overload

import numpy as np

from tacit.core.checks import check_kind, shown
from tacit.core.errors import TacitError, plural
from tacit.core.fields import Column, take_column
from tacit.core.texts import LazyTexts, take_texts

N_SHOWN = 5  # rows of the notebook table
SHOWN_CHARACTERS = 80  # characters per cell of that table


class Document(NamedTuple):
    """One row of a collection."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, repr=False)
class Collection:
    """Texts with unique ids; other packages refer to them by row number.

    Parameters
    ----------
    ids : sequence of str
        Unique ids. Integers are converted to text.
    titles : sequence of str
        Titles; empty for documents without a title and for queries.
    texts : sequence of str
        Texts. Lists, arrays and pandas or polars series are read in row order.
    extras : mapping of str to sequence, default={}
        Further fields of the source by name, one value per row: plain sequences or typed columns
        (`tacit.core.fields`).
    name : str, default=""
        Name of the collection.

    Examples
    --------
    >>> docs = Collection(["a", "b"], ["Cats", "Dogs"], ["they purr", "they bark"])
    >>> docs.row_of["b"], docs[1].title, docs.full_text(0)
    (1, 'Dogs', 'Cats\\nthey purr')
    >>> docs, docs[:1]
    (Collection(2 documents), Collection(1 document))
    """

    ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    extras: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        _set(self, "ids", _checked_ids(self.ids))
        for label in ("titles", "texts"):
            _set(self, label, _checked_texts(label, getattr(self, label)))
        check_kind("extras", self.extras, Mapping, "columns by name")
        _set(self, "extras", {label: _in_order(column) for label, column in self.extras.items()})
        columns = {"titles": self.titles, "texts": self.texts, **self.extras}
        for label, column in columns.items():
            if len(column) != len(self.ids):
                raise TacitError(f"rows of {label}: {len(column)}, of ids: {len(self.ids)}; want the same number")
        if not isinstance(self.ids, LazyTexts):  # ids of a stored model are checked on first use
            self.row_of  # noqa: B018 - raises if an id repeats

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row number by id."""
        rows = {doc_id: row for row, doc_id in enumerate(self.ids)}
        if len(rows) != len(self.ids):
            twice = next(doc_id for row, doc_id in enumerate(self.ids) if rows[doc_id] != row)
            raise TacitError(f"id {twice!r} is more than once in the collection; want unique ids")
        return rows

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, row: int) -> Document: ...
    @overload
    def __getitem__(self, row: slice) -> Collection: ...
    def __getitem__(self, row: int | slice) -> Document | Collection:
        if isinstance(row, slice):
            return self.take(range(*row.indices(len(self))))
        return Document(self.ids[row], self.titles[row], self.texts[row])

    def __iter__(self) -> Iterator[Document]:
        return map(Document, self.ids, self.titles, self.texts)

    def full_text(self, row: int) -> str:
        """Return title and text as one string, the input of rankers."""
        title, text = self.titles[row], self.texts[row]
        return f"{title}\n{text}" if title else text

    def full_texts(self) -> Iterator[str]:
        """`full_text` of every row, in order."""
        return map(self.full_text, range(len(self)))

    def take(self, rows: np.ndarray | Sequence[int]) -> Collection:
        """Return the given rows as a new collection."""

        def pick(column: Sequence[Any]) -> list[Any]:
            return [column[row] for row in rows]

        extras = {label: take_column(column, rows) for label, column in self.extras.items()}
        return Collection(pick(self.ids), pick(self.titles), take_texts(self.texts, rows), extras, self.name)

    def fields(self, row: int) -> dict[str, Any]:
        """Return the further fields of a row that have a value."""
        found = {label: column[row] for label, column in self.extras.items()}
        return {label: value for label, value in found.items() if value is not None}

    def __repr__(self) -> str:
        kinds = [f"{label} {c.kind}" if isinstance(c, Column) else label for label, c in self.extras.items()]
        name = f"{self.name!r}, " if self.name else ""
        fields = f"; fields: {', '.join(kinds)}" if kinds else ""
        return f"Collection({name}{plural(len(self), 'document')}{fields})"

    def _repr_html_(self) -> str:
        """Return the first rows as an HTML table, for notebooks."""
        labels = ["id", "title", "text", *self.extras]
        rows = [
            [*self[row], *(self.extras[label][row] for label in self.extras)] for row in range(min(N_SHOWN, len(self)))
        ]
        return html_table(labels, rows, repr(self))


def html_table(labels: Sequence[str], rows: Sequence[Sequence[Any]], caption: str) -> str:
    """Return an HTML table of escaped, shortened values."""
    head = "".join(f"<th>{escape(label)}</th>" for label in labels)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_short(value))}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _short(value: Any) -> str:
    if isinstance(value, float):
        text = "-" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1 else f"{round(value, 4):.12g}"
    else:
        text = "" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _set(owner: object, name: str, value: Any) -> None:
    object.__setattr__(owner, name, value)  # the dataclass is frozen


def _in_order(column: Any) -> Sequence[Any]:
    """Return the column as a sequence indexed by row number. A pandas series is indexed by label instead."""
    if isinstance(column, list | tuple | LazyTexts | Column | range):
        return column
    if isinstance(column, str | bytes) or not hasattr(column, "__iter__"):
        raise TacitError(f"a column of a collection is of type {type(column).__name__}, want a list")
    try:
        return column.tolist() if isinstance(column, np.ndarray) else list(column)
    except TypeError:  # sparse matrices
        raise TacitError(f"a column of a collection is of type {type(column).__name__}, want a list") from None


def _checked_ids(ids: Any) -> Sequence[str]:
    """Return ids as text; integers are converted."""
    column = _in_order(ids)
    if isinstance(column, LazyTexts) or set(map(type, column)) <= {str}:
        return column
    bad = next((row for row, one in enumerate(column) if not _is_id(one)), None)
    if bad is not None:
        raise TacitError(f"ids: row {bad} is {shown(column[bad])}, want text or a whole number")
    return [str(one) for one in column]


def _is_id(value: object) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)


def _checked_texts(label: str, texts: Any) -> Sequence[str]:
    column = _in_order(texts)
    if not isinstance(column, LazyTexts) and not set(map(type, column)) <= {str}:
        bad = next((row for row, one in enumerate(column) if not isinstance(one, str)), None)
        if bad is not None:
            raise TacitError(f"{label}: row {bad} is {shown(column[bad])}, want text")
    return column
