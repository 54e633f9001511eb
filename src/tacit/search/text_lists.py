"""Feature lists from texts: the best documents of each query by BM25, with features of the query's words in them.

Makes lists for `tacit.rerank` from a collection with queries; with judgments they are labelled. Scores of fitted
searchers, and cosines of vectors by another model, can be added as columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Judgments, Lists, TacitError, UsageError, check_number, plural
from tacit.features import TextVectorizer, find_language
from tacit.features.query_document import QueryDocumentFeatures
from tacit.retrieve import Bm25Ranker
from tacit.retrieve.vectors import check_vectors
from tacit.search.searcher import Searcher

FIELDS = ("body", "title", "both")
COSINE = "vectors.cosine"


class TextLists(NamedTuple):
    """Lists, names of their columns, and ids of queries without a list, because no document has any of their words."""

    lists: Lists
    names: list[str]
    unanswered: list[str]


class FieldIndex:
    """Word counts of a collection by field (body, title, both); finds candidates and their features.

    >>> docs = Collection(["a", "b"], ["Cats", "Dogs"], ["they purr", "they bark"])
    >>> index = FieldIndex(docs)
    >>> query = index.vectorizer.counts(["do dogs bark"])
    >>> index.candidates(query, k=5), index.features.of(query, [1]).shape
    ([array([1])], (1, 33))
    """

    def __init__(self, documents: Collection, *, language: str = "auto", stem: bool = False) -> None:
        if not len(documents):
            raise TacitError("the collection has no documents")
        self.vectorizer = TextVectorizer(words=None, language=find_language(documents, language), stem=stem)
        both = self.vectorizer.fit_counts(documents.full_texts())
        columns = (self.vectorizer.counts(documents.texts), self.vectorizer.counts(documents.titles), both)
        self.features = QueryDocumentFeatures(dict(zip(FIELDS, columns, strict=True)))
        self.ranker = Bm25Ranker().fit(None, both)

    def candidates(self, queries: sp.csr_array, k: int, threads: int | None = None) -> list[np.ndarray]:
        """Rows of the best documents of each query by BM25, best first, only those with a word of the query."""
        ranking = self.ranker.rank(queries, k, threads=threads)
        found = [ranking.of(number) for number in range(len(ranking))]
        return [items[scores > 0] for items, scores in found]


def make_text_lists(
    documents: Collection,
    queries: Collection,
    judgments: Judgments | None = None,
    *,
    k: int = 200,
    models: Sequence[Searcher] = (),
    vectors: np.ndarray | None = None,
    query_vectors: np.ndarray | None = None,
    complete: bool = False,
    language: str = "auto",
    stem: bool = False,
    threads: int | None = None,
) -> TextLists:
    """Lists of the best k documents of each query by BM25, best first, with features from text.

    Parameters
    ----------
    documents : Collection
        Documents.
    queries : Collection
        Queries.
    judgments : Judgments, default=None
        Grades; documents that are not in them are unjudged.
    k : int, default=200
        Documents per query.
    models : sequence of Searcher, default=()
        Fitted searchers of the same documents; the score of each is a column. They must not have learned from the
        queries.
    vectors, query_vectors : ndarray of shapes (n_documents, dim) and (n_queries, dim), or None, default=None
        Vectors by another model; their cosine is a column, 0 where one of the two is 0. Models with document vectors
        are queried with the query vectors.
    complete : bool, default=False
        Whether the judgments are complete. If so, documents without a judgment get grade 0.
    language : str, default="auto"
        Language of the texts; "auto" detects it.
    stem : bool, default=False
        Reduce words to their stems.
    threads : int, default=None
        Number of threads; None uses all cores.

    Returns
    -------
    TextLists
    """
    check_number("k", k, low=1, whole=True)
    index = FieldIndex(documents, language=language, stem=stem)
    counts = index.vectorizer.counts(queries.full_texts())
    scored = [_ModelScores(model, documents) for model in models]
    _check_unseen(models, queries)
    cosines = (
        None if vectors is None and query_vectors is None else _Cosines(vectors, query_vectors, documents, queries)
    )

    def features(number: int, rows: np.ndarray) -> np.ndarray:
        asked = None if query_vectors is None else query_vectors[[number]]
        columns = [index.features.of(counts[[number]], rows)]
        columns += [model.of(queries.full_text(number), rows, asked) for model in scored]
        return np.hstack(columns if cosines is None else [*columns, cosines.of(number, rows)])

    found = {number: rows for number, rows in enumerate(index.candidates(counts, k, threads)) if len(rows)}
    if not found:
        raise TacitError(f"none of {plural(len(queries), 'query')} has a word in common with the documents")
    query_ids = [queries.ids[number] for number in found]
    doc_ids = [[documents.ids[row] for row in rows.tolist()] for rows in found.values()]
    lists = Lists(
        X=np.vstack([features(number, rows) for number, rows in found.items()]),
        y=_grades(query_ids, doc_ids, judgments, complete),
        starts=np.concatenate([[0], np.cumsum([len(ids) for ids in doc_ids])]),
        query_ids=query_ids,
        doc_ids=[doc_id for ids in doc_ids for doc_id in ids],
    )
    unanswered = [query_id for number, query_id in enumerate(queries.ids) if number not in found]
    names = index.features.names + _model_names(models) + ([] if cosines is None else [COSINE])
    return TextLists(lists, names, unanswered)


def _check_unseen(models: Sequence[Searcher], queries: Collection) -> None:
    """Raise if a model learned from one of the queries, because its scores would reveal the judgments."""
    for model in models:
        seen = model.learned_from(queries)
        if seen:
            raise TacitError(
                f"the model {model.method} learned from {len(seen)} of {plural(len(queries), 'query')}, "
                f"the first is {seen[0]!r}, and its scores reveal their judgments; "
                "want a model of other queries, or `tacit fit --rerank`"
            )


class _ModelScores:
    """Scores of a fitted searcher of the same documents."""

    def __init__(self, model: Searcher, documents: Collection) -> None:
        unknown = [doc_id for doc_id in documents.ids if doc_id not in model.documents_.row_of]
        if unknown:
            raise TacitError(
                f"the model {model.method} does not know {len(unknown)} of {plural(len(documents), 'document')}, "
                f"the first is {unknown[0]!r}; want a model of the same collection"
            )
        self.model = model
        self.row_of = np.array([model.documents_.row_of[doc_id] for doc_id in documents.ids], np.int64)

    def of(self, text: str, rows: np.ndarray, vectors: np.ndarray | None) -> np.ndarray:
        """Return one column for a query (with its vector, if given) and some documents."""
        given = vectors if self.model.ranker_.vectors_dim else None
        scores = self.model.ranker_.scores(self.model.query_rows([text], given))[0]
        return scores[self.row_of[rows]].astype(np.float64)[:, None]


class _Cosines:
    """Cosines of the vectors of queries and documents."""

    def __init__(
        self, vectors: np.ndarray | None, query_vectors: np.ndarray | None, documents: Collection, queries: Collection
    ) -> None:
        if vectors is None or query_vectors is None:
            raise UsageError("vectors and query_vectors must be given together: a cosine needs both")
        self.items = check_vectors("vectors", vectors, len(documents))
        self.queries = check_vectors("vectors of queries", query_vectors, len(queries), self.items.shape[1])

    def of(self, query: int, rows: np.ndarray) -> np.ndarray:
        """One column for a query and some documents."""
        return (self.items[rows].astype(np.float64) @ self.queries[query])[:, None]


def _model_names(models: Sequence[Searcher]) -> list[str]:
    methods = [model.method for model in models]
    return [f"model.{method}" if methods.count(method) == 1 else f"model.{method}.{number}"
            for number, method in enumerate(methods, start=1)]  # fmt: skip


def _grades(
    query_ids: Sequence[str], doc_ids: Sequence[Sequence[str]], judgments: Judgments | None, complete: bool
) -> np.ndarray:
    known = {} if judgments is None else judgments.to_dict()
    otherwise = 0.0 if complete else np.nan
    return np.array(
        [
            known[query_id].get(doc_id, otherwise) if query_id in known else np.nan
            for query_id, ids in zip(query_ids, doc_ids, strict=True)
            for doc_id in ids
        ],
        np.float64,
    )
