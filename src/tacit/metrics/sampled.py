"""Measures estimated from sampled judgments: each judged pair was chosen with a known probability.

The estimand is the mean over the queries of the run and of the judgments, if every document of the sampled pool had
been judged. Let pi_i be the probability of pair i, s the sampled pairs, U all ranked pairs.

P@k and DCG@k are sums of w_i y_i over U, where w_i is 1/k or the discount of the rank, and y_i relevance or grade. The
estimator is model-assisted (prediction-powered): m_i predicts y_i from the rank and the run's own score, by ridge
regression on s with weights 1 / pi_i, and

    T = sum over U of w_i m_i + sum over s of w_i (y_i - m_i) / pi_i;     without score and rank, Hajek's estimator.

Its variance is the variance of stratified sampling, where pairs of equal probability form a stratum h with n_h judged
pairs:

    V = sum_h N_h^2 (1 - pi_h) s_h^2 / n_h,    N_h = n_h / pi_h,

where s_h^2 is the variance in stratum h of w_i (y_i - m_i), with m_i predicted without pair i.

AP and nDCG are ratios in each query. They are estimated query by query as in statAP: with H(i) = y_i / pi_i for
relevant pairs, R = sum of H,

    AP = 1/R sum of H(i) / rank(i) (1 + sum of H(j) over j ranked above i),
    nDCG = sum of H(i) discount(rank(i)) / the same for the ideal order, grade g taking sum over g of 1/pi ranks.

They are biased if few pairs of a query are judged; their interval is over queries, by their standard error.

Särndal, Swensson, Wretman, Model Assisted Survey Sampling (1992); Angelopoulos et al., Prediction-powered inference
(2023); Pavlu and Aslam, A practical sampling strategy for efficient retrieval evaluation (2007).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.core import Judgments, Run, TacitError, UsageError, check_number, checked
from tacit.metrics.evaluation import read_measures
from tacit.metrics.measures import Measure
from tacit.metrics.rankings import join_run

RIDGE = 1.0  # of the prediction, in units of one judged pair: it matters only if very few are judged
ESTIMATED = ("P", "DCG", "AP", "nDCG")


class Estimate(NamedTuple):
    """An estimated mean, its standard error, its interval, and the number of sampled pairs used."""

    value: float
    standard_error: float
    low: float
    high: float
    n_judged: int


@dataclass(frozen=True)
class Pool:
    """Ranked pairs, by query and best first, with their sampled judgments.

    query, rank (from 1), score standardized within the query; grade and probability are NaN where not sampled.
    `below`: query, grade and probability of sampled pairs that are not in the run.
    """

    n_queries: int
    query: np.ndarray
    rank: np.ndarray
    score: np.ndarray
    grade: np.ndarray
    probability: np.ndarray
    below: tuple[np.ndarray, np.ndarray, np.ndarray]


@checked
def is_sampled(judgments: Judgments) -> bool:
    """Return whether some pairs were judged with a known probability below 1."""
    return judgments.probability is not None and bool((judgments.probability < 1).any())


@checked
def estimate(
    judgments: Judgments,
    run: Run,
    measures: Iterable[str | Measure] | str | Measure,
    *,
    level: float = 0.95,
    assisted: bool = True,
) -> dict[str, Estimate]:
    """Estimate measures of a run from sampled judgments; pairs without a probability are not used.

    Parameters
    ----------
    judgments : Judgments
        Judgments with probabilities.
    run : Run
        The run; its scores predict grades, and the mean is over the queries of the run and of the judgments.
    measures : str, Measure, or several
        Any of P@k, DCG@k, AP, nDCG and their options.
    level : float, default=0.95
        Coverage of the intervals.
    assisted : bool, default=True
        Whether ranks and scores predict the grades for P and DCG; False: Hajek's estimator.
    """
    check_number("level", level, low=0, high=1, open_low=True)
    wanted = read_measures(measures)
    for measure in wanted:
        if measure.name not in ESTIMATED or measure.judged_only:
            raise UsageError(
                f"{measure} cannot be estimated from sampled judgments, want one of {', '.join(ESTIMATED)}"
            )
    pool = _make_pool(judgments, run)
    return {
        str(measure): _estimate_sum(measure, pool, level, assisted)
        if measure.name in ("P", "DCG")
        else _estimate_ratio(measure, pool, level)
        for measure in wanted
    }


@checked
def covered(judgments: Judgments, run: Run, k: int) -> tuple[float, float]:
    """Return the estimated share of the run's first k documents in the sampled pool, and its standard error."""
    pool = _make_pool(judgments, run)
    top = pool.rank <= k
    n_top = max(int(top.sum()), 1)
    weights = np.where(top & ~np.isnan(pool.probability), 1.0, 0.0)
    found = weights > 0
    sampled = pool.probability[found]
    return float((1 / sampled).sum() / n_top), float(np.sqrt(((1 - sampled) / sampled**2).sum()) / n_top)


