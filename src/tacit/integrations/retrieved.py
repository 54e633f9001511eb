"""Full documents for a query with their metadata, as returned by retrievers of other libraries."""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit.core import check_number
from tacit.search import Searcher


class Retrieved(NamedTuple):
    """One document; `metadata` has its fields, and `id`, `score` and `title`."""

    id: str
    score: float
    text: str
    metadata: dict[str, Any]


def retrieve(searcher: Searcher, query: str, k: int, filter: str | None = None) -> list[Retrieved]:
    """Return the hits of `Searcher.search`, with the full text instead of a snippet."""
    documents = searcher.documents_
    return [
        Retrieved(
            hit.id,
            hit.score,
            documents.texts[documents.row_of[hit.id]],
            hit.fields | {"id": hit.id, "score": hit.score, "title": hit.title},
        )
        for hit in searcher.search(query, k, filter=filter, snippets=False)
    ]


def check_retriever(searcher: Searcher, k: int) -> None:
    """Raise unless the searcher is fitted and k is a number of documents."""
    searcher._check_fitted()
    check_number("k", k, low=1, whole=True)
