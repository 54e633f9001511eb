"""Measures from few human-judged queries and a program that judged all queries: regression-assisted estimates.

U is the set of N queries covered by the runs and the program, and S the n queries of U judged by people, assumed to be
a random sample of U. h_q is the value of a measure, or of the difference of two runs, by people's grades, and p_q the
same by the program's. The estimand is the mean of h over U: the value if people had judged every query of U. It says
nothing about queries outside U. The estimate and its standard error are

    T = mean_S(h) + b (mean_U(p) - mean_S(p)),      b = sum_S (h - mean h)(p - mean p) / (sum_S (p - mean p)^2 + l)

    se^2 = (1/n - 1/N) (n - 1)/n mean_S(d^2),       d_q the residual of q in the regression without q,

so b, the weight of the program, is estimated by ridge regression. The penalty l is `PENALTY` times the variance of p
over U and shrinks b to 0. The interval uses Student's t with n - 2 degrees of freedom. With b = 0 the formula is the
usual standard error from people's grades alone (t with n - 1). The interval from people's grades alone is reported,
with b = 0, if n is below `LEAST_QUERIES`, if p is constant, or if the assisted interval is not narrower. So an assisted
interval is never wider than the one from people's grades alone. If all n human values are equal, their variance of 0 is
not an estimate; the variance of p over U replaces it.

The program's grades may have another scale. For measures with a relevance level (P, AP), the program's level is the one
that agrees best with people's grades (Cohen's kappa on the pairs that both judged).

Cochran, Sampling Techniques (1977), chapter 7; Angelopoulos, Duchi, Zrnic, PPI++ (2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tacit.core import Judgments, Run, TacitError, UsageError, check_number, checked, plural
from tacit.metrics.evaluation import evaluate, read_measures
from tacit.metrics.formulas import KINDS
from tacit.metrics.measures import Measure

LEAST_QUERIES = 5  # human-judged queries needed to use the program: fewer give no usable weight
LEAST_JUDGED = 0.5  # minimum judged share of a query's first documents, for the query to count as fully judged
ENOUGH_JUDGED = 10  # judged documents of a query from which it counts as fully judged
MOST_LEVELS = 100  # candidate levels of a program's grades; scores have many more values
PENALTY = 2.0  # on the program's weight, in queries
SAME = 1e-18  # variance of equal values, up to rounding
ASSISTED = ("P", "DCG", "AP", "nDCG", "nDCG-exp", "nDCG-letor", "R", "RR")


class Combined(NamedTuple):
    """Estimates of one or more values (m,): from people and program, and from people alone."""

    value: np.ndarray
    error: np.ndarray
    half: np.ndarray  # half the width of the interval
    weight: np.ndarray
    people_value: np.ndarray
    people_half: np.ndarray
    n_free: np.ndarray


@dataclass(frozen=True)
class AssistedEstimate:
    """An estimate from people's and a program's grades, and the estimate from people's grades alone.

    Parameters
    ----------
    measure : str
        Name of the measure.
    run : str
        Name of the run.
    baseline : str or None
        Run whose value is subtracted; None to estimate the value of one run.
    value, standard_error, low, high : float
        Estimate, its standard error and its interval.
    weight : float
        Weight of the program; 0 if people's grades alone are used.
    people_value, people_low, people_high : float
        Estimate and interval from people's grades alone.
    worth : float
        Number of human judgments that would narrow the interval from people's grades as much as the program did.
    p : float
        Two-sided p-value of the hypothesis that the value is 0, uncorrected.
    """

    measure: str
    run: str
    baseline: str | None
    value: float
    standard_error: float
    low: float
    high: float
    weight: float
    people_value: float
    people_low: float
    people_high: float
    worth: float
    p: float


@dataclass(frozen=True)
class AssistedReport:
    """Estimates of every run, and differences from the first run.

    Parameters
    ----------
    values : list of AssistedEstimate
        One for each measure and run.
    differences : list of AssistedEstimate
        One for each measure and run except the first.
    n_queries : int
        Queries whose mean is estimated.
    n_human : int
        Queries that people judged, fully or in part.
    n_labels : int
        Number of human judgments used.
    n_ignored : int
        Queries of the runs that neither people nor the program judged, which are left out.
    sampled : bool
        Whether people judged sampled pairs with known probabilities, instead of all results of some queries.
    """

    values: list[AssistedEstimate]
    differences: list[AssistedEstimate]
    n_queries: int
    n_human: int
    n_labels: int
    n_ignored: int
    sampled: bool = False

    @property
    def worth(self) -> float:
        """Median worth of the program over the differences, or over the values of a single run."""
        return float(np.median([estimate.worth for estimate in self.differences or self.values]))


def combine(human: np.ndarray, program: np.ndarray, rows: np.ndarray, level: float = 0.95) -> Combined:
    """Combine people's values of some queries with a program's values of all.

    Parameters
    ----------
    human : ndarray of shape (n, m)
        Values by people's grades, one column for each estimate.
    program : ndarray of shape (N, m)
        Values by the program's grades for all queries.
    rows : ndarray of shape (n,), int
        Row of `program` of each query of `human`.
    level : float, default=0.95
        Coverage of the intervals.
    """
    from scipy.stats import t

    n, n_all = len(human), len(program)
    if n < 2 and n < n_all:
        raise TacitError(f"people judged {n} of {n_all} queries, want at least 2")
    left = 1 / n - 1 / n_all
    mean, centred = human.mean(axis=0), human - human.mean(axis=0)
    squares = (centred**2).sum(axis=0) / max(n - 1, 1)
    people_error = np.sqrt(left * np.where(squares > SAME, squares, program.var(axis=0)))
    people_half = people_error * t.ppf((1 + level) / 2, max(n - 1, 1))
    alone = Combined(mean, people_error, people_half, np.zeros_like(mean), mean, people_half, np.full(len(mean), n - 1))
    if n < LEAST_QUERIES or n == n_all:
        return alone
    weight, residual = _leave_one_out(centred, program[rows], program)
    error = np.sqrt(left * (residual**2).mean(axis=0) * (n - 1) / n)
    half = error * t.ppf((1 + level) / 2, n - 2)
    used = (half < people_half) & (weight != 0) & (squares > SAME)
    value = mean + weight * (program.mean(axis=0) - program[rows].mean(axis=0))
    return Combined(
        np.where(used, value, mean),
        np.where(used, error, people_error),
        np.where(used, half, people_half),
        np.where(used, weight, 0.0),
        mean,
        people_half,
        np.where(used, n - 2, n - 1),
    )


def _leave_one_out(centred: np.ndarray, seen: np.ndarray, program: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of the program (m,), and residuals (n, m) of each query in the regression on the others."""
    x = seen - seen.mean(axis=0)
    scale = (x**2).sum(axis=0) + PENALTY * program.var(axis=0)
    scale = np.where(scale > 0, scale, np.inf)  # a constant program has no weight
    weight = (x * centred).sum(axis=0) / scale
    leverage = 1 / len(x) + x**2 / scale
    return weight, (centred - weight * x) / (1 - leverage)


