"""Judgments and a run joined as flat arrays, the input of every formula.

Order within a query: score descending; ties by the rank column of a run file, or by the run's `doc_ids` if the run has
no ranks. Negative grades mean unjudged, as in trec_eval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.core import Judgments, Run, TacitError


@dataclass(frozen=True)
class Rankings:
    """All ranked and all judged documents of `n_queries` queries.

    Ranked, by query and then best first: query (int64), place (int64, 0 is the best), score, grade (float64, NaN =
    unjudged). Judged, in any order: judged_query, judged_grade, and judged_score, which is -inf for a document that is
    not in the run.
    """

    n_queries: int
    query: np.ndarray
    place: np.ndarray
    score: np.ndarray
    grade: np.ndarray
    judged_query: np.ndarray
    judged_grade: np.ndarray
    judged_score: np.ndarray

    def sum_per_query(self, query: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the sum of the values of each query, float64 (n_queries,)."""
        return np.bincount(query, weights=values, minlength=self.n_queries).astype(np.float64)

    def n_relevant(self, rel: float) -> np.ndarray:
        """Return the number of relevant documents of each query, ranked or not."""
        return self.sum_per_query(self.judged_query, self.judged_grade >= rel)

    @cached_property
    def n_ranked(self) -> np.ndarray:
        """Return the number of documents in the run for each query; 0 for a missing query."""
        return np.bincount(self.query, minlength=self.n_queries)

    @cached_property
    def judged_only(self) -> Rankings:
        """Return the same without the unjudged documents; documents below them move up."""
        kept = ~np.isnan(self.grade)
        query = self.query[kept]
        judged = (self.judged_query, self.judged_grade, self.judged_score)
        return Rankings(self.n_queries, query, _places(query), self.score[kept], self.grade[kept], *judged)

    @cached_property
    def ideal(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return query, position and grade of the judged documents, best grade first."""
        order = np.lexsort((-self.judged_grade, self.judged_query))
        query = self.judged_query[order]
        return query, _places(query), self.judged_grade[order]


def join_run(judgments: Judgments, run: Run) -> tuple[Rankings, int]:
    """Return the run with the judgments' query rows, and the number of its queries without judgments."""
    query_row = _row_of("query", judgments.query_ids)
    doc_number = _row_of("document", judgments.doc_ids)
    run_query = np.array([query_row.get(query_id, -1) for query_id in run.query_ids], np.int64)
    run_doc = np.array([doc_number.setdefault(doc_id, len(doc_number)) for doc_id in run.doc_ids], np.int64)
    n_unjudged_queries = len({run.query_ids[q] for q in np.unique(run.query) if run_query[q] < 0})

    known = run_query[run.query] >= 0
    order = _best_first(run_query[run.query[known]], run.score[known], _ties(run)[known])
    query, doc, score = (column[known][order] for column in (run_query[run.query], run_doc[run.doc], run.score))
    judged = judgments.grade >= 0
    judged_query, judged_doc, judged_grade = (
        column[judged] for column in (judgments.query, judgments.doc, judgments.grade)
    )

    n_docs = len(doc_number)
    run_keys, judged_keys = query * n_docs + doc, judged_query * n_docs + judged_doc
    for source, keys in (("the run", run_keys), ("the judgments", judged_keys)):
        _check_no_pair_twice(source, keys, judgments.query_ids, doc_number)
    rankings = Rankings(
        n_queries=len(judgments.query_ids),
        query=query,
        place=_places(query),
        score=score,
        grade=_look_up(run_keys, judged_keys, judged_grade, missing=np.nan),
        judged_query=judged_query,
        judged_grade=judged_grade,
        judged_score=_look_up(judged_keys, run_keys, score, missing=-np.inf),
    )
    return rankings, n_unjudged_queries


def order_run(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return query row, document row and rank (from 1) of a run's entries, by query and best first."""
    order = _best_first(run.query, run.score, _ties(run))
    query = run.query[order]
    return query, run.doc[order], _places(query) + 1


def look_up_pairs(judgments: Judgments, other: Judgments) -> np.ndarray:
    """Return the grade of another judge for each pair of the judgments; NaN if there is none."""
    return look_up_grades(judgments.query_ids, judgments.doc_ids, judgments.query, judgments.doc, other)


def look_up_grades(
    query_ids: Sequence[str], doc_ids: Sequence[str], query: np.ndarray, doc: np.ndarray, judgments: Judgments
) -> np.ndarray:
    """Return the grade of each pair, given as positions in `query_ids` and `doc_ids`; NaN if there is none."""
    query_row = {name: row for row, name in enumerate(query_ids)}
    doc_row = {name: row for row, name in enumerate(doc_ids)}
    q = np.array([query_row.get(name, -1) for name in judgments.query_ids], np.int64)[judgments.query]
    d = np.array([doc_row.get(name, -1) for name in judgments.doc_ids], np.int64)[judgments.doc]
    known = (q >= 0) & (d >= 0)
    n_docs = max(len(doc_row), 1)
    return _look_up(query * n_docs + doc, q[known] * n_docs + d[known], judgments.grade[known], missing=np.nan)


def join_rows(grade: np.ndarray, score: np.ndarray, query: np.ndarray, n_queries: int) -> Rankings:
    """Return rankings of rows with grade, score and query (0 to n_queries - 1); NaN or negative grades are unjudged."""
    grade = np.where(grade >= 0, grade, np.nan)
    order = _best_first(query, score, np.arange(len(query)))
    grade, score, query = grade[order], score[order], query[order]
    judged = ~np.isnan(grade)
    return Rankings(n_queries, query, _places(query), score, grade, query[judged], grade[judged], score[judged])


def _ties(run: Run) -> np.ndarray:
    """Return the values that order ties."""
    return run.doc if run.rank is None else run.rank


def _best_first(query: np.ndarray, score: np.ndarray, doc: np.ndarray) -> np.ndarray:
    return np.lexsort((doc, -score, query))


def _places(query: np.ndarray) -> np.ndarray:
    """Return the position of each entry within its query, from 0; entries of a query are consecutive."""
    return np.arange(len(query)) - np.searchsorted(query, query, side="left")


def _look_up(keys: np.ndarray, known_keys: np.ndarray, values: np.ndarray, missing: float) -> np.ndarray:
    """Return the value of each key, or `missing`."""
    found = np.full(len(keys), missing)
    if len(known_keys):
        order = np.argsort(known_keys)
        at = np.minimum(np.searchsorted(known_keys, keys, sorter=order), len(known_keys) - 1)
        hit = known_keys[order[at]] == keys
        found[hit] = values[order[at[hit]]]
    return found


def _row_of(what: str, ids: Sequence[str]) -> dict[str, int]:
    row_of: dict[str, int] = {}
    for row, name in enumerate(ids):
        if row_of.setdefault(name, row) != row:
            raise TacitError(f"{what} {name!r} occurs more than once in the ids of the judgments; want unique ids")
    return row_of


def _check_no_pair_twice(source: str, keys: np.ndarray, query_ids: Sequence[str], doc_number: dict[str, int]) -> None:
    ordered = np.sort(keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        q, d = divmod(int(twice[0]), len(doc_number))
        raise TacitError(f"query {query_ids[q]!r} has document {list(doc_number)[d]!r} more than once in {source}")
