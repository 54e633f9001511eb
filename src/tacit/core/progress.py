"""Progress bars on stderr, shown only on a terminal, and a time limit for long work."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from tacit.core.errors import TimeIsOver

T = TypeVar("T")

_END: ContextVar[float] = ContextVar("end", default=math.inf)  # deadline of the current work


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeIsOver if work in this thread takes longer. Checked at each step of a progress bar and at the end.

    >>> with time_limit(60):
    ...     list(track("ab", "reading"))
    ['a', 'b']
    """
    token = _END.set(min(_END.get(), time.monotonic() + seconds))
    try:
        _check_time()
        yield
        _check_time()
    finally:
        _END.reset(token)


def _check_time() -> None:
    if time.monotonic() >= _END.get():
        raise TimeIsOver("the work exceeded its time limit")


@contextmanager
def progress_bar(label: str, total: float | None = None) -> Iterator[Callable[..., None]]:
    """Yield a function that advances a progress bar. Without a terminal, no bar is shown.

    `advance(amount, total=…, description=…)` also changes the total or the label.

    >>> with progress_bar("reading", total=3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if not sys.stderr.isatty():
        yield lambda amount, **changes: _check_time()
        return
    # Imported here because importing rich takes longer than a short command.
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)

        def advance(amount: float, **changes: Any) -> None:
            bar.update(task, advance=amount, **changes)
            _check_time()

        yield advance


def track(items: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and advance a bar by one for each."""
    with progress_bar(label, total) as advance:
        for item in items:
            yield item
            advance(1)
