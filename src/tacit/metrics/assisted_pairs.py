"""Measures from sampled pairs judged by people and a program that judged all pairs.

Each judged pair i was chosen with a known probability pi_i (`sampled`). P, DCG and nDCG are sums of w_i y_i over pairs,
where y_i is relevance or grade and w_i the weight of the pair's rank; for nDCG, w_i is divided by the ideal DCG of the
query. For each level g, P(y_i at least g) is predicted by ridge regression on the sample with weights 1 / pi_i, from a
constant, the largest and the mean discount 1 / log2(rank + 1) of the pair in the runs, and the program's grade: one
column for each of its grades, because they need not be evenly spaced, and one for a missing grade. m_i is the expected
grade. The estimate is

    T = sum of w_i m_i + sum over the sample of w_i (y_i - m_i) / pi_i.

The ideal DCG of nDCG is unknown. Grades of all pairs are drawn from the predictions `N_DRAWS` times, and the value and
w are means over the draws; therefore nDCG has a small bias, and P and DCG are unbiased. AP is not supported, because it
depends on products of grades, which a sample hardly shows. The variance is the variance of stratified sampling with
leave-one-out predictions. The estimate without the program's grade uses people's grades alone; it is reported if its
interval is narrower.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.core import Judgments, Run, TacitError, UsageError
from tacit.metrics.assistance import AssistedEstimate, AssistedReport, bounded, make_estimate
from tacit.metrics.measures import Measure
from tacit.metrics.rankings import order_run
from tacit.metrics.sampled import stratified_error, weighted_ridge

FROM_PAIRS = ("P", "DCG", "nDCG")
N_DRAWS = 30
LEAST_PAIRS = 20  # judged pairs needed to use the program
MOST_GRADES = 10  # maximum number of grades with one column each; with more, the value itself is the column


class Prediction(NamedTuple):
    """Predicted grades of all pairs, and their errors on the sample."""

    steps: np.ndarray  # (n_levels,): increase of the grade at each level
    at_least: np.ndarray  # (n_levels, n_pairs): probability of each level
    m: np.ndarray  # (n_pairs,)
    residual: np.ndarray  # (n_sampled,)
    leverage: np.ndarray
    n_fitted: int

    def draws(self) -> Iterator[np.ndarray]:
        """Return grades of all pairs, drawn from the predictions; equal for every call."""
        rng = np.random.default_rng(0)
        for _ in range(N_DRAWS):
            yield self.steps @ (rng.random(self.at_least.shape[1]) < self.at_least)


@dataclass(frozen=True)
class PairTable:
    """All pairs that were ranked, judged by the program, or sampled, sorted by query.

    query, ranks (n_runs, n_pairs; inf if a run does not have the pair), program's grade (NaN: missing), and for the
    sampled pairs their rows, people's grades and probabilities.
    """

    n_queries: int
    query: np.ndarray
    ranks: np.ndarray
    program: np.ndarray
    sampled: np.ndarray
    grade: np.ndarray
    chance: np.ndarray

    def predict(self, target: np.ndarray, with_program: bool) -> Prediction:
        """Predict a target that is known for the sampled pairs."""
        missing, discount = np.isnan(self.program), 1 / np.log2(self.ranks + 1)
        columns = [np.ones(len(self.query)), discount.max(axis=0), discount.mean(axis=0)]
        columns += [*self._grade_columns(), missing.astype(np.float64)] if with_program else []
        X = np.column_stack(columns)
        levels = np.unique(np.append(target, 0.0))
        steps, at_least = np.diff(levels), np.empty((len(levels) - 1, len(X)))
        leverage = np.zeros(len(self.sampled))
        for row, level in enumerate(levels[1:]):
            coef, leverage = weighted_ridge(X[self.sampled], (target >= level).astype(np.float64), 1 / self.chance)
            at_least[row] = np.clip(X @ coef, 0, 1)
        at_least = np.minimum.accumulate(at_least)
        m = steps @ at_least
        return Prediction(steps, at_least, m, target - m[self.sampled], leverage, X.shape[1])

    def _grade_columns(self) -> list[np.ndarray]:
        """Return indicator columns of the program's grades, except the lowest."""
        grades = np.unique(self.program[~np.isnan(self.program)])
        if len(grades) > MOST_GRADES:
            return [np.nan_to_num(self.program)]
        return [(self.program == grade).astype(np.float64) for grade in grades[1:]]

    def shapes(self, measure: Measure, kind: Prediction) -> list[tuple[float, np.ndarray]]:
        """Return the expected measure of each run, and the weights of pairs."""
        if measure.name in ("P", "DCG"):
            return [linearize(measure, self.query, rank, kind.m, self.n_queries) for rank in self.ranks]
        values, weights = np.zeros(len(self.ranks)), np.zeros(self.ranks.shape)
        for drawn in kind.draws():
            for row, rank in enumerate(self.ranks):
                value, weight = linearize(measure, self.query, rank, drawn, self.n_queries)
                values[row] += value / N_DRAWS
                weights[row] += weight / N_DRAWS
        return list(zip(values.tolist(), weights, strict=True))