def _make_pool(judgments: Judgments, run: Run) -> Pool:
    if judgments.probability is None or np.isnan(judgments.probability).all():
        raise TacitError("no judgment has a probability, want the probability of each pair to be chosen")
    used = judgments.select(np.ones(len(judgments.query_ids), bool), ~np.isnan(judgments.probability))
    known = set(used.query_ids)
    names = [*used.query_ids, *(name for name in run.query_ids if name not in known)]
    everything = Judgments(names, used.doc_ids, used.query, used.doc, used.grade, used.probability)
    graded, _ = join_run(everything, run)
    chosen, _ = join_run(Judgments(names, used.doc_ids, used.query, used.doc, _probability(used)), run)
    lost = np.isneginf(graded.judged_score)
    return Pool(
        len(names),
        graded.query,
        graded.place + 1,
        _standardized(graded.query, graded.score, len(names)),
        graded.grade,
        chosen.grade,
        (graded.judged_query[lost], graded.judged_grade[lost], chosen.judged_grade[lost]),
    )


def _probability(judgments: Judgments) -> np.ndarray:
    assert judgments.probability is not None
    return judgments.probability


def _standardized(query: np.ndarray, score: np.ndarray, n_queries: int) -> np.ndarray:
    """Return scores with mean 0 and deviation 1 in each query."""
    count = np.maximum(np.bincount(query, minlength=n_queries), 1)
    centred = score - (np.bincount(query, score, n_queries) / count)[query]
    spread = np.sqrt(np.bincount(query, centred**2, n_queries) / count)[query]
    return np.asarray(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0))


def _estimate_sum(measure: Measure, pool: Pool, level: float, assisted: bool) -> Estimate:
    within = pool.rank <= (np.inf if measure.cutoff is None else measure.cutoff)
    rank, score, query = pool.rank[within], pool.score[within], pool.query[within]
    weight = np.full(len(rank), 1 / (measure.cutoff or 1)) if measure.name == "P" else 1 / np.log2(rank + 1)
    weight = weight / pool.n_queries
    sampled = np.flatnonzero(~np.isnan(pool.grade[within]))
    if not len(sampled):
        raise TacitError(f"no document used by {measure} is judged with a known probability")
    grade, chance = pool.grade[within][sampled], pool.probability[within][sampled]
    y = (grade >= measure.rel).astype(np.float64) if measure.name == "P" else grade
    columns = _columns(query, rank, score, assisted)
    coef, leverage = weighted_ridge(columns[sampled], y, 1 / chance)
    predicted = columns @ coef
    residual = weight[sampled] * (y - predicted[sampled])
    total = float(weight @ predicted + (residual / chance).sum())
    error, n_free = stratified_error(residual / (1 - leverage), chance, columns.shape[1])
    highest = 1.0 if measure.name == "P" else np.inf
    most = 1.0 if measure.name == "P" else float(weight.sum()) * max(1.0, float(y.max()))
    rest = most if (chance < 1).any() else 0.0
    return _interval(total, error, n_free, level, len(sampled), highest, rest)


def _columns(query: np.ndarray, rank: np.ndarray, score: np.ndarray, assisted: bool) -> np.ndarray:
    """Return the predictors of a grade: a constant, and with `assisted` the discount of the rank and the score."""
    constant = np.ones(len(query))
    return np.column_stack([constant, 1 / np.log2(rank + 1), score] if assisted else [constant])


