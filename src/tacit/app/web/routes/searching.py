"""Search, explanations, feedback, single documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

from fastapi import FastAPI, Query
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from tacit.app.web.batches import Batches
from tacit.app.web.bodies import FeedbackBody
from tacit.app.web.counters import Counters
from tacit.app.web.workspace import Version, Workspace
from tacit.search import Hit

MAX_ANSWERS = 1_000
N_REASONS = 200

Text = Annotated[str, Query(min_length=1, max_length=20_000)]
Id = Annotated[str, Query(min_length=1, max_length=1_000)]
VersionName = Annotated[str | None, Query(max_length=20)]


def add(app: FastAPI, workspace: Workspace, counters: Counters) -> None:
    """Add the routes."""

    batches = Batches(_search)

    @app.get("/search", summary="The best documents for a query")
    async def search(
        q: Text, k: Annotated[int, Query(ge=1, le=MAX_ANSWERS)] = 10, model: VersionName = None
    ) -> Response:
        with counters.timed("/search"):
            version = workspace.active if model is None else await run_in_threadpool(workspace.find, model)
            version.searcher.check_query(q, k)
            return cast("Response", await batches.result((version, k), q))

    @app.get("/explain", summary="Why a document has its score, or stands above another")
    @counters.count("/explain")
    def explain(q: Text, id: Id, other: Id | None = None, model: VersionName = None) -> Any:
        version = workspace.find(model)
        reasons = version.searcher.explain(q, id, other)
        return {
            "model": version.name,
            "query": q,
            "id": id,
            "other": other,
            "total": float(sum(reason.value for reason in reasons)),
            "terms": [reason._asdict() for reason in reasons[:N_REASONS]],
        }

    @app.post("/feedback", summary="Rank the answers of a query again by liked and disliked ones")
    @counters.count("/feedback")
    def feedback(body: FeedbackBody) -> Response:
        version = workspace.active
        hits = version.searcher.feedback(body.query, body.liked, body.disliked, body.k)
        return _answers(version.name, body.query, hits)

    @app.get("/documents/{document:path}", summary="One document")
    @counters.count("/documents")
    def document(document: str) -> Any:
        documents = workspace.active.searcher.documents_
        row = documents.row_of.get(document)
        if row is None:
            return JSONResponse({"error": f"no document has the id {document!r}, want one that the model has"}, 404)
        found = documents[row]
        return {"id": found.id, "title": found.title, "text": found.text}


def _search(group: tuple[Version, int], queries: list[str]) -> list[Response]:
    """Answers to queries that came together."""
    version, k = group
    found = zip(queries, version.searcher.search_many(queries, k), strict=True)
    return [_answers(version.name, query, hits) for query, hits in found]


def _answers(version: str, query: str, hits: Sequence[Hit]) -> Response:
    """The answer as it is sent: FastAPI would copy and check every number and text again."""
    return JSONResponse({"model": version, "query": query, "hits": [hit.to_json() for hit in hits]})
