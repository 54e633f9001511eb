"""What a fitted searcher answers: hits, rankings and explanations, from the rows that it asks its ranker with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Estimator, Ranking, Run, TacitError, UsageError, check_number
from tacit.features import TextVectorizer
from tacit.retrieve import CollectionRanker
from tacit.retrieve.blend.vectors import check_vectors, join_vectors
from tacit.search.answers import Hit, Reason, make_hits
from tacit.search.rows import read_rows, same_ids
from tacit.search.training import hash_query
from tacit.search.vectors import encode_texts

MAX_QUERY_CHARACTERS = 1_000_000  # a whole page is a valid query; a file of a gigabyte is a mistake


class SearchAnswers(Estimator):
    """The part of `Searcher` that answers queries."""

    method: str
    encode: Any
    documents_: Collection
    vectorizer_: TextVectorizer
    query_vectorizer_: TextVectorizer | None
    ranker_: CollectionRanker

    @property
    def is_across(self) -> bool:
        """Whether queries have a vocabulary of their own."""
        return self.query_vectorizer_ is not None

    def search(self, query: str, k: int = 10, *, vector: np.ndarray | None = None) -> list[Hit]:
        """The best k documents for a query, best first; without those of score 0, for `blend` also those below it.

        Parameters
        ----------
        query : str
            Query.
        k : int, default=10
            Number of documents.
        vector : ndarray of shape (dim,) or None, default=None
            Vector of the query, for a model with vectors; None means by `encode`, or none.
        """
        return self.search_many([query], k, vectors=_one_row(vector))[0]

    def search_many(self, queries: Sequence[str], k: int = 10, *, vectors: np.ndarray | None = None) -> list[list[Hit]]:
        """The answers of `search` to each query, in less time than one by one."""
        for query in queries:
            self.check_query(query, k)
        rows = self.features(queries)
        ranking = self.ranker_.rank(self._with_vectors(rows, queries, vectors), k)
        above = self.ranker_.answers_above
        answers = []
        for number, query in enumerate(queries):
            items, scores = ranking.of(number)
            shown = scores != 0 if above is None else scores > above
            row = rows if len(queries) == 1 else rows[[number]]
            answers.append(make_hits(self, query, row, items[shown], scores[shown]))
        return answers

    def feedback(
        self,
        query: str,
        liked: Sequence[str] | str = (),
        disliked: Sequence[str] | str = (),
        k: int = 10,
        *,
        vector: np.ndarray | None = None,
    ) -> list[Hit]:
        """The answers of a query, ranked again by ids of liked and disliked documents (see `search.feedback`)."""
        from tacit.search.feedback import rerank

        self.check_query(query, k)
        good, bad = ([marked] if isinstance(marked, str) else marked for marked in (liked, disliked))
        items, scores = rerank(self, query, good, bad, _one_row(vector))
        return make_hits(self, query, self.features([query]), items[:k], scores[:k])

    def explain(
        self, query: str, document_id: str, other_id: str | None = None, *, vector: np.ndarray | None = None
    ) -> list[Reason]:
        """The terms that sum to a document's score, or to its difference from another's; largest first."""
        self._check_fitted()
        other = None if other_id is None else self._row(other_id)
        asked = self.query_rows([query], _one_row(vector))
        explanation = self.ranker_.explain(asked, self._row(document_id), other)
        query_words, words = self._query_reader.vocabulary_, self.vectorizer_.vocabulary_
        return [
            Reason(
                term.kind, _word(query_words, term.query_word), _word(words, term.item_word), term.value, term.member
            )
            for term in explanation.terms
        ]

    def run(
        self,
        queries: Collection,
        k: int = 1000,
        *,
        exclude_self: bool = False,
        threads: int | None = None,
        vectors: np.ndarray | None = None,
    ) -> Run:
        """Answers to many queries; with `exclude_self`, no document answers the query of its own id.

        For measuring, all k documents are ranked; `search` shows those only that speak for the query.
        """
        self._check_fitted()
        exclude = same_ids(queries, self.documents_) if exclude_self else None
        ranking = self.rank(queries, k, exclude=exclude, threads=threads, vectors=vectors)
        return ranking.to_run(queries.ids, self.documents_.ids, self.method)

    def rank(
        self,
        queries: Collection,
        k: int,
        *,
        exclude: sp.csr_array | None = None,
        threads: int | None = None,
        vectors: np.ndarray | None = None,
    ) -> Ranking:
        """Rows of the best documents for many queries.

        A query without any known word and without a vector has no answer. Where the ranker only compares words,
        documents of score 0, which share no word with the query, are no answers either.
        """
        self._check_fitted()
        rows = self.query_rows(list(queries.full_texts()), vectors)
        ranking = self.ranker_.rank(rows, k, exclude=exclude, threads=threads)
        empty = np.diff(rows.indptr)[:, None] == 0
        left_out = empty | (self.ranker_.by_words & (ranking.scores == 0))
        return Ranking(np.where(left_out, -1, ranking.items), np.where(left_out, np.float32(0), ranking.scores))

    def features(self, texts: Iterable[str]) -> sp.csr_array:
        """The words that the ranker reads, for texts of queries."""
        return read_rows(self.ranker_, self._query_reader, texts)

    def query_rows(self, texts: Sequence[str], vectors: np.ndarray | None = None) -> sp.csr_array:
        """The rows that the ranker is asked with: words, and beside them vectors, given ones or those by `encode`."""
        return self._with_vectors(self.features(texts), texts, vectors)

    def _with_vectors(self, rows: sp.csr_array, texts: Sequence[str], vectors: np.ndarray | None) -> sp.csr_array:
        if vectors is None and self.encode is not None and self.ranker_.uses_vectors:
            vectors = encode_texts(self.encode, texts, "query")
        if vectors is None:
            return rows
        return join_vectors(rows, self._check_vectors("vectors of queries", vectors, len(texts)))

    def _check_vectors(self, name: str, vectors: np.ndarray, n_rows: int) -> np.ndarray:
        dim = self.ranker_.vectors_dim
        if not dim:
            raise UsageError(f"the model has no vectors of documents, so {name} are of no use: fit it with vectors")
        return check_vectors(name, vectors, n_rows, dim)

    @property
    def _query_reader(self) -> TextVectorizer:
        return self.vectorizer_ if self.query_vectorizer_ is None else self.query_vectorizer_

    def _row(self, document_id: str) -> int:
        row = self.documents_.row_of.get(document_id)
        if row is None:
            raise TacitError(f"no document has the id {document_id!r}, want one that the model has")
        return row

    def check_query(self, query: str, k: int) -> None:
        """Raise unless `search` can answer."""
        self._check_fitted()
        check_number("k", k, low=1, whole=True)
        if not isinstance(query, str):
            raise UsageError(f"the query is of type {type(query).__name__}, want a string")
        if not query.strip():
            raise TacitError("the query is empty, want at least one word")
        if len(query) > MAX_QUERY_CHARACTERS:
            raise TacitError(f"the query has {len(query)} characters, want at most {MAX_QUERY_CHARACTERS}")

    def learned_from(self, queries: Collection) -> list[str]:
        """Ids of those queries whose text the ranker learned from."""
        known = set(getattr(self, "trained_on_", None) or ())
        return [name for row, name in enumerate(queries.ids) if known and hash_query(queries.full_text(row)) in known]


def _one_row(vector: np.ndarray | None) -> np.ndarray | None:
    return None if vector is None else np.asarray(vector)[None]


def _word(vocabulary: Sequence[str], column: int) -> str:
    return vocabulary[column] if column >= 0 else ""
