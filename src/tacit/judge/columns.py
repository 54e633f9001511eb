"""Current judgments of a store as columns, read in one scan: for stores with millions of grades."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tacit.judge.database import damage_in_one_line
from tacit.judge.records import DECISION

if TYPE_CHECKING:
    from tacit.judge.store import JudgmentStore

# The index on (query, document, judge, time) gives this order, so SQLite does not sort.
SCAN = """SELECT query, document, judge, grade, time, number, action FROM judgment
          WHERE judge IS NOT NULL AND (?1 IS NULL OR judge IN (SELECT value FROM json_each(?1))) AND display IS NOT ?2
          ORDER BY query, document, judge, time, number"""
CHANCES = """SELECT query, document, probability FROM judgment WHERE probability IS NOT NULL ORDER BY time, number"""


class Graded(NamedTuple):
    """One current judgment, in the form that agreement measures take."""

    query: str
    document: str
    judge: str
    grade: float | None


@dataclass(frozen=True)
class JudgmentColumns:
    """The last judgment of each judge and pair, in the order in which the pairs were first judged.

    Parameters
    ----------
    judges, query_ids, doc_ids : list of str
        Names, by number.
    judge, query, doc : ndarray of shape (n,), int64
        Number of the judge, query and document.
    grade : ndarray of shape (n,), float64
        Grade; NaN for "cannot judge".
    probability : ndarray of shape (n,), float64
        Last known probability of the pair; NaN where unknown.
    time : ndarray of shape (n,), int64
        Place of the record's time among all times.
    """

    judges: list[str]
    query_ids: list[str]
    doc_ids: list[str]
    judge: np.ndarray
    query: np.ndarray
    doc: np.ndarray
    grade: np.ndarray
    probability: np.ndarray
    time: np.ndarray

    def __len__(self) -> int:
        return len(self.judge)

    @property
    def pair(self) -> np.ndarray:
        """Return one number for each pair of query and document."""
        return np.asarray(self.query * max(len(self.doc_ids), 1) + self.doc)

    def take(self, rows: np.ndarray) -> list[Graded]:
        """Return some judgments as records."""
        return [
            Graded(self.query_ids[q], self.doc_ids[d], self.judges[j], None if g != g else g)
            for q, d, j, g in zip(
                *(column[rows].tolist() for column in (self.query, self.doc, self.judge, self.grade)), strict=True
            )
        ]

    def shared(self) -> np.ndarray:
        """Return the rows of pairs that more than one judge judged."""
        _, inverse, count = np.unique(self.pair, return_inverse=True, return_counts=True)
        return np.flatnonzero(count[inverse] > 1)


def read_columns(
    store: JudgmentStore, judges: Sequence[str] | None = None, *, decisions: bool = True
) -> JudgmentColumns:
    """Return the current judgments of some judges, or of all; "cannot judge" included, withdrawn ones excluded.

    Without `decisions`, judgments made with other judges' grades in sight are skipped: they are not independent.
    """
    with damage_in_one_line(store.path):
        return _read_columns(store, judges, decisions)


def _read_columns(store: JudgmentStore, judges: Sequence[str] | None, decisions: bool) -> JudgmentColumns:
    columns, names, docs, times = _scan(store, judges, decisions)
    query, doc, judge, grade, time, number, judged = columns
    starts = np.flatnonzero(np.append(True, np.diff(query) | np.diff(doc) | np.diff(judge)))[: len(query)]
    last = np.append(starts[1:], len(query)) - 1 if len(starts) else starts
    first = np.minimum.reduceat(number, starts) if len(starts) else number
    kept = judged[last]
    rows = last[kept][np.argsort(first[kept], kind="stable")]
    ids = dict(store._ask("SELECT number, id FROM query"))
    numbers, query_row = np.unique(query[rows], return_inverse=True)
    place = np.argsort(np.argsort(np.array(list(times), object))).astype(np.int64)
    found = JudgmentColumns(
        *(list(names), [ids[number] for number in numbers.tolist()], list(docs)),
        *(judge[rows], query_row.astype(np.int64), doc[rows], grade[rows], np.full(len(rows), np.nan)),
        place[time[rows]] if len(rows) else time,
    )
    _fill_chances(store, found, {number: row for row, number in enumerate(numbers.tolist())})
    return found


def _scan(
    store: JudgmentStore, judges: Sequence[str] | None, decisions: bool
) -> tuple[list[np.ndarray], dict[str, int], dict[str, int], dict[str, int]]:
    """Return the columns of all records (query, doc, judge, grade, time, number, judged), and numbers by name."""
    names, docs, times = dict[str, int](), dict[str, int](), dict[str, int]()
    blocks: list[list[np.ndarray]] = []
    chosen = None if judges is None else json.dumps(list(judges))
    for block in store._ask_in_blocks(SCAN, chosen, "" if decisions else DECISION):
        query, doc, judge, grade, time, number, action = zip(*block, strict=True)
        blocks.append([
            np.array(query, np.int64), _codes(doc, docs), _codes(judge, names), np.array(grade, np.float64),
            _codes(time, times), np.array(number, np.int64), np.array([what == "judged" for what in action], bool),
        ])  # fmt: skip
    kinds = (np.int64, np.int64, np.int64, np.float64, np.int64, np.int64, bool)
    parts = zip(*blocks, strict=True) if blocks else [[np.empty(0, kind)] for kind in kinds]
    return [np.concatenate(part) for part in parts], names, docs, times


def _codes(values: Sequence[str], row_of: dict[str, int]) -> np.ndarray:
    """Return numbers of names, in order of first appearance."""
    return np.array([row_of.setdefault(value, len(row_of)) for value in values], np.int64)


def _fill_chances(store: JudgmentStore, found: JudgmentColumns, query_row: dict[int, int]) -> None:
    doc_row = {name: row for row, name in enumerate(found.doc_ids)}
    n_docs = max(len(doc_row), 1)
    chance = {
        query_row[query] * n_docs + doc_row[doc]: probability
        for query, doc, probability in store._ask(CHANCES)
        if query in query_row and doc in doc_row
    }
    if chance:
        keys = np.array(sorted(chance), np.int64)
        values = np.array([chance[key] for key in keys.tolist()])
        at = np.minimum(np.searchsorted(keys, found.pair), len(keys) - 1)
        hit = keys[at] == found.pair
        found.probability[hit] = values[at[hit]]
