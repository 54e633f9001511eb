"""Judgments, queries to be judged, and what to judge next."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, Query
from fastapi.responses import Response

from tacit.app.web.bodies import JudgmentBody, QueryBody, WithdrawalBody
from tacit.app.web.counters import Counters
from tacit.app.web.offers import Offer, Offers
from tacit.app.web.tickets import Tickets
from tacit.app.web.workspace import Workspace
from tacit.core import Collection, TacitError
from tacit.judge.exchange import csv_lines
from tacit.search.answers import make_hits


def add(app: FastAPI, workspace: Workspace, counters: Counters) -> None:
    """Add the routes."""

    store = workspace.store
    tickets = Tickets.beside(store.path)
    offers = Offers(workspace, tickets)

    @app.post("/judgments", summary="Record a judgment; answered after it is on disk")
    @counters.count("/judgments")
    def judge(body: JudgmentBody) -> Any:
        shown = _shown(tickets, body)
        if body.document not in workspace.active.searcher.documents_.row_of:
            raise TacitError(f"no document has the id {body.document!r}, want one that the model has")
        record = store.record(body.query, body.document, body.grade, body.judge, **shown)
        offers.note(body.judge, record.query, record.document)
        return {"query": record.query, "document": record.document, "grade": record.grade, "time": record.time}

    @app.post("/judgments/withdraw", summary="Take a judgment back")
    @counters.count("/judgments")
    def withdraw(body: WithdrawalBody) -> Any:
        if (store.query_id(body.query), body.document) not in store.judged(body.judge):
            found = f"judge {body.judge!r} has not judged document {body.document!r} for this query"
            raise TacitError(f"{found}, want a judgment to take back")
        record = store.withdraw(body.query, body.document, body.judge)
        offers.note(body.judge, record.query, record.document, withdrawn=True)
        return {"query": record.query, "document": record.document, "time": record.time}

    @app.get("/judgments", summary="Current judgments")
    @counters.count("/judgments")
    def judgments(judge: Annotated[str | None, Query(max_length=100)] = None) -> Any:
        found = store.current(judge)
        return {"judgments": [_judgment(record) for record in found], "judges": [j._asdict() for j in store.judges()]}

    @app.get("/next", summary="What to judge next")
    @counters.count("/next")
    def next_pair(
        judge: Annotated[str, Query(min_length=1, max_length=100)],
        purpose: Literal["training", "measuring"] = "training",
        after: Annotated[str | None, Query(max_length=20_000)] = None,
        skipped: bool = False,
    ) -> Any:
        if skipped and after is not None:
            offers.skip(judge, purpose, tickets.read(after))
            after = None
        offer = offers.next(judge, purpose, after)
        progress = {"judged": offers.n_judged(judge), "left": 0 if offer is None else offer.n_left + 1}
        if offer is None:
            known = len(store.queries())
            reason = "Everything that is planned is judged." if known else "There are no queries yet: add some first."
            return {"finished": True, "reason": reason, "progress": progress}
        return _shown_pair(offer, workspace, tickets) | {"progress": progress}

    @app.get("/export", summary="All records as CSV")
    @counters.count("/export")
    def export() -> Response:
        text = "".join(csv_lines(store.history()))
        headers = {"content-disposition": 'attachment; filename="judgments.csv"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=headers)

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


def _shown_pair(offer: Offer, workspace: Workspace, tickets: Tickets) -> dict[str, Any]:
    """A pair as the page shows it: excerpt first, and the whole document."""
    searcher, ticket = workspace.active.searcher, offer.ticket
    row = searcher.documents_.row_of[ticket.document]
    document = searcher.documents_[row]
    asked = searcher.features([offer.text])
    snippet = make_hits(searcher, offer.text, asked, np.array([row]), np.zeros(1))[0].snippet
    return {
        "finished": False,
        "ticket": tickets.sign(ticket),
        "query": {"id": ticket.query, "text": offer.text},
        "document": {
            "id": document.id,
            "title": document.title,
            "text": document.text,
            "snippet": snippet.text,
            "matches": [list(span) for span in snippet.matches],
        },
        "rank": ticket.rank,
        "model": ticket.model,
    }


def _shown(tickets: Tickets, body: JudgmentBody) -> dict[str, Any]:
    """Where the document was shown, if the judgment carries a ticket; the ticket must be for this pair."""
    if body.ticket is None:
        return {}
    ticket = tickets.read(body.ticket)
    if ticket.document != body.document:
        raise TacitError(
            f"the ticket is for document {ticket.document!r}, the judgment for {body.document!r}; want one and the same"
        )
    return {name: getattr(ticket, name) for name in ("rank", "model", "probability", "display")}


def _judgment(record: Any) -> dict[str, Any]:
    names = ("query", "text", "document", "grade", "judge", "kind", "time", "rank", "model", "probability")
    return {name: getattr(record, name) for name in names}
