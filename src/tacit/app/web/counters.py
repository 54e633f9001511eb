"""Counters of the service in the text form that Prometheus reads."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

KEPT = 10_000  # durations of a route, for its quantiles
QUANTILES = (0.5, 0.95, 0.99)


class Counters:
    """Requests and durations by route.

    >>> counters = Counters()
    >>> with counters.timed("/search"):
    ...     pass
    >>> "tacit_requests_total" in counters.text({"tacit_documents": 3})
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_requests: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[str, deque[float]] = {}

    @contextmanager
    def timed(self, route: str) -> Iterator[None]:
        """Count one request and its duration."""
        start, outcome = time.perf_counter(), "error"
        try:
            yield
            outcome = "ok"
        finally:
            with self._lock:
                self._n_requests[route, outcome] += 1
                self._seconds.setdefault(route, deque(maxlen=KEPT)).append(time.perf_counter() - start)

    def count(self, route: str) -> Callable[[Any], Any]:
        """Decorator of a function that answers requests."""

        def decorate(function: Any) -> Any:
            @wraps(function)
            def counted(*args: Any, **named: Any) -> Any:
                with self.timed(route):
                    return function(*args, **named)

            return counted

        return decorate

    def text(self, gauges: dict[str, float]) -> str:
        """All counters, and some further numbers by name."""
        lines = [f"# TYPE {name} gauge\n{name} {value:g}" for name, value in gauges.items()]
        lines.append("# TYPE tacit_requests_total counter")
        with self._lock:
            lines += [
                f'tacit_requests_total{{route="{route}",outcome="{outcome}"}} {n}'
                for (route, outcome), n in sorted(self._n_requests.items())
            ]
            lines.append("# TYPE tacit_request_seconds summary")
            for route, seconds in sorted(self._seconds.items()):
                ordered = sorted(seconds)
                for q in QUANTILES:
                    value = ordered[int(q * (len(ordered) - 1))]
                    lines.append(f'tacit_request_seconds{{route="{route}",quantile="{q}"}} {value:.6f}')
        return "\n".join(lines) + "\n"
