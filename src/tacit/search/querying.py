"""Query methods of a fitted searcher: hits, rankings and explanations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    Collection,
    Estimator,
    Ranking,
    Run,
    TacitError,
    UsageError,
    check_choice,
    check_kind,
    check_list,
    check_number,
)
from tacit.features import TextVectorizer
from tacit.features.text.lexicon import without_accents
from tacit.retrieve import CollectionRanker
from tacit.retrieve.explanation import HEADINGS
from tacit.retrieve.vectors import check_vectors, join_vectors
from tacit.search.answers import Hits, Reason, make_hits
from tacit.search.encoders import OBJECT, Encoder, EncoderInfo, as_encoder
from tacit.search.filters import fields_of, filter_mask
from tacit.search.query.expansion import AskedQuery, Expansion
from tacit.search.query.language import Restriction, parse_query
from tacit.search.query.restrictions import TITLE, Restricted, can_restrict, words_of_values
from tacit.search.query.suggestions import Completions
from tacit.search.query.synonyms import Rule
from tacit.search.rows import read_rows, same_ids
from tacit.search.selecting import Matches, Prepared, Selected, Selection, make_selection
from tacit.search.snippets import full_words
from tacit.search.sources import hash_query

Key = TypeVar("Key")
Kept = TypeVar("Kept")

logger = logging.getLogger("tacit")
FEW = 0.05  # share of documents: if a filter leaves fewer, only these are ranked, instead of all to a greater depth
MAX_KEPT = 16  # filters and restrictions kept for the next searches; each has one or two bytes per document
MAX_QUERY_CHARACTERS = 1_000_000  # a page of text is a valid query; a file of a gigabyte is a mistake


class SearchAnswers(Estimator):
    """The part of `Searcher` that processes queries."""

    method: str
    encode: Any
    encoder: str | None
    encoder_: str | None = None
    _loaded_encoder: tuple[Any, Encoder | None] | None = None
    _made_expansion: Expansion | None = None
    _completions: tuple[Collection, Completions] | None = None
    _recent: tuple[Collection, dict[Any, Any]] | None = None
    synonym_rules: Sequence[Rule] = ()
    documents_: Collection
    vectorizer_: TextVectorizer
    query_vectorizer_: TextVectorizer | None
    ranker_: CollectionRanker

    @property
    def is_across(self) -> bool:
        """Whether queries have a separate vocabulary."""
        return self.query_vectorizer_ is not None

    @overload
    def search(self, query: str, k: int = 10, *, vector: np.ndarray | None = None, **selection: Any) -> Hits: ...
    @overload
    def search(
        self, query: Sequence[str], k: int = 10, *, vector: np.ndarray | None = None, **selection: Any
    ) -> list[Hits]: ...
    def search(
        self, query: str | Sequence[str], k: int = 10, *, vector: np.ndarray | None = None, **selection: Any
    ) -> Hits | list[Hits]:
        """Return the k best documents for a query, best first; omits scores of 0, for `blend` also negative scores.

        Parameters
        ----------
        query : str or list of str
            Query: plain text, with phrases in quotes, `-word`, `field:word` and `word*` (`search.query.language`).
            A list of queries is passed to `search_many`; `vector` then has a row for each.
        k : int, default=10
            Number of documents.
        vector : ndarray of shape (dim,) or None, default=None
            Vector of the query, for a model with vectors. None means computed by `encode`, if there is one.
        **selection
            `filter`, such as "category = shoes and price < 50"; `facets`, names of fields whose values are counted;
            `sort`, a field, or "-field" for descending; `offset`, number of first hits to skip; `group`, a field of
            which each value is shown once; `snippets`, False to omit them. See `search.selecting` and
            `search.filters`.

        Returns
        -------
        Hits
            A list of `Hit` with `facets`, `total`, `suggestion`, `added` and `to_frame()`.
        """
        if isinstance(query, list | tuple):
            return self.search_many(query, k, vectors=vector, **selection)
        return self.search_many([cast("str", query)], k, vectors=_one_row(vector), **selection)[0]

    def search_many(
        self, queries: Sequence[str], k: int = 10, *, vectors: np.ndarray | None = None, **selection: Any
    ) -> list[Hits]:
        """Return the hits of `search` for each query, faster than a loop over `search`."""
        queries = check_list("queries", queries, "a list of strings")
        for query in queries:
            self.check_query(query, k)
        selected = _selection(selection)
        asked = [self.ask(query) for query in queries]
        rows = self._asked_rows(asked)
        full = self._full_rows(rows, [one.text for one in asked], vectors)
        if selected.is_plain and not any(one.restrictions for one in asked):
            chosen = self._first_hits(full, k)
        else:
            chosen = self._selected_hits(full, k, selected, asked)
        show: dict[str, Any] = {"offset": selected.offset, "snippets": selected.snippets}
        answers = []
        for number, (one, found) in enumerate(zip(asked, chosen, strict=True)):
            row = rows if len(queries) == 1 else rows[[number]]
            hits = make_hits(self, one.text, row, found.items, found.scores, **show)
            hits.total, hits.facets = found.total, found.facets
            hits.suggestion, hits.added = one.suggestion, one.added
            answers.append(hits)
        return answers

    def ask(self, query: str) -> AskedQuery:
        """Parse the syntax of a typed query (`search.query.language`), and expand its words."""
        self._check_fitted()
        check_kind("query", query, str, "a text")
        return self._expansion.ask(query, parse_query(query, self._can_restrict), self._value_with)

    def _can_restrict(self, name: str, value: str) -> bool:
        return can_restrict(fields_of(self.documents_), name, value)

    def _value_with(self, word: str) -> Restriction | None:
        """Return the restriction to documents with a field whose values contain a word."""
        words = self._recalled(("words of values",), lambda _: self._words_of_values())
        return words.get(without_accents(word))

    def _words_of_values(self) -> dict[str, Restriction]:
        return words_of_values(fields_of(self.documents_), self.vectorizer_.tokenizer_.segmenter)

    @property
    def _expansion(self) -> Expansion:
        """Return the query expansion; rebuilt when the vocabulary has changed."""
        reader, rules = self._query_reader, self.synonym_rules
        if self._made_expansion is None or self._made_expansion.vectorizer is not reader:
            self._made_expansion = Expansion(reader, rules)
        return self._made_expansion

    def _asked_rows(self, asked: Sequence[AskedQuery]) -> sp.csr_array:
        """Return the word rows of typed queries for the ranker."""
        counts = self._expansion.rows(asked)
        return counts if self.ranker_.features == "counts" else self._query_reader.tfidf(counts)

    def _restricted(self, asked: AskedQuery) -> Restricted | None:
        """Return the documents that pass the restrictions of a query; None: all."""
        return self._recalled(asked.restrictions, self._restricted_by) if asked.restrictions else None

    def _restricted_by(self, restrictions: tuple[Restriction, ...]) -> Restricted:
        segmenter = self.vectorizer_.tokenizer_.segmenter
        made = Restricted(self.documents_, fields_of(self.documents_), segmenter, restrictions)
        for restriction in restrictions:
            if not restriction.is_excluded and not restriction.is_prefix and restriction.field in ("", TITLE):
                self._narrow(made, restriction.text)
        return made

    def _narrow(self, restricted: Restricted, phrase: str) -> None:
        """Restrict documents to those that contain the rarest word of a phrase, if the ranker can list them."""
        if self.is_across:
            return
        columns = self.vectorizer_.counts([phrase]).indices
        rarest = max(columns.tolist(), key=lambda column: float(self.vectorizer_.idf_[column]), default=None)
        items = None if rarest is None else self.ranker_.items_with_word(rarest)
        if items is not None:
            mask = np.zeros(len(self.documents_), bool)
            mask[items] = True
            restricted.narrow(mask)

    def _first_hits(self, rows: sp.csr_array, k: int) -> list[Selected]:
        """Return the first hits of each query."""
        ranking = self.ranker_.rank(rows, k)
        unmatched = self.ranker_.unmatched_scores(rows)
        found = [self._shown(*ranking.of(number), float(unmatched[number, 0])) for number in range(rows.shape[0])]
        return [Selected(items, scores, None, {}) for items, scores in found]

    def _selected_hits(
        self, rows: sp.csr_array, k: int, selection: Selection, asked: Sequence[AskedQuery]
    ) -> list[Selected]:
        """Return the hits of each query that pass a selection and the restrictions of the query."""
        prepared = selection.prepare(self.documents_, self._mask(selection.filter))
        one_by_one = [rows] if len(asked) == 1 else [rows[[number]] for number in range(len(asked))]
        return [
            prepared.select(self._matches(row, query), k, self._restricted(query), self._with_words(row, prepared))
            for row, query in zip(one_by_one, asked, strict=True)
        ]

    def _mask(self, filter: str | None) -> np.ndarray | None:
        """Return a mask of the documents that pass a filter; None: all."""
        return None if filter is None else self._recalled(filter, lambda text: filter_mask(text, self.documents_))

    def _recalled(self, key: Key, make: Callable[[Key], Kept]) -> Kept:
        """Return what `make` returns for a filter or restrictions; the last are kept, because they recur in paging."""
        if self._recent is None or self._recent[0] is not self.documents_:
            self._recent = self.documents_, {}
        kept = self._recent[1]
        found: Kept | None = kept.get(key)
        if found is None:
            found = make(key)
            if len(kept) >= MAX_KEPT:
                kept.clear()
            kept[key] = found
        return found

    def _with_words(self, row: sp.csr_array, prepared: Prepared) -> np.ndarray | None:
        """Return a mask of the documents to count and sort, which have a word of the query; None: all."""
        items = self.ranker_.items_with_content(row) if prepared.counts_matches else None
        if items is None:
            return None
        mask = np.zeros(len(self.documents_), bool)
        mask[items] = True
        return mask

    def _matches(self, row: sp.csr_array, asked: AskedQuery) -> Matches:
        """Choose how to find the matches of one query: score the documents that a filter leaves, or rank deeper.

        A query that only restricts documents, and has no word to rank by, matches all documents.
        """
        if not row.nnz and asked.must_contain:
            return lambda depth, mask: _all_equal(np.ones(len(self.documents_), bool) if mask is None else mask, depth)
        none = float(self.ranker_.unmatched_scores(row)[0, 0])

        def matches(depth: int, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, bool]:
            n_all, has_scores, among = len(self.documents_), self.ranker_.ranks_by_scores, None
            passed = np.arange(n_all) if mask is None else np.flatnonzero(mask)
            if has_scores or len(passed) <= FEW * n_all:
                # Unless all scores are known, only as many as are expected among the first of all documents.
                wanted = depth if has_scores or len(passed) <= depth else -(-depth * len(passed) // n_all)
                among = self.ranker_.rank_among(row, passed, max(1, wanted))
            ranked = self.ranker_.rank(row, max(1, depth)).of(0) if among is None else among
            items, scores = self._shown(*ranked, none)
            rest_hidden = self.ranker_.answers_above is not None or self.ranker_.by_words
            complete = (len(items) < len(ranked[0]) and rest_hidden) or (among is not None and wanted >= len(passed))
            kept = slice(None) if mask is None or among is not None else mask[items]
            return items[kept], scores[kept], complete

        return matches

    def _shown(self, items: np.ndarray, scores: np.ndarray, unmatched: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the items that are results: score above the limit of the ranker, or different from unmatched items."""
        above = self.ranker_.answers_above
        shown = scores != unmatched if above is None else scores > above
        return items[shown], scores[shown]

    def feedback(
        self,
        query: str,
        liked: Sequence[str] | str = (),
        disliked: Sequence[str] | str = (),
        k: int = 10,
        *,
        vector: np.ndarray | None = None,
    ) -> Hits:
        """Rerank the results of a query by ids of liked and disliked documents (see `search.feedback`)."""
        from tacit.search.feedback import rerank

        self.check_query(query, k)
        good, bad = ([marked] if isinstance(marked, str) else marked for marked in (liked, disliked))
        asked = self.ask(query)
        rows = self._asked_rows([asked])
        items, scores = rerank(self, self._full_rows(rows, [asked.text], _one_row(vector)), good, bad)
        restricted = self._restricted(asked)
        if restricted is not None:
            kept = restricted.passes(items)
            items, scores = items[kept], scores[kept]
        return make_hits(self, asked.text, rows, items[:k], scores[:k])

    def suggest(self, prefix: str, k: int = 10) -> list[str]:
        """Return titles that complete the typed text (`search.query.suggestions`), best first."""
        check_number("k", k, low=1, whole=True)
        check_kind("prefix", prefix, str, "a text")
        self._check_fitted()
        made = self._completions
        if made is None or made[0] is not self.documents_:
            made = self._completions = self.documents_, Completions(self.documents_.titles)
        return made[1].find(prefix, k)

    def explain(
        self,
        query: str,
        document_id: str,
        other_id: str | None = None,
        *,
        liked: Sequence[str] | str = (),
        disliked: Sequence[str] | str = (),
        vector: np.ndarray | None = None,
    ) -> list[Reason]:
        """Return the terms that sum to a document's score, or to its difference from another's; largest first.

        With liked or disliked documents, the sum is the score by `feedback`, and their effect is one term.
        """
        self._check_fitted()
        other = None if other_id is None else self._row(other_id)
        check_kind("query", query, str, "a string")
        asked = self.ask(query)
        rows = self._full_rows(self._asked_rows([asked]), [asked.text], _one_row(vector))
        explanation = self.ranker_.explain(rows, self._row(document_id), other)
        query_words, words = self._query_reader.vocabulary_, self.vectorizer_.vocabulary_
        typed = set(self.features([asked.text]).indices.tolist())
        added = {word.column: str(word) for word in asked.added if word.column >= 0 and word.column not in typed}

        def name(column: int) -> str:
            return added.get(column) or _word(query_words, column)

        reasons = [
            Reason(
                term.kind,
                name(term.query_word),
                _word(words, term.item_word),
                term.value,
                term.member,
                term.heading or HEADINGS[term.kind],
            )
            for term in explanation.terms
        ]
        explained = [self.documents_.full_text(row) for row in (self._row(document_id), other) if row is not None]
        reasons = self._in_full(reasons, asked.text, explained)
        for label, marked in (("liked", liked), ("disliked", disliked)):
            check_kind(label, marked, list | tuple | set | frozenset | str, "ids of documents")
        if liked or disliked:
            from tacit.search.feedback import feedback_term

            good, bad = ([marked] if isinstance(marked, str) else marked for marked in (liked, disliked))
            more = feedback_term(self, rows, document_id, other_id, (good, bad))
            reasons.append(Reason("feedback", "", "", more, heading="Your likes and dislikes"))
            reasons.sort(key=lambda reason: -abs(reason.value))
        return reasons

    def _in_full(self, reasons: list[Reason], query: str, documents: list[str]) -> list[Reason]:
        """Return the reasons with full words instead of stems: as in the query, or else as in the documents."""
        words = {word for reason in reasons for word in (reason.query_word, reason.document_word)}
        in_documents = full_words(self.vectorizer_.tokenizer_, documents, words)
        in_query = full_words(self._query_reader.tokenizer_, [query], words)
        of_document = in_documents if self.is_across else in_documents | in_query
        of_query = in_query if self.is_across else of_document
        return [
            reason._replace(
                query_word=of_query.get(reason.query_word, reason.query_word),
                document_word=of_document.get(reason.document_word, reason.document_word),
            )
            for reason in reasons
        ]

    def run(
        self,
        queries: Collection | Any,
        k: int = 1000,
        *,
        exclude_self: bool = False,
        threads: int | None = None,
        vectors: np.ndarray | None = None,
    ) -> Run:
        """Return the results of many queries; with `exclude_self`, a document with the id of the query is omitted.

        For evaluation, all k documents are ranked; `search` omits documents that do not match the query. Texts are
        plain: they have no syntax, and their words are not expanded.
        """
        from tacit.data import as_collection

        self._check_fitted()
        queries = as_collection(queries, "queries")
        check_kind("exclude_self", exclude_self, bool | np.bool_, "True or False")
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
        """Return the rows of the best documents for many queries.

        A query without any known word and without a vector has no results. If the ranker only compares words, documents
        that share no word with the query are not results.
        """
        self._check_fitted()
        check_kind("queries", queries, Collection, "a Collection")
        rows = self.query_rows(list(queries.full_texts()), vectors)
        ranking = self.ranker_.rank(rows, k, exclude=exclude, threads=threads)
        empty = np.diff(rows.indptr)[:, None] == 0
        left_out = empty | (self.ranker_.by_words & (ranking.scores == self.ranker_.unmatched_scores(rows)))
        return Ranking(np.where(left_out, -1, ranking.items), np.where(left_out, np.float32(0), ranking.scores))

    def features(self, texts: Iterable[str]) -> sp.csr_array:
        """Return the word rows of query texts for the ranker."""
        return read_rows(self.ranker_, self._query_reader, texts)

    def query_rows(self, texts: Sequence[str], vectors: np.ndarray | None = None) -> sp.csr_array:
        """Return the query rows for the ranker: words, then vectors (given or by `encode`); titles are marked."""
        return self._full_rows(self.features(texts), texts, vectors)

    def _full_rows(self, rows: sp.csr_array, texts: Sequence[str], vectors: np.ndarray | None) -> sp.csr_array:
        if vectors is None and self.ranker_.uses_vectors and self.model_of_texts is not None:
            vectors = self.model_of_texts.encode(texts, "query")
        if vectors is not None:
            rows = join_vectors(rows, self._check_vectors("vectors of queries", vectors, len(texts)))
        return self.ranker_.mark_titles(rows, texts)

    @property
    def model_of_texts(self) -> Encoder | None:
        """Return the encoder of documents and queries: `encode`, or else the encoder that the model was fitted with.

        If a named encoder cannot be loaded, this is reported once, and the other members rank without it. An encoder
        that differs from the encoder of the documents is rejected.
        """
        key = id(self.encode), self.encoder
        if self._loaded_encoder is None or self._loaded_encoder[0] != key:
            self._loaded_encoder = key, self._load_encoder()
        return self._loaded_encoder[1]

    def _load_encoder(self) -> Encoder | None:
        info = None if self.encoder_ is None else EncoderInfo.from_text(self.encoder_)
        given = self.encoder if self.encode is None else self.encode
        if self.encode is None and info is not None and info.kind != OBJECT and not (given and Path(given).exists()):
            given = info.name  # a folder given by a relative path is found from any folder
        if given is None:
            return None
        try:
            found = as_encoder(given)
        except TacitError as error:
            if info is None or self.encode is not None:  # requested by name, or no other member can rank
                raise
            logger.warning("results come from words alone: %s", error)
            return None
        if info is not None:
            info.check_same(found.info)
        return found

    def _check_vectors(self, name: str, vectors: np.ndarray, n_rows: int) -> np.ndarray:
        dim = self.ranker_.vectors_dim
        if not dim:
            raise UsageError(f"the model has no vectors of documents, so {name} have no effect: fit it with vectors")
        return check_vectors(name, vectors, n_rows, dim)

    @property
    def _query_reader(self) -> TextVectorizer:
        return self.vectorizer_ if self.query_vectorizer_ is None else self.query_vectorizer_

    def _row(self, document_id: str | int) -> int:
        known = isinstance(document_id, str | int | np.integer) and not isinstance(document_id, bool)
        row = self.documents_.row_of.get(str(document_id)) if known else None
        if row is None:
            raise TacitError(
                f"no document has the id {' '.join(repr(document_id)[:200].split())}, want one that the model has"
            )
        return row

    def check_query(self, query: str, k: int) -> None:
        """Raise unless `search` can process the query."""
        self._check_fitted()
        check_number("k", k, low=1, whole=True)
        if not isinstance(query, str):
            raise UsageError(f"the query is of type {type(query).__name__}, want a string")
        if not query.strip():
            raise TacitError("the query is empty, want at least one word")
        if len(query) > MAX_QUERY_CHARACTERS:
            raise TacitError(f"the query has {len(query)} characters, want at most {MAX_QUERY_CHARACTERS}")

    def learned_from(self, queries: Collection) -> list[str]:
        """Return the ids of the queries whose text was used to train the ranker."""
        check_kind("queries", queries, Collection, "a Collection")
        known = set(getattr(self, "trained_on_", None) or ())
        return [name for row, name in enumerate(queries.ids) if known and hash_query(queries.full_text(row)) in known]


def _selection(given: dict[str, Any]) -> Selection:
    """Return the selection of hits to show; an unknown parameter is a UsageError."""
    for name in given:
        check_choice("parameter of search", name, tuple(field.name for field in fields(Selection)))
    return make_selection(**given)


def _all_equal(mask: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the documents that pass, all with score 0."""
    items = np.flatnonzero(mask)
    return items[:depth], np.zeros(min(len(items), depth), np.float32), len(items) <= depth


def _one_row(vector: np.ndarray | None) -> np.ndarray | None:
    try:
        return None if vector is None else np.asarray(vector)[None]
    except (TypeError, ValueError):
        raise UsageError(f"vector is of type {type(vector).__name__}, want a flat array of numbers") from None


def _word(vocabulary: Sequence[str], column: int) -> str:
    return vocabulary[column] if column >= 0 else ""