@checked
def assisted(
    judgments: Judgments,
    program: Judgments,
    runs: Mapping[str, Run],
    measures: Iterable[str | Measure] | str | Measure,
    *,
    level: float = 0.95,
) -> AssistedReport:
    """Estimate measures and differences of runs from people's grades of some queries and a program's grades of all.

    Parameters
    ----------
    judgments : Judgments
        People's grades. With probabilities below 1 they are a sample of pairs (`assisted_pairs`); without probabilities
        the judged queries are a random sample of the queries.
    program : Judgments
        The program's grades.
    runs : mapping of str to Run
        Runs by name; differences are from the first.
    measures : str, Measure, or several
        P@k, DCG@k, nDCG@k, AP and others that are means over queries.
    level : float, default=0.95
        Coverage of the intervals.

    Examples
    --------
    >>> people = Judgments.from_dict({f"q{i}": {"a": i % 3 > 0, "b": i % 3 == 0} for i in range(8)})
    >>> program = Judgments.from_dict({f"q{i}": {"a": i % 3 > 0, "b": i % 3 == 0} for i in range(40)})
    >>> runs = {name: Run.from_dict({f"q{i}": {name: 1.0} for i in range(40)}) for name in "ba"}
    >>> found = assisted(people, program, runs, "P@1").differences[0]
    >>> round(found.people_value, 3), round(found.value, 3), round(found.people_low, 2), round(found.low, 2)
    (0.25, 0.29, -0.52, 0.11)
    """
    from tacit.metrics.assisted_pairs import assisted_pairs
    from tacit.metrics.sampled import is_sampled

    check_number("level", level, low=0, high=1, open_low=True)
    wanted = read_measures(measures)
    for measure in wanted:
        if measure.name not in ASSISTED or measure.judged_only:
            raise UsageError(f"{measure} cannot be assisted by a program, want one of {', '.join(ASSISTED)}")
    if not runs:
        raise UsageError("no run is given, want at least one")
    if is_sampled(judgments):
        return assisted_pairs(judgments, program, runs, wanted, level=level)
    return _by_query(judgments, program, runs, wanted, level)


