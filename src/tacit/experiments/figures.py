"""How every picture of a report is made: PNG files, where matplotlib is installed (extra `plot`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit.core import MissingExtraError

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
