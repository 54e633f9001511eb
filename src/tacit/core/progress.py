"""Progress bars for long work: on a terminal's stderr, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def progress_bar(label: str, total: float | None = None) -> Iterator[Callable[..., None]]:
    """Give a function that advances a progress bar; without a terminal it does nothing.

    `advance(amount, total=…, description=…)` also changes the total or the label.

    >>> with progress_bar("reading", total=3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not sys.stderr.isatty():
        yield lambda amount, **changes: None
        return
    # Imported late: rich costs more than the whole of a short command.
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda amount, **changes: bar.update(task, advance=amount, **changes)


def track(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, advancing a bar by one for each."""
    with progress_bar(label, total) as advance:
        for item in items:
            yield item
            advance(1)
