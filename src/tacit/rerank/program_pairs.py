"""A program's grades of list rows as preferences, weighted by their agreement with people.

For rows i, j of one list with program grades g_i > g_j the preference "i above j" has the weight

    SHARE (2 a - 1)^2 n / m,    a = (c + PRIOR / 2) / (t + PRIOR),

where t is the number of pairs of rows with these two grades that people judged and graded differently, and people have
the same order in c of them. a is the shrunk agreement for this pair of grades; the weight is 0 if a is at most one
half, because the program is then no better than chance. n is the number of rows of the list that only the program
judged, and m the number of preferences taken from the list (at most `PER_ROW` for each such row, drawn at random): a
list has the weight of its rows, not of its many pairs. Pairs of rows that people both judged are not used. SHARE is
below 1, because a program's errors are similar in all rows; `benchmarks/program_preferences.py` chose it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tacit.core import Lists

PRIOR = 20.0  # prior with agreement one half, as a number of pairs, for each pair of grades
PER_ROW = 3
SHARE = 0.3


class Agreement(NamedTuple):
    """How often people confirm that a row with the higher program grade is better, by pair of grades."""

    higher: float
    lower: float
    n_same: int
    n_pairs: int

    @property
    def shrunk(self) -> float:
        """Agreement, shrunk to one half."""
        return (self.n_same + PRIOR / 2) / (self.n_pairs + PRIOR)

    @property
    def reliability(self) -> float:
        """Weight of a preference, from 0 to 1."""
        return max(2 * self.shrunk - 1, 0.0) ** 2


def agreements(lists: Lists, program: np.ndarray) -> list[Agreement]:
    """Return the agreement of people's grades with a program's, for every two grades of the program.

    Parameters
    ----------
    lists : Lists
        Lists with people's grades; NaN is unjudged.
    program : ndarray of shape (n_rows,)
        The program's grades; NaN if it gave none.
    """
    counts: dict[tuple[float, float], list[int]] = {}
    levels = np.unique(program[~np.isnan(program)])
    for number in range(len(lists)):
        y, g = lists.y[lists.rows(number)], program[lists.rows(number)]
        for at, higher in enumerate(levels):
            for lower in levels[:at]:
                a, b = y[(g == higher) & (y >= 0)], y[(g == lower) & (y >= 0)]
                same, other = int((a[:, None] > b).sum()), int((a[:, None] < b).sum())
                found = counts.setdefault((float(higher), float(lower)), [0, 0])
                found[0] += same
                found[1] += same + other
    return [Agreement(*grades, *found) for grades, found in counts.items()]


def program_pairs(
    lists: Lists, program: np.ndarray, known: list[Agreement], seed: int = 0, share: float = SHARE
) -> tuple[np.ndarray, np.ndarray]:
    """Return preferences (better row, worse row) of all lists by a program's grades, and their weights.

    Parameters
    ----------
    lists : Lists
        Lists; where `y` is a grade, people judged the row.
    program : ndarray of shape (n_rows,)
        The program's grades; NaN if it gave none.
    known : list of Agreement
        Result of `agreements`.
    seed : int, default=0
        Random seed of the choice of pairs.
    share : float, default=0.3
        Weight of a row that only the program judged, if its grades were certain; rows that people judged have 1.
    """
    weight_of = {(a.higher, a.lower): a.reliability for a in known}
    rng = np.random.default_rng(seed)
    pairs, weights = [np.empty((0, 2), np.int64)], [np.empty(0)]
    for number in range(len(lists)):
        rows = lists.rows(number)
        y, g = lists.y[rows], program[rows]
        found = _list_pairs(y, g, rng)
        if not len(found):
            continue
        reliability = np.array([weight_of.get((g[a], g[b]), 0.0) for a, b in found.tolist()])
        n_rows = int((~np.isnan(g) & ~(y >= 0)).sum())
        kept = reliability > 0
        pairs.append(found[kept] + rows.start)
        weights.append(share * reliability[kept] * n_rows / len(found))
    return np.concatenate(pairs), np.concatenate(weights)


def _list_pairs(y: np.ndarray, g: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw pairs of one list with different program grades, except pairs of which people judged both rows."""
    better, worse = np.nonzero(g[:, None] > g)
    useful = ~((y[better] >= 0) & (y[worse] >= 0))
    found = np.column_stack([better[useful], worse[useful]])
    most = PER_ROW * int((~np.isnan(g) & ~(y >= 0)).sum())
    return found[np.sort(rng.choice(len(found), most, replace=False))] if len(found) > most else found


@dataclass(frozen=True)
class ProgramPreferences:
    """A program's grades as preferences between rows of lists, in the form that `RankingTask` takes.

    Reliability is estimated on the training lists only, so held-out lists do not affect it.

    Parameters
    ----------
    grades : mapping of str to mapping of str to float
        Grades by query and document.
    seed : int, default=0
        Random seed of the choice of pairs.
    share : float, default=0.3
        Weight of a row that only the program judged, if its grades were certain; rows that people judged have 1.
    """

    grades: Mapping[str, Mapping[str, float]]
    seed: int = 0
    share: float = SHARE

    def __len__(self) -> int:
        return sum(map(len, self.grades.values()))

    def within(self, query_ids: Iterable[str]) -> ProgramPreferences:
        """Return the grades of these queries only."""
        return replace(self, grades={q: self.grades[q] for q in query_ids if q in self.grades})

    def of_rows(self, lists: Lists) -> np.ndarray:
        """Return the program's grade of each row; NaN if it gave none."""
        names, query = lists.document_names(), lists.qid.tolist()
        found = [
            self.grades.get(lists.query_ids[q], {}).get(name, np.nan) for q, name in zip(query, names, strict=True)
        ]
        return np.array(found, np.float64)

    def rows(self, lists: Lists, *, skip_unknown: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs (better row, worse row) and their weights."""
        program = self.of_rows(lists)
        return program_pairs(lists, program, agreements(lists, program), self.seed, self.share)