@checked
def whole_queries(judgments: Judgments, runs: Mapping[str, Run]) -> np.ndarray:
    """Return which queries are fully judged by people, or are in no run.

    Documents that people did not judge count as not relevant. That is fair for fully judged queries, but not for
    queries of which people judged single documents, such as those chosen for training or calibration. A query counts as
    fully judged if people judged `ENOUGH_JUDGED` documents of it, or at least half of the first 10 of some run.
    Judgments without a grade of 0 list only relevant documents, so all their queries count.

    Returns
    -------
    ndarray of shape (n_queries,), bool
        One entry for each query of the judgments.
    """
    if not runs:
        raise UsageError("runs is empty, want at least one run")
    if lists_relevant_only(judgments):
        return np.ones(len(judgments.query_ids), bool)
    shares = [evaluate(judgments, run, "Judged@10").values["Judged@10"] for run in runs.values()]
    held = {run.query_ids[q] for run in runs.values() for q in np.unique(run.query).tolist()}
    absent = np.array([name not in held for name in judgments.query_ids], bool)
    many = np.bincount(judgments.query, minlength=len(judgments.query_ids)) >= ENOUGH_JUDGED
    return np.asarray((np.max(shares, axis=0) >= LEAST_JUDGED) | many | absent)


def lists_relevant_only(judgments: Judgments) -> bool:
    """Return whether no judgment has the grade 0, as in collections that list only relevant documents."""
    return bool((judgments.grade > 0).all())


@dataclass(frozen=True)
class QueryTable:
    """The queries that count: those that the program judged too, and those that only people judged."""

    shared: list[str]  # judged by the program, and by people or found by a run
    rows: np.ndarray  # of `shared`: queries judged by people
    only_people: list[str]
    n_ignored: int


def _by_query(
    judgments: Judgments, program: Judgments, runs: Mapping[str, Run], measures: list[Measure], level: float
) -> AssistedReport:
    table = _query_table(judgments, program, runs)
    n_human = len(table.rows) + len(table.only_people)
    labels = len(judgments) / n_human
    values: list[AssistedEstimate] = []
    differences: list[AssistedEstimate] = []
    for measure in measures:
        columns = _columns(judgments, program, runs, measure, table)
        first, *rest = runs
        found = columns.estimates(str(measure), list(runs), None, labels, level)
        values += [bounded(estimate, measure) for estimate in found]
        if rest:
            differences += columns.less_first().estimates(str(measure), rest, first, labels, level)
    n_queries = len(table.shared) + len(table.only_people)
    return AssistedReport(values, differences, n_queries, n_human, len(judgments), table.n_ignored)


def _query_table(judgments: Judgments, program: Judgments, runs: Mapping[str, Run]) -> QueryTable:
    human, known = dict.fromkeys(judgments.query_ids), set(program.query_ids)
    ranked = {run.query_ids[q] for run in runs.values() for q in np.unique(run.query).tolist()}
    if not ranked & (known | set(human)):
        raise TacitError("neither people nor the program judged a query of the runs")
    shared = [q for q in program.query_ids if q in ranked or q in human]
    rows = np.array([row for row, q in enumerate(shared) if q in human], np.int64)
    if not len(rows):
        raise TacitError(f"the program judged none of the {plural(len(human), 'query')} that people judged")
    only_people = [q for q in human if q not in known]
    return QueryTable(shared, rows, only_people, len(ranked - known - set(human)))


