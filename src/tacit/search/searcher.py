"""A collection that can be searched: documents, the words' features, and one fitted ranker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Features, Links, Ranking, Run, TacitError, UsageError, check_number, track
from tacit.features import TextVectorizer, WordGramVectorizer
from tacit.retrieve import CollectionRanker, get_method
from tacit.search.snippets import Snippet, make_snippet

MAX_QUERY_CHARACTERS = 1_000_000  # a whole page is a fair query; a file of a gigabyte is a mistake

MAX_JOINED_WORDS = 64  # of a question; explaining every hit of a whole page would take longer than finding them
N_JOINED_WORDS = 8
COMMON_IDF = 0.3  # ln(n / df): a word that three of four documents have does not tell why one was found


@dataclass(frozen=True)
class Hit:
    """One answer."""

    rank: int
    id: str
    score: float
    title: str
    snippet: Snippet


class Reason(NamedTuple):
    """One term of a score: a shared word, two words that belong together, or a word and this document (word "")."""

    kind: str
    query_word: str
    document_word: str
    value: float


class Searcher:
    """Answers text queries from a collection.

    `query_vectorizer` reads the queries where they are in another language than the documents (see `across`).

    >>> docs = Collection(["a", "b"], ["Cats", "Dogs"], ["they purr", "they bark"])
    >>> [hit.id for hit in build_searcher(docs, "tfidf").search("who can bark?")]
    ['b']
    """

    def __init__(
        self,
        documents: Collection,
        vectorizer: TextVectorizer,
        ranker: CollectionRanker,
        method: str,
        query_vectorizer: TextVectorizer | None = None,
    ) -> None:
        self.documents, self.vectorizer, self.ranker, self.method = documents, vectorizer, ranker, method
        self.query_vectorizer = vectorizer if query_vectorizer is None else query_vectorizer

    @property
    def is_across(self) -> bool:
        """Whether queries have a dictionary of their own."""
        return self.query_vectorizer is not self.vectorizer

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The best documents for a query, best first; one that scores 0 has nothing in common with it: left out."""
        _check_question(query, k)
        items, scores = self.ranker.rank(self.features([query]), k).of(0)
        return self._hits(query, items[scores != 0], scores[scores != 0])

    def feedback(self, query: str, liked: Sequence[str] = (), disliked: Sequence[str] = (), k: int = 10) -> list[Hit]:
        """The query's answers ranked again by what some of them, named by id, are said to be; see `feedback`."""
        from tacit.search.feedback import rerank

        _check_question(query, k)
        items, scores = rerank(self, query, liked, disliked)
        return self._hits(query, items[:k], scores[:k])

    def _hits(self, query: str, items: np.ndarray, scores: np.ndarray) -> list[Hit]:
        rows = self.features([query])
        wanted = set() if self.is_across else self._telling_words(query)
        return [
            self._hit(place + 1, item, score, self._joined_words(rows, item) if self.is_across else wanted)
            for place, (item, score) in enumerate(zip(items.tolist(), scores.tolist(), strict=True))
        ]

    @cached_property
    def _idf(self) -> dict[str, float]:
        return dict(zip(self.vectorizer.vocabulary_, self.vectorizer.idf_.tolist(), strict=True))

    def _telling_words(self, query: str) -> set[str]:
        """The query's words but for those that most documents have, unless there are no others."""
        words = set(self.vectorizer.tokenizer_(query))
        return {word for word in words if self._idf.get(word, 0) > COMMON_IDF} or words

    def _joined_words(self, query: Features, item: int) -> set[str]:
        """Words of a document that the ranker joins most strongly to words of a query in another language."""
        if sp.csr_array(query).nnz > MAX_JOINED_WORDS:
            return set()
        terms = self.ranker.explain(query, item).terms
        pairs = [term.item_word for term in terms if term.kind == "pair" and term.value > 0]
        return {self.vectorizer.vocabulary_[word] for word in pairs[:N_JOINED_WORDS]}

    def explain(self, query: str, document_id: str, other_id: str | None = None) -> list[Reason]:
        """Why a document has its score, or stands above another: what adds up to it, strongest first."""
        known = self.documents.row_of
        for name in (document_id, other_id):
            if name is not None and name not in known:
                raise TacitError(f"no document has the id {name!r}")
        other = None if other_id is None else known[other_id]
        explanation = self.ranker.explain(self.features([query]), known[document_id], other)
        asked, words = self.query_vectorizer.vocabulary_, self.vectorizer.vocabulary_
        return [
            Reason(term.kind, asked[term.query_word], words[term.item_word] if term.item_word >= 0 else "", term.value)
            for term in explanation.terms
        ]

    def _hit(self, rank: int, item: int, score: float, wanted: set[str]) -> Hit:
        document = self.documents[item]
        snippet = make_snippet(document.text, wanted, self.vectorizer.tokenizer_)
        return Hit(rank, document.id, score, document.title, snippet)

    def run(self, queries: Collection, k: int = 1000, *, exclude_self: bool = False, threads: int | None = None) -> Run:
        """Answers to many queries at once; with `exclude_self`, no document answers the query of its own id."""
        exclude = _selves(queries, self.documents) if exclude_self else None
        ranking = self.rank(queries, k, exclude=exclude, threads=threads)
        return ranking.to_run(queries.ids, self.documents.ids, self.method)

    def rank(
        self, queries: Collection, k: int, *, exclude: sp.csr_array | None = None, threads: int | None = None
    ) -> Ranking:
        """Rows of the best documents for many queries."""
        return self.ranker.rank(self.features(queries.full_texts()), k, exclude=exclude, threads=threads)

    def features(self, texts: Iterable[str]) -> Features:
        """The rows that the ranker reads, for texts."""
        return text_features(self.query_vectorizer, texts, self.ranker)

    def save(self, path: str | Path) -> None:
        """Write a model folder."""
        from tacit.search.models import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Searcher:
        """Read a model folder."""
        from tacit.search.models import load

        return load(path, cls)


