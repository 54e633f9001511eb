"""The advice: rows of a table, a learning curve, two separate claims, and one paragraph of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tacit.core.collection import html_table
from tacit.judge.advise.procedure import Candidate, CrossValidation
from tacit.judge.advise.verdict import (
    JUDGED,
    NOT_MEASURED,
    ClaimRule,
    Gain,
    cautious_interval,
    gains_over,
    sequential_interval,
    widen_interval,
)
from tacit.judge.advise.words import (
    LOOKS,
    added_in_words,
    alone_in_words,
    corrected_in_words,
    encoder_in_words,
    left_out_in_words,
    more_in_words,
    program_in_words,
    recommended_in_words,
)

CURVE = (5, 10, 20, 40, 80, 160)

Values = dict[str, np.ndarray]  # of one system: by measure, one for each query


@dataclass(frozen=True, repr=False)
class Advice:
    """Result of `advise`.

    Attributes
    ----------
    system : str
        Recommended system, chosen by cross-validation over all judged queries.
    measure, baseline : str
        The measure, and the baseline system of all gains.
    recommended : Gain
        Gain of the procedure "choose and fit" over the baseline; its interval also contains the interval of the
        recommended system alone.
    labels : Gain
        Gain from the judgments over the best system without them; with clicks only, gain from the clicks.
    queries : int
        Number of judged queries, or of queries with clicks.
    rows : list of dict
        One row per system.
    curve : list of dict
        Mean of the learned system by number of judged queries.
    text : str
        The verdict in words.
    clicks : Gain or None, default=None
        Gain that clicks add to the best system without judgments, measured on judged queries.
    encoder : dict of str to Gain, or None, default=None
        Gains of the blend with the encoder over the blend without it (`blend`) and over rank fusion (`rrf`).
    note : str, default=""
        Bias of the measure, if it is based on clicks.
    left_out : tuple of str, default=()
        Systems skipped for lack of time.
    assist : Gain or None, default=None
        Gain from a program's grades over learning from people's grades alone, measured by people's grades.
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
    left_out: tuple[str, ...] = ()
    encoder: dict[str, Gain] | None = None
    assist: Gain | None = None

    def __repr__(self) -> str:
        return f"Advice({self.system!r}: {self.text})"

    def _repr_html_(self) -> str:
        """Return the verdict and the table of systems as HTML, for notebooks."""
        from tacit.judge.advise.report import table_rows

        return html_table(*table_rows(self), self.text)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `advise --json`."""
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
            **({} if self.encoder is None else {"encoder": {k: gain.to_json() for k, gain in self.encoder.items()}}),
            **({} if self.assist is None else {"assist": self.assist.to_json()}),
            "rows": self.rows,
            "curve": self.curve,
            "text": self.text,
            "left_out": list(self.left_out),
            **({"note": self.note} if self.note else {}),
        }


@dataclass(frozen=True)
class Roles:
    """The candidates that the advice compares with each other.

    Parameters
    ----------
    label_free, learned : Candidate
        The best system without judgments, and its form that learns from them. Their difference is the gain from the
        judgments.
    clicked : Candidate or None, default=None
        The form that learns from clicks; None without them.
    assisted : Candidate or None, default=None
        The form that also learns from a program's grades; its gain over `learned` is the gain from these grades.
    simpler : Candidate or None, default=None
        Replacement for `learned` if there is not enough time for it.
    encoded : sequence of Candidate, default=()
        Systems to compare with `label_free`, which has an encoder: the blend without it, and rank fusion.
    """

    label_free: Candidate
    learned: Candidate
    clicked: Candidate | None = None
    assisted: Candidate | None = None
    simpler: Candidate | None = None
    encoded: Sequence[Candidate] = ()


def make_advice(
    candidates: Sequence[Candidate],
    roles: Roles,
    rule: ClaimRule,
    *,
    n_queries: int,
    evidence: str = "judged queries",
    note: str = "",
    curve: Sequence[int] = CURVE,
    seconds_left: Callable[[], float] = lambda: float("inf"),
    **options: Any,
) -> Advice:
    """Cross-validate all candidates and the choice among them; the first candidate is the baseline.

    Parameters
    ----------
    candidates : sequence of Candidate
        Systems to choose from.
    roles : Roles
        Which of them are compared.
    rule : ClaimRule
        When a gain may be claimed; systems are chosen by the same measure.
    n_queries : int
        Number of judged queries.
    evidence, note : str
        Noun for the queries in the text, and the bias of the measure.
    curve : sequence of int
        Numbers of judged queries of the learning curve.
    seconds_left : callable
        Time left. If it is too short for all fits of a candidate or of a point of the learning curve, that one is
        left out; the baseline and `label_free` are always measured.
    **options
        Further parameters of `CrossValidation`.
    """
    validation = CrossValidation(candidates, n_queries, rule.measure, seconds_left=seconds_left, **options)
    values, left_out = _values(validation, roles)
    if roles.learned.name in left_out and roles.simpler is not None:
        roles = replace(roles, learned=roles.simpler)
    label_free, learned = roles.label_free, roles.learned

    def added(after: Candidate, before: Candidate) -> Gain:
        is_measured = before.name in values and after.name in values
        return rule.gain(values[before.name], values[after.name]) if is_measured else NOT_MEASURED

    assist = None if roles.assisted is None else added(roles.assisted, learned)
    if assist is not None and not assist.help:  # not chosen by a mean that may be due to chance
        validation.candidates = [candidate for candidate in validation.candidates if candidate is not roles.assisted]
    procedure, names = validation.chosen()
    system, baseline = validation.best().name, candidates[0].name
    recommended = widen_interval(rule.gain(values[baseline], procedure), rule.gain(values[baseline], values[system]))
    if system == baseline:
        recommended = replace(recommended, help=False, reason=f"{baseline} is the best system")
    found = Advice(
        system=system,
        measure=rule.measure,
        baseline=baseline,
        recommended=recommended,
        labels=added(learned, label_free),
        queries=n_queries,
        rows=_rows(values, baseline, names, rule.sequential),
        curve=_curve(validation, learned, label_free, values, curve),
        text="",
        clicks=None if roles.clicked is None else added(roles.clicked, label_free),
        note=note,
        left_out=tuple(left_out),
        encoder={other.name: added(label_free, other) for other in roles.encoded} or None,
        assist=assist,
    )
    return replace(found, text=" ".join(_sentences(found, values, roles, rule, names, evidence)))


def _sentences(
    found: Advice, values: dict[str, Values], roles: Roles, rule: ClaimRule, names: Sequence[str], evidence: str
) -> list[str]:
    """Return the verdict in words; `names` are the systems chosen in the folds."""
    measure, labels = found.measure, found.labels
    words = [recommended_in_words(found.system, found.baseline, measure, found.recommended)]
    of_system = values[found.system][measure] - values[found.baseline][measure]
    words += alone_in_words(found.system, names, found.recommended.gain, of_system)
    words += [added_in_words(f"{found.queries} {evidence}", measure, labels)]
    if not (rule.sequential or labels.help or labels.interval[1] < 0 or roles.learned.name in found.left_out):
        words += more_in_words(values[roles.learned.name][measure] - values[roles.label_free.name][measure])
    words += [] if found.encoder is None else [encoder_in_words(*found.encoder.values())]
    words += [] if found.clicks is None else [added_in_words("clicks", measure, found.clicks)]
    words += [] if found.assist is None else [program_in_words(measure, found.assist)]
    words += [] if rule.corrected is None else [corrected_in_words(found.rows, found.baseline, rule.corrected)]
    words += [LOOKS] if rule.sequential else []
    return words + left_out_in_words(found.left_out)


def _values(validation: CrossValidation, roles: Roles) -> tuple[dict[str, Values], list[str]]:
    """Return the values of the candidates that finish in time, and the names of the others, which cannot be chosen."""
    needed = {validation.candidates[0].name, roles.label_free.name, *(other.name for other in roles.encoded)}
    measured, values, left_out = list[Candidate](), dict[str, Values](), list[str]()
    for candidate in validation.candidates:
        simpler = roles.simpler if candidate is roles.learned else None
        for form in [candidate] if simpler is None else [candidate, simpler]:
            work = partial(validation.all_values, form)
            found = work() if form.name in needed else validation.in_time(work, validation.n_fits(form))
            if found is not None:
                measured.append(form)
                values[form.name] = found
                break
            left_out.append(form.name)
    validation.candidates = measured
    return values, left_out


def _rows(values: dict[str, Values], baseline: str, names: Sequence[str], sequential: bool) -> list[dict[str, Any]]:
    """Return one row per system: means, and per measure the gain over the baseline with its interval and p (Holm)."""
    interval_of = sequential_interval if sequential else cautious_interval
    gains = {name: gains_over(baseline, values, name, interval_of) for name in values[baseline] if name != JUDGED}
    n_chosen = Counter(names)
    rows = []
    for system, found in values.items():
        means = {measure: float(array.mean()) for measure, array in found.items()}
        row: dict[str, Any] = {"system": system, "metrics": means, "chosen_in_folds": n_chosen[system]}
        if system != baseline:
            row["against_baseline"] = {measure: of_measure[system] for measure, of_measure in gains.items()}
        rows.append(row)
    return rows


def _curve(
    validation: CrossValidation,
    learned: Candidate,
    label_free: Candidate,
    values: dict[str, Values],
    curve: Sequence[int],
) -> list[dict[str, Any]]:
    """Return mean and interval by number of judged training queries; 0 is the label-free system."""
    n_train = int(validation.n_queries - np.bincount(validation.fold_of).max())
    measure = validation.measure
    points = [(0, values[label_free.name][measure])]
    for n in [n for n in curve if n < n_train] if learned.name in values else ():
        some = validation.in_time(partial(validation.values_of_fewer, learned, n), validation.n_folds)
        points += [] if some is None else [(n, some[measure])]
    points += [(n_train, values[learned.name][measure])] if learned.name in values else []
    return [
        {"queries": n, "mean": float(found.mean()), "interval": list(cautious_interval(found))} for n, found in points
    ]
