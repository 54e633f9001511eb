"""Texts to sparse rows: counts of the most frequent words (or n-grams), and tf-idf of unit length.

The vocabulary is chosen in `vocabulary`, the weights are in `weighting`. The default weight, raw counts times
ln(n / df), ranks the linked pages of MDN and the entries of FOLDOC better than logarithmic counts or smoothed idf, by
rank loss, MAP and P@10 alike.

`WordGramVectorizer` gives rows of two blocks, [words | 2-grams]: tf-idf of words, then of two consecutive words. One
vocabulary over both would order its columns by frequency over both, but rankers that treat them separately need all
words first. Each block of a row has unit length, so neither dominates the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    Estimator,
    TacitError,
    UsageError,
    check_choice,
    check_features,
    check_fitted,
    check_number,
    shown,
)
from tacit.core.texts import TextWriter
from tacit.features.text.counting import WordNumbers, checked_texts, read_words, row_blocks, word_parts
from tacit.features.text.function_words import function_words
from tacit.features.text.grams import GramTable
from tacit.features.text.tokenizers import StopWords, Tokenizer, tokenizer_for
from tacit.features.text.vocabulary import Spellings, choose_vocabulary, count_and_spell
from tacit.features.text.weighting import IDF_NAMES, TF_NAMES, inverse_document_frequency, weigh

LONGEST_NGRAM = 100  # words
SHORT_TEXT = 200  # characters of one text, such as a query: words of shorter texts are looked up singly


class TextVectorizer(Estimator):
    """Counts words of texts and weights them by tf-idf.

    Parameters
    ----------
    words : int or None, default=30000
        Number of the most frequent words (or n-grams); None keeps all.
    ngrams : pair of int, default=(1, 1)
        Smallest and largest number of words in a column; (1, 2) is words and pairs.
    language : str, default="en"
        Language of the texts, see `tokenizer_for`.
    stem : bool, default=False
        Reduce words to their stems.
    stop_words : str, path, iterable of str or None, default=None
        Words to drop, see `tokenizer_for`.
    min_df : int, default=1
        Minimum number of texts of `fit` in which a column must occur.
    tf : {"raw", "log"}, default="raw"
        Weight of a count, see `weighting`.
    idf : {"plain", "smooth"}, default="plain"
        Inverse document frequency, see `weighting`.

    Attributes
    ----------
    vocabulary_ : list of str
        Words of the columns: first the words of `fit`, most frequent first, then the words appended by `add_words`.
    idf_ : ndarray of shape (n_words,), float32
        Inverse document frequency of each column.
    n_docs_ : int
        Number of texts seen by `fit`.
    n_added_ : int
        Number of texts seen by `add_words` since then.
    forms_, form_columns_ : list of str and ndarray of int32, or None
        Words of the texts before stemming, the most frequent of each column, and their columns; see `lexicon`.
    rare_ : ndarray of int32 or None
        Hashes of the terms of the texts that are not in the vocabulary.
    tokenizer_ : Tokenizer
        Splits texts into words.

    Examples
    --------
    >>> vectorizer = TextVectorizer()
    >>> counts = vectorizer.fit_counts(["the cat saw the dog", "the dog", ""])
    >>> vectorizer.vocabulary_
    ['the', 'dog', 'cat', 'saw']
    >>> counts.toarray().tolist()
    [[2.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    >>> vectorizer.transform(["a dog or a cat"]).toarray().round(3)
    array([[0.   , 0.346, 0.938, 0.   ]], dtype=float32)
    """

    _fitted: ClassVar = {
        "vocabulary_": "strings",
        "idf_": "words",
        "n_docs_": "",
        "n_added_": "",
        "forms_": "?strings",
        "form_columns_": "?forms",
        "rare_": "?rare",
    }
    _array_dtypes: ClassVar = ("float32", "int32")
    forms_: list[str] | None = None
    form_columns_: np.ndarray | None = None
    rare_: np.ndarray | None = None
    # Whether `add_words` may append columns.
    can_add_words: ClassVar[bool] = True

    def __init__(
        self,
        words: int | None = 30000,
        ngrams: tuple[int, int] = (1, 1),
        language: str = "en",
        stem: bool = False,
        stop_words: StopWords = None,
        min_df: int = 1,
        tf: str = "raw",
        idf: str = "plain",
    ) -> None:
        self.words, self.ngrams, self.min_df = words, ngrams, min_df
        self.language, self.stem, self.stop_words = language, stem, stop_words
        self.tf, self.idf = tf, idf

    def fit(self, texts: Iterable[str]) -> TextVectorizer:
        """Choose the vocabulary and compute idf from the texts, read once; return self."""
        self.fit_counts(texts)
        return self

    def fit_counts(self, texts: Iterable[str]) -> sp.csr_array:
        """Fit, and return the counts of the same texts without reading them again."""
        tokenizer = self._checked_tokenizer()
        vocabulary, counts, spelled = self._count_all(texts, tokenizer, self.words, self.min_df)
        n_docs = counts.shape[0]
        if not vocabulary:
            raise TacitError(f"nothing to count in the texts ({n_docs}), want words in at least {self.min_df}")
        idf = inverse_document_frequency(_document_frequency(counts), n_docs, self.idf)
        self._keep(tokenizer, vocabulary, GramTable(vocabulary), idf, n_docs)
        self.forms_, self.form_columns_, self.rare_ = spelled or (None, None, None)
        return counts

    def _count_all(
        self, texts: Iterable[str], tokenizer: Tokenizer, limit: int | None = None, min_df: int = 1
    ) -> tuple[list[str], sp.csr_array, Spellings | None]:
        """Return the most frequent columns of texts, their counts, and their spellings."""
        low, high = self.ngrams
        if high == 1:
            return count_and_spell(texts, tokenizer, limit, min_df)
        numbers = WordNumbers()
        stream = read_words(texts, tokenizer, numbers.number)
        terms = numbers.words()
        vocabulary = choose_vocabulary(stream, terms, (low, high), limit, min_df)
        table = GramTable(vocabulary)
        words = table.number(terms)[stream.words]
        return vocabulary, table.count(row_blocks(stream._replace(words=words))), None

    def add_words(self, texts: Iterable[str]) -> int:
        """Append the unknown words (or n-grams) of new texts to the vocabulary, most frequent first.

        All of them are appended, regardless of `words` and `min_df`. The idf of known words does not change. The idf of
        a new word is computed from the texts of `fit`, which count as texts without it, and all texts added since then,
        including these. A call that fails changes nothing.

        Parameters
        ----------
        texts : iterable of str
            New texts.

        Returns
        -------
        int
            Number of columns appended.

        Examples
        --------
        >>> vectorizer = TextVectorizer().fit(["the cat", "the dog"])
        >>> vectorizer.add_words(["the bird and the bird", "a cat"]), vectorizer.vocabulary_
        (3, ['the', 'cat', 'dog', 'bird', 'a', 'and'])
        >>> vectorizer.transform(["bird"]).shape, vectorizer.n_added_
        ((1, 6), 2)
        """
        check_fitted(self, "vocabulary_")
        if not self.can_add_words:
            raise UsageError(f"{type(self).__name__} cannot take new words: the order of its columns is fixed by fit")
        found, counts, spelled = self._count_all(texts, self.tokenizer_)
        known = set(self.vocabulary_)
        new = [column for column, term in enumerate(found) if term not in known]
        vocabulary, n_added = [*self.vocabulary_, *(found[column] for column in new)], self.n_added_ + counts.shape[0]
        idf = inverse_document_frequency(_document_frequency(counts)[new], self.n_docs_ + n_added, self.idf)
        idf = np.concatenate([self.idf_, idf])
        self._keep(self.tokenizer_, vocabulary, GramTable(vocabulary), idf, self.n_docs_, n_added)
        if self.forms_ is not None and spelled is not None and spelled.columns is not None:
            self._add_forms(spelled, found, new)
        return len(new)

    def _add_forms(self, spelled: Spellings, found: list[str], new: list[int]) -> None:
        """Append the spellings of new columns."""
        assert self.forms_ is not None
        assert spelled.forms is not None
        assert spelled.columns is not None
        column_of = np.full(len(found), -1, np.int32)
        column_of[new] = np.arange(len(new)) + len(self.vocabulary_) - len(new)
        columns = column_of[spelled.columns]
        self.forms_ = [
            *self.forms_,
            *(form for form, column in zip(spelled.forms, columns.tolist(), strict=True) if column >= 0),
        ]
        self.form_columns_ = np.concatenate([np.asarray(self.form_columns_, np.int32), columns[columns >= 0]])

    @property
    def column_of(self) -> Mapping[str, int]:
        """Return columns of single words."""
        return self._table.columns_of_words()

    def counts(self, texts: Iterable[str]) -> sp.csr_array:
        """Return the count of each column in each text: float32 (n, n_words); unknown words are left out."""
        check_fitted(self, "vocabulary_")
        table = self._table
        if isinstance(texts, list) and [len(text) < SHORT_TEXT for text in texts if isinstance(text, str)] == [True]:
            return table.count([table.stream(self.tokenizer_(texts[0]))])
        return table.count(word_parts(texts, self.tokenizer_, table.number))

    def function_columns(self) -> np.ndarray:
        """Return columns of words without content in the language (`function_words`), ascending, int64.

        >>> vectorizer = TextVectorizer(stem=True).fit(["please explain what zebras are"])
        >>> [vectorizer.vocabulary_[column] for column in vectorizer.function_columns()]
        ['are', 'explain', 'pleas', 'what']
        """
        check_fitted(self, "vocabulary_")
        terms = (self.tokenizer_(word) for word in function_words(self.language))
        wanted = {found[0] for found in terms if len(found) == 1}  # a part of a word may have content
        return np.array([column for column, term in enumerate(self.vocabulary_) if term in wanted], np.int64)

    def tfidf(self, counts: sp.csr_array) -> sp.csr_array:
        """Return tf-idf of counts (n, n_words): float32 rows of length 1, or 0 if all are unknown."""
        check_fitted(self, "vocabulary_")
        counts = sp.csr_array(check_features("counts", counts, n_columns=len(self.vocabulary_)))
        if counts.nnz and counts.data.min() < 0:
            raise TacitError(f"counts contains {counts.data.min():g}, want numbers >= 0")
        return self._weigh(counts)

    def _weigh(self, counts: sp.csr_array) -> sp.csr_array:
        return self._weigh_columns(counts, 0, counts.shape[1])

    def _weigh_columns(self, counts: sp.csr_array, first: int, end: int) -> sp.csr_array:
        """Return some columns of checked counts as rows of length 1."""
        chosen = counts if (first, end) == (0, counts.shape[1]) else sp.csr_array(counts[:, first:end])
        return weigh(chosen, self.idf_[first:end], self.tf)

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Return tf-idf rows of texts, float32 (n, n_words)."""
        return self.tfidf(self.counts(texts))

    def fit_transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Fit, and return the tf-idf rows of the same texts, which are read once."""
        return self.tfidf(self.fit_counts(texts))

    def _stored_params(self) -> dict[str, Any]:
        """Return the parameters with stop words spelled out, because a file of them may change."""
        return self.get_params(deep=False) | self.tokenizer_.spec()

    def _check_loaded(self) -> None:
        vocabulary, idf = self.vocabulary_, self.idf_
        forms, columns = self.forms_, self.form_columns_
        if (forms is None) != (columns is None) or (forms is not None and len(forms) != len(columns)):  # type: ignore[arg-type]
            raise TacitError("forms and their columns do not fit together")
        if columns is not None and len(columns) and not 0 <= columns.min() <= columns.max() < len(vocabulary):
            raise TacitError(f"a form has a column outside of 0 to {len(vocabulary) - 1}")
        if idf.dtype != np.float32 or idf.shape != (len(vocabulary),) or not np.isfinite(idf).all():
            raise TacitError(f"idf has shape {idf.shape}, want {len(vocabulary)} finite numbers, one for each word")
        if len(set(vocabulary)) != len(vocabulary):
            raise TacitError("vocabulary contains a word twice, want distinct words")
        for name, number in (("n_docs", self.n_docs_), ("n_added", self.n_added_)):
            check_number(name, number, low=0, whole=True)
        self._keep(self._checked_tokenizer(), vocabulary, GramTable(vocabulary), idf, self.n_docs_, self.n_added_)

    @classmethod
    def from_vocabulary(cls, vocabulary: Sequence[str], idf: np.ndarray, n_docs: int, **params: Any) -> Self:
        """Return a fitted vectorizer with these words and their idf.

        >>> first = TextVectorizer().fit(["new york", "new jersey"])
        >>> again = TextVectorizer.from_vocabulary(first.vocabulary_, first.idf_, first.n_docs_)
        >>> (again.transform(["york new york"]) != first.transform(["york new york"])).nnz
        0
        """
        vectorizer = cls(**params)
        vectorizer.vocabulary_, vectorizer.idf_ = list(vocabulary), np.asarray(idf, np.float32)
        vectorizer.n_docs_, vectorizer.n_added_ = n_docs, 0
        vectorizer._check_loaded()
        return vectorizer

    def _checked_tokenizer(self) -> Tokenizer:
        """Check all parameters, and make their tokenizer."""
        if self.words is not None:
            check_number("words", self.words, low=1, whole=True)
        if not isinstance(self.ngrams, tuple | list) or len(self.ngrams) != 2:
            raise TacitError(f"ngrams is {shown(self.ngrams)}, want a pair such as (1, 2)")
        low = check_number("ngrams[0]", self.ngrams[0], low=1, whole=True)
        check_number("ngrams[1]", self.ngrams[1], low=low, high=LONGEST_NGRAM, whole=True)
        check_number("min_df", self.min_df, low=1, whole=True)
        check_choice("tf", self.tf, TF_NAMES)
        check_choice("idf", self.idf, IDF_NAMES)
        return tokenizer_for(self.language, stem=self.stem, stop_words=self.stop_words)

    def _keep(
        self,
        tokenizer: Tokenizer,
        vocabulary: list[str],
        table: GramTable,
        idf: np.ndarray,
        n_docs: int,
        n_added: int = 0,
    ) -> None:
        self.tokenizer_, self._table = tokenizer, table
        self.vocabulary_, self.idf_, self.n_docs_, self.n_added_ = vocabulary, idf, int(n_docs), int(n_added)


def _document_frequency(counts: sp.csr_array) -> np.ndarray:
    return np.bincount(counts.indices, minlength=counts.shape[1])


class WordGramVectorizer(TextVectorizer):
    """tf-idf rows with a block of words and a block of 2-grams.

    New words would have to be inserted between the two blocks, so `add_words` raises.

    Parameters
    ----------
    words : int or None, default=None
        Number of the most frequent words; None keeps all.
    grams : int or None, default=200000
        Number of the most frequent 2-grams; None keeps all.
    language : str, default="en"
        Language of the texts, see `tokenizer_for`.
    stem : bool, default=False
        Reduce words to their stems.
    stop_words : str, path, iterable of str or None, default=None
        Words to drop, see `tokenizer_for`.

    Attributes
    ----------
    vocabulary_ : list of str
        Words, then 2-grams; most frequent first within each block. Other attributes are as in `TextVectorizer`.
    grams_from_ : int
        Column at which 2-grams begin.

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
        """Choose both vocabularies, and return the counts of the same texts."""
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
