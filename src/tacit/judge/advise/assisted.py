"""A candidate that learns from people's grades for some queries, and from a program's grades for these and others.

Let n be the number of pairs graded by both, h people's grades of them with mean m, k the number of the program's
distinct grades, and n_g the number of pairs with the program's grade g. A pair that people did not judge gets the grade
e_g expected from people, shrunk to the mean. The trust in the program is the share of the variance of h that its grades
explain (adjusted R squared), shrunk to 0:

    e_g = (sum of h + PRIOR m) / (n_g + PRIOR)
    trust = n / (n + PRIOR) (1 - (n - 1) / (n - k) sum of (h - e_g)^2 / sum of (h - m)^2), at least 0
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.core import Collection, Judgments, Links, ProgramLinks, TacitError
from tacit.judge.advise.collections import CollectionCandidate
from tacit.metrics.rankings import look_up_pairs
from tacit.search import Searcher

PRIOR = 20.0  # prior, as a number of pairs, for each of the program's grades
LEAST_GRADE = 1e-3  # because weights of links must be above 0


@dataclass(frozen=True)
class GradeWorth:
    """The grade expected from people where a program gives a grade, and the number of pairs graded by both."""

    grade: float
    n_pairs: int
    expected: float


@dataclass(frozen=True)
class ProgramWorth:
    """The worth of each of a program's grades, and the trust in the program, from 0 to 1."""

    grades: list[GradeWorth]
    trust: float

    @property
    def n_pairs(self) -> int:
        """Number of pairs graded by people and by the program."""
        return sum(found.n_pairs for found in self.grades)


def worth_of(people: Judgments, program: Judgments) -> ProgramWorth:
    """Return the worth of a program's grades, estimated on the pairs that people judged too.

    >>> people = Judgments.from_dict({"q": {"a": 1, "b": 1, "c": 0, "d": 0}})
    >>> program = Judgments.from_dict({"q": {"a": 3, "b": 3, "c": 1, "d": 1, "e": 3}})
    >>> [(found.grade, found.n_pairs, round(found.expected, 3)) for found in worth_of(people, program).grades]
    [(1.0, 2, 0.455), (3.0, 2, 0.545)]
    """
    theirs = look_up_pairs(people, program)
    both = ~np.isnan(theirs) & (people.grade >= 0)
    h, g = people.grade[both], theirs[both]
    n, mean = len(h), float(h.mean()) if len(h) else 0.0
    grades, left = [], 0.0
    for grade in np.unique(program.grade[program.grade >= 0]).tolist():
        mine = h[g == grade]
        expected = float((mine.sum() + PRIOR * mean) / (len(mine) + PRIOR))
        left += float(((mine - expected) ** 2).sum())
        grades.append(GradeWorth(grade, len(mine), expected))
    spread, n_used = float(((h - mean) ** 2).sum()), len(np.unique(g))
    if n <= n_used or not spread:
        return ProgramWorth(grades, 0.0)
    explained = 1 - (n - 1) / (n - n_used) * left / spread
    return ProgramWorth(grades, max(0.0, explained) * n / (n + PRIOR))


def program_links(
    people: Judgments, program: Judgments, worth: ProgramWorth, queries: Collection, documents: Collection
) -> ProgramLinks:
    """Return pairs graded by the program only, by rows of queries and documents; unknown ids are left out."""
    expected = {found.grade: max(found.expected, LEAST_GRADE) for found in worth.grades}
    graded = np.isnan(look_up_pairs(program, people)) & np.isin(program.grade, list(expected))
    query, doc = (
        np.array([side.row_of.get(name, -1) for name in names], np.int64)[rows]
        for side, names, rows in (
            (queries, program.query_ids, program.query),
            (documents, program.doc_ids, program.doc),
        )
    )
    kept = graded & (query >= 0) & (doc >= 0)
    weights = np.array([expected[grade] for grade in program.grade[kept].tolist()], np.float32)
    trust = np.full(len(weights), worth.trust, np.float32)
    return ProgramLinks(query[kept], doc[kept], len(queries), len(documents), weights, trust=trust)


@dataclass
class AssistedCandidate(CollectionCandidate):
    """A method that learns from people's and a program's grades, but never from grades of its test queries."""

    program: Judgments = field(default_factory=lambda: Judgments.from_dict({}))
    queries: Collection | None = None

    def __post_init__(self) -> None:
        """Collect all queries with a grade: the queries judged by people come first, in their order."""
        given, task = self.queries or self.task.queries, self.task
        graded = set(self.program.query_ids)
        others = [row for row, name in enumerate(given.ids) if name in graded and name not in task.queries.row_of]
        self._asked = _joined(task.queries, given.take(others))

    def fitted(self, train: np.ndarray) -> Searcher:
        """Return a searcher fitted on people's grades of some queries, and on the program's of queries without any."""
        measured = np.setdiff1d(np.arange(len(self.task.queries)), train)
        return self._fit(**self.sources(train, {self.task.queries.ids[row] for row in measured.tolist()}))

    def sources(self, train: np.ndarray, without: set[str]) -> dict[str, Any]:
        """Return the training sources: pairs of some queries, and the program's grades of all queries except some."""
        pairs, zeros = (part.take(np.isin(part.sources, train)) for part in self.task.known)
        people, program = (_without(part, without) for part in (self.task.judgments, self.program))
        worth = worth_of(people, program)
        links = program_links(people, program, worth, self._asked, self.task.documents)
        found: dict[str, Any] = {
            "queries": self._asked,
            "pairs": _widened(pairs, len(self._asked)),
            "zeros": _widened(zeros, len(self._asked)),
        }
        return found | ({"program": links} if len(links) and worth.trust else {})


def assisted_candidate(
    name: str, like: CollectionCandidate, queries: Collection, program: Judgments
) -> AssistedCandidate:
    """Return the same candidate with a program's grades added; raise if people and program share no pair."""
    if not worth_of(like.task.judgments, program).n_pairs:
        raise TacitError(f"people and the program graded no pair in common, so the worth of its {len(program)} grades "
        "cannot be estimated")  # fmt: skip
    shared = {part: getattr(like, part) for part in ("learns", "stem", "params", "further", "like")}
    return AssistedCandidate(name, like.task, like.method, **shared, program=program, queries=queries)


def _joined(first: Collection, second: Collection) -> Collection:
    ids, titles, texts = ([*getattr(first, name), *getattr(second, name)] for name in ("ids", "titles", "texts"))
    return Collection(ids, titles, texts)


def _without(judgments: Judgments, names: set[str]) -> Judgments:
    kept = np.array([name not in names for name in judgments.query_ids], bool)
    return judgments.select(kept, kept[judgments.query]) if len(kept) else judgments


def _widened(links: Links, n_sources: int) -> Links:
    return Links(links.sources, links.targets, n_sources, links.n_targets, links.weights)
