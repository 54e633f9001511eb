"""Test whether a chosen fusion is better than the default: nested cross-validation of the whole choice.

In each of ten folds a fusion is chosen by the judged queries of the other folds, and measured on the fold. The
reported gain is the gain of this procedure over the default. Its interval also contains the interval of the chosen
fusion, and 0 if the choice is the default. A claim needs p < .05, an interval above 0, and ten queries. If more of its
results are judged, the judged-only form of the measure must support the same claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tacit.core import TacitError, plural
from tacit.core.collection import html_table
from tacit.judge.advise.procedure import make_folds
from tacit.judge.advise.verdict import (
    Gain,
    gain_of,
    gains_over,
    guard_against_pool,
    judged_only,
    queries_needed,
    widen_interval,
)
from tacit.judge.fuse.fusion import Fusion
from tacit.judge.fuse.learning import FEWEST_QUERIES, Chooser, Space
from tacit.judge.fuse.measured import JUDGED, Measured
from tacit.metrics import Bounds, difference_bounds, parse_measure
from tacit.metrics.bounds import has_bounds

N_FOLDS = 10
SMALLEST_GAIN = 0.01  # gain for which "how many more queries" is stated, if a smaller one was found
FUSED, DEFAULT = "fused", "default"


@dataclass(frozen=True, repr=False)
class FuseReport:
    """Result of `fuse`; `str()` gives the verdict as text.

    Attributes
    ----------
    fusion : Fusion
        Recommended fusion: the choice from all judged queries, or the default.
    default : Fusion
        Fusion to compare with.
    gain : Gain
        Gain over the default, by nested cross-validation.
    over_leg : Gain
        Gain over the best single leg.
    best_leg : str
        The leg with the highest mean.
    measure : str
        The measure.
    queries : int
        Number of judged queries with results.
    rows : list of dict
        Means of the legs, the default and the fused results.
    agreement : dict
        Share of the first ten results that two legs have in common, by pair of legs.
    more_queries : int
        Estimated number of further judged queries for a decision; 0 if it is decided.
    bounds : Bounds or None
        Range of the difference between the chosen fusion and the default for any grades of unjudged results.
    text : str
        The verdict as text.
    export : dict or None
        Engine, and the body or snippet for it.
    """

    fusion: Fusion
    default: Fusion
    gain: Gain
    over_leg: Gain
    best_leg: str
    measure: str
    queries: int
    rows: list[dict[str, Any]]
    agreement: dict[str, float]
    more_queries: int = 0
    bounds: Bounds | None = None
    text: str = ""
    chosen_in_folds: dict[str, int] = field(default_factory=dict)
    export: dict[str, Any] | None = None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"FuseReport({self.fusion.title!r}: {self.text})"

    def _repr_html_(self) -> str:
        """Return the verdict and the table of systems as HTML, for notebooks."""
        from tacit.judge.fuse.report import table_rows

        return html_table(*table_rows(self), self.text)

    @property
    def helps(self) -> bool:
        """Whether the gain over the default is proven."""
        return self.gain.help

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `tacit fuse --json`, which `tacit fuse --apply` reads."""
        default = next(row for row in self.rows if row["system"] == DEFAULT) if self.rows else {"metrics": {}}
        return {
            "helps": self.gain.help,
            "gain": self.gain.gain,
            "interval": list(self.gain.interval),
            "p": self.gain.p,
            "reason": self.gain.reason,
            "queries": self.queries,
            "measure": self.measure,
            "default": {"name": self.default.title, "metrics": default["metrics"], "fusion": self.default.to_json()},
            "fusion": self.fusion.to_json(),
            "keep_default": self.fusion == self.default,
            "best_leg": {"name": self.best_leg, **self.over_leg.to_json()},
            "rows": self.rows,
            "agreement": self.agreement,
            "more_queries": self.more_queries,
            "bounds": None if self.bounds is None else [self.bounds.low, self.bounds.high],
            "unjudged": None if self.bounds is None else self.bounds.unjudged,
            "chosen_in_folds": self.chosen_in_folds,
            "text": self.text,
            **({} if self.export is None else {"export": self.export}),
        }


