"""From texts to the rows that a ranker reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, TacitError, plural, track
from tacit.features import TextVectorizer
from tacit.retrieve import CollectionRanker

N_SAMPLED = 200  # queries on which approximate search is measured


def fit_rows(vectorizer: TextVectorizer, texts: Collection, ranker: CollectionRanker) -> sp.csr_array:
    """Fit a vectorizer; return the rows that the ranker reads of the texts."""
    counts = vectorizer.fit_counts(track(texts.full_texts(), "reading texts", len(texts)))
    if not counts.nnz:
        raise TacitError(f"no word was found in {plural(len(texts), 'text')}")
    rows = counts if ranker.features == "counts" else vectorizer.tfidf(counts)
    if not rows.nnz:
        raise TacitError(f"every word stands in all of {len(texts)} texts, so that tf-idf is 0 everywhere")
    return rows


def read_rows(ranker: CollectionRanker, vectorizer: TextVectorizer, texts: Iterable[str]) -> sp.csr_array:
    """Counts or tf-idf of texts, whichever the ranker reads."""
    counts = vectorizer.counts(texts)
    return counts if ranker.features == "counts" else vectorizer.tfidf(counts)


def title_rows(ranker: CollectionRanker, vectorizer: TextVectorizer, documents: Collection) -> dict[str, sp.csr_array]:
    """Counts of the words of titles, for a ranker that reads them apart and documents that have some."""
    return {"titles": vectorizer.counts(documents.titles)} if ranker.reads_titles and any(documents.titles) else {}


def sample_queries(
    read: Callable[[Sequence[str], np.ndarray | None], sp.csr_array],
    documents: Collection,
    rows: sp.csr_array,
    vectors: np.ndarray | None,
) -> sp.csr_array:
    """Queries on which approximate search is measured: training queries (`rows`), else titles, else whole documents.

    Titles and documents ask with the vectors of their documents, where these are given.
    """
    has_titles = any(documents.titles)
    if rows.shape[0] == len(documents) and (has_titles or vectors is not None):
        chosen = _spread(len(documents), N_SAMPLED)
        texts = [documents.titles[row] if has_titles else documents.full_text(row) for row in chosen]
        rows = read(texts, None if vectors is None else vectors[chosen])
    used = np.flatnonzero(np.diff(rows.indptr))
    return rows[used[_spread(len(used), N_SAMPLED)]]


def _spread(n_rows: int, n_most: int) -> np.ndarray:
    """Up to so many rows, evenly spread."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, n_most)).astype(np.int64))


def same_ids(queries: Collection, documents: Collection) -> sp.csr_array:
    """Which query and which document have one id."""
    own = [
        (row, documents.row_of[query_id]) for row, query_id in enumerate(queries.ids) if query_id in documents.row_of
    ]
    rows, columns = np.array(own, np.int64).reshape(-1, 2).T
    return sp.csr_array((np.ones(len(own), bool), (rows, columns)), shape=(len(queries), len(documents)))
