"""Health, counters, the page with its parts, and the API reference: a page made from the OpenAPI description."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from tacit import __version__
from tacit.app.web.interface import answers
from tacit.app.web.interface.answers import returns
from tacit.app.web.parts import Service
from tacit.app.web.reading import JsonRoute
from tacit.search.filters import fields_of

PAGE = Path(__file__).parent.parent / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
PARTS = sorted(path.name for path in PAGE.iterdir() if path.suffix in KINDS)

METRICS: dict[int | str, dict[str, Any]] = {200: {"description": "Counters as text."}}

router = APIRouter(route_class=JsonRoute, tags=["state"])
pages = APIRouter(include_in_schema=False)  # not part of the API, so they may have other parameters


@router.get("/health", summary="Health of the service", responses=returns(answers.Health))
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
    return HTMLResponse(reference_page(request.app.openapi()))


def reference_page(description: dict[str, Any]) -> str:
    """Return HTML of all routes with their parameters and bodies; it needs no network access."""
    routes = [
        _route(method, path, what) for path, methods in description["paths"].items() for method, what in methods.items()
    ]
    schemas = description.get("components", {}).get("schemas", {})
    bodies = [_schema(name, schema) for name, schema in schemas.items() if "properties" in schema]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>tacit: HTTP interface</title><link rel="icon" href="/page/icon.svg">
<link rel="stylesheet" href="/page/style.css"></head>
<body><main><h1>HTTP interface</h1>
<p>The same as <a href="/openapi.json">OpenAPI</a>. Responses are JSON; an error is <code>{{"error": "…"}}</code>.</p>
{"".join(routes)}<h2>Bodies and responses</h2>{"".join(bodies)}</main></body></html>"""


def _route(method: str, path: str, what: dict[str, Any]) -> str:
    rows = [
        (p["name"], "required" if p.get("required") else "optional", _kind(p.get("schema", {})), p["description"])
        for p in what.get("parameters", [])
    ]
    content = what.get("requestBody", {}).get("content", {}).get("application/json")
    if content:
        rows.append(("body", "required", _kind(content["schema"]), ""))
    about = f"<p>{escape(what.get('summary', ''))}. {escape(what.get('description', ''))}</p>"
    head = f"<h3><code>{method.upper()} {escape(path)}</code></h3>"
    return f'<section class="panel" id="{what["operationId"]}">{head}{about}{_table(rows)}{_returned(what)}</section>'


def _returned(what: dict[str, Any]) -> str:
    """Return the model of a route's response, with its example."""
    good = next(found for status, found in what["responses"].items() if status.startswith("2"))
    kind, content = next(iter(good["content"].items()))
    if "example" not in content:
        return f"<p>Returns <code>{escape(kind)}</code>.</p>"
    return _example(f"Returns <code>{escape(_kind(content['schema']))}</code>", content["example"])


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", []))
    rows = [
        (field, "required" if field in required else "optional", _kind(kind), kind.get("description", ""))
        for field, kind in schema["properties"].items()
    ]
    about = f"<h3>{escape(name)}</h3><p>{escape(schema.get('description', ''))}</p>"
    examples = "".join(_example("Example", example) for example in schema.get("examples", []))
    return f'<section class="panel">{about}{_table(rows)}{examples}</section>'


def _example(summary: str, example: Any) -> str:
    text = json.dumps(example, indent=2, ensure_ascii=False)
    return f"<details><summary>{summary}</summary><pre>{escape(text)}</pre></details>"


def _kind(schema: dict[str, Any]) -> str:
    """Return a type as a short text."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in schema or "oneOf" in schema:
        return " or ".join(_kind(part) for part in schema.get("anyOf") or schema["oneOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    bounds = {key: value for key, value in schema.items() if key in ("minimum", "maximum", "maxLength", "default")}
    return " ".join([str(schema.get("type", "any")), *(f"{key} {json.dumps(value)}" for key, value in bounds.items())])


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="plain"><tbody>{body}</tbody></table>'
