"""Relevance judgments (grades from people) and runs (scores from a system), by external ids.

Both are stored as columns: entry t gives the pair `query_ids[query[t]]`, `doc_ids[doc[t]]` the value `grade[t]` or
`score[t]`. A document without a judgment is unjudged, which differs from a judgment of 0. Readers drop negative
grades for that reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core.checks import check_array, check_kind
from tacit.core.collection import N_SHOWN, html_table
from tacit.core.errors import TacitError, plural


@dataclass(frozen=True, repr=False)
class Judgments:
    """Grades of query-document pairs. A grade >= 1 is relevant unless a measure sets another threshold.

    Parameters
    ----------
    query_ids : sequence of str
        Ids of the queries.
    doc_ids : sequence of str
        Ids of the documents.
    query : ndarray of shape (n_pairs,), int64
        Position in `query_ids` for each pair.
    doc : ndarray of shape (n_pairs,), int64
        Position in `doc_ids` for each pair.
    grade : ndarray of shape (n_pairs,), float64
        Grade of each pair.
    probability : ndarray of shape (n_pairs,), float64, default=None
        Probability that the pair was sampled for judging; NaN if unknown.

    Examples
    --------
    >>> j = Judgments.from_dict({"q1": {"a": 2, "b": 0}})
    >>> len(j), j.query_ids, j.to_dict()
    (2, ['q1'], {'q1': {'a': 2.0, 'b': 0.0}})
    """

    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    query: np.ndarray
    doc: np.ndarray
    grade: np.ndarray
    probability: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_columns(self, "grade")
        chance = self.probability
        if chance is not None:
            _check_numbers("probability", chance)
        if chance is not None and (len(chance) != len(self.query) or ((chance <= 0) | (chance > 1)).any()):
            raise TacitError("probability must have one entry per pair, each NaN or above 0 and at most 1")

    def __len__(self) -> int:
        return len(self.query)

    def __repr__(self) -> str:
        grades = ", ".join(f"{grade:g}: {n:,}" for grade, n in zip(*_counts(self.grade), strict=True))
        about = f"{plural(len(self.query_ids), 'query')}, {plural(len(self), 'judgment')}"
        return f"Judgments({about}{f'; grades {grades}' if grades else ''})"

    @classmethod
    def from_dict(cls, grades: Mapping[str, Mapping[str, float]]) -> Judgments:
        """Judgments from `{query: {document: grade}}`."""
        return cls(*_columns(grades))

    def to_dict(self) -> dict[str, dict[str, float]]:
        """`{query: {document: grade}}`, in the order of the columns."""
        return _nested(self, self.grade)

    def select(self, queries: np.ndarray, pairs: np.ndarray) -> Judgments:
        """Return the pairs and queries selected by the masks, with only the documents that still occur."""
        query_row = np.cumsum(queries) - 1
        docs, doc = np.unique(self.doc[pairs], return_inverse=True)
        return Judgments(
            [self.query_ids[row] for row in np.flatnonzero(queries).tolist()],
            [self.doc_ids[row] for row in docs.tolist()],
            query_row[self.query[pairs]],
            doc,
            self.grade[pairs],
            None if self.probability is None else self.probability[pairs],
        )


@dataclass(frozen=True, repr=False)
class Run:
    """Scores that one system gave to documents for each query.

    Results of a query are ordered by decreasing score. Ties are ordered by `rank`, or else by `doc_ids`: in a
    run made from a collection the smaller row comes first.

    Parameters
    ----------
    query_ids : sequence of str
        Ids of the queries.
    doc_ids : sequence of str
        Ids of the documents.
    query : ndarray of shape (n_pairs,), int64
        Position in `query_ids` for each pair.
    doc : ndarray of shape (n_pairs,), int64
        Position in `doc_ids` for each pair.
    score : ndarray of shape (n_pairs,), float64
        Score of each pair.
    name : str, default="tacit"
        Name of the system.
    rank : ndarray of shape (n_pairs,), int64, default=None
        Rank column of a run read from a file. It breaks ties.
    """

    query_ids: Sequence[str]
    doc_ids: Sequence[str]
    query: np.ndarray
    doc: np.ndarray
    score: np.ndarray
    name: str = "tacit"
    rank: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check_columns(self, "score")

    def __len__(self) -> int:
        return len(self.query)

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {plural(len(self.query_ids), 'query')}, {plural(len(self), 'line')})"

    def _repr_html_(self) -> str:
        """Return the first lines as an HTML table, for notebooks."""
        places = range(min(N_SHOWN, len(self)))
        rows = [[self.query_ids[self.query[at]], self.doc_ids[self.doc[at]], float(self.score[at])] for at in places]
        return html_table(["query", "document", "score"], rows, repr(self))

    @classmethod
    def from_dict(cls, scores: Mapping[str, Mapping[str, float]], name: str = "tacit") -> Run:
        """A run from `{query: {document: score}}`."""
        return cls(*_columns(scores), name)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """`{query: {document: score}}`, in the order of the columns."""
        return _nested(self, self.score)


def _counts(grades: np.ndarray) -> tuple[list[float], list[int]]:
    """Return up to ten grades and the number of judgments with each."""
    values, counts = np.unique(grades, return_counts=True)
    return values[:10].tolist(), counts[:10].tolist()


def _columns(
    nested: Mapping[str, Mapping[str, float]],
) -> tuple[list[str], list[str], np.ndarray, np.ndarray, np.ndarray]:
    doc_row: dict[str, int] = {}
    query, doc, value = [], [], []
    for q, per_doc in enumerate(nested.values()):
        check_kind("the documents of a query", per_doc, Mapping, "a mapping of ids to numbers")
        for doc_id, number in per_doc.items():
            query.append(q)
            doc.append(doc_row.setdefault(doc_id, len(doc_row)))
            value.append(number)
    columns = np.array(query, np.int64), np.array(doc, np.int64), check_array("the numbers of documents", value)
    return list(nested), list(doc_row), *columns


def _nested(table: Judgments | Run, values: np.ndarray) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = {query_id: {} for query_id in table.query_ids}
    for q, d, value in zip(table.query.tolist(), table.doc.tolist(), values.tolist(), strict=True):
        nested[table.query_ids[q]][table.doc_ids[d]] = value
    return nested


def _check_numbers(name: str, values: Any) -> None:
    check_kind(name, values, np.ndarray, "a flat array of numbers")
    if values.dtype.kind not in "iufb" or values.ndim != 1:
        raise TacitError(f"{name} is an array of {values.dtype} of shape {values.shape}, want a flat one of numbers")


def _check_columns(table: Judgments | Run, value_name: str) -> None:
    for name in ("query_ids", "doc_ids"):
        check_kind(name, getattr(table, name), Sequence | np.ndarray, "a list of ids")
    for name in ("query", "doc", value_name):
        _check_numbers(name, getattr(table, name))
    values = getattr(table, value_name)
    if not len(table.query) == len(table.doc) == len(values):
        raise TacitError(f"query, doc and {value_name} must have one entry each per pair")
    if not np.isfinite(values).all():
        raise TacitError(f"{value_name} contains a value that is not finite")
    for name, ids in (("query", table.query_ids), ("doc", table.doc_ids)):
        rows = getattr(table, name)
        if len(rows) and (rows.min() < 0 or rows.max() >= len(ids)):
            raise TacitError(f"{name} contains row {rows.max()}, want 0 to {len(ids) - 1}")
