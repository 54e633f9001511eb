"""Converts texts to the rows that a ranker reads, for searchers, `advise` and the experiments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, TacitError, plural, track
from tacit.features import TextVectorizer, WordGramVectorizer, find_language, has_stemmer
from tacit.features.text.words import title_keys
from tacit.retrieve import CollectionRanker
from tacit.retrieve.training_data import ITEM_INPUTS, Terms
from tacit.retrieve.vectors import spread_rows

N_SAMPLED = 200  # queries on which approximate search is measured


@dataclass
class TextRows:
    """The texts of a collection as rows. Each kind of tokens is counted once for all rankers fitted on it.

    Parameters
    ----------
    texts : Collection
        Documents, or queries with a separate vocabulary.
    words : int or None, default=30000
        Size of the vocabulary; None for all words.
    language : str, default="auto"
        Language of the texts; "auto" detects it.

    Examples
    --------
    >>> from tacit.retrieve import Bm25Ranker
    >>> rows = TextRows(Collection(["a", "b"], ["Cats", "Dogs"], ["they purr", "they bark"]), language="en")
    >>> read = rows.read(Bm25Ranker())
    >>> read.items.shape, read.queries(["cats bark"]).indices.size
    ((2, 5), 2)
    """

    texts: Collection
    words: int | None = 30_000
    language: str = "auto"
    _read: dict[tuple[type[TextVectorizer], bool], ReadTexts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.is_found = self.language == "auto"
        self.language = find_language(self.texts, self.language)

    def read(self, ranker: CollectionRanker, stem: bool | None = None) -> RankerRows:
        """Return rows for a ranker; `stem` None means the ranker's preference."""
        kind = WordGramVectorizer if ranker.features == "words+grams" else TextVectorizer
        stems = ranker.prefers_stems if stem is None else stem
        # If the language was detected, or stems are only preferred, a language without a stemmer is not stemmed.
        wanted = stem is True and not self.is_found
        return RankerRows(self._texts(kind, stems and (wanted or has_stemmer(self.language))), ranker)

    def _texts(self, kind: type[TextVectorizer], stem: bool) -> ReadTexts:
        if (kind, stem) not in self._read:
            vectorizer = kind(words=self.words, language=self.language, stem=stem)
            counts = vectorizer.fit_counts(track(self.texts.full_texts(), "reading texts", len(self.texts)))
            if not counts.nnz:
                raise TacitError(f"no word was found in {plural(len(self.texts), 'text')}")
            self._read[kind, stem] = ReadTexts(self.texts, vectorizer, counts)
        return self._read[kind, stem]


@dataclass
class ReadTexts:
    """Texts that a vectorizer was fitted on, and their counts; derived values are cached."""

    texts: Collection
    vectorizer: TextVectorizer
    counts: sp.csr_array
    _derived: dict[Hashable, Any] = field(default_factory=dict)

    def derived(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, computed once."""
        if name not in self._derived:
            self._derived[name] = make()
        return self._derived[name]


@dataclass(frozen=True)
class RankerRows:
    """The texts as rows for one ranker."""

    read: ReadTexts
    ranker: CollectionRanker

    @property
    def vectorizer(self) -> TextVectorizer:
        """The fitted vectorizer."""
        return self.read.vectorizer

    @property
    def items(self) -> sp.csr_array:
        """Return the rows of the texts: counts or tf-idf."""
        if self.ranker.features == "counts":
            return self.read.counts
        rows: sp.csr_array = self.read.derived("tfidf", lambda: self.vectorizer.tfidf(self.read.counts))
        if not rows.nnz:
            n_texts = len(self.read.texts)
            raise TacitError(f"every word occurs in all of {n_texts} texts, so that tf-idf is 0 everywhere")
        return rows

    def queries(self, texts: Iterable[str]) -> sp.csr_array:
        """Return the rows of other texts."""
        return read_rows(self.ranker, self.vectorizer, texts)

    def further(self) -> dict[str, Any]:
        """Other arguments of the ranker's `fit` that come from the texts."""
        reads = self.ranker.reads
        made: dict[str, Any] = self.read.derived(
            reads & ITEM_INPUTS, lambda: item_inputs(self.ranker, self.vectorizer, self.read.texts)
        )
        return made | ({"occurrences": np.asarray(self.read.counts.sum(axis=0))} if "occurrences" in reads else {})


def read_rows(ranker: CollectionRanker, vectorizer: TextVectorizer, texts: Iterable[str]) -> sp.csr_array:
    """Return counts or tf-idf of texts, whichever the ranker reads."""
    counts = vectorizer.counts(texts)
    return counts if ranker.features == "counts" else vectorizer.tfidf(counts)


def item_inputs(ranker: CollectionRanker, vectorizer: TextVectorizer, documents: Collection) -> dict[str, Any]:
    """Return what a ranker reads besides rows: counts and hashes of titles, words of the columns."""
    made, reads, has_titles = dict[str, Any](), ranker.reads, any(documents.titles)
    if "titles" in reads and has_titles:
        made["titles"] = vectorizer.counts(documents.titles)
    if "title_keys" in reads and has_titles:
        made["title_keys"] = title_keys(documents.titles)
    if "terms" in reads:
        made["terms"] = Terms(vectorizer.vocabulary_, vectorizer.function_columns())
    return made


def sample_queries(
    read: Callable[[Sequence[str], np.ndarray | None], sp.csr_array],
    documents: Collection,
    rows: sp.csr_array,
    vectors: np.ndarray | None,
) -> sp.csr_array:
    """Return queries to measure approximate search: training queries (`rows`), else titles, else documents.

    Titles and documents have the vectors of their documents, if these are given.
    """
    has_titles = any(documents.titles)
    if rows.shape[0] == len(documents) and (has_titles or vectors is not None):
        chosen = spread_rows(len(documents), N_SAMPLED)
        texts = [documents.titles[row] if has_titles else documents.full_text(row) for row in chosen]
        rows = read(texts, None if vectors is None else vectors[chosen])
    used = np.flatnonzero(np.diff(rows.indptr))
    return rows[used[spread_rows(len(used), N_SAMPLED)]]


def same_ids(queries: Collection, documents: Collection) -> sp.csr_array:
    """Return pairs of a query and a document with the same id."""
    own = [
        (row, documents.row_of[query_id]) for row, query_id in enumerate(queries.ids) if query_id in documents.row_of
    ]
    rows, columns = np.array(own, np.int64).reshape(-1, 2).T
    return sp.csr_array((np.ones(len(own), bool), (rows, columns)), shape=(len(queries), len(documents)))
