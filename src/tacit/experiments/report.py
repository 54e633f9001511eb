"""Results of an experiment: rows of systems and paired tests between them, as JSON and as Markdown.

The JSON form is fixed: {"experiment", "corpus", "seed", "rows": [{"system", "metrics", "seconds", ...}],
"tests": [{"better", "worse", "metric", "p", "p_uncorrected"}]}; p is two-sided and Holm-corrected within a metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.experiments.figures import Draw
from tacit.metrics import compare_systems, standard_error, t_interval

# Settings that are parameters of a system, not of the task.
OF_THE_SYSTEM = {"dim", "gamma", "frequent", "stem", "recipe", "start"}


@dataclass(frozen=True)
class Row:
    """One system under one setting.

    Parameters
    ----------
    system : str
        Name of the system.
    values : mapping of str to ndarray of shape (n_queries,)
        Values per query by measure; reports show their means.
    seconds : float
        Time for choosing, fitting and ranking.
    setting : mapping, default={}
        The task of the row, and parameters in which rows of one system differ.
    chosen : mapping, default={}
        Numbers chosen on validation data.
    epochs : sequence of mappings, default=()
        Loss and validation measures of each epoch, if the system was trained in epochs.
    """

    system: str
    values: Mapping[str, np.ndarray]
    seconds: float
    setting: Mapping[str, Any] = field(default_factory=dict)
    chosen: Mapping[str, Any] = field(default_factory=dict)
    epochs: Sequence[Mapping[str, float]] = ()

    @property
    def name(self) -> str:
        """Return the system's name in tests and figures: with its recipe if printed, and its start if given."""
        printed = ["printed"] if self.setting.get("recipe") == "printed" else []
        start = [self.setting["start"]] if self.setting.get("start") else []
        return " ".join([self.system, *printed, *start])

    @property
    def metrics(self) -> dict[str, float]:
        """Return the mean of each measure."""
        return {name: float(np.mean(values)) for name, values in self.values.items()}

    @property
    def standard_errors(self) -> dict[str, float]:
        """Return the standard error of each mean; 0 for a single value."""
        return {name: standard_error(values) if len(values) > 1 else 0.0 for name, values in self.values.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the row in the fixed JSON form; `queries` counts the measured ones unless a setting has that name."""
        row: dict[str, Any] = {
            "system": self.system,
            "queries": len(next(iter(self.values.values()))),
            **self.setting,
            "metrics": self.metrics,
            "standard_errors": self.standard_errors,
            "seconds": round(self.seconds, 3),
        }
        row |= {"chosen": dict(self.chosen)} if self.chosen else {}
        return row | ({"epochs": [dict(epoch) for epoch in self.epochs]} if self.epochs else {})


@dataclass(frozen=True)
class Section:
    """A further table of a report, with a title, a header and rows of text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Report:
    """Rows measured on the same queries, with the tests between them.

    Parameters
    ----------
    experiment, corpus : str
        Names.
    seed : int
        Random seed of the first split.
    rows : sequence of Row
        Results.
    notes : sequence of str, default=()
        Sizes, protocol and budget, one line each.
    sections : sequence of Section, default=()
        Further tables.
    figures : mapping of str to callable, default={}
        Functions that draw a figure to a path, by file name without `.png`; only `--out` calls them.
    test : str, default="t"
        One of `metrics.significance.TESTS`.
    """

    experiment: str
    corpus: str
    seed: int
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    sections: Sequence[Section] = ()
    figures: Mapping[str, Draw] = field(default_factory=dict)
    test: str = "t"

    def tests(self) -> list[dict[str, Any]]:
        """Return paired tests between every two systems of one setting, for every metric."""
        found = []
        for group in self.comparable().values():
            for metric in group[0].values:
                values = {row.name: row.values[metric] for row in group}
                found += [
                    c.to_dict() | {"p_uncorrected": c.p_raw, **protocol(group[0])}
                    for c in compare_systems(values, metric, test=self.test)
                ]
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the report in the fixed form."""
        return {
            "experiment": self.experiment,
            "corpus": self.corpus,
            "seed": self.seed,
            "rows": [row.to_json() for row in self.rows],
            "tests": self.tests(),
            "sections": [vars(section) for section in self.sections],
            "notes": list(self.notes),
        }

    def comparable(self) -> dict[tuple[Any, ...], list[Row]]:
        """Return groups of comparable rows: the same split, words and so on; the first row of each system."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            key = tuple(sorted((name, str(value)) for name, value in protocol(row).items()))
            group = groups.setdefault(key, [])
            if all(other.name != row.name for other in group):
                group.append(row)
        return groups


def against_baseline(rows: Sequence[Row], baseline: str, metrics: Iterable[str], test: str = "t") -> list[list[str]]:
    """Return lines of metric, system, gain, its 95% interval, p and corrected p: each system against the baseline."""
    lines = []
    for metric in metrics:
        values = {row.system: row.values[metric] for row in rows}
        for found in compare_systems(values, metric, test=test, baseline=baseline):
            other = found.worse if found.better == baseline else found.better
            gains = values[other] - values[baseline]
            low, high = t_interval(gains)
            p_values = f"{found.p_raw:.3g}", f"{found.p:.3g}"
            lines.append([metric, other, f"{gains.mean():+.4f}", f"{low:+.4f} to {high:+.4f}", *p_values])
    return lines


def protocol(row: Row) -> dict[str, Any]:
    """Return the task of a row, without parameters of the system itself."""
    return {name: value for name, value in row.setting.items() if name not in OF_THE_SYSTEM}
