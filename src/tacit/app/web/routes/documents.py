"""New documents, removed documents."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import BeforeValidator

from tacit.app.web.bodies import DocumentBody
from tacit.app.web.counters import Counters
from tacit.app.web.workspace import Workspace
from tacit.core import Collection

OneOrMore = Annotated[list[DocumentBody], BeforeValidator(lambda body: body if isinstance(body, list) else [body])]


def add(app: FastAPI, workspace: Workspace, counters: Counters) -> None:
    """Add the routes."""

    @app.post("/documents", summary="Add documents; they can be found at once")
    @counters.count("/documents")
    def add(body: OneOrMore) -> Any:
        ids, titles, texts = ([getattr(document, name) for document in body] for name in ("id", "title", "text"))
        return {"added": len(body), "documents": workspace.add(Collection(ids, titles, texts))}

    @app.delete("/documents/{document:path}", summary="Remove a document")
    @counters.count("/documents")
    def remove(document: str) -> Any:
        if document not in workspace.active.searcher.documents_.row_of:
            return JSONResponse({"error": f"no document has the id {document!r}, want one that the model has"}, 404)
        return {"removed": document, "documents": workspace.remove(document)}
