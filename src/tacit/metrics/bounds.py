"""Lower and upper bounds of the difference of two runs over all grades of unjudged documents, query by query.

An unjudged document may have any grade from 0 to G, where G is the highest grade of the judgments (at least 1 and the
lowest relevant grade). Let v_A(d) be the discount of a document d in run A (0 below the cutoff) and g(d) its grade. The
difference B - A of DCG is the sum over documents of g(d) (v_B(d) - v_A(d)). It is largest if unjudged documents with
v_B > v_A have grade G and the others 0:

    P@k    v is 1 / k, g is 1 or 0; the bounds are tight
    nDCG   the difference of DCG is divided by the DCG I of the ideal order. I is smallest for judged documents alone,
           and largest if all unjudged results have grade G; the bound uses the one that moves it outwards, and is
           clipped to -1 and 1

Unjudged results are those above the cutoff in either run. No grades of them lead outside the bounds; for nDCG the
bounds may be wider than attainable. Documents in neither run are left out of the ideal order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core import Judgments, Run, TacitError, UsageError, checked
from tacit.metrics.measures import Measure, parse_measure
from tacit.metrics.rankings import order_run

BOUNDED = ("nDCG", "nDCG-exp", "P")


@dataclass(frozen=True)
class Bounds:
    """Bounds of the mean difference, and the number of unjudged documents above the cutoff.

    Parameters
    ----------
    low, high : float
        Bounds of the mean over all judged queries.
    unjudged : int
        Unjudged documents above the cutoff of at least one of the two runs, over all queries.
    n_queries : int
        Number of judged queries.
    """

    low: float
    high: float
    unjudged: int
    n_queries: int


@checked
def difference_bounds(judgments: Judgments, baseline: Run, other: Run, measure: str | Measure = "nDCG@10") -> Bounds:
    """Return bounds of the mean of `other` minus the mean of `baseline`, for any grades of unjudged documents.

    Parameters
    ----------
    judgments : Judgments
        Grades.
    baseline, other : Run
        The two runs.
    measure : str or Measure, default="nDCG@10"
        nDCG@k, nDCG-exp@k or P@k.

    Returns
    -------
    Bounds

    Examples
    --------
    >>> judgments = Judgments.from_dict({"q": {"a": 1, "b": 0}})
    >>> old, new = Run.from_dict({"q": {"a": 2.0, "b": 1.0}}), Run.from_dict({"q": {"a": 2.0, "x": 1.0}})
    >>> bounds = difference_bounds(judgments, old, new, "P@2")
    >>> bounds.low, bounds.high, bounds.unjudged
    (0.0, 0.5, 1)
    """
    wanted = parse_measure(measure)
    if not has_bounds(wanted) or wanted.cutoff is None:
        raise UsageError(f"there are no bounds for {wanted}, want one of {', '.join(f'{name}@k' for name in BOUNDED)}")
    if not (grades := judgments.to_dict()):
        raise TacitError("judgments have no queries, want at least one")
    tops = [first_documents(run, wanted.cutoff) for run in (baseline, other)]
    highest = max(1.0, wanted.rel, float(judgments.grade.max(initial=0)))
    found = [
        _query_bounds(wanted, known, tops[0].get(query, []), tops[1].get(query, []), highest)
        for query, known in grades.items()
    ]
    low, high, unjudged = np.array(found).T
    return Bounds(float(low.mean()), float(high.mean()), int(unjudged.sum()), len(found))


def has_bounds(measure: Measure) -> bool:
    """Return whether bounds of a measure can be computed."""
    return measure.name in BOUNDED and measure.cutoff is not None and not measure.judged_only


def first_documents(run: Run, k: int) -> dict[str, list[str]]:
    """Return the first k documents of each query."""
    query, doc, rank = order_run(run)
    found = dict[str, list[str]]()
    kept = rank <= k
    for q, d in zip(query[kept].tolist(), doc[kept].tolist(), strict=True):
        found.setdefault(run.query_ids[q], []).append(run.doc_ids[d])
    return found


def _query_bounds(
    measure: Measure, known: dict[str, float], before: list[str], after: list[str], highest: float
) -> tuple[float, float, int]:
    """Return lower and upper bound of one query, and the number of unjudged documents."""
    assert measure.cutoff is not None
    discount = _discounts(measure)
    change = dict[str, float]()
    for sign, documents in ((-1, before), (1, after)):
        for place, document in enumerate(documents):
            change[document] = change.get(document, 0.0) + sign * float(discount[place])
    judged = {document: grade for document, grade in known.items() if grade >= 0}
    fixed = sum(_gain(measure, judged[d]) * moved for d, moved in change.items() if d in judged)
    free = np.array([moved for d, moved in change.items() if d not in judged])
    top = _gain(measure, highest)
    low, high = (fixed + top * float(part) for part in (np.minimum(free, 0).sum(), np.maximum(free, 0).sum()))
    if measure.name != "P":
        gains = np.sort([_gain(measure, grade) for grade in judged.values()])[::-1][: measure.cutoff]
        least = float(gains @ discount[: len(gains)])
        every = np.sort([*gains, *[top] * len(free)])[::-1][: measure.cutoff]
        most = float(every @ discount[: len(every)])
        low, high = (max(min(_over(value, least, most, sign), 1.0), -1.0) for value, sign in ((low, -1), (high, 1)))
    return low, high, len(free)


def _over(value: float, least: float, most: float, sign: int) -> float:
    """Divide by the ideal DCG that moves the value outwards: down (-1) or up (1)."""
    if value == 0:
        return 0.0
    outwards = least if value * sign > 0 else most
    return value / outwards if outwards > 0 else float(sign)


def _discounts(measure: Measure) -> np.ndarray:
    assert measure.cutoff is not None
    if measure.name == "P":
        return np.full(measure.cutoff, 1 / measure.cutoff)
    return np.asarray(1 / np.log2(np.arange(2, measure.cutoff + 2)))


def _gain(measure: Measure, grade: float) -> float:
    if measure.name == "P":
        return float(grade >= measure.rel)
    return float(2**grade - 1) if measure.name == "nDCG-exp" else grade
