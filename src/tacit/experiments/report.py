"""Results of an experiment: rows of systems and paired tests between them, as JSON and as Markdown.

The JSON form is fixed: {"experiment", "corpus", "seed", "rows": [{"system", "metrics", "seconds", ...}],
"tests": [{"better", "worse", "metric", "p", "p_uncorrected"}]}; p is two-sided and Holm-corrected within a metric.
Tables have the same rows on the terminal and in Markdown files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.experiments.figures import MAX_LINES, Draw
from tacit.metrics import compare_systems, is_loss, standard_error, t_interval
from tacit.metrics.tables import TEST_NAMES

# Settings that are parameters of a system, not of the task.
OF_THE_SYSTEM = {"dim", "gamma", "frequent", "stem", "recipe", "start"}
PERCENT = {"rank_loss", "error"}
FIGURE_RULE = f"Curves show at most {MAX_LINES} systems: the baselines and the best ones by the mean of the measure.\n"
COMPARED = ("better", "worse", "p", "Holm-corrected p")


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


def table_of(report: Report) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of text: system, setting, every metric with its standard error, seconds."""
    settings = list(dict.fromkeys(name for row in report.rows for name in row.setting))
    metrics = list(report.rows[0].values)
    header = ["system", *settings, *(f"{name} %" if name in PERCENT else name for name in metrics), "seconds", "chosen"]
    return header, [_cells(row, settings, metrics) for row in report.rows]


def _cells(row: Row, settings: list[str], metrics: list[str]) -> list[str]:
    means, errors = row.metrics, row.standard_errors
    chosen = ", ".join(f"{name} {value:g}" for name, value in row.chosen.items())
    return [
        row.system,
        *(str(row.setting.get(name, "")) for name in settings),
        *(format_metric(name, means[name], errors[name]) for name in metrics),
        f"{row.seconds:.1f}",
        chosen,
    ]


def format_metric(name: str, mean: float, error: float) -> str:
    """Return mean and standard error as text; losses in percent.

    >>> format_metric("MAP", 0.37512, 0.0081), format_metric("rank_loss", 0.0231, 0.0011)
    ('0.375 ± 0.008', '2.31 ± 0.11')
    """
    if name in PERCENT:
        return f"{100 * mean:.2f} ± {100 * error:.2f}"
    return f"{mean:.3f} ± {error:.3f}"


def to_markdown(report: Report) -> str:
    """Return the report as Markdown: title, table, tests, sections, figures and notes."""
    header, rows = table_of(report)
    lines = [f"# {report.experiment} on {report.corpus}, seed {report.seed}", ""]
    lines += _markdown_table(header, rows)
    lines += [
        "",
        f"Each system against the next one below it: {TEST_NAMES[report.test]}s, two-sided, Holm-corrected over",
    ]
    lines += ["all pairs of systems of a metric (the JSON report has them all), and uncorrected.", ""]
    where = _varying(report)
    tests = [[*(str(t.get(name, "")) for name in where), *_found(t)] for t in neighbours(report)]
    lines += _markdown_table([*where, "metric", *COMPARED], tests)
    for section in report.sections:
        lines += ["", f"## {section.title}", "", *_markdown_table(section.header, section.rows)]
    lines += ["", FIGURE_RULE] if report.figures else []
    lines += [f"![{name}]({name}.png)" for name in report.figures]
    lines += ["", *(f"- {note}" for note in report.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _varying(report: Report) -> list[str]:
    """Return the settings in which groups of comparable rows differ: split, seed and so on."""
    groups = [protocol(group[0]) for group in report.comparable().values()]
    names = dict.fromkeys(name for setting in groups for name in setting)
    return [name for name in names if len({str(setting.get(name)) for setting in groups}) > 1]


def _found(test: dict[str, Any]) -> list[str]:
    return [test["metric"], *compared(test)]


def compared(test: dict[str, Any]) -> list[str]:
    """Return the cells of COMPARED for a test."""
    return [test["better"], test["worse"], f"{test['p_uncorrected']:.2g}", _p(test["p"])]


def neighbours(report: Report) -> Iterator[dict[str, Any]]:
    """Return the tests between systems that are neighbours in the order of a metric."""
    found = {_key(test): test for test in report.tests()}
    for group in report.comparable().values():
        setting = protocol(group[0])
        for metric in group[0].values:
            ordered = sorted(group, key=lambda row: row.metrics[metric], reverse=not is_loss(metric))
            for above, below in pairwise(ordered):
                test = {"better": above.name, "worse": below.name, "metric": metric} | setting
                # Of two equal means either may be named as the better.
                yield found.get(_key(test)) or found[_key(test | {"better": below.name, "worse": above.name})]


def _key(test: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in test.items() if name not in ("p", "p_uncorrected")))


def _p(p: float) -> str:
    return f"{p:.2g}" if p < 0.05 else f"{p:.2g} (not significant)"


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows]]