def prove(measured: Measured, space: Space, *, queries: np.ndarray | None = None, seed: int = 0) -> FuseReport:
    """Choose a fusion by judged queries, and measure the choice by nested cross-validation.

    Parameters
    ----------
    measured : Measured
        Judged queries.
    space : Space
        Default and candidates.
    queries : ndarray of int or None, default=None
        The measured queries to use; None for all.
    seed : int, default=0
        Random seed of the folds.
    """
    used = np.arange(len(measured)) if queries is None else queries
    chooser = Chooser(measured, space)
    if len(used) < FEWEST_QUERIES:
        return _without_judgments(measured, space, used)
    chosen = chooser.choose(used)
    procedure, counts = _cross_validate(chooser, used, seed)
    default = _cut(measured.all_values(space.default), used)
    own = _cut(measured.all_values(chosen), used)
    gain = widen_interval(_claim(measured, default, procedure), _claim(measured, default, own))
    if chosen == space.default:
        low, high = gain.interval
        wide = min(low, 0.0), max(high, 0.0)
        gain = replace(gain, help=False, interval=wide, reason="no other fusion is clearly better")
    legs = [_cut(measured.all_values(leg), used) for leg in range(len(measured.legs.names))]
    best = int(np.argmax([found[measured.measure].mean() for found in legs]))
    over_leg = _claim(measured, legs[best], procedure)
    bounds = _bounds(measured, space.default, chosen, used)
    report = FuseReport(
        fusion=chosen,
        default=space.default,
        gain=gain,
        over_leg=over_leg,
        best_leg=measured.legs.names[best],
        measure=measured.measure,
        queries=len(used),
        rows=_rows(measured, legs, default, procedure),
        agreement=shown_overlap(measured.given),
        more_queries=_more_queries(chooser, used, chosen, gain),
        bounds=bounds,
        chosen_in_folds=counts,
    )
    return replace(report, text=in_words(report))


def _cross_validate(chooser: Chooser, used: np.ndarray, seed: int) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return values of the procedure on all queries, by measure, and the choices of the folds."""
    fold_of = make_folds(len(used), min(N_FOLDS, len(used)), seed)
    found = {measure: np.empty(len(used)) for measure in chooser.measured.measures}
    names = []
    for fold in range(int(fold_of.max()) + 1):
        held = fold_of == fold
        chosen = chooser.choose(used[~held])
        names.append(chosen.title)
        for measure, values in found.items():
            values[held] = chooser.measured.values(chosen, measure)[used[held]]
    return found, dict(Counter(names))


def _claim(measured: Measured, before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> Gain:
    gain = gain_of(before[measured.measure], after[measured.measure])
    if not measured.has_zeros:
        return gain
    judged = judged_only(measured.measure)
    more_judged = float(after[JUDGED].mean() - before[JUDGED].mean())
    return guard_against_pool(gain, gain_of(before[judged], after[judged]), more_judged)


def _more_queries(chooser: Chooser, used: np.ndarray, chosen: Fusion, gain: Gain) -> int:
    """Estimate how many more judged queries would show the gain found, or a small one; 0 if it is shown."""
    if gain.help:
        return 0
    other = chooser.best_other(used) if chosen == chooser.space.default else chosen
    differences = (chooser.measured.values(other) - chooser.measured.values(chooser.space.default))[used]
    found = gain.gain if chosen != chooser.space.default else 0.0
    return max(queries_needed(differences, max(found, SMALLEST_GAIN)) - len(used), 1)


def _bounds(measured: Measured, default: Fusion, chosen: Fusion, used: np.ndarray) -> Bounds | None:
    if not has_bounds(parse_measure(measured.measure)):
        return None
    legs = measured.legs.take(used.tolist())
    names = set(legs.query_ids)
    kept = np.array([name in names for name in measured.judgments.query_ids])
    judgments = measured.judgments.select(kept, kept[measured.judgments.query])
    found = difference_bounds(judgments, default.fuse(legs), chosen.fuse(legs), measured.measure)
    return found if found.unjudged else None


def _rows(
    measured: Measured,
    legs: Sequence[dict[str, np.ndarray]],
    default: dict[str, np.ndarray],
    fused: dict[str, np.ndarray],
) -> list[dict[str, Any]]:
    """Return means of every leg, the default and the cross-validated choice; gains are over the default (Holm)."""
    systems = dict(zip(measured.legs.names, legs, strict=True))
    named = {DEFAULT: default, FUSED: fused, **{_leg_row(name): found for name, found in systems.items()}}
    gains = gains_over(DEFAULT, named, measured.measure)
    rows = []
    for name, found in named.items():
        row: dict[str, Any] = {"system": name, "metrics": {key: float(values.mean()) for key, values in found.items()}}
        rows.append(row | ({"against_default": gains[name]} if name in gains else {}))
    return rows


def _leg_row(name: str) -> str:
    """Return a leg's name in the table, with a mark if it equals one of our row names."""
    return f"{name} (run)" if name in (DEFAULT, FUSED) else name


