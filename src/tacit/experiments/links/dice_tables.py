"""Tables 7 and 8 of SSI: words and 2-grams that CFH hashes, with the words of the highest DICE coefficient.

`cfh-1gram` hashes the words beyond the 5,000 most frequent ones, which have vectors of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.experiments.links.task import LinkedCorpus
from tacit.experiments.report import Section
from tacit.features import TextVectorizer
from tacit.features.cfh import Correlated, correlated_words, dice_table, informative_terms
from tacit.retrieve.registry import N_FREQUENT

N_ROWS, MOST_GRAMS = 10, 50_000
SMALL_GRAMS = 2000  # the most frequent 2-grams, which are left out


def dice_sections(corpus: LinkedCorpus, n_frequent: int = N_FREQUENT, small_grams: int = SMALL_GRAMS) -> list[Section]:
    """Both tables, for the terms with the largest sums of tf-idf weights; a small corpus has no rare terms."""
    counts, words = corpus.counts, corpus.vectorizer.vocabulary_
    found = correlated_words(counts, n_frequent, first=n_frequent)
    chosen = informative_terms(corpus.features["tfidf"], N_ROWS, first=n_frequent)
    single = Section("Words and their DICE neighbours", ["word", "best words"], _rows(found, words, words, chosen))
    grams = TextVectorizer(MOST_GRAMS, (2, 2))
    rows = grams.fit_transform(corpus.documents.full_texts())
    chosen = informative_terms(rows, N_ROWS, first=small_grams)
    found = correlated_words(counts, n_frequent, terms=rows[:, chosen])
    names = [grams.vocabulary_[term] for term in chosen]
    double = Section(
        "2-grams and their DICE neighbours", ["2-gram", "best words"], _rows(found, names, words, range(len(names)))
    )
    return [section for section in (single, double) if section.rows]


def _rows(found: Correlated, terms: list[str], words: list[str], chosen: Sequence[int] | np.ndarray) -> list[list[str]]:
    return [[row.term, ", ".join(row.words)] for row in dice_table(found, terms, words, chosen)]
