"""The advice itself: rows of a table, a learning curve, two claims kept apart, and one paragraph in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.judge.advise.procedure import Candidate, CrossValidation
from tacit.judge.advise.verdict import Gain, cautious_interval, gain_of, guard_against_pool, judged_only, queries_needed
from tacit.metrics import compare_systems

JUDGED = "Judged@10"
CURVE = (5, 10, 20, 40, 80, 160)
SMALLEST_GAIN = 0.02  # what the power computation speaks of


@dataclass(frozen=True)
class Advice:
    """What `advise` found.

    Attributes
    ----------
    system : str
        Recommended system: chosen by cross-validation over all judged queries.
    measure, baseline : str
        What is measured, and the system that gains are over.
    recommended : Gain
        Gain of the procedure "choose and fit" over the baseline.
    labels : Gain
        Gain that the judgments add to the best system without them.
    queries : int
        Number of judged queries.
    rows : list of dict
        One for each system.
    curve : list of dict
        Mean of the learned system by the number of judged queries.
    text : str
        The verdict in words.
    """

    system: str
    measure: str
    baseline: str
    recommended: Gain
    labels: Gain
    queries: int
    rows: list[dict[str, Any]]
    curve: list[dict[str, Any]]
    text: str

    def to_json(self) -> dict[str, Any]:
        """The form of `advise --json`."""
        return {
            "helps": self.recommended.help,
            "system": self.system,
            "measure": self.measure,
            "baseline": self.baseline,
            "gain": self.recommended.gain,
            "interval": list(self.recommended.interval),
            "p": self.recommended.p,
            "reason": self.recommended.reason,
            "queries": self.queries,
            "labels": self.labels.to_json(),
            "rows": self.rows,
            "curve": self.curve,
            "text": self.text,
        }


def make_advice(
    candidates: Sequence[Candidate],
    *,
    label_free: Candidate,
    learned: Candidate,
    n_queries: int,
    measure: str,
    has_zeros: bool,
    sequential: bool = False,
    progress: Callable[[str], None] = lambda message: None,
    seconds_left: Callable[[], float] = lambda: float("inf"),
    **options: Any,
) -> Advice:
    """Cross-validate all candidates and the choice among them; the first candidate is the baseline.

    Parameters
    ----------
    candidates : sequence of Candidate
        Systems to choose from.
    label_free, learned : Candidate
        The best system without judgments, and its form that learns from them: their difference is what the
        judgments add.
    n_queries : int
        Number of judged queries.
    measure : str
        What is claimed and chosen by.
    has_zeros : bool
        Whether judgments of grade 0 exist, so that judged-only measures can be asked.
    sequential : bool, default=False
        Whether the claim must hold for those who look again and again.
    progress : callable
        Told what is done.
    seconds_left : callable
        Time left; candidates beyond the needed ones, and points of the learning curve, are left out without it.
    """
    validation = CrossValidation(candidates, n_queries, measure, progress=progress, **options)
    needed = {candidates[0].name, label_free.name, learned.name}
    values = {}
    for candidate in candidates:
        if candidate.name in needed or seconds_left() > 0:
            values[candidate.name] = validation.values(candidate)
    validation.candidates = [candidate for candidate in candidates if candidate.name in values]
    procedure, names = validation.chosen()
    system = validation.choose(np.arange(n_queries)).name
    baseline = candidates[0].name
    recommended = _claim(values[baseline], procedure, measure, has_zeros, sequential)
    labels = _claim(values[label_free.name], values[learned.name], measure, has_zeros, sequential)
    curve = _curve(validation, learned, label_free, values, measure, seconds_left)
    differences = values[learned.name][measure] - values[label_free.name][measure]
    text = in_words(system, baseline, measure, recommended, labels, n_queries, differences)
    return Advice(
        system, measure, baseline, recommended, labels, n_queries, _rows(values, baseline, names), curve, text
    )


def _claim(
    baseline: dict[str, np.ndarray], other: dict[str, np.ndarray], measure: str, has_zeros: bool, sequential: bool
) -> Gain:
    gain = gain_of(baseline[measure], other[measure], sequential=sequential)
    if not has_zeros:
        return gain
    judged = judged_only(measure)
    more_judged = float(other[JUDGED].mean() - baseline[JUDGED].mean())
    return guard_against_pool(gain, gain_of(baseline[judged], other[judged], sequential=sequential), more_judged)


def _rows(values: dict[str, dict[str, np.ndarray]], baseline: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """One row for each system: means, and per measure the gain over the baseline with its interval and p (Holm)."""
    measures = [name for name in values[baseline] if name != JUDGED]
    tests = {
        measure: {
            test.better if test.worse == baseline else test.worse: test
            for test in compare_systems({s: v[measure] for s, v in values.items()}, measure, baseline=baseline)
        }
        for measure in measures
    }
    n_chosen = Counter(names)
    rows = []
    for system, found in values.items():
        row: dict[str, Any] = {
            "system": system,
            "metrics": {measure: float(array.mean()) for measure, array in found.items()},
            "chosen_in_folds": n_chosen[system],
        }
        if system != baseline:
            row["against_baseline"] = {
                measure: {
                    "gain": float((found[measure] - values[baseline][measure]).mean()),
                    "interval": list(cautious_interval(found[measure] - values[baseline][measure])),
                    "p": tests[measure][system].p,
                }
                for measure in measures
            }
        rows.append(row)
    return rows


def _curve(
    validation: CrossValidation,
    learned: Candidate,
    label_free: Candidate,
    values: dict[str, dict[str, np.ndarray]],
    measure: str,
    seconds_left: Callable[[], float],
) -> list[dict[str, Any]]:
    """Mean and interval by the number of judged queries in the training part; 0 is the label-free system."""
    n_train = int(validation.n_queries - np.bincount(validation.fold_of).max())
    points = [(0, values[label_free.name][measure])]
    points += [(n, validation.values(learned, n)[measure]) for n in CURVE if n < n_train and seconds_left() > 0]
    points.append((n_train, values[learned.name][measure]))
    return [
        {"queries": n, "mean": float(found.mean()), "interval": list(cautious_interval(found))} for n, found in points
    ]


def in_words(
    system: str,
    baseline: str,
    measure: str,
    recommended: Gain,
    labels: Gain,
    n_queries: int,
    differences: np.ndarray,
) -> str:
    """The verdict as a paragraph."""
    low, high = recommended.interval
    gain = f"{measure} {recommended.gain:+.3f} (95 % interval {low:+.3f} to {high:+.3f}) over {baseline}"
    if system == baseline:
        first = f"Use {baseline}: no other system was better on the judged queries."
    elif recommended.help:
        first = f"Use {system}: {gain}."
    elif recommended.reason:
        first = f"No system is shown to be better than {baseline}: {system} has {gain}, but {recommended.reason}."
    else:
        first = f"No system is shown to be better than {baseline}."
    added = f"{labels.gain:+.3f} (95 % interval {labels.interval[0]:+.3f} to {labels.interval[1]:+.3f})"
    if labels.help:
        return f"{first} Learning helps: your {n_queries} judged queries add {added}."
    second = f"Your {n_queries} judged queries add nothing that can be told from noise: {added}."
    needed = queries_needed(differences, SMALLEST_GAIN) - n_queries
    third = f" About {needed} more would show a gain of {SMALLEST_GAIN:g}." if needed > 0 else ""
    return f"{first} {second}{third}"