@dataclass(frozen=True)
class Columns:
    """Values of one measure, a column for each run: by people and program, and of queries judged by people only."""

    people: np.ndarray  # (n, m)
    guessed: np.ndarray  # (N, m)
    rows: np.ndarray  # (n,)
    others: np.ndarray  # (n_others, m)

    def less_first(self) -> Columns:
        """Return differences from the first column."""
        less = [table[:, 1:] - table[:, :1] for table in (self.people, self.guessed, self.others)]
        return Columns(less[0], less[1], self.rows, less[2])

    def estimates(
        self, measure: str, names: list[str], baseline: str | None, labels: float, level: float
    ) -> list[AssistedEstimate]:
        """Return one estimate for each column; queries judged by people only enter with their known values."""
        found = combine(self.people, self.guessed, self.rows, level)
        n_all, n_others = len(self.guessed), len(self.others)
        share, known = n_all / (n_all + n_others), self.others.sum(axis=0) / (n_all + n_others)
        worth = labels * _worth(found, len(self.people), n_all)
        return [
            make_estimate(
                *(measure, name, baseline, share * value + extra, share * error, share * half, n_free),
                *(weight, share * alone + extra, share * people_half, worth_here),
            )
            for name, value, error, half, weight, alone, people_half, n_free, extra, worth_here in zip(
                names, *(column.tolist() for column in (*found, known, worth)), strict=True
            )
        ]


def make_estimate(
    measure: str,
    run: str,
    baseline: str | None,
    value: float,
    error: float,
    half: float,
    n_free: float,
    weight: float,
    alone: float,
    people_half: float,
    worth: float,
) -> AssistedEstimate:
    """Return the estimate with both intervals and the p-value of t = value / error."""
    from scipy.stats import t

    p = float(2 * t.sf(abs(value) / error, max(n_free, 1))) if error > 0 else float(value == 0)
    ends = value - half, value + half
    return AssistedEstimate(
        *(measure, run, baseline, value, error, *ends, weight),
        *(alone, alone - people_half, alone + people_half, worth, p),
    )


def _columns(
    judgments: Judgments, program: Judgments, runs: Mapping[str, Run], measure: Measure, table: QueryTable
) -> Columns:
    cut = replace(measure, rel=program_level(judgments, program, measure))
    people, guessed = (
        np.array([_of_queries(graded, run, of, queries) for run in runs.values()]).T.reshape(-1, len(runs))
        for graded, of, queries in (
            (judgments, measure, [table.shared[row] for row in table.rows.tolist()] + table.only_people),
            (program, cut, table.shared),
        )
    )
    n = len(table.rows)
    return Columns(people[:n], guessed, table.rows, people[n:])


def _of_queries(judgments: Judgments, run: Run, measure: Measure, queries: list[str]) -> list[float]:
    """Return values of these queries."""
    done = evaluate(judgments, run, measure)
    value_of = dict(zip(done.query_ids, done.values[str(measure)].tolist(), strict=True))
    return [value_of[query] for query in queries]


def program_level(judgments: Judgments, program: Judgments, measure: Measure) -> float:
    """Return the program's grade that agrees best with people's relevance: highest kappa on pairs judged by both.

    If there is no such pair, or the measure has no level, return the level of the measure.
    """
    from tacit.metrics.rankings import look_up_pairs

    other = look_up_pairs(judgments, program)
    both = ~np.isnan(other)
    grades = np.unique(other[both & (other > 0)])
    if not KINDS[measure.name].rel or not len(grades):
        return measure.rel
    grades = grades[np.unique(np.linspace(0, len(grades) - 1, MOST_LEVELS).round().astype(np.int64))]
    relevant = judgments.grade[both] >= measure.rel
    kappas = np.array([_kappa(relevant, other[both] >= grade) for grade in grades])
    best = grades[kappas == kappas.max()]
    return float(best[np.argmin(np.abs(best - measure.rel))])


def _kappa(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cohen's kappa of two binary judges; 0 if undefined."""
    same, chance = (a == b).mean(), a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    return float((same - chance) / (1 - chance)) if chance < 1 else 0.0


def _worth(found: Combined, n: int, n_all: int) -> np.ndarray:
    """Return how many further queries people would have to judge for intervals as narrow without the program."""
    ratio = np.divide(found.half, found.people_half, out=np.ones_like(found.half), where=found.people_half > 0) ** 2
    return np.asarray(1 / (1 / n_all + ratio * (1 / n - 1 / n_all)) - n)


def bounded(estimate: AssistedEstimate, measure: Measure) -> AssistedEstimate:
    """Return the estimate of one run, clipped to the range of its measure."""
    high = np.inf if measure.name == "DCG" else 1.0
    names = ("value", "low", "high", "people_value", "people_low", "people_high")
    ends: dict[str, Any] = {name: float(np.clip(getattr(estimate, name), 0, high)) for name in names}
    return replace(estimate, **ends)