def assisted_pairs(
    judgments: Judgments, program: Judgments, runs: Mapping[str, Run], measures: list[Measure], *, level: float = 0.95
) -> AssistedReport:
    """Return the estimates of `assisted` from sampled pairs; pairs without a probability are not used."""
    for measure in measures:
        if measure.name not in FROM_PAIRS:
            wanted = f"want {', '.join(FROM_PAIRS)}, or queries that people judged fully"
            raise UsageError(f"{measure} cannot be assisted from sampled pairs; {wanted}")
    table, n_ignored = _make_table(judgments, program, runs)
    n_labels, n_human = len(table.sampled), len(np.unique(table.query[table.sampled]))
    if n_labels < 2:
        raise TacitError(f"people judged {n_labels} pairs with a known probability, want at least 2")
    names = list(runs)
    values: list[AssistedEstimate] = []
    differences: list[AssistedEstimate] = []
    for measure in measures:
        target = (table.grade >= measure.rel).astype(np.float64) if measure.name == "P" else table.grade
        kinds = [table.predict(target, False)]
        kinds += [table.predict(target, True)] if n_labels >= LEAST_PAIRS else []
        shapes = [table.shapes(measure, kind) for kind in kinds]
        for row, name in enumerate(names):
            found = [_estimate(table, kind, *shape[row], level) for kind, shape in zip(kinds, shapes, strict=True)]
            values.append(bounded(_choose(str(measure), name, None, found, n_labels), measure))
        for row, name in enumerate(names[1:], 1):
            less = [(shape[row][0] - shape[0][0], shape[row][1] - shape[0][1]) for shape in shapes]
            found = [_estimate(table, kind, *shape, level) for kind, shape in zip(kinds, less, strict=True)]
            differences.append(_choose(str(measure), name, names[0], found, n_labels))
    return AssistedReport(values, differences, table.n_queries, n_human, n_labels, n_ignored, sampled=True)


def _estimate(
    table: PairTable, kind: Prediction, value: float, weight: np.ndarray, level: float
) -> tuple[float, float, float, int]:
    """Return corrected value, standard error, half the width of the interval, and degrees of freedom."""
    from scipy.stats import t

    parts = weight[table.sampled] * kind.residual
    error, n_free = stratified_error(parts / (1 - kind.leverage), table.chance, kind.n_fitted)
    half = error * float(t.ppf((1 + level) / 2, n_free))
    return value + float((parts / table.chance).sum()), error, half, n_free


def _choose(
    measure: str, run: str, baseline: str | None, found: list[tuple[float, float, float, int]], n_labels: int
) -> AssistedEstimate:
    """Return the estimate with the program if its interval is narrower, else the one from people's grades alone."""
    people = found[0]
    used = len(found) > 1 and found[1][2] < people[2]
    value, error, half, n_free = found[1] if used else people
    worth = n_labels * ((people[2] / half) ** 2 - 1) if used and half > 0 else 0.0
    return make_estimate(
        *(measure, run, baseline, value, error, half, n_free, float(used), people[0], people[2], worth)
    )


