"""Candidates that rank a collection of documents for text queries."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Judgments, Links, Ranking, TacitError, cut
from tacit.data import judged_pairs
from tacit.features import has_stemmer
from tacit.metrics import evaluate
from tacit.retrieve import BlendRanker
from tacit.retrieve.rank_fusion import reciprocal_rank_fusion
from tacit.search import Searcher
from tacit.search.encoders import Encoder
from tacit.search.rows import TextRows
from tacit.search.vector_cache import VectorCache
from tacit.search.vectors import encode_documents

logger = logging.getLogger("tacit")
DEPTH = 1000  # documents measured per query
QUERIES_AT_ONCE = 50


@dataclass
class CollectionTask:
    """Documents, judged queries, and measures.

    Parameters
    ----------
    documents : Collection
        The documents to search.
    queries : Collection
        Judged queries only; the procedure numbers them in this order.
    judgments : Judgments
        Their judgments.
    measures : sequence of str
        Measures.
    links : Links or None, default=None
        Links between documents.
    language : str, default="en"
        Language of documents and queries.
    words : int or None, default=30000
        Size of the vocabulary.
    threads : int or None, default=None
        Threads; None: all cores.
    encoder : Encoder or None, default=None
        Encoder of documents and queries, for candidates that are `encoded`.
    given : dict or None, default=None
        Vectors of the documents by this encoder, as `Searcher.fit` takes them; None: encode the documents.
    """

    documents: Collection
    queries: Collection
    judgments: Judgments
    measures: Sequence[str]
    links: Links | None = None
    language: str = "en"
    words: int | None = 30_000
    threads: int | None = None
    seed: int = 0
    encoder: Encoder | None = None
    given: dict[str, Any] | None = None
    _told: bool = False

    @classmethod
    def of(
        cls, documents: Collection, queries: Collection, judgments: Judgments, measures: Sequence[str], **options: Any
    ) -> CollectionTask:
        """Make the task of the queries that have a relevant document."""
        grades = judgments.to_dict()
        judged = [query for query in queries.ids if any(grade >= 1 for grade in grades.get(query, {}).values())]
        if len(judged) < 2:
            raise TacitError(f"{len(judged)} of {len(queries)} queries have a relevant document, want at least 2")
        kept = queries.take([queries.row_of[query] for query in judged])
        return cls(
            documents, kept, Judgments.from_dict({query: grades[query] for query in judged}), measures, **options
        )

    @property
    def has_zeros(self) -> bool:
        """Whether some documents are judged not relevant, so that judged-only measures are meaningful."""
        return bool((self.judgments.grade < 1).any())

    @cached_property
    def rows(self) -> TextRows:
        """Return the documents as rows, shared by all candidates."""
        return TextRows(self.documents, self.words, self.language)

    @cached_property
    def known(self) -> tuple[Links, Links]:
        """Return relevant pairs, and pairs judged not relevant, by rows of queries and documents."""
        given = self.judgments, self.queries, self.documents
        first, second = (judged_pairs(*given, relevant=kind, skip_unknown=True) for kind in (True, False))
        return first, second

    @cached_property
    def document_vectors(self) -> dict[str, Any]:
        """Return vectors of the documents, as `Searcher.fit` takes them."""
        assert self.encoder is not None
        return self.given or encode_documents(self.encoder, list(self.documents.full_texts()))

    @cached_property
    def query_vectors(self) -> np.ndarray:
        """Vectors of the queries."""
        assert self.encoder is not None
        return VectorCache(self.encoder).look_up(list(self.queries.full_texts()), "query").astype(np.float32)

    def query_rows(self, searcher: Searcher, rows: np.ndarray) -> sp.csr_array:
        """Return rows of some queries for a fitted searcher, with vectors if it uses them."""
        texts = list(self.queries.take(rows.tolist()).full_texts())
        encoded = self.encoder is not None and searcher.ranker_.uses_vectors
        return searcher.query_rows(texts, self.query_vectors[rows] if encoded else None)

    def _check_words(self, n_words: np.ndarray) -> None:
        """Raise if no query has a word of the documents; warn about the queries that have no such word."""
        unknown = np.flatnonzero(n_words == 0)
        if len(unknown) == len(n_words):
            text = self.queries.full_text(int(unknown[0]))
            raise TacitError(f"no query has a word of the documents, want their texts: the first is {text[:60]!r}")
        if len(unknown) and not self._told:
            found = f"{len(unknown)} of {len(n_words)}, such as {self.queries.ids[unknown[0]]!r}"
            logger.warning("queries that share no word with the documents, so no system finds anything: %s", found)
        self._told = True

    def measure(self, searcher: Searcher, test: np.ndarray) -> dict[str, np.ndarray]:
        """Measure a fitted searcher on some queries."""
        if not self._told:
            self._check_words(np.diff(self.query_rows(searcher, np.arange(len(self.queries))).indptr))
        return self.evaluate(searcher.ranker_.rank(self.query_rows(searcher, test), DEPTH, threads=self.threads), test)

    def evaluate(self, ranking: Ranking, test: np.ndarray) -> dict[str, np.ndarray]:
        """Measure a ranking of some queries."""
        names = [self.queries.ids[row] for row in test.tolist()]
        grades = self.judgments.to_dict()
        judged = Judgments.from_dict({query: grades[query] for query in names})
        return evaluate(judged, ranking.to_run(names, self.documents.ids), list(self.measures)).values


@dataclass
class CollectionCandidate:
    """A method with its parameters, on a task.

    With `learns` False the method is fitted once without judgments, and with `links` on the links. `like` is a
    candidate of the same method that does not learn; its fitted members are reused. `encoded`: use the task's encoder.
    """

    name: str
    task: CollectionTask
    method: str
    learns: bool = False
    stem: bool = True
    links: Links | None = None
    params: dict[str, Any] = field(default_factory=dict)
    further: dict[str, Any] = field(default_factory=dict)  # further arguments of `Searcher.fit`, such as vectors
    like: CollectionCandidate | None = None
    encoded: bool = False
    _fitted: Searcher | None = None

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Fit on the judgments of some queries, measure on others."""
        return self.task.measure(self.fitted(train) if self.learns else self.fitted_once(), test)

    def fitted_once(self) -> Searcher:
        """Return the searcher fitted without judgments."""
        if self._fitted is None:
            self._fitted = self._fit(links=self.links)
        return self._fitted

    def fitted(self, train: np.ndarray) -> Searcher:
        """Return a searcher fitted on the judgments of some queries."""
        pairs, zeros = (part.take(np.isin(part.sources, train)) for part in self.task.known)
        return self._fit(queries=self.task.queries, pairs=pairs, zeros=zeros)

    def _fit(self, **sources: Any) -> Searcher:
        """Return a searcher fitted on the documents of the task and on some sources."""
        task, members = self.task, None
        language = task.rows.language
        params = {"seed": task.seed, "threads": task.threads} | self.params
        stem = self.stem and has_stemmer(language)
        encoder = task.encoder if self.encoded else None
        searcher = Searcher(self.method, words=task.words, language=language, stem=stem, encoder=encoder, **params)
        if encoder is not None:
            sources |= task.document_vectors | ({"query_vectors": task.query_vectors} if "queries" in sources else {})
        if self.like is not None and self.like is not self:
            members = self.like.fitted_once().ranker_
        return searcher.fit(task.documents, **sources, **self.further, rows=task.rows, members=members)


