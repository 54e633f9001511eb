"""The advice itself: rows of a table, a learning curve, two claims kept apart, and one paragraph in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.judge.advise.procedure import Candidate, CrossValidation
from tacit.judge.advise.verdict import (
    Gain,
    cautious_interval,
    gain_of,
    guard_against_pool,
    guard_against_position,
    judged_only,
    widen_interval,
)
from tacit.judge.advise.words import added_in_words, corrected_in_words, more_in_words, recommended_in_words
from tacit.metrics import compare_systems

JUDGED = "Judged@10"
CURVE = (5, 10, 20, 40, 80, 160)


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
        Gain of the procedure "choose and fit" over the baseline; its interval also contains that of the recommended
        system alone.
    labels : Gain
        Gain that the judgments add to the best system without them; of the clicks where these are all there is.
    queries : int
        Number of judged queries, or of queries with clicks.
    rows : list of dict
        One for each system.
    curve : list of dict
        Mean of the learned system by the number of judged queries.
    text : str
        The verdict in words.
    clicks : Gain or None, default=None
        Gain that clicks add to the best system without judgments, measured on judged queries.
    note : str, default=""
        What the measure favours, where it is clicks.
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
    clicks: Gain | None = None
    note: str = ""

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
            **({} if self.clicks is None else {"clicks": self.clicks.to_json()}),
            "rows": self.rows,
            "curve": self.curve,
            "text": self.text,
            **({"note": self.note} if self.note else {}),
        }


def make_advice(
    candidates: Sequence[Candidate],
    *,
    label_free: Candidate,
    learned: Candidate,
    clicked: Candidate | None = None,
    n_queries: int,
    measure: str,
    has_zeros: bool,
    corrected: str | None = None,
    withheld: str = "",
    evidence: str = "judged queries",
    note: str = "",
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
    clicked : Candidate or None, default=None
        The form that learns from clicks; None without them.
    n_queries : int
        Number of judged queries.
    measure : str
        What is claimed and chosen by.
    has_zeros : bool
        Whether judgments of grade 0 exist, so that judged-only measures can be asked.
    corrected : str or None, default=None
        Measure by corrected clicks, on which a gain must show too.
    withheld : str, default=""
        Why nothing is claimed, whatever the measure shows.
    evidence, note : str
        What the queries are, in words, and what the measure favours.
    sequential : bool, default=False
        Whether the claim must hold for those who look again and again.
    progress : callable
        Told what is done.
    seconds_left : callable
        Time left; candidates after those that the claims need, and points of the learning curve, are left out without
        it.
    """
    validation = CrossValidation(candidates, n_queries, measure, progress=progress, **options)
    n_needed = 1 + max(n for n, candidate in enumerate(candidates) if candidate is learned or candidate is clicked)
    values = {}
    for number, candidate in enumerate(candidates):
        if number < n_needed or seconds_left() > 0:
            values[candidate.name] = validation.values(candidate)
    validation.candidates = [candidate for candidate in candidates if candidate.name in values]
    procedure, names = validation.chosen()
    system, baseline = validation.best().name, candidates[0].name

    def claim(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> Gain:
        found = _claim(before, after, measure, has_zeros, corrected, sequential)
        return replace(found, help=False, reason=withheld) if withheld and found.help else found

    recommended = widen_interval(claim(values[baseline], procedure), claim(values[baseline], values[system]))
    if system == baseline:
        recommended = replace(recommended, help=False, reason=f"{baseline} is the best system")
    labels = claim(values[label_free.name], values[learned.name])
    clicks = None if clicked is None else claim(values[label_free.name], values[clicked.name])
    curve = _curve(validation, learned, label_free, values, measure, seconds_left)
    words = [recommended_in_words(system, baseline, measure, recommended)]
    words += [added_in_words(f"{n_queries} {evidence}", measure, labels)]
    if not (sequential or labels.help):
        words += more_in_words(values[learned.name][measure] - values[label_free.name][measure])
    words += [] if clicks is None else [added_in_words("clicks", measure, clicks)]
    rows = _rows(values, baseline, names)
    words += [] if corrected is None else [corrected_in_words(rows, baseline, corrected)]
    return Advice(system, measure, baseline, recommended, labels, n_queries, rows, curve, " ".join(words), clicks, note)


def _claim(
    baseline: dict[str, np.ndarray],
    other: dict[str, np.ndarray],
    measure: str,
    has_zeros: bool,
    corrected: str | None,
    sequential: bool,
) -> Gain:
    gain = gain_of(baseline[measure], other[measure], sequential=sequential)
    if corrected is not None:
        return guard_against_position(gain, gain_of(baseline[corrected], other[corrected], sequential=sequential))
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
    points += [
        (n, validation.values_of_fewer(learned, n)[measure]) for n in CURVE if n < n_train and seconds_left() > 0
    ]
    points.append((n_train, values[learned.name][measure]))
    return [
        {"queries": n, "mean": float(found.mean()), "interval": list(cautious_interval(found))} for n, found in points
    ]
