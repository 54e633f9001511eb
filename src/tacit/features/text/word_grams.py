"""Texts to rows of two blocks, [words | 2-grams]: tf-idf of words, then tf-idf of two words in a row.

One vocabulary over both would order its columns by frequency over both; rankers that treat them apart want
all words first. Each block of a row has unit length by itself, so neither drowns the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import check_fitted
from tacit.core.texts import TextWriter
from tacit.features.text.counting import checked_texts
from tacit.features.text.grams import GramTable
from tacit.features.text.stop_words import StopWords
from tacit.features.text.vectorizer import TextVectorizer


class WordGramVectorizer(TextVectorizer):
    """tf-idf rows with a block of words and a block of 2-grams.

    New words would have to stand between the two blocks, so `add_words` is refused.

    Parameters
    ----------
    words : int or None, default=None
        Number of the most frequent words to keep; None keeps all.
    grams : int or None, default=200000
        Number of the most frequent 2-grams to keep; None keeps all.
    language : str, default="en"
        Language of the texts, see `tokenizer_for`.
    stem : bool, default=False
        Reduce words to their stems.
    stop_words : str, path, iterable of str or None, default=None
        Words to leave out, see `tokenizer_for`.

    Attributes
    ----------
    vocabulary_ : list of str
        Words, then 2-grams; most frequent first within each block. Other attributes are those of `TextVectorizer`.
    grams_from_ : int
        Column where 2-grams begin.

    Examples
    --------
    >>> vectorizer = WordGramVectorizer()
    >>> vectorizer.fit_transform(["new york", "new jersey"]).shape, vectorizer.grams_from_
    ((2, 5), 3)
    >>> vectorizer.vocabulary_
    ['new', 'jersey', 'york', 'new jersey', 'new york']
    """

    can_add_words: ClassVar[bool] = False

    def __init__(
        self,
        words: int | None = None,
        grams: int | None = 200_000,
        language: str = "en",
        stem: bool = False,
        stop_words: StopWords = None,
    ) -> None:
        super().__init__(words, (1, 2), language, stem, stop_words)
        self.grams = grams

    @property
    def grams_from_(self) -> int:
        """The column where 2-grams begin."""
        check_fitted(self, "vocabulary_")
        return next((column for column, term in enumerate(self.vocabulary_) if " " in term), len(self.vocabulary_))

    def fit_counts(self, texts: Iterable[str]) -> sp.csr_array:
        """Choose both vocabularies, and give the counts of the same texts."""
        kept = TextWriter()  # read twice, once for each block
        kept.extend(checked_texts(texts))
        texts = kept.finish()
        words, grams = (
            TextVectorizer(most, (size, size), self.language, self.stem, self.stop_words)
            for most, size in ((self.words, 1), (self.grams, 2))
        )
        counts = _side_by_side(words.fit_counts(texts), grams.fit_counts(texts))
        vocabulary = [*words.vocabulary_, *grams.vocabulary_]
        idf = np.concatenate([words.idf_, grams.idf_])
        self._keep(words.tokenizer_, vocabulary, GramTable(vocabulary), idf, words.n_docs_)
        return counts

    def _weigh(self, counts: sp.csr_array) -> sp.csr_array:
        first = self.grams_from_
        return _side_by_side(self._weigh_columns(counts, 0, first), self._weigh_columns(counts, first, counts.shape[1]))


def _side_by_side(words: sp.csr_array, grams: sp.csr_array) -> sp.csr_array:
    return sp.csr_array(sp.hstack([words, grams], format="csr"))
