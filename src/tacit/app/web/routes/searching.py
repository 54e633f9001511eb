"""Search, explanations, feedback, documents, and scores of feature lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, cast

import numpy as np
from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from tacit.app.web.document_log import Entry, collection_of
from tacit.app.web.interface import answers, bodies
from tacit.app.web.interface.answers import returns
from tacit.app.web.parts import Service
from tacit.app.web.reading import JsonRoute
from tacit.app.web.workspace import Version
from tacit.core import Collection, TacitError
from tacit.data.columns import check_ids
from tacit.search import Hits
from tacit.search.query.language import may_read_texts
from tacit.search.selecting import Selection, make_selection

MAX_ANSWERS = 1_000
N_REASONS = 200

Text = Annotated[
    str, Query(min_length=1, max_length=20_000, description="the query", examples=["fill in missing values"])
]
Id = Annotated[str, Query(min_length=1, max_length=1_000, description="id of a document")]
Filter = Annotated[
    str | None, Query(max_length=20_000, description="filter of documents", examples=["price < 50 and kind = shoes"])
]
Sort = Annotated[
    str | None, Query(min_length=1, max_length=1_000, description="field to sort by; `-price` sorts descending")
]
Group = Annotated[
    str | None, Query(min_length=1, max_length=1_000, description="field whose values are each shown once")
]
Fields = Annotated[list[str], Query(max_length=100, description="field whose values are counted; repeatable")]
Offset = Annotated[int, Query(ge=0, le=bodies.MAX_OFFSET, description="number of results to skip")]
DocumentId = Annotated[str, Path(min_length=1, max_length=1_000, description="id of the document")]
Marked = Annotated[Sequence[Id], Query(max_length=1_000, description="ids of documents; repeatable")]
VersionName = Annotated[str | None, Query(max_length=20, description="version to rank with; default: the live one")]

router = APIRouter(route_class=JsonRoute, tags=["search"])


@router.get("/search", summary="The best documents for a query", responses=returns(answers.SearchAnswer))
async def search(
    service: Service,
    q: Text,
    k: Annotated[int, Query(ge=1, le=MAX_ANSWERS, description="number of results")] = 10,
    model: VersionName = None,
    filter: Filter = None,
    facet: Fields = [],  # noqa: B006 - FastAPI copies it
    sort: Sort = None,
    group: Group = None,
    offset: Offset = 0,
    snippets: Annotated[bool, Query(description="whether results have snippets")] = True,
) -> Response:
    """Concurrent queries are searched together; one with a phrase, which may read many texts, is searched alone."""
    workspace = service.workspace
    version = workspace.active if model is None else await run_in_threadpool(workspace.find, model)
    version.searcher.check_query(q, k)
    selection = make_selection(filter, facet, sort, offset, group, snippets)
    result = service.searches.slow_result if may_read_texts(q) else service.searches.result
    return cast("Response", await result((version, k, selection), q))


@router.post(
    "/search",
    summary="Search with a JSON body, optionally with a query vector",
    responses=returns(answers.SearchAnswer),
)
def search_with_body(service: Service, body: bodies.SearchBody) -> Response:
    """For long filters, and for models with vectors."""
    version = service.workspace.find(body.model)
    vector = None if body.vector is None else np.array(body.vector, np.float32)
    chosen = {name: getattr(body, name) for name in ("filter", "facets", "sort", "group", "offset", "snippets")}
    return _answers(version.name, body.query, version.searcher.search(body.query, body.k, vector=vector, **chosen))


@router.get("/suggest", summary="Completions of a partial query", responses=returns(answers.SuggestAnswer))
def suggest(
    service: Service, q: Text, k: Annotated[int, Query(ge=1, le=100, description="number of completions")] = 10
) -> Any:
    """Judged queries and queries to judge come first, then titles of documents."""
    return {"query": q, "suggestions": service.workspace.suggest(q, k)}


@router.get(
    "/explain", summary="Why a document has its score, or ranks above another", responses=returns(answers.Explanation)
)
def explain(
    service: Service,
    q: Text,
    id: Id,
    other: Annotated[
        str | None, Query(min_length=1, max_length=1_000, description="another document, to compare with")
    ] = None,
    model: VersionName = None,
    liked: Marked = (),
    disliked: Marked = (),
) -> Any:
    """Terms that sum to the score; with liked or disliked documents, to the score after feedback."""
    version = service.workspace.find(model)
    version.check_documents([id, *([] if other is None else [other]), *liked, *disliked])
    reasons = version.searcher.explain(q, id, other, liked=liked, disliked=disliked)
    return {
        "model": version.name,
        "query": q,
        "id": id,
        "other": other,
        "total": float(sum(reason.value for reason in reasons)),
        "terms": [reason._asdict() for reason in reasons[:N_REASONS]],
    }


@router.post(
    "/feedback", summary="Rerank results by liked and disliked documents", responses=returns(answers.SearchAnswer)
)
def feedback(service: Service, body: bodies.FeedbackBody) -> Response:
    """Nothing is stored."""
    version = service.workspace.find(body.model)
    version.check_documents([*body.liked, *body.disliked])
    hits = version.searcher.feedback(body.query, body.liked, body.disliked, body.k)
    return _answers(version.name, body.query, hits)


@router.get("/documents/{document:path}", summary="One document", responses=returns(answers.DocumentAnswer))
def get_document(service: Service, document: DocumentId) -> Any:
    """The document as it was added."""
    version = service.workspace.active
    version.check_documents([document])
    documents = version.searcher.documents_
    row = documents.row_of[document]
    found, fields = documents[row], documents.fields(row)
    return {"id": found.id, "title": found.title, "text": found.text} | ({"fields": fields} if fields else {})


@router.post("/documents", summary="Add documents, searchable immediately", responses=returns(answers.DocumentsChanged))
def add_documents(
    service: Service,
    body: bodies.Documents,
    upsert: Annotated[bool, Query(description="replace documents with known ids")] = False,
) -> Any:
    """No training is needed; with `upsert`, documents with known ids are replaced."""
    documents = _collection([Entry(given.id, given.title, given.text, given.fields) for given in body])
    return service.workspace.add(documents, upsert=upsert)._asdict()


@router.put("/documents/{document:path}", summary="Add or replace one document", responses=returns(answers.DocumentPut))
def put_document(service: Service, document: DocumentId, body: bodies.ContentBody) -> Any:
    """No training is needed."""
    documents = _collection([Entry(document, body.title, body.text, body.fields)])
    changed = service.workspace.add(documents, upsert=True)
    return {"id": document} | changed._asdict()


@router.delete("/documents/{document:path}", summary="Remove a document", responses=returns(answers.DocumentRemoved))
def delete_document(service: Service, document: DocumentId) -> Any:
    """Searches no longer return it."""
    return {"removed": document, "documents": service.workspace.remove(document)}


@router.post("/rank", summary="Score feature rows, which form one list", responses=returns(answers.RankAnswer))
def rank(service: Service, body: bodies.RankBody) -> Any:
    """Uses the ranker of `tacit serve --ranker`."""
    if service.ranker is None:
        raise TacitError("the service has no ranker of lists; start it with: tacit serve --ranker MODEL")
    if body.documents is not None and len(body.documents) != len(body.features):
        raise TacitError(f"ids in documents: {len(body.documents)}, rows: {len(body.features)}; want one for each")
    widths = {len(row) for row in body.features}
    if len(widths) != 1:
        raise TacitError(f"rows of features have {min(widths)} to {max(widths)} numbers, want the same number in each")
    table = np.array([[np.nan if v is None else v for v in row] for row in body.features], np.float64)
    scores = service.ranker.predict(table, np.zeros(len(table), np.int64))
    names = body.documents or [str(row) for row in range(len(table))]
    order = np.argsort(-scores, kind="stable")
    return {"ranking": [{"rank": r + 1, "id": names[i], "score": float(scores[i])} for r, i in enumerate(order)]}


def search_together(group: tuple[Version, int, Selection], queries: list[str]) -> list[Response]:
    """Return results of concurrent queries."""
    version, k, selection = group
    found = zip(queries, version.searcher.search_many(queries, k, **vars(selection)), strict=True)
    return [_answers(version.name, query, hits) for query, hits in found]


def _answers(version: str, query: str, hits: Hits) -> Response:
    """Return the response as it is sent, because FastAPI would copy and check every value again."""
    return JSONResponse({"model": version, "query": query} | hits.to_json())


def _collection(documents: Sequence[Entry]) -> Collection:
    check_ids("id", [document.id for document in documents])
    return collection_of(documents)
