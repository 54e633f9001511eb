"""Pictures of a report, written as PNG where matplotlib is installed (extra `plot`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import MissingExtraError
from tacit.experiments.report import Report, Row


def link_figures(report: Report) -> dict[str, Callable[[Path], None]]:
    """Bars of every system's MAP, and average precision query by query against tf-idf."""
    figures: dict[str, Callable[[Path], None]] = {"map": partial(_bars, report)}
    for group in report.comparable().values():
        base = next((row for row in group if row.system == "tfidf"), None)
        others = [row for row in group if row.system != "tfidf"]
        if base is not None and others:
            best = max(others, key=lambda row: row.metrics["MAP"])
            name = "-".join(str(value) for value in best.setting.values())
            figures[f"ap-{best.system}-{name}"] = partial(_scatter, base, best)
    return figures


def _bars(report: Report, path: Path) -> None:
    figure, axes = new_figure(7, 0.45 * len(report.rows) + 1.2)
    labels = [" ".join([row.system, *_varying(row, report)]) for row in report.rows]
    means = [row.metrics["MAP"] for row in report.rows]
    errors = [1.96 * row.standard_errors["MAP"] for row in report.rows]
    axes.barh(labels, means, xerr=errors, color="#4c78a8", ecolor="#222222", capsize=3)
    axes.invert_yaxis()
    axes.set_xlabel("MAP with 95 % interval")
    axes.set_title(f"{report.experiment} on {report.corpus}")
    save(figure, path)


def _scatter(base: Row, other: Row, path: Path) -> None:
    figure, axes = new_figure(5, 5)
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1)
    axes.scatter(base.values["MAP"], other.values["MAP"], s=8, alpha=0.5, color="#4c78a8")
    above = float(np.mean(other.values["MAP"] > base.values["MAP"]))
    axes.set(xlabel=f"average precision of {base.system}", ylabel=f"average precision of {other.system}")
    axes.set_title(f"{other.system} is better on {above:.0%} of the queries")
    save(figure, path)


def _varying(row: Row, report: Report) -> list[str]:
    """The settings that tell this row from others of its report."""
    return [
        f"{name} {value}"
        for name, value in row.setting.items()
        if len({str(other.setting.get(name)) for other in report.rows if other.system == row.system}) > 1
    ]


def new_figure(width: float, height: float, n_columns: int = 1, n_rows: int = 1) -> tuple[Any, Any]:
    """A figure and its axes (an array of them if there are several), without display or global state."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing figures", "matplotlib", "plot") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # unlike pyplot
    return figure, figure.subplots(n_rows, n_columns)


def save(figure: Any, path: Path) -> None:
    """Write the figure; the same picture gives the same bytes."""
    figure.savefig(path, dpi=120, metadata={"Software": None})
