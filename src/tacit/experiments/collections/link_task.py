"""Linked corpora: reading, features, splits, and one way of measuring for all systems.

Candidates of a query are all documents except itself and its known links; all candidates are ranked.

All systems share the splits into training, validation and test:

`queries`: 30% of the documents are unseen queries; none of their out-links is in training.
`links`: 30% of the links, drawn at random, are test links.
`documents`: 30% of the documents are test documents; no link of one is in training, and test queries and their
candidates are test documents only.
5% of training (by queries, or by links) is validation. The seed determines the split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, DataError, Features, Links, Method, TacitError, check_choice, cut, map_blocks, track
from tacit.data import read_linked_collection, read_links
from tacit.experiments.request import Request, with_params
from tacit.features import TextVectorizer, WordGramVectorizer
from tacit.features.text.weighting import best_words
from tacit.metrics import full_ranking_measures
from tacit.retrieve import CollectionRanker
from tacit.retrieve.validation import held_out_queries, measure

CORPORA = ("mdn_ja_en", "wikispeedia", "debian_ja_en", "foldoc")
MAX_WORDS = {"wikispeedia": 200}  # words of a long page used by rankers of word pairs
MEASURES = {"rank_loss": "rank_loss", "AP": "MAP", "P@10": "P@10"}  # per-query name -> name of the mean
SPLITS = ("queries", "links", "documents")
TEST_SHARE, VALIDATION_SHARE = 0.3, 0.05


@dataclass(frozen=True)
class LinkedCorpus:
    """Documents, the links between them, and their features of every kind.

    Parameters
    ----------
    documents : Collection
        The documents.
    links : Links
        Links between rows of the documents.
    vectorizer : TextVectorizer
        Fitted on the documents.
    counts : csr_array of shape (n_documents, n_words)
        Word counts.
    max_words : int, default=None
        Number of words of a document, the best by tf-idf, for rankers of word pairs; None: all.
    """

    documents: Collection
    links: Links
    vectorizer: TextVectorizer
    counts: sp.csr_array
    max_words: int | None = None

    @cached_property
    def features(self) -> Mapping[str, Features]:
        """Return features by kind, computed on first use."""
        tfidf = self.vectorizer.tfidf(self.counts)
        return LazyFeatures(
            counts=lambda: self.counts,
            tfidf=lambda: tfidf,
            **{"words+grams": self._words_and_grams},
            pairs=lambda: tfidf if self.max_words is None else best_words(tfidf, self.max_words),
        )

    def _words_and_grams(self) -> Features:
        texts = track(self.documents.full_texts(), "reading 2-grams", len(self.documents))
        return WordGramVectorizer(words=self.vectorizer.words).fit_transform(texts)

    @property
    def summary(self) -> str:
        """Return sizes in one line."""
        n_words = len(self.vectorizer.vocabulary_)
        sizes = f"{len(self.documents):,} documents, {len(self.links):,} links, {n_words:,} words"
        return f"{self.documents.name}: {sizes}"


class LazyFeatures(Mapping[str, Features]):
    """Features by kind, computed on first use."""

    def __init__(self, **makers: Callable[[], Features]) -> None:
        self._makers, self._made = makers, dict[str, Features]()

    def __getitem__(self, kind: str) -> Features:
        if kind not in self._made:
            self._made[kind] = self._makers[kind]()
        return self._made[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def read_linked_corpus(place: Path, words: int | None = 30_000) -> LinkedCorpus:
    """Read a folder with docs.jsonl and links.tsv, plain or compressed, or a MediaWiki dump.

    Links of foldoc that are known to be notes of origin are skipped.
    """
    name = place.name.split(".")[0]
    documents, links = read_linked_collection(place)
    documents = replace(documents, name=name)
    files = sorted(place.glob("links.tsv*"))
    if files:
        links = read_links(files[0], documents)
    if links is None:
        raise DataError("there is no links.tsv, want links between the documents", path=place)
    if name == "foldoc":
        # It is a note of origin in many entries, not a reference.
        jargon = [row for row, title in enumerate(documents.titles) if title == "Jargon File"]
        links = links.take(~np.isin(links.targets, jargon))
    return count_words(documents, links, words, MAX_WORDS.get(name))


def count_words(
    documents: Collection, links: Links, words: int | None = 30_000, max_words: int | None = None
) -> LinkedCorpus:
    """Count the words of the documents; `max_words` as in `LinkedCorpus`."""
    vectorizer = TextVectorizer(words=words)
    counts = vectorizer.fit_counts(track(documents.full_texts(), "reading words", len(documents)))
    return LinkedCorpus(documents, links, vectorizer, counts, max_words)


@dataclass(frozen=True)
class LinkTask:
    """Features of items and queries by kind, the split, and the rows of the test queries.

    Query row i and item row i are the same document.
    """

    items: Mapping[str, Features]
    queries: Mapping[str, Features]
    split: LinkSplit
    rows: np.ndarray
    threads: int | None

    def fit(self, method: Method, dim: int | list[int] | None, seed: int, **params: Any) -> CollectionRanker:
        """Return a fitted ranker of the candidates, with the parameters of `params` that it has; the best dimension."""

        def fitted(dim: int | None) -> CollectionRanker:
            return self.fit_ranker(with_params(method.offer(dim=dim, seed=seed, threads=self.threads), params))

        if isinstance(dim, list):
            return max((fitted(number) for number in dim), key=self._validation_value)
        return fitted(dim)

    def _validation_value(self, ranker: CollectionRanker) -> float:
        """Return MAP of a ranker on the validation links."""
        queries, split = self.queries[_kind(ranker)], self.split
        held = held_out_queries(queries, split.validation, split.train, queries_are_items=True)
        return float(np.mean(measure(ranker.scores, held)["AP"]))

    def fit_ranker(self, ranker: CollectionRanker) -> CollectionRanker:
        """Fit a ranker of the candidates; one that is trained on pairs does not get test documents as items."""
        if ranker.features == "words+grams":
            ranker.set_params(first_gram=self.items["tfidf"].shape[1])
        split, items, queries = self.split, self.items[_kind(ranker)], self.queries[_kind(ranker)]
        if split.candidates is None or not ranker.needs_pairs:
            further = self._occurrences(ranker, slice(None))
            return ranker.fit(queries, items, split.train, split.validation, queries_are_items=True, **further)
        ranker.check_new_items()
        seen = np.setdiff1d(np.arange(items.shape[0]), split.candidates)
        train, validation = (_renumber(part, seen) for part in (split.train, split.validation))
        further = self._occurrences(ranker, seen)
        ranker.fit(queries[seen], items[seen], train, validation, queries_are_items=True, **further)
        return ranker.add_items(items[split.candidates])

    def _occurrences(self, ranker: CollectionRanker, rows: slice | np.ndarray) -> dict[str, Any]:
        """Return occurrences of each word in some items, for rankers that use them."""
        if "occurrences" not in ranker.reads:
            return {}
        return {"occurrences": np.asarray(self.items["counts"][rows].sum(axis=0))}

    def core_queries(self, n_links: int) -> np.ndarray:
        """Return whether each test query has a relevant item with at least n training links, bool (n_queries,)."""
        found: np.ndarray = np.diff(self._in_core(self.split.relevant(self.rows), n_links).indptr) > 0
        return found

    def _in_core(self, matrix: Any, n_links: int) -> Any:
        """Return the columns of candidates with at least this many training links, of a dense or sparse matrix."""
        in_links = np.bincount(self.split.train.targets, minlength=self.split.train.n_targets)
        in_links = in_links if self.split.candidates is None else in_links[self.split.candidates]
        return matrix[:, np.flatnonzero(in_links >= n_links)] if n_links else matrix

    def measure(self, ranker: CollectionRanker, n_links: int = 0) -> dict[str, np.ndarray]:
        """Return values per test query, with all candidates that have at least this many training links ranked.

        With `n_links`, queries without a relevant item among these are left out (`core_queries`).
        """
        rows = self.rows[self.core_queries(n_links)] if n_links else self.rows
        relevant, excluded = (self._in_core(part(rows), n_links) for part in (self.split.relevant, self.split.excluded))
        queries, columns = self.queries[_kind(ranker)], self._columns(ranker)
        known = None if ranker.needs_pairs else self.split.known(rows)

        def one_block(block: slice) -> dict[str, np.ndarray]:
            exclude = None if known is None else known[block]
            scores = ranker.scores(queries[rows[block]], exclude=exclude)[:, columns]
            return full_ranking_measures(self._in_core(scores, n_links), relevant[block], excluded[block])

        pieces = map_blocks(one_block, cut(len(rows), 50), self.threads)
        return {mean: np.concatenate([piece[name] for piece in pieces]) for name, mean in MEASURES.items()}

    def _columns(self, ranker: CollectionRanker) -> slice | np.ndarray:
        """Return columns of the candidates among the ranker's items."""
        candidates = self.split.candidates
        if candidates is None:
            return slice(None)
        return slice(ranker.n_items_ - len(candidates), None) if ranker.needs_pairs else candidates


