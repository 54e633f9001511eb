"""Candidates that rank a collection of documents for typed queries."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.core import Collection, Judgments, Links, TacitError
from tacit.data import judged_pairs
from tacit.features import TextVectorizer, has_stemmer
from tacit.metrics import evaluate
from tacit.retrieve import get_method

logger = logging.getLogger("tacit")
DEPTH = 1000  # documents of a query that are measured


@dataclass
class CollectionTask:
    """Documents, judged queries, and what is measured.

    Parameters
    ----------
    documents : Collection
        What is searched.
    queries : Collection
        Judged queries only, in the order in which the procedure numbers them.
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
    _rows: dict[tuple[bool, str], tuple[Any, Any]] = field(default_factory=dict)
    _vectorizers: dict[bool, TextVectorizer] = field(default_factory=dict)
    _told: bool = False

    @classmethod
    def of(
        cls, documents: Collection, queries: Collection, judgments: Judgments, measures: Sequence[str], **options: Any
    ) -> CollectionTask:
        """The task of those queries that have a relevant document."""
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
        """Whether some documents are judged not relevant, so that judged-only measures mean something."""
        return bool((self.judgments.grade < 1).any())

    def rows(self, stem: bool, features: str) -> tuple[Any, Any]:
        """Rows of queries and of documents as a ranker reads them; texts are read once for each kind of words."""
        if (stem, features) not in self._rows:
            vectorizer = self._vectorizers[stem] = TextVectorizer(
                words=self.words, language=self.language, stem=stem and has_stemmer(self.language)
            )
            items = vectorizer.fit_counts(self.documents.full_texts())
            queries = vectorizer.counts(self.queries.full_texts())
            self._check_words(np.diff(queries.indptr))
            self._rows[stem, "counts"] = queries, items
            self._rows[stem, "titles"] = queries, vectorizer.counts(self.documents.titles)
            self._rows[stem, "tfidf"] = vectorizer.tfidf(queries), vectorizer.tfidf(items)
        return self._rows[stem, features]

    def _check_words(self, n_words: np.ndarray) -> None:
        """Raise where no query has a word of the documents; say how many have none."""
        unknown = np.flatnonzero(n_words == 0)
        if len(unknown) == len(n_words):
            text = self.queries.full_text(int(unknown[0]))
            raise TacitError(f"no query has a word of the documents, want their texts: the first is {text[:60]!r}")
        if len(unknown) and not self._told:
            found = f"{len(unknown)} of {len(n_words)}, such as {self.queries.ids[unknown[0]]!r}"
            logger.warning("queries without a word of the documents, which no system can answer: %s", found)
        self._told = True

    def vectorize(self, queries: Collection, stem: bool, features: str) -> Any:
        """Rows of further queries, as `rows` has those of the task."""
        self.rows(stem, features)
        vectorizer = self._vectorizers[stem]
        counts = vectorizer.counts(queries.full_texts())
        return vectorizer.tfidf(counts) if features == "tfidf" else counts

    def pairs(self, train: np.ndarray, *, relevant: bool = True) -> Links:
        """Relevant pairs of some queries, or those judged not relevant, by rows of all queries."""
        every = judged_pairs(self.judgments, self.queries, self.documents, relevant=relevant, skip_unknown=True)
        return every.take(np.isin(every.sources, train))

    def measure(self, ranker: Any, queries: Any, test: np.ndarray) -> dict[str, np.ndarray]:
        """Values of a fitted ranker on some queries."""
        ids = [self.queries.ids[query] for query in test]
        run = ranker.rank(queries[test], DEPTH, threads=self.threads).to_run(ids, self.documents.ids)
        grades = self.judgments.to_dict()
        judged = Judgments.from_dict({query: grades[query] for query in ids})
        return evaluate(judged, run, list(self.measures)).values


@dataclass
class CollectionCandidate:
    """A method with its parameters, on a task.

    `learns` False: the method is fitted without judgments, once; with `links`, on these. `like` is a candidate of the
    same method that does not learn, whose fitted members are taken over.
    """

    name: str
    task: CollectionTask
    method: str
    learns: bool = False
    stem: bool = True
    links: Links | None = None
    params: dict[str, Any] = field(default_factory=dict)
    like: CollectionCandidate | None = None
    _fitted: Any = None

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Fit on the judgments of some queries, measure on others."""
        ranker = self.fitted(train) if self.learns else self.fitted_once()
        queries, _ = self.task.rows(self.stem, ranker.features)
        return self.task.measure(ranker, queries, test)

    def fitted_once(self) -> Any:
        """The ranker, fitted without judgments."""
        if self._fitted is None:
            ranker = self._unfitted()
            _, items = self.task.rows(self.stem, ranker.features)
            self._fitted = ranker.fit(None, items, self.links, **self._titles(ranker))
        return self._fitted

    def fitted(self, train: np.ndarray) -> Any:
        """A ranker, fitted on the judgments of some queries."""
        ranker = self._unfitted()
        queries, items = self.task.rows(self.stem, ranker.features)
        further = {} if self.like is None else {"members": self.like.fitted_once()}
        further |= {"zeros": self.task.pairs(train, relevant=False)} if ranker.reads_zeros else {}
        pairs = self.task.pairs(train)
        return ranker.fit(queries, items, pairs, queries_are_items=False, **self._titles(ranker), **further)

    def _unfitted(self) -> Any:
        return get_method(self.method).offer(**{"seed": self.task.seed, "threads": self.task.threads} | self.params)

    def _titles(self, ranker: Any) -> dict[str, Any]:
        return {"titles": self.task.rows(self.stem, "titles")[1]} if ranker.reads_titles else {}
