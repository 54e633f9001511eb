"""Agreement of judges: weighted kappa of two, Krippendorff's alpha of any number, and their disagreements.

Alpha: let o_ck be the coincidences of grades c and k within pairs, where each pair of judgments of a unit u has weight
1 / (m_u - 1) and m_u is its number of judgments; n_c the sum of row c, and n the sum of all. Then

    alpha = 1 - (n - 1) sum_ck o_ck d(c, k) / sum_ck n_c n_k d(c, k)

    nominal   d = [c != k]
    interval  d = (c - k)^2
    ordinal   d = (sum of n_g for g from c to k - (n_c + n_k) / 2)^2

Krippendorff, Computing Krippendorff's alpha-reliability (2011). Kappa is Cohen's kappa as in scikit-learn; its
weights are distances between positions in the sorted grades.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tacit.core import check_choice, checked
from tacit.judge.columns import Graded, JudgmentColumns
from tacit.judge.records import Judgment

LEVELS = ("nominal", "ordinal", "interval")


class KappaPair(NamedTuple):
    """Agreement of two judges on the pairs that both graded; None for an undefined kappa."""

    judges: tuple[str, str]
    n_pairs: int
    same: float
    kappa: float | None
    linear: float | None
    quadratic: float | None


class PeopleAgreement(NamedTuple):
    """Agreement of one judge with all other people; kappa has linear weights, and is None if undefined."""

    both: int
    same: float
    kappa: float | None


class Disagreement(NamedTuple):
    """A pair with different grades; `spread` is the largest difference."""

    query: str
    document: str
    grades: dict[str, float]
    spread: float


@checked
def kappas(records: Sequence[Judgment | Graded]) -> list[KappaPair]:
    """Return kappa of every two judges: plain, with linear and with quadratic weights.

    Parameters
    ----------
    records : sequence of Judgment
        Current judgments, at most one of each judge and pair; records without a grade are ignored.
    """
    graded = _by_pair(records)
    judges = sorted({name for grades in graded.values() for name in grades})
    levels = sorted({grade for grades in graded.values() for grade in grades.values()})
    found = []
    for first, second in combinations(judges, 2):
        both = [(g[first], g[second]) for g in graded.values() if first in g and second in g]
        if both:
            codes = np.searchsorted(levels, np.array(both))
            same = float((codes[:, 0] == codes[:, 1]).mean())
            found.append(KappaPair((first, second), len(both), same, *kappas_of_codes(codes, len(levels))))
    return found


@checked
def agreement_with_people(found: JudgmentColumns, people: Collection[str]) -> dict[str, PeopleAgreement]:
    """Return the agreement of each judge with people, on the pairs that both graded.

    If several people graded a pair, the last grade counts. Judges that share no pair with people are left out.

    Parameters
    ----------
    found : JudgmentColumns
        Current judgments.
    people : collection of str
        Names of the judges that are people.
    """
    graded = np.flatnonzero(~np.isnan(found.grade))
    graded = graded[np.argsort(found.time[graded], kind="stable")]
    is_person = np.array([name in people for name in found.judges], bool)
    agreements = {}
    for judge, name in enumerate(found.judges):
        of_judge = found.judge[graded] == judge
        mine, others = graded[of_judge], graded[is_person[found.judge[graded]] & ~of_judge]
        last = dict(zip(found.pair[others].tolist(), found.grade[others].tolist(), strict=True))
        pairs = zip(found.pair[mine].tolist(), found.grade[mine].tolist(), strict=True)
        both = np.array([(grade, last[pair]) for pair, grade in pairs if pair in last])
        if len(both):
            levels, codes = np.unique(both, return_inverse=True)
            kappa = kappa_of_codes(codes.reshape(both.shape), len(levels), "linear")
            agreements[name] = PeopleAgreement(len(both), float((both[:, 0] == both[:, 1]).mean()), kappa)
    return agreements


@checked
def krippendorff_alpha(records: Sequence[Judgment | Graded], level: str = "ordinal") -> float | None:
    """Return Krippendorff's alpha of all judges; None if no pair has two grades, or all grades are equal.

    Parameters
    ----------
    records : sequence of Judgment
        Current judgments, at most one of each judge and pair; records without a grade are ignored.
    level : {"ordinal", "nominal", "interval"}, default="ordinal"
        Level of measurement of the grades.
    """
    check_choice("level", level, LEVELS)
    units = [list(grades.values()) for grades in _by_pair(records).values() if len(grades) > 1]
    values = np.unique(np.array([grade for unit in units for grade in unit], np.float64))
    if len(values) < 2:
        return None
    coincidences = np.zeros((len(values), len(values)))
    for unit in units:
        counts = np.bincount(np.searchsorted(values, unit), minlength=len(values))
        coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    distance = _distances(values, totals, level)
    expected = float(totals @ distance @ totals)
    return 1 - (totals.sum() - 1) * float((coincidences * distance).sum()) / expected


@checked
def disagreements(records: Sequence[Judgment | Graded]) -> list[Disagreement]:
    """Return pairs that judges graded differently, the largest differences first."""
    found = [
        Disagreement(*pair, grades, max(grades.values()) - min(grades.values()))
        for pair, grades in _by_pair(records).items()
        if len(set(grades.values())) > 1
    ]
    return sorted(found, key=lambda entry: (-entry.spread, entry.query, entry.document))


def _by_pair(records: Sequence[Judgment | Graded]) -> dict[tuple[str, str], dict[str, float]]:
    graded: dict[tuple[str, str], dict[str, float]] = {}
    for record in records:
        if record.grade is not None:
            graded.setdefault((record.query, record.document), {})[record.judge] = record.grade
    return graded


def kappas_of_codes(codes: np.ndarray, n_levels: int) -> list[float | None]:
    """Return Cohen's kappa of two columns of codes: plain, with linear and with quadratic weights."""
    return [kappa_of_codes(codes, n_levels, weights) for weights in (None, "linear", "quadratic")]


def kappa_of_codes(codes: np.ndarray, n_levels: int, weights: str | None) -> float | None:
    """Return Cohen's kappa of two columns of codes from 0 to n_levels - 1; None if undefined."""
    from sklearn.metrics import cohen_kappa_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two judges who always give the same grade: kappa is undefined
        kappa = float(cohen_kappa_score(codes[:, 0], codes[:, 1], labels=np.arange(n_levels), weights=weights))
    return None if math.isnan(kappa) else kappa


def _distances(values: np.ndarray, totals: np.ndarray, level: str) -> np.ndarray:
    """Return d(c, k) for all pairs of grades."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "ordinal":
        values = np.cumsum(totals) - totals / 2  # differences of these are the ordinal distances
    return np.asarray((values[:, None] - values) ** 2)
