"""The page, its parts, and the reference of the interface."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response

PAGE = Path(__file__).parent.parent / "page"


def add(app: FastAPI) -> None:
    """Add the routes."""

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html; charset=utf-8")

    @app.get("/page/{name}", include_in_schema=False)
    def part(name: str) -> Response:
        kinds = {"style.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
        if name not in kinds:
            return JSONResponse({"error": f"there is no page {name!r}"}, 404)
        return FileResponse(PAGE / name, media_type=f"{kinds[name]}; charset=utf-8")

    @app.get("/docs", include_in_schema=False)
    def docs() -> Response:
        from tacit.app.web.reference import reference_page

        return HTMLResponse(reference_page(app.openapi()))
