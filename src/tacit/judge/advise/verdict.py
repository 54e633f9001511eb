"""From values by query to a verdict: the gain, its interval, p, and whether it may be claimed.

A gain is claimed only if p < .05, two-sided, and its interval is above 0. Where unjudged documents could explain the
gain, the judged-only form of the measure must show it too.

The interval is Student's t, adapted to differences of measures, which are skewed and often 0: it assumes two queries
fewer, and adds two differences of .1 and -.1 to the sum of squares. These represent queries that are not in the sample:
if no query differs, the interval is about .3 / n on both sides (the rule of three).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tacit.metrics import compare_systems, parse_measure
from tacit.metrics.confidence_sequences import confidence_sequence
from tacit.metrics.significance import randomization_test, student_interval, t_test

LEVEL = 0.95
P_CLAIM = 0.05
FEWEST_QUERIES = 10  # with fewer, a t interval of skewed differences is too short
POWER = 0.8
JUDGED = "Judged@10"
NOISE = "the difference may be due to chance"
N_SPARE, UNSEEN = 2, 0.1  # queries subtracted from the count, and differences added for queries not sampled


@dataclass(frozen=True)
class Gain:
    """Mean difference of two systems over queries.

    `help` is True if the gain may be claimed; otherwise `reason` says why not.
    """

    help: bool
    gain: float
    interval: tuple[float, float]
    p: float
    reason: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the gain as JSON for `advise --json`."""
        return asdict(self) | {"interval": list(self.interval)}


NOT_MEASURED = Gain(False, 0.0, (-1.0, 1.0), 1.0, "there was not enough time to measure it")


