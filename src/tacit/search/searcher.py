"""Search over a collection: documents, their features and one fitted ranker."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    Collection,
    Judgments,
    Links,
    ProgramLinks,
    TacitError,
    UsageError,
    check_features,
    check_kind,
    check_list,
    check_number,
    check_path,
    shown,
)
from tacit.core.estimator import copy_estimator
from tacit.core.fields import join_fields
from tacit.core.texts import join_texts
from tacit.features import TextVectorizer, WordGramVectorizer
from tacit.retrieve import Checkpoint, CollectionRanker, find_same_words, get_method
from tacit.retrieve.vectors import check_vectors, join_vectors
from tacit.search.encoders import EncoderInfo
from tacit.search.query.synonyms import read_synonyms
from tacit.search.querying import SearchAnswers
from tacit.search.rows import RankerRows, TextRows, item_inputs, read_rows, sample_queries
from tacit.search.sources import Sources, check_words, choose_sources, trained_queries
from tacit.search.two_stage import TwoStageRanker
from tacit.search.vector_cache import VectorCache
from tacit.search.vectors import WordVectors, check_vector_sources, encode_documents, make_probes

if TYPE_CHECKING:
    from tacit.data import ClickLog

logger = logging.getLogger("tacit")
SHARED_PARAMS = ("seed", "threads")  # accepted for every method


class Searcher(SearchAnswers):
    """Searches a collection of documents with text queries.

    Parameters
    ----------
    method : str, default="blend"
        Name of the ranker; `tacit.retrieve.METHODS` and `tacit methods` list them.
    words : int or None, default=30000
        Size of the vocabulary: the most frequent words; None for all.
    language : str, default="auto"
        Language of the documents (see `tokenizer_for`). "auto" detects it and stores it in `vectorizer_.language`.
    stem : bool or None, default=None
        Whether to reduce words to stems. None means yes for `blend`, if Snowball has a stemmer for the language.
    query_language : str or None, default=None
        Language of the queries, or "auto", for methods with a separate query vocabulary. None means the same as
        `language`.
    ann : bool, default=False
        Whether to build an index for approximate vector search (extra `ann`). It is faster for very many documents.
        `ranker_.graph_.recall_` is its recall of the exact top 10.
    encoder : str, object or None, default=None
        Pretrained model of texts for `blend`: the name or folder of a sentence-transformers model (extra `encoder`) or
        a model2vec model (extra `static`), or any object with `encode`. Documents and queries are then encoded
        automatically. An object is not saved: set `encode` after `load`.
    synonyms : str, path, list of str or None, default=None
        Synonyms for query words: a file in Solr's format, or its lines (`search.query.synonyms`).
    rerank : str or None, default=None
        Method that reranks the first results (`TwoStageRanker`). `tacit.rerank.METHODS` lists the methods. None means
        no reranking.
    **params
        Parameters of the method, such as `dim` or `tune`; `tacit methods NAME` lists them. `seed` and `threads` are
        accepted for every method.

    Attributes
    ----------
    encode : callable, object or None
        Computes vectors of texts, for `blend` with vectors: a function from a list of texts to an array, or a model
        with a method `encode`. It is set by `fit` and `load`, can be set at any time, and is not saved. None means the
        `encoder`, if there is one.
    documents_ : Collection
        The documents that are searched.
    vectorizer_ : TextVectorizer
        Vectorizer of documents, and of queries unless they have a separate vocabulary.
    query_vectorizer_ : TextVectorizer or None
        Vectorizer of queries in another language than the documents.
    ranker_ : CollectionRanker
        The fitted ranker.
    n_pairs_ : int
        Number of training pairs.
    trained_on_ : list of str
        Hashes of the texts of the training queries.
    encoder_ : str or None
        Description of the encoder of the documents: a line of JSON (`EncoderInfo`).

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
        "encoder_": "?text",
    }

    def __init__(
        self,
        method: str = "blend",
        *,
        words: int | None = 30_000,
        language: str = "auto",
        stem: bool | None = None,
        query_language: str | None = None,
        ann: bool = False,
        encoder: Any = None,
        rerank: str | None = None,
        synonyms: str | Path | Sequence[str] | None = None,
        **params: Any,
    ) -> None:
        self.method, self.words, self.language, self.stem = method, words, language, stem
        self.query_language, self.ann, self.rerank, self.params = query_language, ann, rerank, params
        named = encoder is None or isinstance(encoder, str | Path)
        self.encoder = str(encoder) if named and encoder is not None else None
        self.encode = None if named else encoder
        self.synonyms = synonyms
        self.synonym_rules = () if synonyms is None else read_synonyms(synonyms)
        self.unfitted()  # a wrong name is reported here

    @classmethod
    def from_parts(
        cls, method: str, documents: Collection, vectorizer: TextVectorizer, ranker: CollectionRanker
    ) -> Self:
        """Create a searcher from a fitted vectorizer and a fitted ranker."""
        searcher = cls(method, words=vectorizer.words, language=vectorizer.language, stem=vectorizer.stem)
        searcher._keep(documents, vectorizer, None, ranker)
        searcher._check_loaded()
        searcher._check_sizes()
        return searcher

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, including parameters of the method."""
        return super().get_params(deep) | get_method(self.method).defaults() | self.params

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the searcher or of its method."""
        own = {name: params.pop(name) for name in self._get_param_names() if name in params}
        _make(own.get("method", self.method), self.params | params)
        self.params = self.params | params
        if "synonyms" in own:
            self.synonym_rules = () if own["synonyms"] is None else read_synonyms(own["synonyms"])
            self._made_expansion = None
        return super().set_params(**own)

    def _stored_params(self) -> dict[str, Any]:
        """Return the parameters to store, except those of the method; synonyms as lines: their file may change."""
        lines = [rule.to_line() for rule in self.synonym_rules] or None
        return super().get_params(deep=False) | {"synonyms": lines}

    def __repr__(self) -> str:
        name, _, own = super().__repr__()[:-1].partition("(")
        params = [own] * bool(own) + [f"{label}={value!r}" for label, value in self.params.items()]
        return f"{name}({', '.join(params)})"

    def fit(
        self,
        documents: Collection | Any,
        *,
        links: Links | None = None,
        queries: Collection | Any = None,
        qrels: Judgments | Any = None,
        pairs: Links | None = None,
        zeros: Links | None = None,
        program: ProgramLinks | None = None,
        clicks: tuple[Collection, Links] | ClickLog | Any = None,
        vectors: np.ndarray | None = None,
        passages: np.ndarray | None = None,
        query_vectors: np.ndarray | None = None,
        encode: Any = None,
        checkpoint: Checkpoint | str | Path | None = None,
        rows: TextRows | None = None,
        members: CollectionRanker | None = None,
    ) -> Self:
        """Fit to documents and, if the method supports it, to one source of relevant pairs.

        Parameters
        ----------
        documents : Collection, frame, list, dict or path
            Documents to search: a collection, a pandas or polars frame, a list of dicts or texts, a dict of texts by
            id, or a file (`tacit.data.as_collection`).
        links : Links or None, default=None
            Links between documents: the source is a query for which the target is relevant.
        queries : Collection, frame, list, dict, path or None, default=None
            Texts of queries, with `qrels` or `pairs`. For a method with two vocabularies, texts in the language of
            the queries.
        qrels : Judgments, dict of dicts, frame, path or None, default=None
            Judgments by the ids of `queries` and `documents`, such as `{query: {document: grade}}`.
        pairs : Links or None, default=None
            Rows of `queries` and rows of relevant `documents`.
        zeros : Links or None, default=None
            Rows of `queries` and rows of `documents` judged not relevant, with `pairs`.
        program : ProgramLinks or None, default=None
            Rows of `queries` and rows of `documents` graded by a program, with `pairs`, for `blend`
            (`tacit.judge.program.collections`).
        clicks : tuple of (Collection, Links), ClickLog, path, frame, list of dict or None, default=None
            Queries and clicked documents, as `read_clicks` returns them, or a log as `read_click_log` reads it.
        vectors : ndarray of shape (n_documents, dim) or None, default=None
            Vectors of the documents by another model, for `blend`. A row of zeros is a document without a vector.
        passages : ndarray of shape (n_documents + 1,), int64, or None, default=None
            Offset of the first vector of each document, if documents have several: one for each passage.
        query_vectors : ndarray of shape (n_queries, dim) or None, default=None
            Vectors of the training queries. With them, the weight of the vectors is learned from pairs.
        encode : callable, object or None, default=None
            Computes vectors of texts; None means the attribute `encode`. It encodes documents and training queries
            without given vectors, and all later queries.
        checkpoint : str, Path, Checkpoint or None, default=None
            Folder for the training state, to resume a killed training; see `CollectionRanker.fit`.
        rows : TextRows or None, default=None
            The documents as rows, to read texts once if several searchers are fitted on them.
        members : CollectionRanker or None, default=None
            Ranker of another searcher with the same parameters and documents. Its parts learned without labels are
            reused. The result is the same as without it.
        """
        from tacit.data import as_training_data  # readers of files, which a search does not need

        documents, queries, qrels, clicks = as_training_data(documents, queries, qrels, clicks)
        if not len(documents):
            raise TacitError("the collection has no documents")
        check_kind("rows", rows, TextRows | None, "TextRows or None")
        ranker = self.unfitted()
        if self.ann:
            ranker.check_graph()
        sources = choose_sources(
            self.method, ranker, documents,
            links=links, queries=queries, qrels=qrels, pairs=pairs, zeros=zeros, program=program, clicks=clicks,
        )  # fmt: skip
        self.encode = self.encode if encode is None else encode
        self.encoder_ = None
        named = {"vectors": vectors, "query_vectors": query_vectors, "encode": self.encode, "encoder": self.encoder}
        check_vector_sources(self.method, ranker, **named)
        if query_vectors is not None and sources.queries is None:
            raise UsageError("query_vectors are given without training queries, want queries with qrels or pairs")
        read = (rows or TextRows(documents, self.words, self.language)).read(ranker, self.stem)
        if isinstance(read.vectorizer, WordGramVectorizer):
            ranker.set_params(first_gram=read.vectorizer.grams_from_)
        further = read.further() | self._item_vectors(read, documents, vectors, passages, members)
        query_rows, query_vectorizer = self._read_queries(read, sources, query_vectors, further, checks=rows is None)
        if query_vectorizer is not None and "same_words" in ranker.reads:
            further["same_words"] = find_same_words(query_vectorizer.vocabulary_, read.vectorizer.vocabulary_)
        further |= sources.beside_pairs
        further |= {"members": members} if members is not None and "members" in ranker.reads else {}
        further |= {"queries_are_items": sources.queries is None, "checkpoint": checkpoint}
        ranker.fit(query_rows, read.items, sources.pairs, **further)
        self.n_pairs_ = 0 if sources.pairs is None else len(sources.pairs)
        self.trained_on_ = [] if sources.pairs is None else trained_queries(sources.queries, sources.pairs)
        self._keep(documents, read.vectorizer, query_vectorizer, ranker)
        if self.ann:
            of_items = further.get("vectors") if self.model_of_texts is None else None
            ranker.build_graph(sample_queries(self.query_rows, documents, query_rows, of_items))
        return self

    def _read_queries(
        self, read: RankerRows, sources: Sources, vectors: np.ndarray | None, further: dict[str, Any], *, checks: bool
    ) -> tuple[sp.csr_array, TextVectorizer | None]:
        """Return rows of training queries with their vectors, and their vectorizer if they have their own vocabulary.

        Without training queries, the documents are the queries.
        """
        queries = sources.queries
        if queries is None:
            return read.items, None
        if read.ranker.two_dictionaries:
            language = self.query_language or self.language
            own = TextRows(queries, self.words, language).read(read.ranker, self.stem)
            return own.items, own.vectorizer
        rows = read.queries(queries.full_texts())
        if "vectors" in further and vectors is None and self.model_of_texts is not None:
            vectors = VectorCache(self.model_of_texts).look_up(list(queries.full_texts()), "query").astype(np.float32)
        if "vectors" in further and vectors is not None:
            dim = further["vectors"].shape[1]
            return join_vectors(rows, check_vectors("query_vectors", vectors, len(queries), dim)), None
        if sources.pairs is not None and checks:
            check_words(queries, read.vectorizer.counts(queries.full_texts()), sources.pairs)
        return rows, None

    def _item_vectors(
        self,
        read: RankerRows,
        documents: Collection,
        vectors: np.ndarray | None,
        passages: np.ndarray | None,
        members: CollectionRanker | None,
    ) -> dict[str, Any]:
        """Return vectors of the documents, and short queries with vectors to measure them."""
        encoder = self.model_of_texts
        given: dict[str, Any] = {} if vectors is None else {"vectors": check_features("vectors", vectors)}
        if passages is not None:
            if "vectors" not in read.ranker.reads:
                raise UsageError(f"{self.method} reads no vectors, so passages have no effect")
            given["passages"] = passages
        if encoder is None and not given:
            return {}
        texts, words = list(documents.full_texts()), None
        if self.params.get("vectors") is None and not (members and members.vectors_dim):  # otherwise it is known
            words = WordVectors(texts)
            given["references"] = words.encode(texts)
        if encoder is None:
            return given
        self.encoder_ = encoder.info.to_text()
        if "vectors" not in given:
            given |= encode_documents(encoder, texts)
        if words is not None:
            given["probes"] = make_probes(encoder, documents, read, words)
        return given

    def _check_own_params(self) -> None:
        check_kind("language", self.language, str, "the code of a language, any or auto")
        check_kind("query_language", self.query_language, str | None, "the code of a language or None")
        check_kind("stem", self.stem, bool | None, "True, False or None")
        check_kind("ann", self.ann, bool, "True or False")
        if self.encoder is not None:
            check_path(self.encoder, "encoder")

    def unfitted(self) -> CollectionRanker:
        """Return a new ranker, of one or two stages, with all parameters."""
        self._check_own_params()
        ranker = _make(self.method, self.params)
        if self.query_language not in (None, "auto", self.language) and not ranker.two_dictionaries:
            raise UsageError(
                f"{self.method} has one vocabulary, and query_language is {self.query_language!r}: want a method for "
                "two languages, such as ssi-cross+cl-lsi"
            )
        if self.rerank is None:
            return ranker
        shared = {name: self.params[name] for name in SHARED_PARAMS if name in self.params}
        both = TwoStageRanker(ranker, self.rerank, **shared)
        both.check_params()
        return both

    @property
    def first_stage(self) -> CollectionRanker:
        """The fitted ranker, or its first stage if there are two."""
        return self.ranker_.first_ if isinstance(self.ranker_, TwoStageRanker) else self.ranker_

    def _keep(
        self,
        documents: Collection,
        vectorizer: TextVectorizer,
        query_vectorizer: TextVectorizer | None,
        ranker: CollectionRanker,
    ) -> None:
        self.documents_, self.vectorizer_ = documents, vectorizer
        self.query_vectorizer_, self.ranker_ = query_vectorizer, ranker

    def add(self, documents: Collection | Any, *, vectors: np.ndarray | None = None) -> Self:
        """Add documents without training.

        New words become searchable, except with methods that count 2-grams. Weights of known words do not change until
        the next `fit`. On an error nothing is changed.

        Parameters
        ----------
        documents : Collection
            New documents.
        vectors : ndarray of shape (n_documents, dim) or None, default=None
            Their vectors, for a model with vectors. None means computed by `encode`. Without either, they count as
            documents with an average vector.
        """
        from tacit.data import as_collection

        self._check_fitted()
        documents = as_collection(documents)
        twice = next((doc_id for doc_id in documents.ids if doc_id in self.documents_.row_of), None)
        if twice is not None:
            raise TacitError(f"the model has a document with the id {twice!r} already, want new ids")
        if not len(documents):
            raise TacitError("there are no documents to add")
        ranker, vectorizer = copy_estimator(self.ranker_), copy_estimator(self.vectorizer_)
        ranker.check_new_items()
        if vectorizer.can_add_words:
            vectorizer.add_words(documents.full_texts())
        further = item_inputs(ranker, vectorizer, documents)
        if vectors is not None:
            further["vectors"] = self._check_vectors("vectors", vectors, len(documents))
        elif ranker.vectors_dim and self.model_of_texts is not None:
            further |= encode_documents(self.model_of_texts, list(documents.full_texts()))
        ranker.add_items(read_rows(ranker, vectorizer, documents.full_texts()), **further)
        self._keep(_join(self.documents_, documents), vectorizer, self.query_vectorizer_, ranker)
        return self

    def remove(self, ids: Iterable[str]) -> Self:
        """Remove documents by id. On an error nothing is changed."""
        self._check_fitted()
        ids = [ids] if isinstance(ids, str | int) else check_list("ids", ids, "the ids of documents")
        rows = np.unique([self._row(doc_id) for doc_id in ids]).astype(np.int64)
        if not len(rows):
            raise TacitError("no id is given, want the ids of the documents to remove")
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
        """Read a model folder.

        Parameters
        ----------
        path : str or Path
            Folder of the model.
        encode : str, callable, object or None, default=None
            Computes vectors of queries and new documents, if the model has vectors. None means the encoder that it was
            fitted with, by its name or folder.
        """
        from tacit.search.models import load

        searcher: Self = load(path, cls)
        searcher.encode = encode
        return searcher

    def _check_loaded(self) -> None:
        parts = [("vectorizer_", TextVectorizer), ("ranker_", CollectionRanker)]
        for name, kind in parts + ([("query_vectorizer_", TextVectorizer)] if self.is_across else []):
            if not isinstance(getattr(self, name), kind):
                raise TacitError(f"{name} is a {type(getattr(self, name)).__name__}, want a {kind.__name__}")
        if self.encoder_ is not None:
            EncoderInfo.from_text(self.encoder_)
        defaults, given = get_method(self.method).defaults(), self.first_stage.get_params(deep=False)
        self.params = {name: given[name] for name in defaults if given[name] != defaults[name]}

    def _check_sizes(self) -> None:
        """Raise unless documents, vocabularies and ranker match."""
        n_words, n_documents = len(self._query_reader.vocabulary_), len(self.documents_)
        if (self.ranker_.n_features_, self.ranker_.n_items_) != (n_words, n_documents):
            raise TacitError(
                f"the ranker is for {self.ranker_.n_features_} words and {self.ranker_.n_items_} documents, "
                f"the model has {n_words} and {n_documents}"
            )
        items = getattr(self.ranker_, "items_", None)
        if items is not None and items.shape[1] != len(self.vectorizer_.vocabulary_):
            raise TacitError(f"the items have {items.shape[1]} words, want {len(self.vectorizer_.vocabulary_)}")


def _make(method: str, params: dict[str, Any]) -> CollectionRanker:
    """Create a ranker; methods without `seed` or `threads` ignore them."""
    known = get_method(method)
    for name in SHARED_PARAMS:
        if params.get(name) is not None:
            check_number(name, params[name], whole=True)
    unused = set(SHARED_PARAMS) - set(known.defaults())
    made: CollectionRanker = known.make(**{name: value for name, value in params.items() if name not in unused})
    return made


def _join(first: Collection, second: Collection) -> Collection:
    ids, titles = ([*getattr(first, name), *getattr(second, name)] for name in ("ids", "titles"))
    fields = join_fields(first.extras, second.extras, (len(first), len(second)))
    for name, column in first.extras.items():
        kinds = [getattr(values, "kind", "") for values in (column, fields[name])]
        if kinds[0] != kinds[1] and kinds[0] in ("number", "date", "boolean"):
            value = next(value for value in second.extras[name] if value is not None)
            logger.warning("field %s was a %s and becomes a %s, with new values such as %s", name, *kinds, shown(value))
    return Collection(ids, titles, join_texts(first.texts, second.texts), fields, first.name)
