"""Pairs that may be judged: documents of each query, best first, with their features or query vectors."""

from __future__ import annotations

from collections.abc import Collection as Container
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Lists, Run, TacitError
from tacit.features.scaling import spreads
from tacit.metrics.rankings import order_run


class Suggestion(NamedTuple):
    """A pair to judge: its rank, its probability of being chosen (None: unknown), and the reason for the choice."""

    query: str
    document: str
    rank: int
    probability: float | None
    why: str


@dataclass(frozen=True)
class Pool:
    """Pairs of queries and documents, by query and best first.

    Parameters
    ----------
    query_ids : list of str
        The queries.
    query : ndarray of shape (n_pairs,), int64
        Number of the query of each pair, in ascending order.
    doc_ids : list of str
        Document of each pair.
    rank : ndarray of shape (n_pairs,), int64
        Rank in the query, from 1.
    columns : ndarray of shape (n_pairs, n_columns) or None, default=None
        Features of the pairs: their quantiles in the list minus the mean.
    vectors : ndarray or csr_array of shape (n_queries, n), or None, default=None
        Vectors of the queries; similar queries have near vectors.
    """

    query_ids: list[str]
    query: np.ndarray
    doc_ids: list[str]
    rank: np.ndarray
    columns: np.ndarray | None = None
    vectors: np.ndarray | sp.csr_array | None = None

    def __len__(self) -> int:
        return len(self.query)

    @classmethod
    def from_run(cls, run: Run, depth: int, vectors: np.ndarray | sp.csr_array | None = None) -> Pool:
        """Make a pool of the first documents of every query of a run; `vectors` has a row for each query."""
        query, doc, rank = order_run(run)
        kept = rank <= depth
        if not kept.any():
            raise TacitError("the run has no documents, so there is nothing to judge")
        doc_ids = [run.doc_ids[row] for row in doc[kept].tolist()]
        return cls(list(run.query_ids), query[kept], doc_ids, rank[kept], None, vectors)

    @classmethod
    def from_lists(cls, lists: Lists, scores: np.ndarray | None = None) -> Pool:
        """Make a pool of all rows of feature lists, ranked by scores or else by the mean quantile of features."""
        columns = list_quantiles(lists)
        scores = columns.mean(axis=1) if scores is None else np.asarray(scores, np.float64)
        order = np.lexsort((np.arange(len(scores)), -scores, lists.qid))
        names = lists.document_names()
        rank = np.arange(len(order)) - np.repeat(lists.starts[:-1], np.diff(lists.starts)) + 1
        doc_ids = [names[row] for row in order.tolist()]
        centred = np.nan_to_num(lists.X) - np.nan_to_num(lists.X).mean(axis=0)
        means = np.add.reduceat(centred / spreads(centred, least=0.0), lists.starts[:-1], axis=0)
        vectors = means / np.diff(lists.starts)[:, None]
        return cls(list(lists.query_ids), lists.qid, doc_ids, rank, columns[order], vectors)

    def rows_of(self, pairs: Container[tuple[str, str]]) -> np.ndarray:
        """Return the rows of pairs, given as (query id, document id); unknown pairs are left out."""
        names = zip(self.query.tolist(), self.doc_ids, strict=True)
        found = [row for row, (q, doc) in enumerate(names) if (self.query_ids[q], doc) in pairs]
        return np.array(found, np.int64)


def list_quantiles(lists: Lists) -> np.ndarray:
    """Return each feature as its quantile in the list, from -0.5 to 0.5, ties in the middle; float64."""
    from scipy.stats import rankdata

    X = np.nan_to_num(lists.X)
    columns = np.zeros(X.shape)
    for number in range(len(lists)):
        rows = lists.rows(number)
        n = rows.stop - rows.start
        columns[rows] = (rankdata(X[rows], axis=0) - (n + 1) / 2) / max(n - 1, 1)
    return columns