def linearize(
    measure: Measure, query: np.ndarray, rank: np.ndarray, m: np.ndarray, n_queries: int
) -> tuple[float, np.ndarray]:
    """Return the mean of a measure over queries for grades m of all pairs, and the weight of each pair in it.

    Parameters
    ----------
    measure : Measure
        P, DCG or nDCG.
    query, rank, m : ndarray of shape (n_pairs,)
        Query, sorted; rank from 1, inf for a pair that is not ranked; grade or relevance.
    n_queries : int
        Number of queries.
    """
    seen = rank <= (np.inf if measure.cutoff is None else measure.cutoff)
    weight = seen / (measure.cutoff or 1) if measure.name == "P" else seen / np.log2(rank + 1)
    sums = np.bincount(query, weight * m, n_queries)
    if measure.name != "nDCG":
        return float(sums.sum() / n_queries), weight / n_queries
    order = np.lexsort((-m, query))
    place = np.empty(len(query))
    place[order] = np.arange(len(query)) - np.searchsorted(query, query, side="left") + 1
    best = (place <= (np.inf if measure.cutoff is None else measure.cutoff)) / np.log2(place + 1)
    ideal = np.bincount(query, best * m, n_queries)
    values = _over(sums, ideal)
    return float(values.sum() / n_queries), _over(weight, ideal[query]) / n_queries


def _over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(a, b, out=np.zeros_like(a), where=b > 1e-12))


def _make_table(judgments: Judgments, program: Judgments, runs: Mapping[str, Run]) -> tuple[PairTable, int]:
    assert judgments.probability is not None
    used = judgments.select(np.ones(len(judgments.query_ids), bool), ~np.isnan(judgments.probability))
    orders = {name: order_run(run) for name, run in runs.items()}
    ranked = {run.query_ids[q] for run, (query, _, _) in zip(runs.values(), orders.values(), strict=True)
              for q in np.unique(query).tolist()}  # fmt: skip
    human = {used.query_ids[q] for q in np.unique(used.query).tolist()}
    names = [q for q in dict.fromkeys([*program.query_ids, *used.query_ids]) if q in ranked or q in human]
    rows = _Rows(names)
    of_program, of_people = rows.add(program, program.query, program.doc), rows.add(used, used.query, used.doc)
    of_runs = [rows.add(run, query, doc) for run, (query, doc, _) in zip(runs.values(), orders.values(), strict=True)]
    query = rows.queries()
    order = np.argsort(query, kind="stable")
    place = np.argsort(order)
    ranks = np.full((len(runs), len(query)), np.inf)
    for row, (found, (_, _, rank)) in enumerate(zip(of_runs, orders.values(), strict=True)):
        ranks[row, place[found[found >= 0]]] = rank[found >= 0]
    grades = np.full(len(query), np.nan)
    grades[place[of_program[of_program >= 0]]] = program.grade[of_program >= 0]
    chance = used.probability
    assert chance is not None
    table = PairTable(len(names), query[order], ranks, grades, place[of_people], used.grade, chance)
    return table, len(ranked - set(names))


class _Rows:
    """Numbers of pairs by query and document ids, in the order in which they are added."""

    def __init__(self, names: list[str]) -> None:
        self.query_row = {name: row for row, name in enumerate(names)}
        self.doc_row: dict[str, int] = {}
        self.pair_row: dict[tuple[int, int], int] = {}

    def add(self, table: Judgments | Run, query: np.ndarray, doc: np.ndarray) -> np.ndarray:
        """Return the number of each pair; -1 for pairs of other queries."""
        q_of = np.array([self.query_row.get(name, -1) for name in table.query_ids], np.int64)[query].tolist()
        names = [self.doc_row.setdefault(name, len(self.doc_row)) for name in table.doc_ids]
        d_of = np.array(names, np.int64)[doc].tolist()
        found = [self.pair_row.setdefault((q, d), len(self.pair_row)) if q >= 0 else -1
                 for q, d in zip(q_of, d_of, strict=True)]  # fmt: skip
        return np.array(found, np.int64)

    def queries(self) -> np.ndarray:
        """Return the query of each pair."""
        return np.array([q for q, _ in self.pair_row], np.int64)
