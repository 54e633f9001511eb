"""The HTTP service: routes for a workspace. There is no global state; `create_app` returns the application."""

from __future__ import annotations

import errno
from collections.abc import Collection
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from tacit import __version__
from tacit.app.web.batches import Batches
from tacit.app.web.counters import PREFIX, CountRequests
from tacit.app.web.guard import Guard, Limits
from tacit.app.web.interface.answers import Problem
from tacit.app.web.parts import Parts
from tacit.app.web.reading import describe_mistake
from tacit.app.web.routes import judging, searching, state, training
from tacit.app.web.workspace import (
    ReadOnlyError,
    UnconfirmedError,
    UnknownDocumentError,
    UnknownQueryError,
    UnknownVersionError,
    Workspace,
)
from tacit.core import TacitError
from tacit.judge.database import DiskError, DiskFullError

TAGS = {
    "search": "Search, explanations, feedback and documents.",
    "judging": "Queries, judgments, and what to judge next.",
    "training": "Train versions, compare them, and make one live.",
    "state": "Health and counters.",
}
_AS_JSON = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}  # also for text routes
PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "content": _AS_JSON, "description": "An invalid request, with a one-line error."},
    "5XX": {
        "model": Problem,
        "content": _AS_JSON,
        "description": "The service is busy or its disk is full; try later.",
    },
}
TOKEN = HTTPBearer(auto_error=False, description="Required if the service was started with a token.")

# Status codes of errors; all others get 400.
STATUS: dict[type[TacitError], int] = {
    DiskFullError: 507,
    DiskError: 503,
    ReadOnlyError: 403,
    UnknownDocumentError: 404,
    UnknownQueryError: 404,
    UnknownVersionError: 404,
    UnconfirmedError: 409,
}


def create_app(
    workspace: Workspace,
    *,
    hosts: Collection[str] = ("testserver",),
    token: str | None = None,
    limits: Limits | None = None,
    ranker: Any = None,
) -> Any:
    """Return the application.

    Parameters
    ----------
    workspace : Workspace
        Models and judgments.
    hosts : collection of str, default=("testserver",)
        Accepted values of the Host header.
    token : str or None, default=None
        Token that every request must send; None: no token is required.
    limits : Limits or None, default=None
        Limits of a request; None: the defaults of `Limits`.
    ranker : ListRanker or None, default=None
        Ranker for `POST /rank`; None: the route returns an error.
    """
    app = FastAPI(
        title="tacit",
        description='Search, judging and training. Errors are one line: `{"error": …}`.',
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        generate_unique_id_function=lambda route: route.name,
    )
    parts = app.state.parts = Parts.of(workspace, Batches(searching.search_together), ranker)
    _add_errors(app)
    for subject in (searching, judging, training, state):
        app.include_router(subject.router, prefix=PREFIX, responses=PROBLEMS, dependencies=[Depends(TOKEN)])
        app.include_router(subject.router, include_in_schema=False)  # paths without a version prefix
    app.include_router(state.pages)
    app.add_middleware(CountRequests, counters=parts.counters)
    return Guard(app, hosts, token, limits)


def _add_errors(app: FastAPI) -> None:
    """Turn client errors into one line of JSON."""

    @app.exception_handler(TacitError)
    async def mistake(request: Request, error: TacitError) -> Response:
        return _problem(error, next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400))

    @app.exception_handler(OSError)
    async def no_disk(request: Request, error: OSError) -> Response:
        reason = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return _problem(f"nothing was changed, because the disk reported an error: {reason}", 507 if full else 503)

    @app.exception_handler(Exception)
    async def our_mistake(request: Request, error: Exception) -> Response:
        return _problem("internal error; see the service's log for details", 500)

    @app.exception_handler(HTTPException)
    async def no_such_route(request: Request, error: HTTPException) -> Response:
        reason = f"there is no route {request.method} {request.url.path}, want a route listed in /docs"
        if error.status_code == 405:
            reason = f"{request.url.path} does not accept {request.method}, want a method listed in /docs"
        elif error.status_code != 404:
            reason = error.detail
        return JSONResponse({"error": reason}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def wrong_request(request: Request, error: RequestValidationError) -> Response:
        return _problem(describe_mistake(error.errors()[0]), 422)


def _problem(error: object, status: int) -> Response:
    """Return a one-line error; invalid Unicode is shown by number."""
    line = " ".join(str(error).split()).encode("utf-8", "backslashreplace").decode()
    return JSONResponse({"error": line}, status)
