"""A collection that can be searched: documents, their features and one fitted ranker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Estimator, Judgments, Links, Ranking, Run, TacitError, check_number
from tacit.core.estimator import copy_estimator
from tacit.core.texts import join_texts
from tacit.features import TextVectorizer, WordGramVectorizer, find_language, has_stemmer
from tacit.retrieve import Checkpoint, CollectionRanker, get_method
from tacit.search.answers import Hit, Reason, make_hits
from tacit.search.rows import fit_rows, read_rows, same_ids, sample_queries, title_rows
from tacit.search.training import asked_queries, choose_training, hash_query
from tacit.search.two_stage import TwoStageRanker

MAX_QUERY_CHARACTERS = 1_000_000  # a whole page is a valid query; a file of a gigabyte is a mistake


class Searcher(Estimator):
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

    @property
    def is_across(self) -> bool:
        """Whether queries have a vocabulary of their own."""
        return self.query_vectorizer_ is not None

    def fit(
        self,
        documents: Collection,
        *,
        links: Links | None = None,
        queries: Collection | None = None,
        qrels: Judgments | None = None,
        pairs: Links | None = None,
        clicks: tuple[Collection, Links] | None = None,
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
        checkpoint : str, Path, Checkpoint or None, default=None
            Folder for the state of the training, from which it goes on after a kill; see `CollectionRanker.fit`.
        """
        if not len(documents):
            raise TacitError("the collection has no documents")
        unfitted = self._unfitted()
        if self.ann:
            unfitted.check_graph()
        training = choose_training(
            self.method, unfitted, documents, links=links, queries=queries, qrels=qrels, pairs=pairs, clicks=clicks
        )
        kind = WordGramVectorizer if unfitted.features == "words+grams" else TextVectorizer
        vectorizer, items = self._vectorize(kind, documents, self.language, unfitted)
        columns = {"grams_from": vectorizer.grams_from_} if isinstance(vectorizer, WordGramVectorizer) else {}
        ranker = self._unfitted(**columns)
        query_vectorizer, rows, further = None, items, dict[str, Any]()
        if training.queries is not None and ranker.two_dictionaries:
            language = self.query_language or self.language
            query_vectorizer, rows = self._vectorize(TextVectorizer, training.queries, language, ranker)
            further = {"links": training.links} if ranker.needs_links else {}
        elif training.queries is not None:
            rows = read_rows(ranker, vectorizer, training.queries.full_texts())
        further |= title_rows(ranker, vectorizer, documents)
        if ranker.reads_occurrences:
            further["occurrences"] = np.asarray(vectorizer.counts(documents.full_texts()).sum(axis=0))
        further |= {} if training.zeros is None else {"zeros": training.zeros}
        further |= {"queries_are_items": training.queries is None, "checkpoint": checkpoint}
        ranker.fit(rows, items, training.pairs, **further)
        self.n_pairs_ = 0 if training.pairs is None else len(training.pairs)
        self.trained_on_ = [] if training.pairs is None else asked_queries(training.queries, training.pairs)
        self._keep(documents, vectorizer, query_vectorizer, ranker)
        if self.ann:
            ranker.build_graph(sample_queries(ranker, self._query_reader, documents, rows))
        return self

    def _unfitted(self, **columns: int) -> CollectionRanker:
        """The ranker, or both stages, with all parameters."""
        ranker: CollectionRanker = get_method(self.method).make(**self.params | columns)
        if self.rerank is None:
            return ranker
        shared = {name: self.params[name] for name in ("seed", "threads") if name in self.params}
        both = TwoStageRanker(ranker, self.rerank, **shared)
        both.check_params()
        return both

    def learned_from(self, queries: Collection) -> list[str]:
        """Ids of those queries whose text the ranker learned from."""
        known = set(getattr(self, "trained_on_", None) or ())
        return [name for row, name in enumerate(queries.ids) if known and hash_query(queries.full_text(row)) in known]

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

    def add(self, documents: Collection) -> Self:
        """Add documents without training.

        Words that no document had become searchable, except by the methods that count 2-grams. Weights of known words
        stay as they are until the next `fit`. On an error nothing is changed.
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
        titles = title_rows(ranker, vectorizer, documents)
        ranker.add_items(read_rows(ranker, vectorizer, documents.full_texts()), **titles)
        self._keep(_join(self.documents_, documents), vectorizer, self.query_vectorizer_, ranker)
        return self

    def remove(self, ids: Iterable[str]) -> Self:
        """Remove documents by id. On an error nothing is changed."""
        self._check_fitted()
        rows = np.unique([self._row(doc_id) for doc_id in ([ids] if isinstance(ids, str) else ids)]).astype(np.int64)
        if not len(rows):
            raise TacitError("no id is given, want those of the documents to remove")
        if len(rows) == len(self.documents_):
            raise TacitError(f"all {len(rows)} documents would be removed, want at least one that stays")
        ranker = copy_estimator(self.ranker_).remove_items(rows)
        kept = self.documents_.take(np.setdiff1d(np.arange(len(self.documents_)), rows))
        self._keep(kept, self.vectorizer_, self.query_vectorizer_, ranker)
        return self

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The best k documents for a query, best first; without those of score 0, for `blend` also those below it."""
        return self.search_many([query], k)[0]

    def search_many(self, queries: Sequence[str], k: int = 10) -> list[list[Hit]]:
        """The answers of `search` to each query, in less time than one by one."""
        for query in queries:
            self.check_query(query, k)
        rows = self.features(queries)
        ranking, above = self.ranker_.rank(rows, k), self.ranker_.answers_above
        answers = []
        for number, query in enumerate(queries):
            items, scores = ranking.of(number)
            shown = scores != 0 if above is None else scores > above
            row = rows if len(queries) == 1 else rows[[number]]
            answers.append(make_hits(self, query, row, items[shown], scores[shown]))
        return answers

    def feedback(self, query: str, liked: Sequence[str] = (), disliked: Sequence[str] = (), k: int = 10) -> list[Hit]:
        """The answers of a query, ranked again by ids of liked and disliked documents (see `search.feedback`)."""
        from tacit.search.feedback import rerank

        self.check_query(query, k)
        items, scores = rerank(self, query, liked, disliked)
        return make_hits(self, query, self.features([query]), items[:k], scores[:k])

    def explain(self, query: str, document_id: str, other_id: str | None = None) -> list[Reason]:
        """The terms that sum to a document's score, or to its difference from another's; largest first."""
        self._check_fitted()
        other = None if other_id is None else self._row(other_id)
        explanation = self.ranker_.explain(self.features([query]), self._row(document_id), other)
        query_words, words = self._query_reader.vocabulary_, self.vectorizer_.vocabulary_
        return [
            Reason(
                term.kind, _word(query_words, term.query_word), _word(words, term.item_word), term.value, term.member
            )
            for term in explanation.terms
        ]

    def run(self, queries: Collection, k: int = 1000, *, exclude_self: bool = False, threads: int | None = None) -> Run:
        """Answers to many queries; with `exclude_self`, no document answers the query of its own id."""
        self._check_fitted()
        exclude = same_ids(queries, self.documents_) if exclude_self else None
        ranking = self.rank(queries, k, exclude=exclude, threads=threads)
        return ranking.to_run(queries.ids, self.documents_.ids, self.method)

    def rank(
        self, queries: Collection, k: int, *, exclude: sp.csr_array | None = None, threads: int | None = None
    ) -> Ranking:
        """Rows of the best documents for many queries.

        A query without any known word has no answer. Where the ranker only compares words, documents of score 0,
        which share no word with the query, are no answers either.
        """
        self._check_fitted()
        rows = self.features(queries.full_texts())
        ranking = self.ranker_.rank(rows, k, exclude=exclude, threads=threads)
        empty = np.diff(rows.indptr)[:, None] == 0
        left_out = empty | (self.ranker_.by_words & (ranking.scores == 0))
        return Ranking(np.where(left_out, -1, ranking.items), np.where(left_out, np.float32(0), ranking.scores))

    def features(self, texts: Iterable[str]) -> sp.csr_array:
        """The rows that the ranker reads, for texts of queries."""
        return read_rows(self.ranker_, self._query_reader, texts)

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
        if not query.strip():
            raise TacitError("the query is empty, want at least one word")
        if len(query) > MAX_QUERY_CHARACTERS:
            raise TacitError(f"the query has {len(query)} characters, want at most {MAX_QUERY_CHARACTERS}")

    def save(self, path: str | Path) -> None:
        """Write a model folder."""
        from tacit.search.models import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model folder."""
        from tacit.search.models import load

        return load(path, cls)

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


def _word(vocabulary: Sequence[str], column: int) -> str:
    return vocabulary[column] if column >= 0 else ""


def _join(first: Collection, second: Collection) -> Collection:
    ids, titles = ([*getattr(first, name), *getattr(second, name)] for name in ("ids", "titles"))
    return Collection(ids, titles, join_texts(first.texts, second.texts), name=first.name)
