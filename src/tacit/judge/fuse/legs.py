"""Results of several systems for the same queries, in rows: the input of every fusion.

A row is a document that at least one leg returned for a query. Scores and ranks of legs that did not return it are NaN:
missing, which is not a score of 0. Ranks start at 1 and follow the scores. Ties follow the rank column of the run, or
the order of its `doc_ids` if it has no ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core import DataError, Judgments, Run, UsageError, plural
from tacit.metrics.rankings import look_up_grades

FEWEST_LEGS = 2


@dataclass(frozen=True)
class Legs:
    """Scores and ranks of all documents that any leg returned, by query.

    The rows of a query are ordered by the rank in the first leg, then in the second, and so on. Ties in a fusion keep
    this order.

    Parameters
    ----------
    names : tuple of str
        Names of the legs.
    query_ids : list of str
        Queries with results in any leg.
    starts : ndarray of shape (n_queries + 1,), int64
        First row of each query, and the number of rows.
    doc_ids : list of str
        Documents.
    doc : ndarray of shape (n_rows,), int64
        Document of each row, a position in `doc_ids`.
    scores, ranks : ndarray of shape (n_rows, n_legs), float64
        NaN where a leg did not return the document.
    """

    names: tuple[str, ...]
    query_ids: list[str]
    starts: np.ndarray
    doc_ids: list[str]
    doc: np.ndarray
    scores: np.ndarray
    ranks: np.ndarray

    def __len__(self) -> int:
        return len(self.query_ids)

    @cached_property
    def query(self) -> np.ndarray:
        """Query of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def depth(self) -> int:
        """The largest number of results of a leg for one query."""
        returned = np.add.reduceat(~np.isnan(self.ranks), self.starts[:-1], axis=0, dtype=np.int64)
        return int(returned.max(initial=1))

    @classmethod
    def from_runs(cls, runs: Mapping[str, Run]) -> Legs:
        """Make legs from runs by name.

        Examples
        --------
        >>> bm25, dense = Run.from_dict({"q": {"a": 9.0, "b": 7.5}}), Run.from_dict({"q": {"c": 0.8, "a": 0.6}})
        >>> legs = Legs.from_runs({"bm25": bm25, "dense": dense})
        >>> [legs.doc_ids[row] for row in legs.doc], legs.ranks.tolist()
        (['a', 'b', 'c'], [[1.0, 2.0], [2.0, nan], [nan, 1.0]])
        """
        check_names(list(runs))
        query_row, doc_row = dict[str, int](), dict[str, int]()
        entries = [_entries(run, query_row, doc_row) for run in runs.values()]
        keys = np.unique(np.concatenate([query * len(doc_row) + doc for query, doc, _, _ in entries]))
        scores, ranks = (np.full((len(keys), len(runs)), np.nan) for _ in range(2))
        for leg, (query, doc, score, rank) in enumerate(entries):
            rows = np.searchsorted(keys, query * len(doc_row) + doc)
            scores[rows, leg], ranks[rows, leg] = score, rank
        query, doc = np.divmod(keys, max(len(doc_row), 1))
        order = np.lexsort((*np.nan_to_num(ranks, nan=np.inf).T[::-1], query))
        starts = np.searchsorted(query[order], np.arange(len(query_row) + 1))
        return cls(tuple(runs), list(query_row), starts, list(doc_row), doc[order], scores[order], ranks[order])

    def take(self, queries: Sequence[int]) -> Legs:
        """Return the same for some queries, in the given order."""
        rows = [np.arange(self.starts[query], self.starts[query + 1]) for query in queries]
        kept = np.concatenate(rows) if rows else np.empty(0, np.int64)
        starts = np.concatenate([[0], np.cumsum([len(part) for part in rows])]).astype(np.int64)
        names = [self.query_ids[query] for query in queries]
        return Legs(self.names, names, starts, self.doc_ids, self.doc[kept], self.scores[kept], self.ranks[kept])

    def grades(self, judgments: Judgments) -> np.ndarray:
        """Return the grade of each row, NaN if unjudged."""
        grades = look_up_grades(self.query_ids, self.doc_ids, self.query, self.doc, judgments)
        return np.where(grades >= 0, grades, np.nan)

    def overlap(self, k: int = 10) -> dict[tuple[str, str], float]:
        """Return the share of the first k results that two legs have in common, mean over the queries of both."""
        found = dict[tuple[str, str], float]()
        top = self.ranks <= k
        counts = np.array([np.bincount(self.query[mask], minlength=len(self)) for mask in top.T])
        for a in range(len(self.names)):
            for b in range(a + 1, len(self.names)):
                both = np.bincount(self.query[top[:, a] & top[:, b]], minlength=len(self))
                asked = (counts[a] > 0) & (counts[b] > 0)
                share = both[asked] / np.minimum(counts[a], counts[b])[asked]
                found[self.names[a], self.names[b]] = float(share.mean()) if asked.any() else 0.0
        return found


def check_names(names: Sequence[str]) -> None:
    """Raise unless there are at least two legs with different names."""
    if len(names) < FEWEST_LEGS:
        raise UsageError(f"{plural(len(names), 'run')}, want {FEWEST_LEGS} or more")
    for name in names:
        if list(names).count(name) > 1:
            raise UsageError(f"two runs have the name {name!r}, want different names (a run's name is its file's stem)")


def check_overlap(legs: Legs) -> None:
    """Raise if a leg shares no query, or no document of any query, with the other legs."""
    returned = ~np.isnan(legs.scores)
    for leg, name in enumerate(legs.names):
        others = np.delete(returned, leg, axis=1).any(axis=1)
        mine = np.unique(legs.query[returned[:, leg]])
        theirs = np.unique(legs.query[others])
        if not len(np.intersect1d(mine, theirs)):
            example = legs.query_ids[mine[0]] if len(mine) else "none"
            raise DataError(f"has no query in common with the other runs (its first is {example!r})", path=name)
        if not (returned[:, leg] & others).any():
            row = int(np.argmax(returned[:, leg]))
            example = legs.doc_ids[legs.doc[row]]
            raise DataError(
                f"has no document in common with the other runs for any query (its first is {example!r}); "
                "want results from the same collection",
                path=name,
            )


def _entries(
    run: Run, query_row: dict[str, int], doc_row: dict[str, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return query, document, score and rank of a run's entries, by rows that all runs share."""
    q = np.array([query_row.setdefault(name, len(query_row)) for name in run.query_ids], np.int64)
    d = np.array([doc_row.setdefault(name, len(doc_row)) for name in run.doc_ids], np.int64)
    tie = run.doc if run.rank is None else run.rank
    order = np.lexsort((tie, -run.score, run.query))
    query = run.query[order]
    rank = np.arange(1, len(query) + 1) - np.searchsorted(query, query, side="left")
    return q[query], d[run.doc[order]], run.score[order].astype(np.float64), rank.astype(np.float64)
