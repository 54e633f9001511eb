"""Feature lists in the LETOR form: one row per query-document pair, with the rows of a query together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.core.checks import check_kind
from tacit.core.errors import TacitError, plural
from tacit.core.judgments import Judgments, Run


@dataclass(frozen=True)
class Lists:
    """Rows of features with grades, grouped into lists.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float64
        Features; NaN is a missing value.
    y : ndarray of shape (n_rows,), float64
        Grades; NaN is unjudged.
    starts : ndarray of shape (n_lists + 1,), int64
        List l is rows `starts[l]` to `starts[l + 1]`.
    query_ids : sequence of str
        Query of each list.
    doc_ids : sequence of str
        Document of each row; empty if the source has no id.
    comments : sequence of str, default=()
        Remainder of each row's comment.
    """

    X: np.ndarray
    y: np.ndarray
    starts: np.ndarray
    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    comments: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("X", "y", "starts"):
            check_kind(name, getattr(self, name), np.ndarray, "an array")
        for name in ("query_ids", "doc_ids"):
            check_kind(name, getattr(self, name), Sequence | np.ndarray, "a list of ids")
        n_rows = len(self.X)
        if not len(self.y) == len(self.doc_ids) == n_rows:
            raise TacitError(
                f"X has {plural(n_rows, 'row')}, y {len(self.y)} and doc_ids {len(self.doc_ids)}; want the same number"
            )
        starts = self.starts
        if (
            starts.shape != (len(self.query_ids) + 1,)
            or starts[0] != 0
            or starts[-1] != n_rows
            or (np.diff(starts) < 1).any()
        ):
            raise TacitError("starts must rise from 0 to the number of rows, one step for each query")

    def __len__(self) -> int:
        """Number of lists, not of rows."""
        return len(self.query_ids)

    @property
    def qid(self) -> np.ndarray:
        """Return the list number of each row: scikit-learn's `groups`."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def rows(self, number: int) -> slice:
        """Return the rows of one list."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def take(self, numbers: Sequence[int] | np.ndarray) -> Lists:
        """Return some of the lists, in the given order."""
        rows = _concatenate([np.arange(self.starts[n], self.starts[n + 1]) for n in numbers])
        lengths = np.diff(self.starts)[np.asarray(numbers, np.int64)]
        return Lists(
            X=self.X[rows],
            y=self.y[rows],
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            query_ids=[self.query_ids[n] for n in numbers],
            doc_ids=[self.doc_ids[r] for r in rows],
            comments=[self.comments[r] for r in rows] if self.comments else (),
        )

    def take_queries(self, query_ids: Sequence[str]) -> Lists:
        """Return the lists of the given queries; an unknown id is an error."""
        number_of = {query_id: number for number, query_id in enumerate(self.query_ids)}
        missing = [query_id for query_id in query_ids if query_id not in number_of]
        if missing:
            raise TacitError(f"{plural(len(missing), 'query')} without a list, the first is {missing[0]!r}")
        return self.take([number_of[query_id] for query_id in query_ids])

    def document_names(self) -> list[str]:
        """Return the document id of every row, or `<query id>-<n>` with n from 1 if the source has no ids.

        >>> Lists(np.zeros((3, 1)), np.zeros(3), np.array([0, 2, 3]), ["q", "r"], ["a", "", ""]).document_names()
        ['a', 'q-2', 'r-1']
        """
        return [
            self.doc_ids[row] or f"{query_id}-{row - start + 1}"
            for query_id, start, stop in zip(self.query_ids, self.starts[:-1], self.starts[1:], strict=True)
            for row in range(start, stop)
        ]

    def to_judgments(self) -> Judgments:
        """Return the judged rows as judgments, with the ids of `document_names`."""
        judged = np.flatnonzero(self.y >= 0)  # NaN and negative grades are unjudged
        doc_ids, doc = self._number_documents(judged)
        return Judgments(list(self.query_ids), doc_ids, self.qid[judged], doc, self.y[judged].astype(np.float64))

    def to_run(self, scores: np.ndarray, name: str = "tacit") -> Run:
        """Return the scores of all rows, (n_rows,), as a run with the ids of `document_names`."""
        doc_ids, doc = self._number_documents(np.arange(len(self.X)))
        return Run(list(self.query_ids), doc_ids, self.qid, doc, np.asarray(scores, np.float64), name)

    def _number_documents(self, rows: np.ndarray) -> tuple[list[str], np.ndarray]:
        """Return the distinct document ids of the rows, in order of appearance, and each row's position among them."""
        names, number_of = self.document_names(), dict[str, int]()
        numbers = np.array([number_of.setdefault(names[row], len(number_of)) for row in rows.tolist()], np.int64)
        return list(number_of), numbers

    def __iter__(self) -> Iterator[Lists]:
        return (self.take([number]) for number in range(len(self)))


def _concatenate(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
