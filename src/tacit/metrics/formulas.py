"""The measures (`KINDS`) and their formulas, each computed for all queries together.

r_j is the grade at position j = 1, 2, ... of a query's ranking, and R its number of relevant documents. Only the first
k positions count if a measure has a cutoff k:

    AP          1/R sum over relevant j of (relevant among the first j) / j;  R is not limited by k
    DCG         sum_j r_j / log2(j + 1)
    nDCG        DCG, divided by the same sum for the ideal order of the judged documents
    nDCG-exp    the same with gain 2^r_j - 1 (Burges et al. 2005; Szummer and Yilmaz 2011)
    nDCG-letor  the same with gain 2^r_j - 1 and discount log2(j), where log2(1) is replaced by 1, as in
                Duh and Kirchhoff (2011), in which positions 1 and 2 weigh the same
    P, R        relevant among the first k, divided by k, by R
    RR          1 / position of the first relevant document
    Judged      share of judged documents among the first k (or as many as there are)
    AUC         share of (relevant, judged non-relevant) pairs in the right order, ties half;
                judged documents that are not in the run rank below it, tied
    rank_loss   1 - AUC

A query that is missing from the run counts as the worst: 0, or 1 for rank_loss. A query without a relevant document
counts 0; in AUC and rank_loss a query without a pair counts 0.5, the value of a random order. All except AUC,
rank_loss, nDCG-exp and nDCG-letor agree with trec_eval (as run by ir-measures), except for ties: see `tacit.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tacit.core import TacitError

if TYPE_CHECKING:
    from tacit.metrics.measures import Measure
    from tacit.metrics.rankings import Rankings

# 2^r exceeds the range of float64 at 1024; real collections have no such grades.
HIGHEST_LETOR_GRADE = 1000


def compute_values(measure: Measure, rankings: Rankings) -> np.ndarray:
    """Return the measure's value for each query, float64 (n_queries,)."""
    return KINDS[measure.name].formula(measure, rankings.judged_only if measure.judged_only else rankings)


def _average_precision(measure: Measure, rankings: Rankings) -> np.ndarray:
    hit = _hits(measure, rankings)
    query, place = rankings.query[hit], rankings.place[hit]
    hits_so_far = np.arange(1, len(query) + 1) - np.searchsorted(query, query, side="left")
    total = rankings.sum_per_query(query, hits_so_far / (place + 1))
    return _divide(total, rankings.n_relevant(measure.rel))


def _precision(measure: Measure, rankings: Rankings) -> np.ndarray:
    assert measure.cutoff is not None  # P always has one
    return _hits_per_query(measure, rankings) / measure.cutoff


def _recall(measure: Measure, rankings: Rankings) -> np.ndarray:
    return _divide(_hits_per_query(measure, rankings), rankings.n_relevant(measure.rel))


def _reciprocal_rank(measure: Measure, rankings: Rankings) -> np.ndarray:
    hit = _hits(measure, rankings)
    values = np.zeros(rankings.n_queries)
    # Entries are best first, so the largest 1 / position belongs to the first hit.
    np.maximum.at(values, rankings.query[hit], 1 / (rankings.place[hit] + 1))
    return values


def _judged_share(measure: Measure, rankings: Rankings) -> np.ndarray:
    seen = _within_cutoff(measure, rankings.place) & ~np.isnan(rankings.grade)
    assert measure.cutoff is not None  # Judged always has one
    n_judged = rankings.sum_per_query(rankings.query, seen)
    return _divide(n_judged, np.minimum(rankings.n_ranked, measure.cutoff))


def _dcg(
    measure: Measure, rankings: Rankings, order: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
) -> np.ndarray:
    """Return DCG of the ranking, or of another order: query, position and grade of its entries."""
    query, place, grade = order or (rankings.query, rankings.place, rankings.grade)
    gain = np.nan_to_num(grade) / np.log2(place + 2)
    return rankings.sum_per_query(query, gain * _within_cutoff(measure, place))


def _ndcg(measure: Measure, rankings: Rankings) -> np.ndarray:
    return _divide(_dcg(measure, rankings), _dcg(measure, rankings, rankings.ideal))


def _ndcg_exponential(measure: Measure, rankings: Rankings) -> np.ndarray:
    """nDCG-exp and nDCG-letor: gain 2^grade - 1."""
    highest = rankings.judged_grade.max(initial=0)
    if highest > HIGHEST_LETOR_GRADE:
        raise TacitError(
            f"{measure.name} has gain 2^grade - 1: grade is {highest:g}, want at most {HIGHEST_LETOR_GRADE}"
        )

    def dcg(query: np.ndarray, place: np.ndarray, grade: np.ndarray) -> np.ndarray:
        if measure.name == "nDCG-exp":
            discount = np.log2(place + 2)
        else:
            discount = np.maximum(np.log2(place + 1), 1)  # log2(1) = 0 is replaced by 1; log2(2) is 1 anyway
        gain = (np.exp2(np.nan_to_num(grade)) - 1) / discount
        return rankings.sum_per_query(query, gain * _within_cutoff(measure, place))

    return _divide(dcg(rankings.query, rankings.place, rankings.grade), dcg(*rankings.ideal))