def _without_judgments(measured: Measured, space: Space, used: np.ndarray) -> FuseReport:
    reason = f"there are fewer than {FEWEST_QUERIES} judged queries"
    unknown = Gain(False, 0.0, (-1.0, 1.0), 1.0, reason)
    legs = [_cut(measured.all_values(leg), used) for leg in range(len(measured.legs.names))] if len(used) else []
    default = _cut(measured.all_values(space.default), used) if len(used) else {}
    rows = _rows(measured, legs, default, default) if len(used) > 1 else [{"system": DEFAULT, "metrics": {}}]
    best = int(np.argmax([found[measured.measure].mean() for found in legs])) if legs else 0
    report = FuseReport(
        space.default, space.default, unknown, unknown, space.default.names[best], measured.measure, len(used), rows,
        shown_overlap(measured.given), more_queries=FEWEST_QUERIES - len(used),
    )  # fmt: skip
    return replace(report, text=in_words(report))


def shown_overlap(legs: Any) -> dict[str, float]:
    """Return the overlap of the first ten results by pair of legs, as JSON."""
    return {f"{a}, {b}": round(share, 4) for (a, b), share in legs.overlap().items()}


def in_words(report: FuseReport) -> str:
    """Return the verdict as text."""
    gain, measure = report.gain, report.measure
    found = f"{measure} {gain.gain:+.3f} (95% interval {gain.interval[0]:+.3f} to {gain.interval[1]:+.3f})"
    words = []
    if report.queries < FEWEST_QUERIES:
        words.append(f"Keep the default ({report.default.title}): {plural(report.queries, 'judged query')}, "
                     f"at least {FEWEST_QUERIES} are needed to learn weights.")  # fmt: skip
    elif report.fusion == report.default:
        words.append(f"Keep the default ({report.default.title}): no other fusion is clearly better on "
                     f"{plural(report.queries, 'judged query')}.")  # fmt: skip
    elif gain.help:
        words.append(f"Use {report.fusion.title}. It is better than the default: {found}.")
    else:
        words.append(
            f"{report.fusion.title} is the best estimate, but not proven to beat the default: {found}; {gain.reason}."
        )
    if report.queries >= FEWEST_QUERIES:
        low, high = report.over_leg.interval
        words.append(
            f"Over the best single run, {report.best_leg}: {report.over_leg.gain:+.3f} ({low:+.3f} to {high:+.3f})."
        )
        if report.more_queries:
            words.append(
                f"About {plural(report.more_queries, 'more judged query', 'more judged queries')} would decide."
            )
    if report.bounds is not None:
        pairs = plural(report.bounds.unjudged, "unjudged result is", "unjudged results are")
        limits = f"between {report.bounds.low:+.3f} and {report.bounds.high:+.3f}"
        words.append(f"{pairs} above the cutoff; with any grades for them, the difference to the default on these "
                     f"queries is {limits}.")  # fmt: skip
    if report.agreement:
        shares = "; ".join(f"{pair} {share:.0%}" for pair, share in report.agreement.items())
        words.append(f"Shared among the first ten results: {shares}.")
    return " ".join(words)


def _cut(values: dict[str, np.ndarray], used: np.ndarray) -> dict[str, np.ndarray]:
    return {measure: found[used] for measure, found in values.items()}


def check_measure(measure: str) -> str:
    """Return a measure that fusions can be chosen by: higher is better, and it has a judged-only form."""
    found = parse_measure(measure)
    if found.name in ("Judged", "AUC", "rank_loss") or found.judged_only:
        raise TacitError(f"fusions cannot be chosen by {found}, want a ranking measure such as nDCG@10, AP or RR")
    return str(found)
