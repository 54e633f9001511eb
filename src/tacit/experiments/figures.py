"""Figures of reports: PNG files, drawn if matplotlib is installed (extra `plot`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.core import MissingExtraError
from tacit.metrics import is_loss

if TYPE_CHECKING:
    from tacit.experiments.report import Row

Draw = Callable[[Path], None]
MAX_LINES = 6


def new_figure(width: float, height: float, n_columns: int = 1, n_rows: int = 1) -> tuple[Any, Any]:
    """Return a figure and its axes (an array if there are several), without display or global state."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing figures", "matplotlib", "plot") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # unlike pyplot
    grid = figure.subplots(n_rows, n_columns)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e4e4e4", linewidth=0.7)
        axes.set_axisbelow(True)
    return figure, grid


def draw_means(
    axes: Any, places: Sequence[Any], rows: Sequence[Row], metric: str, label: str, errors: float = 1.96, **style: Any
) -> None:
    """Draw the means of a metric as a line, one row for each place; bars are `errors` standard errors long."""
    bars = [errors * row.standard_errors[metric] for row in rows]
    axes.errorbar(places, [row.metrics[metric] for row in rows], yerr=bars, marker="o", label=label, **style)


def save(figure: Any, path: Path) -> None:
    """Write the figure; the same figure gives the same bytes."""
    figure.savefig(path, dpi=120, metadata={"Software": None})


def shown_systems(rows: Iterable[Row], metric: str, keep: Sequence[str] = ()) -> list[str]:
    """Return the names of at most six systems to show in a figure; the report's table has all.

    These are the systems in `keep`, then the best by the mean of the metric over their rows, in the order of the rows.
    """
    means: dict[str, list[float]] = {}
    for row in rows:
        means.setdefault(row.system, []).append(row.metrics[metric])
    sign = 1 if is_loss(metric) else -1
    ranked = sorted(means, key=lambda system: (system not in keep, sign * sum(means[system]) / len(means[system])))
    return [system for system in means if system in ranked[:MAX_LINES]]
