"""Documents (or queries) as packages exchange them: ids, titles and texts in one order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tacit.core.errors import TacitError
from tacit.core.texts import LazyTexts, take_texts


class Document(NamedTuple):
    """One row of a collection."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Collection:
    """Texts with unique ids; other packages refer to them by row number.

    Parameters
    ----------
    ids : sequence of str
        Unique ids.
    titles : sequence of str
        Titles, empty where there are none; queries have none.
    texts : sequence of str
        Texts.
    extras : mapping of str to sequence, default={}
        Further fields of the source by name, one value for each row.
    name : str, default=""
        Name of the collection.

    Examples
    --------
    >>> docs = Collection(["a", "b"], ["Cats", "Dogs"], ["they purr", "they bark"])
    >>> docs.row_of["b"], docs[1].title, docs.full_text(0)
    (1, 'Dogs', 'Cats\\nthey purr')
    """

    ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    extras: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        columns = {"titles": self.titles, "texts": self.texts, **self.extras}
        for label, column in columns.items():
            if len(column) != len(self.ids):
                raise TacitError(f"rows of {label}: {len(column)}, of ids: {len(self.ids)}; want the same number")
        if not isinstance(self.ids, LazyTexts):  # those of a stored model are looked at when they are needed
            self.row_of  # noqa: B018 - raises if an id repeats

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row number by id."""
        rows = {doc_id: row for row, doc_id in enumerate(self.ids)}
        if len(rows) != len(self.ids):
            twice = next(doc_id for row, doc_id in enumerate(self.ids) if rows[doc_id] != row)
            raise TacitError(f"id {twice!r} stands more than once in the collection; want unique ids")
        return rows

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, row: int) -> Document:
        return Document(self.ids[row], self.titles[row], self.texts[row])

    def __iter__(self) -> Iterator[Document]:
        return map(Document, self.ids, self.titles, self.texts)

    def full_text(self, row: int) -> str:
        """Title and text as one string: what rankers read."""
        title, text = self.titles[row], self.texts[row]
        return f"{title}\n{text}" if title else text

    def full_texts(self) -> Iterator[str]:
        """`full_text` of every row, in order."""
        return map(self.full_text, range(len(self)))

    def take(self, rows: np.ndarray | Sequence[int]) -> Collection:
        """The given rows as a collection of their own."""

        def pick(column: Sequence[Any]) -> list[Any]:
            return [column[row] for row in rows]

        extras = {label: pick(column) for label, column in self.extras.items()}
        return Collection(pick(self.ids), pick(self.titles), take_texts(self.texts, rows), extras, self.name)
