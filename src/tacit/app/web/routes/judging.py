"""Judgments, queries to judge, and what to judge next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from tacit.app.web.imports import import_text
from tacit.app.web.interface import answers, bodies
from tacit.app.web.interface.answers import returns
from tacit.app.web.offers import Offer, Tickets
from tacit.app.web.parts import Service
from tacit.app.web.reading import JsonRoute
from tacit.app.web.training.verdicts import scores_of
from tacit.app.web.workspace import UnknownQueryError, Workspace
from tacit.core import Collection, TacitError
from tacit.judge import agreement_with_people, disagreements, kappas
from tacit.judge.agreement import Disagreement
from tacit.judge.columns import read_columns
from tacit.judge.exchange import csv_lines
from tacit.judge.records import DECISION
from tacit.search import Searcher
from tacit.search.answers import make_hits

T = TypeVar("T")
CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "Records as CSV."}
}
Limit = Annotated[int | None, Query(ge=1, le=100_000, description="rows of one page; default: all")]
Cursor = Annotated[int, Query(ge=0, le=1 << 53, description="start of the page: `next` of the previous page")]
QueryId = Annotated[str, Path(min_length=1, max_length=1_000, description="id of the query")]

router = APIRouter(route_class=JsonRoute, tags=["judging"])


@router.post(
    "/judgments",
    summary="Record one or more judgments; the response is sent after they are on disk",
    responses=returns(answers.JudgmentRecorded | answers.JudgmentsRecorded, description="The stored judgments."),
)
def add_judgments(service: Service, body: bodies.Judgments) -> Any:
    """A ticket of `/next` records where the document was shown. Of a list, all judgments are recorded or none."""
    service.workspace.check_writable()
    given = body if isinstance(body, list) else [body]
    version = service.workspace.active
    shown = [_shown(service, judgment) for judgment in given]
    version.check_documents(judgment.document for judgment in given)
    records = service.store.record_many(
        {"query": j.query, "document": j.document, "grade": j.grade, "judge": j.judge, "kind": j.kind} | where
        for j, where in zip(given, shown, strict=True)
    )
    for record in records:
        service.offers.note(record.judge, record.query, record.document)
    if isinstance(body, list):
        return {"recorded": len(records)}
    (record,) = records
    return {"query": record.query, "document": record.document, "grade": record.grade, "time": record.time}


@router.post("/judgments/withdraw", summary="Withdraw a judgment", responses=returns(answers.JudgmentWithdrawn))
def withdraw_judgment(service: Service, body: bodies.WithdrawalBody) -> Any:
    """Both records are kept."""
    service.workspace.check_writable()
    store = service.store
    _check_kind(service, body.judge, body.kind)
    if (store.query_id(body.query), body.document) not in store.judged(body.judge):
        found = f"judge {body.judge!r} has not judged document {body.document!r} for this query"
        raise TacitError(f"{found}, want a judgment to withdraw")
    record = store.withdraw(body.query, body.document, body.judge)
    service.offers.note(body.judge, record.query, record.document, withdrawn=True)
    return {"query": record.query, "document": record.document, "time": record.time}


@router.get("/judgments", summary="Current judgments", responses=returns(answers.JudgmentsAnswer))
def list_judgments(
    service: Service,
    judge: Annotated[str | None, Query(max_length=100, description="judgments of this judge")] = None,
    query: Annotated[str | None, Query(max_length=20_000, description="judgments of the query with this id")] = None,
    newest: Annotated[bool, Query(description="newest first")] = False,
    limit: Limit = None,
    cursor: Cursor = 0,
) -> Any:
    """The last judgment of each judge and pair, optionally of one judge or of one query."""
    store = service.store
    found = [record for record in store.current(judge) if query is None or record.query == query]
    if newest:
        found.sort(key=lambda record: record.time, reverse=True)
    shown, following = page_of(found, limit, cursor)
    return {
        "judgments": [{name: getattr(record, name) for name in answers.JudgmentRow.model_fields} for record in shown],
        "judges": [found._asdict() for found in store.judges()],
        "total": len(found),
        "queries": len({record.query for record in found}),
        "next": following,
    }


@router.get("/next", summary="What to judge next", responses=returns(answers.NextAnswer))
def next_pair(
    service: Service,
    judge: Annotated[str, Query(min_length=1, max_length=100, description="name of the judge")],
    purpose: Annotated[
        Literal["training", "measuring"],
        Query(description="pairs that help training most, or a random sample for measuring the model"),
    ] = "training",
    after: Annotated[str | None, Query(max_length=20_000, description="ticket of the pair being judged")] = None,
    skipped: Annotated[bool, Query(description="show that pair again at the end")] = False,
) -> Any:
    """A pair of query and document with its ticket."""
    service.workspace.check_writable()  # offers for measuring are recorded
    _check_kind(service, judge, "person")
    offers = service.offers
    if skipped and after is not None:
        offers.skip(judge, purpose, service.tickets.read(after))
        after = None
    offer = offers.next(judge, purpose, after)
    progress = {"judged": offers.n_judged(judge), "left": 0 if offer is None else offer.n_left + 1}
    if offer is None:
        known = len(service.store.queries())
        reason = "All planned pairs are judged." if known else "There are no queries yet: add some first."
        return {"finished": True, "reason": reason, "progress": progress}
    return _shown_pair(offer, service.workspace, service.tickets) | {"progress": progress}


@router.get("/export", summary="All records as CSV", response_class=Response, responses=CSV)
def export_judgments(service: Service, limit: Limit = None, cursor: Cursor = 0) -> Response:
    """The full history, or a part of it; the header `x-next-cursor` has the cursor of the next part."""
    shown, following = page_of(service.store.history(), limit, cursor)
    headers = {"content-disposition": 'attachment; filename="judgments.csv"'}
    if following is not None:
        headers["x-next-cursor"] = str(following)
    return Response("".join(csv_lines(shown)), media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/queries", summary="Queries to judge", responses=returns(answers.QueriesAnswer))
def list_queries(service: Service, limit: Limit = None, cursor: Cursor = 0) -> Any:
    """With the number of judgments of each query, and its nDCG@10 by version if measured."""
    known = service.store.queries()
    counts = Counter(record.query for record in service.store.current())
    scores = scores_of(service.workspace.verdicts())
    rows, following = page_of(range(len(known)), limit, cursor)
    topics = known.extras["topic"]
    shown = [
        {
            "id": known.ids[row],
            "text": known.texts[row],
            "topic": topics[row],
            "judged": counts[known.ids[row]],
            "scores": scores.get(known.ids[row], []),
        }
        for row in rows
    ]
    return {"queries": shown, "total": len(known), "next": following}


@router.post("/queries", summary="Add queries to judge", responses=returns(answers.QueriesAdded))
def add_queries(service: Service, body: bodies.Queries) -> Any:
    """A query without an id gets one derived from its text; a known query is not changed."""
    service.workspace.check_writable()
    store = service.store
    held = set(store.queries().ids)
    given = {query.id or store.query_id(query.text): query for query in body}
    texts = [query.text for query in given.values()]
    store.add_queries(Collection(list(given), [""] * len(given), texts), [query.topic for query in given.values()])
    added = len(given.keys() - held)
    return {"added": added, "known": len(given) - added, "ids": list(given)}


@router.patch(
    "/queries/{query:path}", summary="Change the text or the topic of a query", responses=returns(answers.QueryChanged)
)
def change_query(service: Service, query: QueryId, body: bodies.QueryChangeBody) -> Any:
    """The text of a query with judgments cannot be changed, because the judgments refer to it."""
    _check_query(service, query)
    service.store.change_query(query, body.text, body.topic)
    return {"id": query}


@router.delete(
    "/queries/{query:path}", summary="Delete a query without judgments", responses=returns(answers.QueryDeleted)
)
def delete_query(service: Service, query: QueryId) -> Any:
    """Judgments are never deleted, so a query with records is kept."""
    _check_query(service, query)
    service.store.delete_query(query)
    return {"deleted": query}


@router.post(
    "/import",
    summary="Import queries and judgments from a text, or preview the import",
    responses=returns(answers.ImportAnswer),
)
def import_queries(service: Service, body: bodies.ImportBody) -> Any:
    """The text is jsonl, a table with a header, TREC qrels, `id<TAB>text`, or one query per line."""
    if not body.preview:
        service.workspace.check_writable()
    documents = service.workspace.active.searcher.documents_
    given = service.store, body.text, documents
    found = import_text(*given, judge=body.judge, kind=body.kind, topic=body.topic, keep=not body.preview)
    if not body.preview:
        service.offers.forget()
    return found


@router.get("/guidelines", summary="Guidelines for all judges", responses=returns(answers.Guidelines))
def get_guidelines(service: Service) -> Any:
    """The text written by the team of judges."""
    return {"text": service.workspace.guidelines}


@router.put("/guidelines", summary="Change the guidelines for all judges", responses=returns(answers.Guidelines))
def put_guidelines(service: Service, body: bodies.GuidelinesBody) -> Any:
    """They are stored next to the versions of the model."""
    service.workspace.change_guidelines(body.text)
    return {"text": service.workspace.guidelines}


@router.get(
    "/agreement",
    summary="Agreement between judges, and documents on which they disagree",
    responses=returns(answers.AgreementAnswer),
)
def agreement(
    service: Service, limit: Annotated[int, Query(ge=0, le=1_000, description="disagreements to return")] = 20
) -> Any:
    """Kappa has linear weights. Disagreements include a person and are undecided; the largest come first."""
    store = service.store
    kinds = {judge.name: judge.kind for judge in store.judges()}
    columns, blind = read_columns(store), read_columns(store, decisions=False)
    with_people = agreement_with_people(blind, [name for name, kind in kinds.items() if kind == "person"])
    found = [
        d for d in disagreements(columns.take(columns.shared())) if any(kinds[name] == "person" for name in d.grades)
    ]
    decided = store.decided()
    unsettled = [d for d in found if (d.query, d.document) not in decided]
    return {
        "judges": [
            judge._asdict() | {"people": with_people[judge.name]._asdict() if judge.name in with_people else None}
            for judge in store.judges()
        ],
        "pairs": [
            {"first": p.judges[0], "second": p.judges[1], "both": p.n_pairs, "same": p.same, "kappa": p.linear}
            for p in kappas(blind.take(blind.shared()))
        ],
        "disagreements": _shown_disagreements(service, unsettled[:limit], kinds),
        "unsettled": len(unsettled),
        "settled": len(found) - len(unsettled),
    }


def _shown_disagreements(service: Service, found: Sequence[Disagreement], kinds: Mapping[str, str]) -> list[Any]:
    """Return disagreements with query text, and title and excerpt of the document if the model has it."""
    searcher, queries = service.workspace.active.searcher, service.store.queries()
    shown = []
    for entry in found:
        text = queries.texts[queries.row_of[entry.query]]
        row = searcher.documents_.row_of.get(entry.document)
        grades = [{"judge": name, "kind": kinds[name], "grade": grade} for name, grade in entry.grades.items()]
        excerpt = {"title": "", "snippet": "", "matches": []} if row is None else _excerpt(searcher, text, row)
        shown.append(entry._asdict() | {"grades": grades, "text": text or None} | excerpt)
    return shown


def _check_kind(service: Service, judge: str, kind: str) -> None:
    """Raise if the judge is known with the other kind, so that no one judges in the name of a program."""
    known = next((found.kind for found in service.store.judges() if found.name == judge), kind)
    if known != kind:
        raise TacitError(f"judge {judge!r} is a {known} in this store, want another name for a {kind}")


def _check_query(service: Service, query: str) -> None:
    service.workspace.check_writable()
    if query not in service.store.queries().row_of:
        raise UnknownQueryError(f"there is no query {query!r}, want an id listed by /queries")


def page_of(rows: Sequence[T], limit: int | None, cursor: int) -> tuple[Sequence[T], int | None]:
    """Return a page of rows, and the cursor of the next page.

    >>> page_of("abcde", 2, 2), page_of("abcde", 2, 4), page_of("abcde", None, 0)
    (('cd', 4), ('e', None), ('abcde', None))
    """
    end = len(rows) if limit is None else cursor + limit
    return rows[cursor:end], end if end < len(rows) else None


def _shown_pair(offer: Offer, workspace: Workspace, tickets: Tickets) -> dict[str, Any]:
    """Return a pair as shown on the page: excerpt first, then the full document."""
    searcher, ticket = workspace.active.searcher, offer.ticket
    row = searcher.documents_.row_of[ticket.document]
    document = searcher.documents_[row]
    return {
        "finished": False,
        "ticket": tickets.sign(ticket),
        "query": {"id": ticket.query, "text": offer.text},
        "document": {"id": document.id, "text": document.text, **_excerpt(searcher, offer.text, row)},
        "rank": ticket.rank,
        "model": ticket.model,
    }


def _excerpt(searcher: Searcher, query: str, row: int) -> dict[str, Any]:
    """Return the title of a document, and a passage with words of the query."""
    snippet = make_hits(searcher, query, searcher.features([query]), np.array([row]), np.zeros(1))[0].snippet
    matches = [list(span) for span in snippet.matches]
    return {"title": searcher.documents_.titles[row], "snippet": snippet.text, "matches": matches}


def _shown(service: Service, body: bodies.JudgmentBody) -> dict[str, Any]:
    """Return where the document was shown, from the judgment's ticket; the ticket must be for this pair."""
    if body.decision:
        return {"display": DECISION}
    if body.ticket is None:
        return {}
    ticket = service.tickets.read(body.ticket)
    if ticket.query != service.store.query_id(body.query):
        raise TacitError(f"the ticket is for query {ticket.query!r}, the judgment for another; want the same query")
    if ticket.document != body.document:
        raise TacitError(
            f"the ticket is for document {ticket.document!r}, the judgment for {body.document!r}; want the same"
        )
    return {name: getattr(ticket, name) for name in ("rank", "model", "probability", "display")}
