"""Agreement of judges: weighted kappa of two, Krippendorff's alpha of any number, and where they disagree.

Alpha: with o_ck the coincidences of grades c and k within pairs (each pair of judgments of a unit weighs
1 / (m_u - 1), m_u its number of judgments), n_c the sum of row c, n the sum of all,

    alpha = 1 - (n - 1) sum_ck o_ck d(c, k) / sum_ck n_c n_k d(c, k)

    nominal   d = [c != k]
    interval  d = (c - k)^2
    ordinal   d = (sum of n_g for g from c to k - (n_c + n_k) / 2)^2

Krippendorff, Computing Krippendorff's alpha-reliability (2011). Kappa is Cohen's, by scikit-learn; its weights are
distances between places in the sorted grades.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tacit.core import check_choice
from tacit.judge.records import Judgment

LEVELS = ("nominal", "ordinal", "interval")


class KappaPair(NamedTuple):
    """Agreement of two judges on the pairs that both graded; a kappa that is not defined is None."""

    judges: tuple[str, str]
    n_pairs: int
    same: float
    kappa: float | None
    linear: float | None
    quadratic: float | None


class Disagreement(NamedTuple):
    """A pair that was graded differently; `spread` is the largest difference."""

    query: str
    document: str
    grades: dict[str, float]
    spread: float


def kappas(records: Sequence[Judgment]) -> list[KappaPair]:
    """Kappa of every two judges: plain, with linear and with quadratic weights.

    Parameters
    ----------
    records : sequence of Judgment
        Current judgments, at most one of each judge and pair; those without a grade do not count.
    """
    graded = _by_pair(records)
    judges = sorted({name for grades in graded.values() for name in grades})
    levels = sorted({grade for grades in graded.values() for grade in grades.values()})
    found = []
    for first, second in combinations(judges, 2):
        both = [(g[first], g[second]) for g in graded.values() if first in g and second in g]
        if both:
            codes = np.searchsorted(levels, np.array(both))
            kinds = [_kappa(codes, len(levels), weights) for weights in (None, "linear", "quadratic")]
            found.append(KappaPair((first, second), len(both), float((codes[:, 0] == codes[:, 1]).mean()), *kinds))
    return found


def krippendorff_alpha(records: Sequence[Judgment], level: str = "ordinal") -> float | None:
    """Krippendorff's alpha of all judges; None where no pair has two grades, or all grades are the same.

    Parameters
    ----------
    records : sequence of Judgment
        Current judgments, at most one of each judge and pair; those without a grade do not count.
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


def disagreements(records: Sequence[Judgment]) -> list[Disagreement]:
    """Pairs on which judges gave different grades, the largest differences first."""
    found = [
        Disagreement(*pair, grades, max(grades.values()) - min(grades.values()))
        for pair, grades in _by_pair(records).items()
        if len(set(grades.values())) > 1
    ]
    return sorted(found, key=lambda entry: (-entry.spread, entry.query, entry.document))


def _by_pair(records: Sequence[Judgment]) -> dict[tuple[str, str], dict[str, float]]:
    graded: dict[tuple[str, str], dict[str, float]] = {}
    for record in records:
        if record.grade is not None:
            graded.setdefault((record.query, record.document), {})[record.judge] = record.grade
    return graded


def _kappa(codes: np.ndarray, n_levels: int, weights: str | None) -> float | None:
    from sklearn.metrics import cohen_kappa_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two judges who always give the same grade: not defined
        kappa = float(cohen_kappa_score(codes[:, 0], codes[:, 1], labels=np.arange(n_levels), weights=weights))
    return None if math.isnan(kappa) else kappa


def _distances(values: np.ndarray, totals: np.ndarray, level: str) -> np.ndarray:
    """d(c, k) between all grades."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "ordinal":
        values = np.cumsum(totals) - totals / 2  # differences of these are the ordinal distances
    return np.asarray((values[:, None] - values) ** 2)