def task_maker(corpus: LinkedCorpus, request: Request) -> Callable[[str, int, float], LinkTask]:
    """Return a function that makes the task of a split, a seed and a share of the links."""

    @lru_cache(maxsize=1)  # cells of one split are consecutive
    def task(split: str, seed: int, share: float) -> LinkTask:
        parts = split_links(corpus.links, split, seed).thinned(share, seed)
        rows = parts.test_queries(request.n_queries, seed)
        return LinkTask(corpus.features, corpus.features, parts, rows, request.threads)

    return task


def _kind(ranker: CollectionRanker) -> str:
    return "pairs" if ranker.by_word_pairs else ranker.features


def _renumber(links: Links, kept: np.ndarray) -> Links:
    """Return the links, with rows numbered among the kept documents."""
    new = np.full(links.n_sources, -1)
    new[kept] = np.arange(len(kept))
    return Links(new[links.sources], new[links.targets], len(kept), len(kept), links.weights)


@dataclass(frozen=True)
class LinkSplit:
    """Training, validation and test links, disjoint. `candidates`: rows of the candidates; None: all documents."""

    name: str
    train: Links
    validation: Links
    test: Links
    candidates: np.ndarray | None = None

    def __post_init__(self) -> None:
        seen = [_codes(part) for part in (self.train, self.validation, self.test)]
        if len(np.unique(np.concatenate(seen))) != sum(map(len, seen)):
            raise TacitError("a link is in two parts of the split; want disjoint parts")

    def thinned(self, share: float, seed: int) -> LinkSplit:
        """Return the same test links with a share of the training and validation links, drawn by the seed."""
        if share == 1:
            return self
        rng = np.random.default_rng([seed, 2])
        fewer = [part.take(_some_of(np.arange(len(part)), share, rng)) for part in (self.train, self.validation)]
        return replace(self, train=fewer[0], validation=fewer[1])

    def test_queries(self, n_most: int, seed: int) -> np.ndarray:
        """Return rows of the test queries: documents with test links, at most n_most, drawn by the seed."""
        rows = np.unique(self.test.sources)
        if len(rows) <= n_most:
            return rows
        return np.sort(np.random.default_rng([seed, 1]).choice(rows, n_most, replace=False))

    def relevant(self, rows: np.ndarray) -> sp.csr_array:
        """Return test links of some documents, (n_rows, n_candidates) bool."""
        return self._among_candidates(self.test.to_csr()[rows] > 0)

    def excluded(self, rows: np.ndarray) -> sp.csr_array:
        """Return documents that are not candidates for these rows: the document itself and its known links."""
        return self._among_candidates(self.known(rows))

    def known(self, rows: np.ndarray) -> sp.csr_array:
        """Return the same among all documents, (n_rows, n_documents) bool."""
        known = self.train.to_csr()[rows] + self.validation.to_csr()[rows]
        selves = sp.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=known.shape)
        return sp.csr_array(known + selves) > 0

    def _among_candidates(self, matrix: sp.csr_array) -> sp.csr_array:
        return matrix if self.candidates is None else sp.csr_array(matrix[:, self.candidates])


