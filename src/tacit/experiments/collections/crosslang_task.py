"""Documents in two languages: reading, features, splits by mates without leaks, and measuring.

Rows are aligned: row i of the queries is the Japanese mate of English document i, or empty. So "the mate is not a
candidate" means that a row is not a candidate for itself.

Queries can be translated word by word with a dictionary, by a matrix T from the words of one language to the other's.
Row w of T divides a count of 1 evenly among the glosses of word w, and the share of a gloss evenly among its words. A
query is translated by x_E = x_F T, weighted by the items' idf like other counts. Long glosses are explanations rather
than translations, and are left out if there is a short one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tacit.core import Collection, Features, Links, check_choice, cut, map_blocks, track
from tacit.data import read_collection, read_links, read_pairs
from tacit.experiments.collections.link_task import TEST_SHARE, VALIDATION_SHARE, LinkedCorpus, count_words
from tacit.features import TextVectorizer, tokenizer_for
from tacit.metrics import full_ranking_measures
from tacit.retrieve.validation import HeldOut, ScoreRows, held_out_queries

CORPORA = ("mdn_ja_en", "debian_ja_en")
MEASURES = {"rank_loss": "rank_loss", "AP": "MAP", "P@10": "P@10", "RR": "MRR"}
_LATIN = re.compile("[A-Za-z]")
LONGEST_GLOSS = 3  # words


@dataclass(frozen=True)
class CrossCorpus:
    """English documents with their links, and Japanese mates of some of them, aligned.

    `own_links`: links of the Japanese pages themselves, under the rows of their mates; empty if unknown.
    """

    english: LinkedCorpus
    japanese: TextVectorizer
    query_counts: sp.csr_array
    queries: sp.csr_array
    mates: np.ndarray
    own_links: Links

    @property
    def summary(self) -> str:
        """Return the sizes in one line."""
        n_words = len(self.japanese.vocabulary_)
        return f"{self.english.summary}; {len(self.mates):,} Japanese mates, {n_words:,} words without Latin letters"


@dataclass(frozen=True)
class CrossSplit:
    """Training, validation and test data of all systems; sources are rows of mates.

    No training task contains an out-link of a test mate or of a validation mate: neither `pairs`, which connects
    Japanese queries and English documents, nor `links`, which connects English documents, nor `query_links`, which
    connects Japanese documents.
    """

    pairs: Links
    links: Links
    query_links: Links
    validation: Links
    test: Links
    train_mates: Links
    validation_mates: Links
    test_mates: Links

    def thinned(self, share: float, seed: int) -> Links:
        """Return a random share of the pairs, at least 20 of them."""
        n_kept = min(len(self.pairs), max(20, round(share * len(self.pairs))))
        return self.pairs.take(np.sort(np.random.default_rng([seed, 2]).permutation(len(self.pairs))[:n_kept]))


def read_cross_corpus(data: Path, name: str, words: int | None = 30_000) -> CrossCorpus:
    """Read one of the corpora in two languages by name."""
    folder = data / "linked" / check_choice("corpus", name, CORPORA)
    documents = read_collection(folder / "docs.jsonl.gz", name=name)
    translated = read_collection(folder / "docs.ja.jsonl.gz", name=f"{name} in Japanese")
    english = count_words(documents, read_links(folder / "links.tsv.gz", documents), words)
    mates = read_pairs(folder / "mates.tsv.gz", translated, documents)
    path = folder / "links.ja.tsv.gz"
    own = read_pairs(path, translated, documents) if path.is_file() else mates.take(np.empty(0, np.int64))
    return align(english, translated, mates, own, words)


def align(english: LinkedCorpus, translated: Collection, mates: Links, own: Links, words: int | None) -> CrossCorpus:
    """Align the rows of the Japanese side with the English one; words with Latin letters are removed."""
    vectorizer, counts = count_japanese(translated, words)
    n_items = len(english.documents)
    mate_of = np.full(len(translated), -1)
    mate_of[mates.sources] = mates.targets
    to_rows = sp.csr_array(
        (np.ones(len(mates), np.float32), (mates.targets, mates.sources)), (n_items, len(translated))
    )
    aligned = sp.csr_array(to_rows @ counts)
    own = own.take(mate_of[own.sources] >= 0)
    own_links = Links(mate_of[own.sources], own.targets, n_items, n_items)
    rows = np.sort(mates.targets)
    return CrossCorpus(english, vectorizer, aligned, vectorizer.tfidf(aligned), rows, own_links)


def count_japanese(documents: Collection, words: int | None) -> tuple[TextVectorizer, sp.csr_array]:
    """Return counts of the most frequent Japanese words without Latin letters.

    Untranslated identifiers are equal in Japanese and English pages and would solve the task without learning.
    """
    whole = TextVectorizer(words=None, language="ja")
    counts = whole.fit_counts(track(documents.full_texts(), "reading Japanese words", len(documents)))
    latin = [_LATIN.search(word) is not None for word in whole.vocabulary_]
    kept = np.flatnonzero(~np.array(latin))[:words]
    vocabulary = [whole.vocabulary_[column] for column in kept.tolist()]
    vectorizer = TextVectorizer.from_vocabulary(vocabulary, whole.idf_[kept], whole.n_docs_, words=None, language="ja")
    return vectorizer, sp.csr_array(counts[:, kept])


def split_mates(corpus: CrossCorpus, seed: int) -> CrossSplit:
    """Split mates: 30% are test, 5% of the others validation, the rest training."""
    order = np.random.default_rng(seed).permutation(corpus.mates)
    n_test = max(1, round(TEST_SHARE * len(order)))
    n_held = max(1, round(VALIDATION_SHARE * (len(order) - n_test)))
    test, held, train = order[:n_test], order[n_test : n_test + n_held], order[n_test + n_held :]
    links = corpus.english.links.take(corpus.english.links.sources != corpus.english.links.targets)
    own = corpus.own_links.take(corpus.own_links.sources != corpus.own_links.targets)
    pairs = _union(_from(links, train), _from(own, train))
    return CrossSplit(
        pairs=pairs,
        query_links=pairs.take(np.isin(pairs.targets, corpus.mates)),
        links=links.take(~np.isin(links.sources, order[: n_test + n_held])),
        validation=_from(links, held),
        test=_from(links, test),
        train_mates=_selves(train, links.n_sources),
        validation_mates=_selves(held, links.n_sources),
        test_mates=_selves(test, links.n_sources),
    )


@dataclass(frozen=True)
class CrossTask:
    """Japanese queries and their relevant English documents; with `same`, a row is not a candidate for itself."""

    rows: np.ndarray
    wanted: Links
    same: bool
    threads: int | None = None

    @classmethod
    def of(cls, wanted: Links, same: bool, n_most: int, seed: int, threads: int | None = None) -> CrossTask:
        """Make a task with at most n_most of the rows with relevant documents, drawn by the seed."""
        rows = np.unique(wanted.sources)
        if len(rows) > n_most:
            rows = np.sort(np.random.default_rng([seed, 1]).choice(rows, n_most, replace=False))
        return cls(rows, wanted, same, threads)

    def held_out(self) -> HeldOut:
        """Return the queries for `retrieve.validation`; queries are row numbers."""
        numbers: Features = np.arange(self.wanted.n_sources)
        chosen = self.wanted.take(np.isin(self.wanted.sources, self.rows))
        return held_out_queries(numbers, chosen, None, self.same, max_queries=len(self.rows))

    def measure(self, score: ScoreRows) -> dict[str, np.ndarray]:
        """Return values per query, all candidates ranked; `score` takes row numbers."""
        held = self.held_out()

        def one_block(block: slice) -> dict[str, np.ndarray]:
            return full_ranking_measures(score(held.queries[block]), held.relevant[block], held.excluded[block])

        pieces = map_blocks(one_block, cut(len(self.rows), 50), self.threads)
        return {mean: np.concatenate([piece[name] for piece in pieces]) for name, mean in MEASURES.items()}


def _from(links: Links, rows: np.ndarray) -> Links:
    return links.take(np.isin(links.sources, rows))


def _selves(rows: np.ndarray, n_rows: int) -> Links:
    rows = np.sort(rows)
    return Links(rows, rows, n_rows, n_rows)


def _union(first: Links, second: Links) -> Links:
    """Return all links of the two, each once."""
    codes = np.unique(np.concatenate([part.sources * part.n_targets + part.targets for part in (first, second)]))
    return Links(codes // first.n_targets, codes % first.n_targets, first.n_sources, first.n_targets)


def translation_matrix(
    query_words: Sequence[str], item_words: Sequence[str], glosses: Mapping[str, Sequence[str]], language: str = "en"
) -> sp.csr_array:
    """Return float32 (n_query_words, n_item_words); a word that is not in the dictionary has an empty row.

    >>> dictionary = {"配列": ["array", "line of troops"]}
    >>> translation_matrix(["配列", "値"], ["array", "line", "troops"], dictionary).toarray().tolist()
    [[0.5, 0.25, 0.25], [0.0, 0.0, 0.0]]
    """
    column_of = {word: column for column, word in enumerate(item_words)}
    tokenizer = tokenizer_for(language, stop_words="en" if language == "en" else None)
    rows, columns, shares = [], [], []
    for row, word in enumerate(query_words):
        meanings = _short(list(filter(None, map(tokenizer, glosses.get(word, ())))))
        for meaning in meanings:
            known = [column_of[term] for term in meaning if term in column_of]
            rows += [row] * len(known)
            columns += known
            shares += [1 / (len(meanings) * len(meaning))] * len(known)
    shape = (len(query_words), len(item_words))
    return sp.csr_array((np.array(shares, np.float32), (rows, columns)), shape=shape)


def _short(meanings: list[list[str]]) -> list[list[str]]:
    return [meaning for meaning in meanings if len(meaning) <= LONGEST_GLOSS] or meanings
