"""A collection that can be searched: documents, their features and one fitted ranker."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Judgments, Links, TacitError, UsageError, check_features, track
from tacit.core.estimator import copy_estimator
from tacit.core.texts import join_texts
from tacit.features import TextVectorizer, WordGramVectorizer, find_language, has_stemmer
from tacit.retrieve import Checkpoint, CollectionRanker, find_same_words, get_method
from tacit.retrieve.blend.vectors import check_vectors, join_vectors
from tacit.search.querying import SearchAnswers
from tacit.search.rows import fit_rows, read_rows, sample_queries, title_rows
from tacit.search.training import asked_queries, check_words, choose_training
from tacit.search.two_stage import TwoStageRanker
from tacit.search.vectors import check_vector_sources, encode_texts, short_queries


class Searcher(SearchAnswers):
    """Searches a collection of documents with text queries.

    Parameters
    ----------
    method : str, default="blend"
        Name of the ranker; `tacit.retrieve.METHODS` and `tacit methods` list them.
    words : int or None, default=30000
        Size of the vocabulary: the most frequent words; None for all.
    language : str, default="en"
        Language of the documents, see `tokenizer_for`; "auto" finds it in the texts (`vectorizer_.language` has it).
    stem : bool or None, default=None
        Reduce words to their stems; None means so for `blend`, where Snowball has a stemmer for the language.
    query_language : str or None, default=None
        Language of the queries, for methods that have a vocabulary of their own for queries, or "auto"; None: as
        `language`.
    ann : bool, default=False
        Build an index for approximate search in the vectors of the documents (needs `tacit[ann]`): faster where there
        are very many of them. `ranker_.graph_.recall_` tells which share of the 10 best answers it finds.
    rerank : str or None, default=None
        Method of a second stage, which ranks the first answers again (`TwoStageRanker`); `tacit.rerank.METHODS` lists
        them. None means one stage.
    **params
        Parameters of the method, such as `dim`, `tune`, `seed` or `threads`; `tacit methods NAME` lists them.

    Attributes
    ----------
    encode : callable, object or None
        Gives texts their vectors, for `blend` with vectors: a function from a list of texts to an array, or a model
        with a method `encode`. It is set by `fit` and `load`, or at any time, and is not saved.
    documents_ : Collection
        The documents that are searched.
    vectorizer_ : TextVectorizer
        Reads documents, and queries unless these have a vocabulary of their own.
    query_vectorizer_ : TextVectorizer or None
        Reads queries in another language than the documents.
    ranker_ : CollectionRanker
        The fitted ranker.
    n_pairs_ : int
        Number of pairs that the ranker learned from.
    trained_on_ : list of str
        Hashes of the texts of the queries that the ranker learned from.

    Examples
    --------
    >>> docs = Collection(["a", "b"], ["Cats", "Dogs"], ["they purr", "they bark"])
    >>> searcher = Searcher("tfidf").fit(docs)
    >>> [hit.id for hit in searcher.search("who can bark?")]
    ['b']
    >>> searcher.add(Collection(["c"], [""], ["a zebra"])).search("zebra")[0].id
    'c'

    Queries in another language:

    >>> texts = Collection(["1", "2", "3"], [""] * 3, ["die Katze", "der Hund", "eine Katze"])
    >>> pairs = Links(np.array([0, 1, 2]), np.array([0, 1, 0]), 3, 2)
    >>> searcher = Searcher("cl-lsi", query_language="de").fit(docs, queries=texts, pairs=pairs)
    >>> searcher.search("Hund", k=1)[0].id
    'b'
    """

    _fitted: ClassVar = {
        "vectorizer_": "estimator",
        "query_vectorizer_": "?estimator",
        "ranker_": "estimator",
        "n_pairs_": "?",
        "trained_on_": "?strings",
    }

    def __init__(
        self,
        method: str = "blend",
        *,
        words: int | None = 30_000,
        language: str = "en",
        stem: bool | None = None,
        query_language: str | None = None,
        ann: bool = False,
        rerank: str | None = None,
        **params: Any,
    ) -> None:
        self.method, self.words, self.language, self.stem = method, words, language, stem
        self.query_language, self.ann, self.rerank, self.params = query_language, ann, rerank, params
        self.encode: Any = None
        self._unfitted()  # a wrong name is reported here

    @classmethod
    def from_parts(
        cls, method: str, documents: Collection, vectorizer: TextVectorizer, ranker: CollectionRanker
    ) -> Self:
        """A searcher made of a vectorizer and a ranker that are fitted already."""
        searcher = cls(method, words=vectorizer.words, language=vectorizer.language, stem=vectorizer.stem)
        searcher._keep(documents, vectorizer, None, ranker)
        searcher._check_loaded()
        searcher._check_sizes()
        return searcher

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, those of the method included."""
        return super().get_params(deep) | _defaults(self.method) | self.params

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the searcher or of its method."""
        own = {name: params.pop(name) for name in self._get_param_names() if name in params}
        get_method(own.get("method", self.method)).make(**self.params | params)
        self.params = self.params | params
        return super().set_params(**own)

    def _stored_params(self) -> dict[str, Any]:
        """Parameters of the method are stored with the ranker."""
        return super().get_params(deep=False)

    def __repr__(self) -> str:
        own = super().__repr__()[:-1]
        return ", ".join([own, *(f"{name}={value!r}" for name, value in self.params.items())]) + ")"

    def fit(
        self,
        documents: Collection,
        *,
        links: Links | None = None,
        queries: Collection | None = None,
        qrels: Judgments | None = None,
        pairs: Links | None = None,
        clicks: tuple[Collection, Links] | None = None,
        vectors: np.ndarray | None = None,
        query_vectors: np.ndarray | None = None,
        encode: Any = None,
        checkpoint: Checkpoint | str | Path | None = None,
    ) -> Self:
        """Learn from documents and, where the method can, from one source of relevant pairs.

        Parameters
        ----------
        documents : Collection
            What is searched.
        links : Links or None, default=None
            Links between documents: the source is a query for which the target is relevant.
        queries : Collection or None, default=None
            Texts of queries, with `qrels` or `pairs`. For a method with two vocabularies, texts in the language of
            the queries.
        qrels : Judgments or None, default=None
            Judgments by the ids of `queries` and `documents`.
        pairs : Links or None, default=None
            Rows of `queries` and rows of relevant `documents`.
        clicks : tuple of (Collection, Links) or None, default=None
            Queries and clicked documents, as `read_clicks` returns them.
        vectors : ndarray of shape (n_documents, dim) or None, default=None
            Vectors of the documents by another model, for `blend`; rows of zeros are documents without one.
        query_vectors : ndarray of shape (n_queries, dim) or None, default=None
            Vectors of the training queries; with them, pairs learn the weight of the vectors.
        encode : callable, object or None, default=None
            Gives texts their vectors (see the attribute, which is used unless another is given): to documents and
            training queries whose vectors are not given, and to queries from then on.
        checkpoint : str, Path, Checkpoint or None, default=None
            Folder for the state of the training, from which it goes on after a kill; see `CollectionRanker.fit`.
        """
        if not isinstance(documents, Collection):
            kind = type(documents).__name__
            raise UsageError(
                f"documents are a {kind}, want a Collection: read_collection(path), or Collection(ids, titles, texts)"
            )
        if not len(documents):
            raise TacitError("the collection has no documents")
        unfitted = self._unfitted()
        if self.ann:
            unfitted.check_graph()
        training = choose_training(
            self.method, unfitted, documents, links=links, queries=queries, qrels=qrels, pairs=pairs, clicks=clicks
        )
        self.encode = self.encode if encode is None else encode
        check_vector_sources(self.method, unfitted, vectors=vectors, query_vectors=query_vectors, encode=self.encode)
        kind = WordGramVectorizer if unfitted.features == "words+grams" else TextVectorizer
        vectorizer, items = self._vectorize(kind, documents, self.language, unfitted)
        columns = {"grams_from": vectorizer.grams_from_} if isinstance(vectorizer, WordGramVectorizer) else {}
        ranker = self._unfitted(**columns)
        query_vectorizer, rows = None, items
        further = title_rows(ranker, vectorizer, documents) | self._item_vectors(ranker, vectorizer, documents, vectors)
        if training.queries is not None and ranker.two_dictionaries:
            language = self.query_language or self.language
            query_vectorizer, rows = self._vectorize(TextVectorizer, training.queries, language, ranker)
            further |= {"links": training.links} if ranker.needs_links else {}
            if ranker.reads_same_words:
                further["same_words"] = find_same_words(query_vectorizer.vocabulary_, vectorizer.vocabulary_)
        elif training.queries is not None:
            rows = read_rows(ranker, vectorizer, training.queries.full_texts())
            if "vectors" in further:
                rows = self._with_query_vectors(rows, training.queries, query_vectors, further["vectors"].shape[1])
            if training.pairs is not None and rows.shape[1] == items.shape[1]:  # without vectors
                check_words(training.queries, vectorizer.counts(training.queries.full_texts()), training.pairs)
        elif query_vectors is not None:
            raise UsageError("query_vectors are given without training queries, want queries with qrels or pairs")
        if ranker.reads_occurrences:
            further["occurrences"] = np.asarray(vectorizer.counts(documents.full_texts()).sum(axis=0))
        further |= {} if training.zeros is None else {"zeros": training.zeros}
        further |= {"queries_are_items": training.queries is None, "checkpoint": checkpoint}
        ranker.fit(rows, items, training.pairs, **further)
        self.n_pairs_ = 0 if training.pairs is None else len(training.pairs)
        self.trained_on_ = [] if training.pairs is None else asked_queries(training.queries, training.pairs)
        self._keep(documents, vectorizer, query_vectorizer, ranker)
        if self.ann:
            given = further.get("vectors") if self.encode is None else None
            ranker.build_graph(sample_queries(self.query_rows, documents, rows, given))
        return self

    def _with_query_vectors(
        self, rows: sp.csr_array, queries: Collection, vectors: np.ndarray | None, dim: int
    ) -> sp.csr_array:
        """Rows of training queries, with their vectors where there are some."""
        if vectors is None and self.encode is not None:
            vectors = encode_texts(self.encode, queries.full_texts(), "query")
        if vectors is None:
            return rows
        return join_vectors(rows, check_vectors("query_vectors", vectors, len(queries), dim))

    def _item_vectors(
        self, ranker: CollectionRanker, vectorizer: TextVectorizer, documents: Collection, vectors: np.ndarray | None
    ) -> dict[str, Any]:
        """Vectors of the documents, and short queries with vectors to check them on."""
        if self.encode is None:
            return {} if vectors is None else {"vectors": check_features("vectors", vectors)}
        if vectors is None:
            vectors = encode_texts(self.encode, track(documents.full_texts(), "encoding", len(documents)), "document")
        rows, texts = short_queries(documents)
        asked = join_vectors(read_rows(ranker, vectorizer, texts), encode_texts(self.encode, texts, "query"))
        return {"vectors": check_features("vectors", vectors), "probes": (rows, asked)}

    def _unfitted(self, **columns: int) -> CollectionRanker:
        """The ranker, or both stages, with all parameters."""
        ranker: CollectionRanker = get_method(self.method).make(**self.params | columns)
        if self.query_language not in (None, self.language) and not ranker.two_dictionaries:
            raise UsageError(
                f"{self.method} has one vocabulary, and query_language is {self.query_language!r}: want a method for "
                "two languages, such as ssi-cross+cl-lsi"
            )
        if self.rerank is None:
            return ranker
        shared = {name: self.params[name] for name in ("seed", "threads") if name in self.params}
        both = TwoStageRanker(ranker, self.rerank, **shared)
        both.check_params()
        return both

    def _vectorize(
        self, kind: type[TextVectorizer], texts: Collection, language: str, ranker: CollectionRanker
    ) -> tuple[TextVectorizer, sp.csr_array]:
        """A fitted vectorizer, and the rows of the texts that it was fitted on."""
        language = find_language(texts, language)
        stem = ranker.prefers_stems and has_stemmer(language) if self.stem is None else self.stem
        vectorizer = kind(words=self.words, language=language, stem=stem)
        return vectorizer, fit_rows(vectorizer, texts, ranker)

    def _keep(
        self,
        documents: Collection,
        vectorizer: TextVectorizer,
        query_vectorizer: TextVectorizer | None,
        ranker: CollectionRanker,
    ) -> None:
        self.documents_, self.vectorizer_ = documents, vectorizer
        self.query_vectorizer_, self.ranker_ = query_vectorizer, ranker

    def add(self, documents: Collection, *, vectors: np.ndarray | None = None) -> Self:
        """Add documents without training.

        Words that no document had become searchable, except by the methods that count 2-grams. Weights of known words
        stay as they are until the next `fit`. On an error nothing is changed.

        Parameters
        ----------
        documents : Collection
            New documents.
        vectors : ndarray of shape (n_documents, dim) or None, default=None
            Their vectors, for a model with vectors; None means by `encode`. Without either they count as documents
            with an average vector.
        """
        self._check_fitted()
        twice = next((doc_id for doc_id in documents.ids if doc_id in self.documents_.row_of), None)
        if twice is not None:
            raise TacitError(f"the model has a document with the id {twice!r} already, want new ids")
        if not len(documents):
            raise TacitError("there are no documents to add")
        ranker, vectorizer = copy_estimator(self.ranker_), copy_estimator(self.vectorizer_)
        ranker.check_new_items()
        if vectorizer.can_add_words:
            vectorizer.add_words(documents.full_texts())
        further: dict[str, Any] = title_rows(ranker, vectorizer, documents)
        if vectors is None and self.encode is not None and ranker.vectors_dim:
            vectors = encode_texts(self.encode, documents.full_texts(), "document")
        if vectors is not None:
            further["vectors"] = self._check_vectors("vectors", vectors, len(documents))
        ranker.add_items(read_rows(ranker, vectorizer, documents.full_texts()), **further)
        self._keep(_join(self.documents_, documents), vectorizer, self.query_vectorizer_, ranker)
        return self

    def remove(self, ids: Iterable[str]) -> Self:
        """Remove documents by id. On an error nothing is changed."""
        self._check_fitted()
        rows = np.unique([self._row(doc_id) for doc_id in ([ids] if isinstance(ids, str) else ids)]).astype(np.int64)
        if not len(rows):
            raise TacitError("no id is given, want those of the documents to remove")
        if len(rows) == len(self.documents_):
            raise TacitError("no document would remain, want at least one that stays")
        ranker = copy_estimator(self.ranker_).remove_items(rows)
        kept = self.documents_.take(np.setdiff1d(np.arange(len(self.documents_)), rows))
        self._keep(kept, self.vectorizer_, self.query_vectorizer_, ranker)
        return self

    def save(self, path: str | Path) -> None:
        """Write a model folder."""
        from tacit.search.models import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path, *, encode: Any = None) -> Self:
        """Read a model folder; `encode` gives queries and new documents their vectors, where the model has some."""
        from tacit.search.models import load

        searcher: Self = load(path, cls)
        searcher.encode = encode
        return searcher

    def _check_loaded(self) -> None:
        parts = [("vectorizer_", TextVectorizer), ("ranker_", CollectionRanker)]
        for name, kind in parts + ([("query_vectorizer_", TextVectorizer)] if self.is_across else []):
            if not isinstance(getattr(self, name), kind):
                raise TacitError(f"{name} is a {type(getattr(self, name)).__name__}, want a {kind.__name__}")
        defaults = _defaults(self.method)
        own = self.ranker_.first_ if isinstance(self.ranker_, TwoStageRanker) else self.ranker_
        given = own.get_params(deep=False)
        self.params = {name: given[name] for name in defaults if given[name] != defaults[name]}

    def _check_sizes(self) -> None:
        """Raise unless documents, vocabularies and ranker fit together."""
        n_words, n_documents = len(self._query_reader.vocabulary_), len(self.documents_)
        if (self.ranker_.n_features_, self.ranker_.n_items_) != (n_words, n_documents):
            raise TacitError(
                f"the ranker is for {self.ranker_.n_features_} words and {self.ranker_.n_items_} documents, "
                f"the model has {n_words} and {n_documents}"
            )
        items = getattr(self.ranker_, "items_", None)
        if items is not None and items.shape[1] != len(self.vectorizer_.vocabulary_):
            raise TacitError(f"the items have {items.shape[1]} words, want {len(self.vectorizer_.vocabulary_)}")


def _defaults(method: str) -> dict[str, Any]:
    return {parameter.name: parameter.default for parameter in get_method(method).parameters()}


def _join(first: Collection, second: Collection) -> Collection:
    ids, titles = ([*getattr(first, name), *getattr(second, name)] for name in ("ids", "titles"))
    return Collection(ids, titles, join_texts(first.texts, second.texts), name=first.name)
