"""Health and counters."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse, Response

from tacit import __version__
from tacit.app.web.counters import Counters
from tacit.app.web.workspace import Workspace


def add(app: FastAPI, workspace: Workspace, counters: Counters) -> None:
    """Add the routes."""

    @app.get("/health", summary="Whether the service answers")
    def health() -> Any:
        version = workspace.active
        searcher = version.searcher
        return {
            "status": "ok",
            "tacit": __version__,
            "model": version.name,
            "method": searcher.method,
            "documents": len(searcher.documents_),
        }

    @app.get("/metrics", summary="Counters for Prometheus")
    def metrics() -> Response:
        gauges = {
            "tacit_documents": float(len(workspace.active.searcher.documents_)),
            "tacit_judgment_records": float(len(workspace.store)),
        }
        return PlainTextResponse(counters.text(gauges), media_type="text/plain; version=0.0.4")
