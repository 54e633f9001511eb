"""The HTTP service: routes over a workspace. Nothing is global; `create_app` returns the application."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from tacit import __version__
from tacit.app.web.counters import Counters
from tacit.app.web.guard import Guard, Limits
from tacit.app.web.mistakes import describe_mistake
from tacit.app.web.routes import documents, judging, lists, page, searching, state, training, versions
from tacit.app.web.workspace import Workspace
from tacit.core import TacitError


def create_app(
    workspace: Workspace,
    *,
    hosts: Collection[str] = ("testserver",),
    token: str | None = None,
    limits: Limits | None = None,
    ranker: Any = None,
) -> Any:
    """The application.

    Parameters
    ----------
    workspace : Workspace
        Models and judgments.
    hosts : collection of str, default=("testserver",)
        Values of the Host header that are answered.
    token : str or None, default=None
        What every request must carry; None: nothing.
    limits : Limits or None, default=None
        Bounds of a request; None: the defaults of `Limits`.
    ranker : ListRanker or None, default=None
        What `POST /rank` scores with; None: the route answers that there is none.
    """
    app = FastAPI(title="tacit", version=__version__, docs_url=None, redoc_url=None)
    counters = Counters()
    _add_errors(app)
    page.add(app)
    for routes in (searching, judging, documents, versions, training, state):
        routes.add(app, workspace, counters)
    lists.add(app, ranker, counters)
    return Guard(app, hosts, token, limits)


def _add_errors(app: FastAPI) -> None:
    """A mistake of the client is one line of JSON."""

    @app.exception_handler(TacitError)
    async def mistake(request: Request, error: TacitError) -> Response:
        return JSONResponse({"error": " ".join(str(error).split())}, 400)

    @app.exception_handler(HTTPException)
    async def no_such_route(request: Request, error: HTTPException) -> Response:
        reason = f"there is no route {request.method} {request.url.path}, want one of those that /docs lists"
        if error.status_code not in (404, 405):
            reason = error.detail
        return JSONResponse({"error": reason}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def wrong_request(request: Request, error: RequestValidationError) -> Response:
        return JSONResponse({"error": describe_mistake(error.errors()[0])}, 422)