def weighted_ridge(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients of weighted ridge regression, and the leverage of each row; the constant is not penalized."""
    weight = weight / weight.mean()
    centre = weight @ X / weight.sum()
    centre[0] = 0
    Z = X - centre
    penalty = RIDGE * np.diag([0.0, *[1.0] * (X.shape[1] - 1)])
    maps = np.linalg.solve((Z * weight[:, None]).T @ Z + penalty, (Z * weight[:, None]).T)
    leverage = np.einsum("ij,ji->i", Z, maps)
    coef = maps @ y
    coef[0] -= centre[1:] @ coef[1:]
    return coef, np.minimum(leverage, 0.9)  # limits rows that determine their own prediction


def stratified_error(residual: np.ndarray, chance: np.ndarray, n_fitted: int) -> tuple[float, int]:
    """Return the standard error of the sum of residual / probability, and its degrees of freedom."""
    strata, stratum = np.unique(chance, return_inverse=True)
    count = np.bincount(stratum)
    mean = np.bincount(stratum, residual) / count
    squares = np.bincount(stratum, (residual - mean[stratum]) ** 2)
    alone = count < 2  # a stratum with one pair has no variance: use its distance from 0
    variance = np.where(alone, np.bincount(stratum, residual**2), squares / np.maximum(count - 1, 1))
    error = np.sqrt((count * (1 - strata) / strata**2 * variance).sum())
    n_free = int((count - 1)[strata < 1].sum()) - (n_fitted - 1)
    return float(error), max(n_free, 1)


def _estimate_ratio(measure: Measure, pool: Pool, level: float) -> Estimate:
    values = np.zeros(pool.n_queries)
    formula = _stat_ap if measure.name == "AP" else _stat_ndcg
    sampled = ~np.isnan(pool.grade)
    query, rank = pool.query[sampled], pool.rank[sampled]
    below_query, below_grade, below_chance = pool.below
    for q in np.unique(np.concatenate([query, below_query])).tolist():
        here, lost = query == q, below_query == q
        grade = np.concatenate([pool.grade[sampled][here], below_grade[lost]])
        chance = np.concatenate([pool.probability[sampled][here], below_chance[lost]])
        ranks = np.concatenate([rank[here], np.full(int(lost.sum()), np.inf)])
        values[q] = formula(measure, ranks, grade, chance)
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    n_judged = int(sampled.sum()) + len(below_query)
    return _interval(float(values.mean()), error, max(len(values) - 1, 1), level, n_judged, 1.0, 1.0)


def _stat_ap(measure: Measure, rank: np.ndarray, grade: np.ndarray, chance: np.ndarray) -> float:
    """Return statAP of one query; ranks ascend."""
    weight = np.where(grade >= measure.rel, 1 / chance, 0.0)
    if not weight.any():
        return 0.0
    above = np.cumsum(weight) - weight
    seen = rank <= (np.inf if measure.cutoff is None else measure.cutoff)
    precision = np.minimum((1 + above) / rank, 1)
    return float((weight * precision)[seen].sum() / weight.sum())


def _stat_ndcg(measure: Measure, rank: np.ndarray, grade: np.ndarray, chance: np.ndarray) -> float:
    """Return Horvitz-Thompson DCG over the ideal DCG of the estimated numbers of documents per grade, at most 1."""
    cutoff = np.inf if measure.cutoff is None else measure.cutoff
    dcg = float((grade / chance / np.log2(rank + 1))[rank <= cutoff].sum())
    ideal = expected_ideal(grade, chance, cutoff)
    return min(dcg / ideal, 1.0) if ideal > 0 else 0.0


def expected_ideal(grade: np.ndarray, chance: np.ndarray, cutoff: float) -> float:
    """Return DCG of the ideal order, where a grade with probability p represents 1 / p documents."""
    if not len(grade):
        return 0.0
    order = np.argsort(-grade, kind="stable")
    ends = np.cumsum(1 / chance[order])
    places = np.arange(1, int(min(cutoff, np.ceil(ends[-1]))) + 1)
    at = np.minimum(np.searchsorted(ends, places - 0.5), len(grade) - 1)
    return float((grade[order][at] / np.log2(places + 1)).sum())


def _interval(
    value: float, error: float, n_free: int, level: float, n_judged: int, highest: float, most: float
) -> Estimate:
    """Return a score interval: the variance is assumed proportional to mu (highest - mu), mu the true value.

    Its limits satisfy (value - mu)^2 = t^2 V mu (highest - mu) / (value (highest - value)). It is wider on the side of
    the larger variance, as sums of rare relevant documents are. A value at the end of its range has no variance; then
    Wilson's interval of n_judged trials is used, where `most` is the largest value.
    """
    from scipy.stats import t

    quantile = float(t.ppf((1 + level) / 2, n_free)) ** 2
    value = min(max(value, 0.0), highest)
    if not 0 < value < highest:
        reach = most * quantile / (n_judged + quantile)
        return Estimate(value, error, max(value - reach, 0.0) if value else 0.0, value if value else reach, n_judged)
    if np.isinf(highest):
        c = quantile * error**2 / value
        middle, half = value + c / 2, np.sqrt(c * value + c**2 / 4)
    else:
        c = quantile * error**2 / (value * (highest - value))
        middle = (value + c * highest / 2) / (1 + c)
        half = np.sqrt(c * value * (highest - value) + c**2 * highest**2 / 4) / (1 + c)
    return Estimate(value, error, float(max(middle - half, 0.0)), float(min(middle + half, highest)), n_judged)
