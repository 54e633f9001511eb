"""A report as tables: the same rows for the terminal and for Markdown files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tacit.experiments.figures import MAX_LINES
from tacit.experiments.report import Report, Row, protocol
from tacit.metrics import is_loss
from tacit.metrics.tables import TEST_NAMES

PERCENT = {"rank_loss", "error"}
FIGURE_RULE = f"Curves show at most {MAX_LINES} systems: the baselines and the best ones by the mean of the measure.\n"
COMPARED = ("better", "worse", "p", "Holm-corrected p")


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
