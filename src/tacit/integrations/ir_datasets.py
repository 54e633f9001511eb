"""Documents, queries, judgments and runs of ir_datasets, to and from ours. Extra `ir-datasets`.

    documents, queries = read_collection("beir/scifact"), read_queries("beir/scifact/test")
    judgments = read_qrels("beir/scifact/test")

A dataset is given by its id (ir_datasets downloads it on first use) or as the object that `ir_datasets.load` returns.
`make_dataset` turns our structures into such an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tacit.core import Collection, Judgments, MissingExtraError, Run, TacitError
from tacit.integrations.ir_measures import from_qrels, from_scored_docs, to_qrels, to_scored_docs


def read_collection(dataset: Any) -> Collection:
    """Return the documents of a dataset.

    Parameters
    ----------
    dataset : str or ir_datasets.Dataset
        Dataset with documents. If these have the fields `title` and `text`, both are kept; otherwise the text is the
        default text of ir_datasets.
    """
    found = _with(dataset, "docs")
    columns = [_document(document) for document in found.docs_iter()]
    ids, titles, texts = zip(*columns, strict=True) if columns else ((), (), ())
    return Collection(ids, titles, texts)


def read_queries(dataset: Any) -> Collection:
    """Return the queries of a dataset, by their default text."""
    found = _with(dataset, "queries")
    queries = [(str(query.query_id), query.default_text()) for query in found.queries_iter()]
    return Collection([name for name, _ in queries], [""] * len(queries), [text for _, text in queries])


def read_qrels(dataset: Any) -> Judgments:
    """Return the judgments of a dataset; a negative relevance means unjudged."""
    return from_qrels(_with(dataset, "qrels").qrels_iter())


def read_run(dataset: Any, name: str = "ir_datasets") -> Run:
    """Return the scored documents of a dataset: the first-stage run that some datasets include."""
    return from_scored_docs(_with(dataset, "scoreddocs").scoreddocs_iter(), name)


def make_dataset(
    documents: Collection | None = None,
    queries: Collection | None = None,
    judgments: Judgments | None = None,
    run: Run | None = None,
) -> Any:
    """Return an `ir_datasets.Dataset` of the given parts.

    Parameters
    ----------
    documents : Collection, default=None
        Documents: fields `doc_id`, `title` and `text`.
    queries : Collection, default=None
        Queries: fields `query_id` and `text`.
    judgments : Judgments, default=None
        Judgments: qrels.
    run : Run, default=None
        Run: scoreddocs.
    """
    formats = _library().formats
    parts: list[Any] = []
    if documents is not None:
        rows = [TitledDoc(*document) for document in documents]
        given = {"iter": rows.__iter__, "count": rows.__len__, "cls": lambda: TitledDoc, "store": lambda: _Store(rows)}
        parts.append(_fill(formats.BaseDocs(), "docs", given))
    if queries is not None:
        named = list(map(formats.GenericQuery, queries.ids, queries.full_texts()))
        parts.append(_fill(formats.BaseQueries(), "queries", {"iter": named.__iter__, "count": named.__len__}))
    if judgments is not None:
        qrels = to_qrels(judgments)
        parts.append(_fill(formats.BaseQrels(), "qrels", {"iter": qrels.__iter__, "cls": lambda: type(qrels[0])}))
    if run is not None:
        scored = to_scored_docs(run)
        parts.append(_fill(formats.BaseScoredDocs(), "scoreddocs", {"iter": scored.__iter__}))
    return _library().datasets.base.Dataset(*parts)


class TitledDoc(NamedTuple):
    """A document in the form of ir_datasets."""

    doc_id: str
    title: str
    text: str

    def default_text(self) -> str:
        """Return title and text."""
        return f"{self.title} {self.text}" if self.title else self.text


class _Store:
    """Documents by id."""

    def __init__(self, rows: list[TitledDoc]) -> None:
        self.by_id = {row.doc_id: row for row in rows}

    def get(self, doc_id: str, field: str | None = None) -> Any:
        """Return one document, or a field of it."""
        return self.by_id[doc_id] if field is None else getattr(self.by_id[doc_id], field)

    def get_many(self, doc_ids: Iterable[str], field: str | None = None) -> dict[str, Any]:
        """Return the documents that exist, and leave out the others."""
        return {doc_id: self.get(doc_id, field) for doc_id in doc_ids if doc_id in self.by_id}


def _fill(handler: Any, kind: str, functions: Mapping[str, Callable[..., Any]]) -> Any:
    """Fill the handler of one kind of records with these functions as its methods."""
    for name, function in functions.items():
        setattr(handler, f"{kind}_{name}", function)
    return handler


def _document(document: Any) -> tuple[str, str, str]:
    if hasattr(document, "title") and hasattr(document, "text"):
        return str(document.doc_id), document.title, document.text
    return str(document.doc_id), "", document.default_text()


def _with(dataset: Any, kind: str) -> Any:
    """Return the dataset, which must have records of this kind."""
    if isinstance(dataset, str):
        library = _library()
        try:
            dataset = library.load(dataset)
        except KeyError:
            raise TacitError(f"ir_datasets knows no dataset {dataset!r}") from None
    if not dataset.has(kind):
        raise TacitError(f"{dataset} has no {kind}")
    return dataset


def _library() -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtraError("ir_datasets' structures", "ir_datasets", "ir-datasets") from None
    return ir_datasets
