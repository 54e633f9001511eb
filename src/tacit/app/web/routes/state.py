"""Health, counters, the page with its parts, and the API reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from tacit import __version__
from tacit.app.web.interface.answers import Health, returns
from tacit.app.web.parts import Service
from tacit.app.web.reading import JsonRoute
from tacit.search.filters import fields_of

PAGE = Path(__file__).parent.parent / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
PARTS = sorted(path.name for path in PAGE.iterdir() if path.suffix in KINDS)

METRICS: dict[int | str, dict[str, Any]] = {200: {"description": "Counters as text."}}

router = APIRouter(route_class=JsonRoute, tags=["state"])
pages = APIRouter(include_in_schema=False)  # not part of the API, so they may have other parameters


@router.get("/health", summary="Health of the service", responses=returns(Health))
def health(service: Service) -> Any:
    """The live version, its number of documents, and their fields."""
    version = service.workspace.active
    searcher = version.searcher
    return {
        "status": "ok",
        "tacit": __version__,
        "model": version.name,
        "method": searcher.method,
        "documents": len(searcher.documents_),
        "fields": {name: column.kind for name, column in fields_of(searcher.documents_).items() if column.kind != "id"},
        "read_only": service.workspace.read_only or None,
        "about": service.workspace.about or None,
    }


@router.get("/metrics", summary="Counters for Prometheus", response_class=PlainTextResponse, responses=METRICS)
def metrics(service: Service) -> Response:
    """Requests and a histogram of their durations by route."""
    workspace = service.workspace
    gauges = {
        "tacit_documents": float(len(workspace.active.searcher.documents_)),
        "tacit_judgment_records": float(len(workspace.store)),
    }
    return PlainTextResponse(service.counters.text(gauges), media_type="text/plain; version=0.0.4")


@pages.get("/")
def page() -> Response:
    """Return the page."""
    return _file("index.html")


@pages.get("/page/{name}")
def part(name: str) -> Response:
    """Return a part of the page."""
    if name not in PARTS:
        return JSONResponse({"error": f"there is no part {name!r}, want one of {', '.join(PARTS)}"}, 404)
    return _file(name)


def _file(name: str) -> Response:
    """Return a file of the page, which browsers ask for again, so that they never mix parts of two releases."""
    kind = f"{KINDS[Path(name).suffix]}; charset=utf-8"
    return Response((PAGE / name).read_bytes(), media_type=kind, headers={"cache-control": "no-cache"})


@pages.get("/docs")
def docs(request: Request) -> Response:
    """Return the API reference as a page."""
    from tacit.app.web.interface.reference import reference_page

    return HTMLResponse(reference_page(request.app.openapi()))
