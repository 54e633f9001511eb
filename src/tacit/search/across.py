"""A searcher whose queries are in another language, or of another kind, than its documents.

Queries have a dictionary of their own, learned from a collection of texts like them; which of these texts
belongs to which document (a translation, a link, a click) is what the ranker learns from.
"""

from __future__ import annotations

from tacit.core import Collection, TacitError, UsageError, track
from tacit.features import TextVectorizer
from tacit.retrieve import METHODS, get_method
from tacit.search.searcher import Searcher, Training


def build_cross_searcher(
    documents: Collection,
    training: Training,
    method: str = "ssi-cross",
    *,
    language: str = "en",
    query_language: str = "en",
    dim: int | None = None,
    words: int | None = 30_000,
    seed: int = 0,
) -> Searcher:
    """Fit a ranker of the given name (see `tacit.retrieve.METHODS`); `training` has the texts of the queries.

    >>> import numpy as np
    >>> from tacit.core import Links
    >>> docs = Collection(["a", "b"], ["", ""], ["cats purr", "dogs bark"])
    >>> texts = Collection(["1", "2", "3"], [""] * 3, ["die Katze", "der Hund", "eine Katze"])
    >>> pairs = Links(np.array([0, 1, 2]), np.array([0, 1, 0]), 3, 2)
    >>> searcher = build_cross_searcher(docs, Training(pairs, texts), "cl-lsi", query_language="de")
    >>> searcher.search("Hund", k=1)[0].id
    'b'
    """
    ranker = get_method(method).offer(dim=dim, seed=seed)
    if not ranker.two_dictionaries:
        known = ", ".join(name for name, other in METHODS.items() if other.estimator.two_dictionaries)
        raise UsageError(f"method is {method!r}, which reads one dictionary only; want one of {known}")
    if training.queries is None:
        raise UsageError("the texts of the queries are missing, want a collection of them")
    if ranker.needs_links and training.links is None:
        raise UsageError(f"{method} learns from links between the documents as well, and there are none")
    vectorizer = TextVectorizer(words=words, language=language)
    query_vectorizer = TextVectorizer(words=words, language=query_language)
    items = vectorizer.fit_transform(track(documents.full_texts(), "reading documents", len(documents)))
    texts = track(training.queries.full_texts(), "reading queries", len(training.queries))
    queries = query_vectorizer.fit_transform(texts)
    if not items.nnz or not queries.nnz:
        raise TacitError(f"no telling word was found in the {'queries' if items.nnz else 'documents'}")
    also = {"links": training.links} if ranker.needs_links else {}
    ranker.fit(queries, items, training.pairs, queries_are_items=False, **also)
    return Searcher(documents, vectorizer, ranker, method, query_vectorizer)