def split_links(links: Links, split: str, seed: int) -> LinkSplit:
    """Split the links by one of the protocols."""
    check_choice("split", split, SPLITS)
    links = links.take(links.sources != links.targets)
    rng = np.random.default_rng(seed)
    if split == "links":
        is_test = _some_of(np.arange(len(links)), TEST_SHARE, rng)
        rest = links.take(~is_test)
        is_held = _some_of(np.arange(len(rest)), VALIDATION_SHARE, rng)
        return LinkSplit(split, rest.take(~is_held), rest.take(is_held), links.take(is_test))
    test_documents = _some_of(np.arange(links.n_sources), TEST_SHARE, rng)
    from_test, to_test = test_documents[links.sources], test_documents[links.targets]
    if split == "queries":
        train, validation = _hold_out_queries(links.take(~from_test), rng)
        return LinkSplit(split, train, validation, links.take(from_test))
    train, validation = _hold_out_queries(links.take(~from_test & ~to_test), rng)
    return LinkSplit(split, train, validation, links.take(from_test & to_test), np.flatnonzero(test_documents))


def _hold_out_queries(links: Links, rng: np.random.Generator) -> tuple[Links, Links]:
    askers = np.unique(links.sources)
    held = np.zeros(links.n_sources, bool)
    held[askers] = _some_of(askers, VALIDATION_SHARE, rng)
    is_held = held[links.sources]
    return links.take(~is_held), links.take(is_held)


def _some_of(population: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return a mask of a share of the population, at least one element."""
    picked = np.zeros(len(population), bool)
    picked[rng.choice(len(population), max(1, round(share * len(population))), replace=False)] = True
    return picked


def _codes(links: Links) -> np.ndarray:
    return links.sources * links.n_targets + links.targets
