"""Is a new run worse than the old one by more than a margin? A decision for continuous integration.

Let d_q be the new run's value on judged query q minus the old run's value, and [l, h] the 95% interval of its mean:

    worse         h < -margin: shown to be worse by more than the margin
    pass          l >= -margin: a loss of more than the margin is ruled out; or no result changed
    cannot tell   otherwise; an estimate of the further judged queries needed is given

The plain interval is the interval of `advise`, for one comparison on a fixed set of queries. The sequential one is a
confidence sequence: for the same two runs it is valid at all looks, after every added judged query, with a probability
of at least 95%. It does not correct for gating many different runs on the same queries: each run has its own error
rate, and runs tuned on these queries look better here than they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.core import Judgments, Run, TacitError, UsageError, check_number, plural
from tacit.judge.advise.verdict import FEWEST_QUERIES, cautious_interval, queries_needed, sequential_interval
from tacit.metrics import Bounds, difference_bounds, evaluate, is_loss, is_sampled, parse_measure
from tacit.metrics.bounds import first_documents, has_bounds
from tacit.metrics.significance import randomization_test

PASS, WORSE, CANNOT_TELL = "pass", "worse", "cannot tell"
CODES = {PASS: 0, WORSE: 3, CANNOT_TELL: 4}
N_CHANGED = 10
MOST_QUERIES = 1_000_000
SEQUENTIAL_NOTE = (
    "The interval is valid at every look while judged queries are added for these two runs. It does not correct for "
    "gating many different runs on the same queries."
)


@dataclass(frozen=True)
class Gate:
    """The decision and its evidence.

    Attributes
    ----------
    decision : {"pass", "worse", "cannot tell"}
        See the module docstring.
    reason : str
        The decision in one line.
    measure : str
        The measure.
    margin : float
        Tolerated loss.
    means : tuple of float
        Means of the old and the new run.
    difference : float
        New minus old.
    interval : tuple of float
        95% interval of the difference.
    p : float
        p-value of the two-sided paired randomization test.
    queries : int
        Number of judged queries.
    more_queries : int
        Estimated number of further judged queries for a decision; 0 if it is decided.
    changed : list of dict
        Most changed queries: `query`, `base`, `new`, `difference`.
    sequential : bool
        Whether the interval is a confidence sequence.
    judged : tuple of float or None
        Judged@10 of the two runs.
    bounds : Bounds or None
        Range of the difference for any grades of unjudged results.
    """

    decision: str
    reason: str
    measure: str
    margin: float
    means: tuple[float, float]
    difference: float
    interval: tuple[float, float]
    p: float
    queries: int
    more_queries: int
    changed: list[dict[str, Any]]
    sequential: bool = False
    judged: tuple[float, float] | None = None
    bounds: Bounds | None = None

    def exit_code(self, strict: bool = False) -> int:
        """Return 0 for pass, 3 for worse, 4 for cannot tell; the last is 0 unless `strict`."""
        return 0 if self.decision == CANNOT_TELL and not strict else CODES[self.decision]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `tacit gate --json`."""
        return {
            "decision": self.decision,
            "reason": self.reason,
            "measure": self.measure,
            "margin": self.margin,
            "base": self.means[0],
            "new": self.means[1],
            "difference": self.difference,
            "interval": list(self.interval),
            "p": self.p,
            "queries": self.queries,
            "more_queries": self.more_queries,
            "sequential": self.sequential,
            "changed": self.changed,
            "judged": None if self.judged is None else list(self.judged),
            "bounds": None if self.bounds is None else [self.bounds.low, self.bounds.high],
        }


