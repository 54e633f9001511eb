"""How every picture of a report is made: PNG files, where matplotlib is installed (extra `plot`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.core import MissingExtraError
from tacit.metrics import is_loss

if TYPE_CHECKING:
    from tacit.experiments.report import Row

Draw = Callable[[Path], None]


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


def best_rows(rows: Sequence[Row], metric: str, n_most: int = 6, keep: Sequence[str] = ()) -> list[Row]:
    """The rows that a figure shows: those of the systems in `keep`, then the best by the metric, in their order.

    The others are in the report's table only.
    """
    ranked = sorted(rows, key=lambda row: row.metrics[metric], reverse=not is_loss(metric))
    ranked.sort(key=lambda row: row.system not in keep)
    chosen = {id(row) for row in ranked[:n_most]}
    return [row for row in rows if id(row) in chosen]