@dataclass(frozen=True)
class Training:
    """What a ranker may learn from: texts of queries and which documents they want.

    `queries` None: the documents themselves are the queries (links between documents). `links`: links between
    documents beside pairs, for methods that learn from both.
    """

    pairs: Links
    queries: Collection | None = None
    links: Links | None = None


def build_searcher(
    documents: Collection,
    method: str = "bm25",
    training: Training | None = None,
    *,
    dim: int | None = None,
    words: int | None = 30_000,
    language: str = "en",
    stem: bool = False,
    seed: int = 0,
) -> Searcher:
    """Fit a ranker of the given name (see `tacit.retrieve.METHODS`) on documents, and make them searchable."""
    ranker = get_method(method).offer(dim=dim, seed=seed)
    if ranker.two_dictionaries:
        raise UsageError(
            f"method is {method!r}, which needs queries of another language and their pairs with documents"
        )
    if not len(documents):
        raise TacitError("the collection has no documents")
    kind = WordGramVectorizer if ranker.features == "words+grams" else TextVectorizer
    vectorizer = kind(words=words, language=language, stem=stem)
    items = vectorizer.fit_counts(track(documents.full_texts(), "reading words", len(documents)))
    if not items.nnz:
        raise TacitError(f"no word was found in the {len(documents)} documents")
    if ranker.features != "counts":
        items = vectorizer.tfidf(items)
    queries, pairs = items, None
    if training is not None:
        pairs = training.pairs
        if training.queries is not None:
            queries = text_features(vectorizer, training.queries.full_texts(), ranker)
    if isinstance(vectorizer, WordGramVectorizer):
        ranker.set_params(grams_from=vectorizer.grams_from_)
    return Searcher(documents, vectorizer, ranker.fit(queries, items, pairs), method)


def text_features(vectorizer: TextVectorizer, texts: Iterable[str], ranker: CollectionRanker) -> Features:
    """Rows of counts or tf-idf, whichever the ranker reads."""
    counts = vectorizer.counts(texts)
    return counts if ranker.features == "counts" else vectorizer.tfidf(counts)


def _check_question(query: str, k: int) -> None:
    check_number("k", k, low=1, whole=True)
    if not query.strip():
        raise TacitError("the query is empty, want at least one word")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise TacitError(f"the query has {len(query)} characters, want at most {MAX_QUERY_CHARACTERS}")


def _selves(queries: Collection, documents: Collection) -> sp.csr_array:
    own = [
        (row, documents.row_of[query_id]) for row, query_id in enumerate(queries.ids) if query_id in documents.row_of
    ]
    rows, columns = np.array(own, np.int64).reshape(-1, 2).T
    return sp.csr_array((np.ones(len(own), bool), (rows, columns)), shape=(len(queries), len(documents)))