def gate(
    judgments: Judgments,
    base: Run,
    new: Run,
    *,
    measure: str = "nDCG@10",
    margin: float = 0.01,
    sequential: bool = False,
    seed: int = 0,
) -> Gate:
    """Decide whether a new run is worse than the old one by more than a margin.

    Parameters
    ----------
    judgments : Judgments
        Grades.
    base, new : Run
        The old and the new run.
    measure : str, default="nDCG@10"
        Measure with values from 0 to 1, higher is better.
    margin : float, default=0.01
        Tolerated loss, in units of the measure.
    sequential : bool, default=False
        Use a confidence sequence, which stays valid while judged queries are added.
    seed : int, default=0
        Random seed of the test.

    Examples
    --------
    >>> judgments = Judgments.from_dict({f"q{n}": {"a": 1, "b": 0} for n in range(30)})
    >>> good = Run.from_dict({f"q{n}": {"a": 2.0, "b": 1.0} for n in range(30)})
    >>> bad = Run.from_dict({f"q{n}": {"a": 1.0, "b": 2.0} for n in range(30)})
    >>> gate(judgments, good, bad).decision, gate(judgments, bad, good).decision, gate(judgments, good, good).decision
    ('worse', 'pass', 'pass')
    """
    check_number("margin", margin, low=0, high=1)
    name = _check_measure(measure, judgments)
    queries, before, after = _values(judgments, base, new, name)
    differences = after - before
    interval = sequential_interval(differences) if sequential else cautious_interval(differences)
    decision, reason = _decide(differences, interval, margin, _same_results(base, new, queries, name), sequential)
    gap = abs(float(differences.mean()) + margin)
    more = 0
    if decision == CANNOT_TELL:
        more = min(max(queries_needed(differences, max(gap, 1e-6)) - len(differences), 1), MOST_QUERIES)
        reason = f"{reason}; about {plural(more, 'more judged query', 'more judged queries')} needed"
    means = float(before.mean()), float(after.mean())
    return Gate(
        decision, reason, name, margin, means, float(differences.mean()), interval,
        randomization_test(differences, seed=seed), len(differences), more, _changed(queries, before, after),
        sequential, _judged(judgments, base, new), _bounds(judgments, base, new, name),
    )  # fmt: skip


def _check_measure(measure: str, judgments: Judgments) -> str:
    wanted = parse_measure(measure)
    if is_loss(wanted.name) or wanted.name in ("DCG", "Judged"):
        raise UsageError(f"cannot gate by {wanted}, want a measure from 0 to 1 where higher is better, such as nDCG@10")
    if is_sampled(judgments) and (wanted.name != "nDCG" or wanted.judged_only):
        raise UsageError(f"{wanted} cannot be estimated from sampled judgments query by query, want nDCG")
    return str(wanted)


def _values(judgments: Judgments, base: Run, new: Run, measure: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return judged queries and the values of both runs on them."""
    if is_sampled(judgments):
        from tacit.judge.fuse.legs import Legs
        from tacit.judge.fuse.measured import Measured

        measured = Measured(Legs.from_runs({"base": base, "new": new}), judgments, measure)
        return measured.legs.query_ids, measured.leg_values(0), measured.leg_values(1)
    before, after = (evaluate(judgments, run, measure) for run in (base, new))
    for what, run, found in (("base", base, before), ("new", new, after)):
        if found.n_missing == len(found.query_ids):
            example = f"the judgments have {found.query_ids[0]!r}, the run {next(iter(run.query_ids), 'none')!r}"
            raise TacitError(f"the {what} run has results for none of the judged queries: {example}")
    return list(before.query_ids), before.values[measure], after.values[measure]


def _decide(
    differences: np.ndarray, interval: tuple[float, float], margin: float, same: bool, sequential: bool
) -> tuple[str, str]:
    low, high = interval
    if same:
        return PASS, "no result changed"
    if not sequential and len(differences) < FEWEST_QUERIES:
        return CANNOT_TELL, f"{plural(len(differences), 'judged query')}, at least {FEWEST_QUERIES} are needed"
    if high < -margin:
        return WORSE, f"the loss is more than {margin:g}"
    if low >= -margin:
        return PASS, f"a loss of more than {margin:g} is ruled out"
    return CANNOT_TELL, f"a loss of more than {margin:g} is neither shown nor ruled out"


def _same_results(base: Run, new: Run, queries: list[str], measure: str) -> bool:
    """Return whether both runs have the same documents in the same order, to the cutoff, for every judged query."""
    cutoff = parse_measure(measure).cutoff or max(len(base), len(new), 1)
    before, after = (first_documents(run, cutoff) for run in (base, new))
    return all(before.get(query, []) == after.get(query, []) for query in queries)


def _changed(queries: list[str], before: np.ndarray, after: np.ndarray) -> list[dict[str, Any]]:
    differences = after - before
    order = np.argsort(-np.abs(differences), kind="stable")[:N_CHANGED]
    return [
        {"query": queries[q], "base": float(before[q]), "new": float(after[q]), "difference": float(differences[q])}
        for q in order.tolist()
        if differences[q]
    ]


def _judged(judgments: Judgments, base: Run, new: Run) -> tuple[float, float] | None:
    if is_sampled(judgments):
        return None
    before, after = (float(evaluate(judgments, run, "Judged@10").values["Judged@10"].mean()) for run in (base, new))
    return before, after


def _bounds(judgments: Judgments, base: Run, new: Run, measure: str) -> Bounds | None:
    if not has_bounds(parse_measure(measure)):
        return None
    found = difference_bounds(judgments, base, new, measure)
    return found if found.unjudged else None