@dataclass(frozen=True)
class ClaimRule:
    """When the gain of one system over another may be claimed.

    Parameters
    ----------
    measure : str
        Measure of the gain.
    has_zeros : bool
        Whether judgments of grade 0 exist, so that judged-only measures can be computed.
    corrected : str or None, default=None
        Measure by corrected clicks, which must also show the gain.
    withheld : str, default=""
        Reason to make no claim, whatever the measure shows.
    sequential : bool, default=False
        Whether the claim must stay valid under repeated looks at the data.
    """

    measure: str
    has_zeros: bool
    corrected: str | None = None
    withheld: str = ""
    sequential: bool = False

    def gain(self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> Gain:
        """Return the gain of `after` over `before`, from their values by measure and query."""
        gain = self._gain(self.measure, before, after)
        if self.corrected is not None:
            gain = guard_against_position(gain, self._gain(self.corrected, before, after))
        elif self.has_zeros:
            more_judged = float(after[JUDGED].mean() - before[JUDGED].mean())
            gain = guard_against_pool(gain, self._gain(judged_only(self.measure), before, after), more_judged)
        return replace(gain, help=False, reason=self.withheld) if self.withheld and gain.help else gain

    def _gain(self, measure: str, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> Gain:
        return gain_of(before[measure], after[measure], sequential=self.sequential)


def gain_of(baseline: np.ndarray, other: np.ndarray, *, sequential: bool = False, seed: int = 0) -> Gain:
    """Return the gain of one system over another, from values on the same queries.

    With `sequential`, interval and claim stay valid under repeated looks after every few judgments, in any order of the
    queries. The p-value still applies to a fixed sample, and does not affect the claim.

    Examples
    --------
    >>> values = np.linspace(0, 1, 40)
    >>> gain_of(values, np.minimum(values + 0.1, 1)).help, gain_of(values, values).help
    (True, False)
    """
    differences = other - baseline
    p = max(t_test(differences), randomization_test(differences, seed=seed))
    if sequential:
        interval = sequential_interval(differences)
        shown = interval[0] > 0
    else:
        interval = cautious_interval(differences)
        shown = p < P_CLAIM and interval[0] > 0
    reason = "" if shown else NOISE
    if not sequential and len(differences) < FEWEST_QUERIES:
        shown, reason = False, f"there are fewer than {FEWEST_QUERIES} queries"
    return Gain(shown, float(differences.mean()), interval, float(p), reason)


def cautious_interval(values: np.ndarray) -> tuple[float, float]:
    """Return the interval of the mean of measures or of their differences, clipped to -1 and 1.

    >>> [round(end, 3) for end in cautious_interval(np.linspace(-0.4, 0.6, 11))], cautious_interval(np.zeros(3))
    ([-0.157, 0.357], (-1.0, 1.0))
    >>> [round(end, 4) for end in cautious_interval(np.zeros(30))]
    [-0.0102, 0.0102]
    """
    n = len(values) - N_SPARE
    if n < 2:
        return -1.0, 1.0
    variance = (float(((values - values.mean()) ** 2).sum()) + 2 * UNSEEN**2) / (len(values) - 1)
    low, high = student_interval(float(values.mean()), variance, n, LEVEL)
    return max(low, -1.0), min(high, 1.0)


def sequential_interval(differences: np.ndarray) -> tuple[float, float]:
    """Return an interval of the mean difference that is valid at every look, regardless of the number of looks."""
    return confidence_sequence(differences, -1.0, 1.0, LEVEL)


def gains_over(
    baseline: str,
    values: Mapping[str, Mapping[str, np.ndarray]],
    measure: str,
    interval_of: Callable[[np.ndarray], tuple[float, float]] = cautious_interval,
) -> dict[str, dict[str, Any]]:
    """Return gain, interval and p (Holm) of each other system over the baseline, from values by system and measure."""
    found = {}
    for test in compare_systems({name: of[measure] for name, of in values.items()}, measure, baseline=baseline):
        name = test.better if test.worse == baseline else test.worse
        differences = values[name][measure] - values[baseline][measure]
        found[name] = {"gain": float(differences.mean()), "interval": list(interval_of(differences)), "p": test.p}
    return found


def widen_interval(procedure: Gain, system: Gain) -> Gain:
    """Widen the interval of a procedure that chooses a system, so that it contains the chosen system's interval.

    When folds choose different systems and the test fold has high gains, the training folds have low ones, which
    biases the choice. The values of the procedure are then too low and vary too little.

    >>> widen_interval(Gain(True, 0.1, (0.05, 0.15), 0.01), Gain(True, 0.12, (0.06, 0.18), 0.01)).interval
    (0.05, 0.18)
    """
    low, high = min(procedure.interval[0], system.interval[0]), max(procedure.interval[1], system.interval[1])
    shown = procedure.help and low > 0
    reason = procedure.reason if shown or procedure.reason else NOISE
    return replace(procedure, help=shown, interval=(low, high), reason=reason)


def queries_needed(differences: np.ndarray, gain: float) -> int:
    """Return the number of judged queries that would show a gain of this size with a probability of 80%."""
    from scipy.special import ndtri

    wanted = float(ndtri(1 - P_CLAIM / 2) + ndtri(POWER))
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return math.ceil((wanted * spread / gain) ** 2) if gain > 0 else 0


def judged_only(measure: str) -> str:
    """Return the form of a measure in which unjudged documents are left out.

    >>> judged_only("nDCG@10")
    'nDCG-judged@10'
    """
    found = parse_measure(measure)
    return str(type(found)(found.name, found.cutoff, found.rel, judged_only=True))


def guard_against_pool(gain: Gain, judged_gain: Gain, more_judged: float) -> Gain:
    """Withhold a claim that unequal numbers of judged documents could explain.

    Parameters
    ----------
    gain : Gain
        Gain by the plain measure, in which an unjudged document counts as not relevant.
    judged_gain : Gain
        Gain by the judged-only form.
    more_judged : float
        Judged@10 of the recommended system minus Judged@10 of the baseline. At or below 0 the plain measure is
        conservative; above it, judged_gain must be a gain too.
    """
    if gain.help and more_judged > 0 and not judged_gain.help:
        reason = (
            f"more of its first ten results are judged (+{more_judged:.2f}), "
            "and on judged documents alone the gain may be due to chance"
        )
        return replace(gain, help=False, reason=reason)
    return gain


def guard_against_position(gain: Gain, corrected_gain: Gain) -> Gain:
    """Withhold a claim by clicks that the positions of the shown documents could explain."""
    if gain.help and not corrected_gain.help:
        return replace(gain, help=False, reason="clicks corrected for position do not confirm it")
    return gain
