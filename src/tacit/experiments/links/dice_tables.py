"""Tables 7 and 8 of SSI: words and 2-grams that CFH hashes, with the words of the highest DICE coefficient.

`cfh-1gram` hashes the words beyond the 5,000 most frequent ones, which have their own vectors. The paper does not say
whether co-occurrence is counted by document or by sentence. The tables have both; the methods count documents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tacit.experiments.links.task import LinkedCorpus
from tacit.experiments.report import Section
from tacit.features import TextVectorizer
from tacit.features.cfh import Correlated, correlated_words, dice_table, informative_terms
from tacit.retrieve.registry import N_FREQUENT

N_ROWS, MOST_GRAMS = 10, 50_000
SMALL_GRAMS = 2000  # number of the most frequent 2-grams, which are left out
SENTENCE_END = re.compile(r"(?<=[.!?])\s")
HEADER = ["best words by documents", "best words by sentences"]


def dice_sections(corpus: LinkedCorpus, n_frequent: int = N_FREQUENT, small_grams: int = SMALL_GRAMS) -> list[Section]:
    """Return both tables, for the terms with the largest sums of tf-idf weights; small corpora have no rare terms."""
    counts, words = corpus.counts, corpus.vectorizer.vocabulary_
    sentences = [part for text in corpus.documents.full_texts() for part in SENTENCE_END.split(text)]
    in_sentences = corpus.vectorizer.counts(sentences)
    chosen = informative_terms(corpus.features["tfidf"], N_ROWS, first=n_frequent)
    found = [correlated_words(rows, n_frequent, first=n_frequent) for rows in (counts, in_sentences)]
    single = Section("Words and their DICE neighbours", ["word", *HEADER], _rows(found, words, words, chosen))
    grams = TextVectorizer(MOST_GRAMS, (2, 2))
    rows = grams.fit_transform(corpus.documents.full_texts())
    chosen = informative_terms(rows, N_ROWS, first=small_grams)
    found = [
        correlated_words(counts, n_frequent, terms=rows[:, chosen]),
        correlated_words(in_sentences, n_frequent, terms=grams.counts(sentences)[:, chosen]),
    ]
    names = [grams.vocabulary_[term] for term in chosen]
    double = Section(
        "2-grams and their DICE neighbours", ["2-gram", *HEADER], _rows(found, names, words, range(len(names)))
    )
    return [section for section in (single, double) if section.rows]


def _rows(
    found: Sequence[Correlated], terms: list[str], words: list[str], chosen: Sequence[int] | np.ndarray
) -> list[list[str]]:
    """Return a line for each chosen term, with its best words by each way of counting."""
    tables = [dice_table(best, terms, words, chosen) for best in found]
    return [[row[0].term, *(", ".join(best.words) for best in row)] for row in zip(*tables, strict=True)]
