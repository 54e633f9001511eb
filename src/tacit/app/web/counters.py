"""Requests and their durations by route, in Prometheus text format."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds
PREFIX = "/v1"  # of all paths; paths without it work too
NO_ROUTE = "other"  # one label for all paths without a route, so that clients cannot add labels
GAUGES = {"tacit_documents": "Documents that can be found.", "tacit_judgment_records": "Records of the judgment store."}


class Counters:
    """Counts requests by route, method and outcome, and keeps a histogram of their durations.

    >>> counters = Counters()
    >>> counters.add("/search", "GET", 200, 0.012)
    >>> text = counters.text({"tacit_documents": 3})
    >>> 'tacit_requests_total{method="GET",outcome="ok",route="/search"} 1.0' in text
    True
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=True)
        labels = ["route", "method"]
        self._requests = Counter("tacit_requests", "Requests served.", [*labels, "outcome"], registry=self._registry)
        self._seconds = Histogram(
            "tacit_request_seconds", "Response time in seconds.", labels, buckets=BUCKETS, registry=self._registry
        )
        self._gauges = {name: Gauge(name, text, registry=self._registry) for name, text in GAUGES.items()}

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request; a status of 400 or more is an error."""
        self._requests.labels(route, method, "ok" if status < 400 else "error").inc()
        self._seconds.labels(route, method).observe(seconds)

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all counters, with the current values of `GAUGES`."""
        for name, value in gauges.items():
            self._gauges[name].set(value)
        return generate_latest(self._registry).decode()


class CountRequests:
    """ASGI middleware that counts every request by its route."""

    def __init__(self, app: Any, counters: Counters) -> None:
        self.app, self.counters = app, counters

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one request, and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def note_status(message: dict[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, note_status)
        finally:
            route = scope.get("route")
            path, method = getattr(route, "path_format", NO_ROUTE).removeprefix(PREFIX), scope["method"]
            if method not in (getattr(route, "methods", None) or ()):
                path = method = NO_ROUTE
            self.counters.add(path, method, status, time.perf_counter() - start)