def _auc(measure: Measure, rankings: Rankings) -> np.ndarray:
    """Compute Mann-Whitney from the positions of relevant among judged documents, from below, ties at the middle."""
    order = np.lexsort((rankings.judged_score, rankings.judged_query))
    query, score = rankings.judged_query[order], rankings.judged_score[order]
    relevant = rankings.judged_grade[order] >= measure.rel
    below = _middle_places(query, score)

    n_relevant = rankings.sum_per_query(query, relevant)
    n_pairs = n_relevant * rankings.sum_per_query(query, ~relevant)
    right = rankings.sum_per_query(query, below * relevant) - n_relevant * (n_relevant - 1) / 2
    values = _divide(right, n_pairs, otherwise=0.5)
    values[rankings.n_ranked == 0] = 0
    return values


def _rank_loss(measure: Measure, rankings: Rankings) -> np.ndarray:
    return 1 - _auc(measure, rankings)


def _middle_places(query: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the position from 0 of each entry, sorted by query and score; ties share the middle."""
    changes = np.ones(len(query), bool)
    changes[1:] = (query[1:] != query[:-1]) | (score[1:] != score[:-1])
    first = np.flatnonzero(changes)
    last = np.append(first[1:], len(query)) - 1
    middle: np.ndarray = ((first + last) / 2)[np.cumsum(changes) - 1]
    return middle - np.searchsorted(query, query, side="left")


def _hits(measure: Measure, rankings: Rankings) -> np.ndarray:
    return np.flatnonzero((rankings.grade >= measure.rel) & _within_cutoff(measure, rankings.place))


def _hits_per_query(measure: Measure, rankings: Rankings) -> np.ndarray:
    query = rankings.query[_hits(measure, rankings)]
    return np.bincount(query, minlength=rankings.n_queries)


def _within_cutoff(measure: Measure, place: np.ndarray) -> np.ndarray:
    return place < (np.inf if measure.cutoff is None else measure.cutoff)


def _divide(part: np.ndarray, whole: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
    """Return part / whole, and the defined value if whole is 0."""
    return np.divide(part, whole, out=np.full(len(part), otherwise), where=whole > 0)


class Kind(NamedTuple):
    """A measure: its formula, and the options of its name.

    Attributes
    ----------
    formula : callable
        Returns the value of each query.
    cutoff : {"needed", "optional", "none"}
        Whether the name has a cutoff, as in P@10.
    rel : bool
        Whether the name may have the lowest relevant grade, as in AP(rel=2).
    judged_only : bool
        Whether the name may have -judged: unjudged documents are removed from the ranking.
    is_loss : bool, default=False
        Whether less is better.
    """

    formula: Callable[[Measure, Rankings], np.ndarray]
    cutoff: Literal["needed", "optional", "none"]
    rel: bool
    judged_only: bool
    is_loss: bool = False


KINDS = {
    "AP": Kind(_average_precision, "optional", rel=True, judged_only=True),
    "DCG": Kind(_dcg, "optional", rel=False, judged_only=True),
    "nDCG": Kind(_ndcg, "optional", rel=False, judged_only=True),
    "nDCG-exp": Kind(_ndcg_exponential, "optional", rel=False, judged_only=True),
    "nDCG-letor": Kind(_ndcg_exponential, "optional", rel=False, judged_only=True),
    "P": Kind(_precision, "needed", rel=True, judged_only=True),
    "R": Kind(_recall, "needed", rel=True, judged_only=True),
    "RR": Kind(_reciprocal_rank, "optional", rel=True, judged_only=True),
    "Judged": Kind(_judged_share, "needed", rel=False, judged_only=False),
    "AUC": Kind(_auc, "none", rel=True, judged_only=False),
    "rank_loss": Kind(_rank_loss, "none", rel=True, judged_only=False, is_loss=True),
}


def average_precision(scores: np.ndarray, relevance: np.ndarray, n_relevant: int) -> float:
    """Return average precision of one scored list; missing items among `n_relevant` count as not found.

    Parameters
    ----------
    scores : ndarray of shape (n_items,)
        Scores; ties keep the order of the list.
    relevance : ndarray of the same shape
        Relevant items have a value above 0; NaN means unjudged, which counts as not relevant.
    n_relevant : int
        Number of relevant items, in the list or not.

    Examples
    --------
    >>> round(average_precision(np.array([3.0, 2.0, 1.0]), np.array([1.0, 0.0, 1.0]), 4), 3)
    0.417
    """
    ranks = 1 + np.flatnonzero(relevance[np.argsort(-scores, kind="stable")] > 0)
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / max(n_relevant, 1))
