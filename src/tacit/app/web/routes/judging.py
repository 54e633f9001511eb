"""Judgments, queries to be judged, and what to judge next."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query

from tacit.app.web.bodies import JudgmentBody, QueryBody, WithdrawalBody
from tacit.app.web.counters import Counters
from tacit.app.web.tickets import Tickets
from tacit.app.web.workspace import Workspace
from tacit.core import Collection, TacitError

def add(app: FastAPI, workspace: Workspace, counters: Counters) -> None:
    """Add the routes."""

    store = workspace.store
    tickets = Tickets.beside(store.path)

    @app.post("/judgments", summary="Record a judgment; answered after it is on disk")
    @counters.count("/judgments")
    def judge(body: JudgmentBody) -> Any:
        shown = _shown(tickets, body)
        record = store.record(body.query, body.document, body.grade, body.judge, **shown)
        return {"query": record.query, "document": record.document, "grade": record.grade, "time": record.time}

    @app.post("/judgments/withdraw", summary="Take a judgment back")
    @counters.count("/judgments")
    def withdraw(body: WithdrawalBody) -> Any:
        record = store.withdraw(body.query, body.document, body.judge)
        return {"query": record.query, "document": record.document, "time": record.time}

    @app.get("/judgments", summary="Current judgments")
    @counters.count("/judgments")
    def judgments(judge: Annotated[str | None, Query(max_length=100)] = None) -> Any:
        found = store.current(judge)
        return {"judgments": [_judgment(record) for record in found], "judges": [j._asdict() for j in store.judges()]}

    @app.get("/queries", summary="Queries to be judged")
    @counters.count("/queries")
    def queries() -> Any:
        known = store.queries()
        counts: dict[str, int] = {}
        for record in store.current():
            counts[record.query] = counts.get(record.query, 0) + 1
        topics = known.extras["topic"]
        rows = zip(known.ids, known.texts, topics, strict=True)
        return {"queries": [{"id": i, "text": t, "topic": g, "judged": counts.get(i, 0)} for i, t, g in rows]}

    @app.post("/queries", summary="Add queries to be judged")
    @counters.count("/queries")
    def add_queries(body: list[QueryBody]) -> Any:
        ids = [query.id or store.query_id(query.text) for query in body]
        texts = [query.text for query in body]
        store.add_queries(Collection(ids, [""] * len(ids), texts), [query.topic for query in body])
        return {"added": len(ids), "ids": ids}


def _shown(tickets: Tickets, body: JudgmentBody) -> dict[str, Any]:
    """Where the document was shown, if the judgment carries a ticket; the ticket must be for this pair."""
    if body.ticket is None:
        return {}
    ticket = tickets.read(body.ticket)
    if ticket.document != body.document:
        raise TacitError(f"the ticket is for document {ticket.document!r}, the judgment for {body.document!r}")
    return {name: getattr(ticket, name) for name in ("rank", "model", "probability", "display")}


def _judgment(record: Any) -> dict[str, Any]:
    names = ("query", "text", "document", "grade", "judge", "kind", "time", "rank", "model", "probability")
    return {name: getattr(record, name) for name in names}
