"""Texts to rows of two blocks, [words | 2-grams]: tf-idf of words, then tf-idf of two words in a row.

One vectorizer over both would order its columns by frequency over both; rankers that treat them apart want
all words first. Each block of a row has unit length by itself, so neither drowns the other.
"""

from __future__ import annotations

from collections.abc import Iterable

import scipy.sparse as sp

from tacit.core import check_fitted
from tacit.features.stop_words import StopWords
from tacit.features.vectorizer import TextVectorizer


class WordGramVectorizer:
    """tf-idf rows with a block of words and a block of 2-grams.

    words, grams: how many of the most frequent to keep of each, None for all.
    language, stem, stop_words: see `tokenizer_for`.

    Learned: words_, grams_: the vectorizer of each block; grams_from_: the column where 2-grams begin.

    >>> vectorizer = WordGramVectorizer()
    >>> vectorizer.fit_transform(["new york", "new jersey"]).shape, vectorizer.grams_from_
    ((2, 5), 3)
    >>> vectorizer.columns()
    ['new', 'jersey', 'york', 'new jersey', 'new york']
    """

    def __init__(
        self,
        words: int | None = None,
        grams: int | None = 200_000,
        language: str = "en",
        stem: bool = False,
        stop_words: StopWords = None,
    ) -> None:
        self.words, self.grams = words, grams
        self.language, self.stem, self.stop_words = language, stem, stop_words

    def fit_transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Choose both vocabularies, and give the rows of the same texts: float32 (n, n_words + n_grams)."""
        texts = texts if isinstance(texts, str) else list(texts)  # read twice, once for each block
        words, grams = self._vectorizer(self.words, 1), self._vectorizer(self.grams, 2)
        rows = _side_by_side(words.fit_transform(texts), grams.fit_transform(texts))
        self.words_, self.grams_, self.grams_from_ = words, grams, len(words.vocabulary_)
        return rows

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Rows of texts, float32 (n, n_words + n_grams)."""
        check_fitted(self, "words_")
        texts = texts if isinstance(texts, str) else list(texts)
        return _side_by_side(self.words_.transform(texts), self.grams_.transform(texts))

    def _vectorizer(self, n_most: int | None, size: int) -> TextVectorizer:
        return TextVectorizer(n_most, (size, size), self.language, self.stem, self.stop_words)

    def columns(self) -> list[str]:
        """What each column counts."""
        check_fitted(self, "words_")
        return [*self.words_.vocabulary_, *self.grams_.vocabulary_]


def _side_by_side(words: sp.csr_array, grams: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(sp.hstack([words, grams], format="csr"))
