"""The reference of the HTTP interface as one HTML page, made from the OpenAPI description; it needs no network."""

from __future__ import annotations

import json
from html import escape
from typing import Any


def reference_page(description: dict[str, Any]) -> str:
    """HTML of all routes with their parameters and bodies."""
    routes = [
        _route(method, path, what) for path, methods in description["paths"].items() for method, what in methods.items()
    ]
    schemas = description.get("components", {}).get("schemas", {})
    bodies = [_schema(name, schema) for name, schema in schemas.items() if "properties" in schema]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>tacit: HTTP interface</title><link rel="stylesheet" href="/page/style.css"></head>
<body><main><h1>HTTP interface</h1>
<p>The same as <a href="/openapi.json">OpenAPI</a>. Answers are JSON; a mistake is <code>{{"error": "…"}}</code>.</p>
{"".join(routes)}<h2>Bodies</h2>{"".join(bodies)}</main></body></html>"""


def _route(method: str, path: str, what: dict[str, Any]) -> str:
    rows = [
        (p["name"], "required" if p.get("required") else "optional", _kind(p.get("schema", {})))
        for p in what.get("parameters", [])
    ]
    content = what.get("requestBody", {}).get("content", {}).get("application/json")
    if content:
        rows.append(("body", "required", _kind(content["schema"])))
    return (
        f"<h3><code>{method.upper()} {escape(path)}</code></h3><p>{escape(what.get('summary', ''))}</p>{_table(rows)}"
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", []))
    rows = [
        (field, "required" if field in required else "optional", _kind(kind))
        for field, kind in schema["properties"].items()
    ]
    return f"<h3>{escape(name)}</h3><p>{escape(schema.get('description', ''))}</p>{_table(rows)}"


def _kind(schema: dict[str, Any]) -> str:
    """A type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in schema or "oneOf" in schema:
        return " or ".join(_kind(part) for part in schema.get("anyOf") or schema["oneOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    bounds = {key: value for key, value in schema.items() if key in ("minimum", "maximum", "maxLength", "default")}
    return " ".join([str(schema.get("type", "any")), *(f"{key} {json.dumps(value)}" for key, value in bounds.items())])


def _table(rows: list[tuple[str, str, str]]) -> str:
    if not rows:
        return ""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table class="plain"><tbody>{body}</tbody></table>'