@dataclass
class EncoderCandidate:
    """The encoder alone, or with `words` its reciprocal rank fusion with BM25, as in usual hybrid search.

    `blend` is the candidate with the vectors.
    """

    name: str
    blend: CollectionCandidate
    words: CollectionCandidate | None = None
    learns: bool = False

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Measure some queries; nothing is learned."""
        return self.blend.task.evaluate(self._rank(test), test)

    def _rank(self, test: np.ndarray) -> Ranking:
        task = self.blend.task
        ranker = self.blend.fitted_once().first_stage
        assert isinstance(ranker, BlendRanker)
        alone, pieces = ranker.only("vectors"), list[Ranking]()
        for block in cut(len(test), QUERIES_AT_ONCE):
            rows = self.blend.fitted_once().query_rows(self._texts(test[block]), task.query_vectors[test[block]])
            scores = [alone.scores(rows)]
            if self.words is not None:
                words = self.words.fitted_once()
                scores.append(words.ranker_.scores(task.query_rows(words, test[block])))
            pieces.append(best_of(scores[0] if len(scores) == 1 else reciprocal_rank_fusion(scores)))
        return Ranking(
            np.concatenate([piece.items for piece in pieces]), np.concatenate([piece.scores for piece in pieces])
        )

    def _texts(self, rows: np.ndarray) -> list[str]:
        return list(self.blend.task.queries.take(rows.tolist()).full_texts())


def best_of(scores: np.ndarray) -> Ranking:
    """Return the best items of each row; ties go to the first item."""
    items = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    return Ranking(items, np.take_along_axis(scores, items, axis=1).astype(np.float32))
