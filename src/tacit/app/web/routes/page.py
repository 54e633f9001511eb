"""The page, its parts, and the reference of the interface."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response

PAGE = Path(__file__).parent.parent / "page"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
PARTS = sorted(path.name for path in PAGE.iterdir() if path.suffix in KINDS)


def add(app: FastAPI) -> None:
    """Add the routes."""

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html; charset=utf-8")

    @app.get("/page/{name}", include_in_schema=False)
    def part(name: str) -> Response:
        if name not in PARTS:
            return JSONResponse({"error": f"there is no part {name!r}, want one of {', '.join(PARTS)}"}, 404)
        return FileResponse(PAGE / name, media_type=f"{KINDS[Path(name).suffix]}; charset=utf-8")

    @app.get("/docs", include_in_schema=False)
    def docs() -> Response:
        from tacit.app.web.reference import reference_page

        return HTMLResponse(reference_page(app.openapi()))
