"""Correlated feature hashing (CFH, Bai et al. 2009): rare words are represented by correlated frequent words.

Words are numbered by frequency. Word i has k best words S_1(i) ... S_k(i) among the F most frequent ones, by

    DICE(i, j) = 2 * cooccur(i, j) / (occur(i) + occur(j))

counted over documents, on texts without labels. With occur="occurrences" occur(i) counts every occurrence of the word,
as in the paper, while cooccur remains a number of documents, so that DICE(i, i) may be less than 1.

A row over all words becomes a row over F words: each word is replaced by its k best words, with 1/k of its weight. This
is the product with a map M (n_terms, F) with 1/k at (i, S_p(i)). So a frequent word keeps 1/k for itself, if DICE(i, i)
is among its best, and distributes the rest. A term that shares documents with fewer than k of the F words gets those,
still at 1/k each; a term that shares none gets no words.

2-grams are mapped in the same way to words that share documents with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    Features,
    TacitError,
    UsageError,
    check_array,
    check_choice,
    check_features,
    check_fitted,
    check_list,
    check_number,
    checked,
    cut,
    map_blocks,
    plural,
)

OCCUR = ("documents", "occurrences")
TERMS_IN_BLOCK = 64  # the first terms are by far the most frequent, so large blocks would leave threads idle


class Correlated(NamedTuple):
    """The best words of each term, best first: words int64 (n_terms, k), -1 for missing ones; DICE float64."""

    words: np.ndarray
    dice: np.ndarray


@checked
def correlated_words(
    counts: Features,
    n_frequent: int,
    k: int = 5,
    *,
    terms: Features | None = None,
    first: int = 0,
    threads: int | None = None,
    occurrences: tuple[np.ndarray, np.ndarray] | None = None,
) -> Correlated:
    """Return, for each term, its k most DICE-correlated frequent words; ties go to the smaller column.

    Parameters
    ----------
    counts : CSR matrix of shape (n_docs, n_words)
        Counts, most frequent word first; only whether an entry is zero matters.
    n_frequent : int
        Number of leading columns to choose words from.
    k : int, default=5
        Number of words for each term.
    terms : CSR matrix of shape (n_docs, n_terms), default=None
        Terms of the same documents; None for the words themselves.
    first : int, default=0
        Number of first terms to skip; the most frequent terms take most of the time.
    threads : int, default=None
        Number of threads; None for all cores.
    occurrences : (ndarray of shape (n_words,), ndarray of shape (n_terms,)), default=None
        Number of occurrences of words and terms (`occur`); None counts documents.

    Returns
    -------
    Correlated

    Examples
    --------
    >>> counts = np.array([[1, 2, 1], [1, 0, 0], [3, 1, 0]])
    >>> correlated_words(counts, 2, 1).words.tolist()
    [[0], [1], [1]]
    """
    from tacit.kernels.cooccurrence import most_correlated

    check_number("n_frequent", n_frequent, low=1, whole=True)
    check_number("k", k, low=1, high=1_000_000, whole=True)
    check_number("first", first, low=0, whole=True)
    words = _occurrences("counts", counts)
    looked_up = words if terms is None else _occurrences("terms", terms)
    if looked_up.shape[0] != words.shape[0]:
        raise TacitError(f"terms has {looked_up.shape[0]} rows and counts {words.shape[0]}, want the same documents")
    frequent = sp.csr_array(words[:, : min(n_frequent, words.shape[1])])
    postings = looked_up.tocsc()
    if occurrences is None:
        occurrences = np.bincount(frequent.indices, minlength=frequent.shape[1]), np.diff(postings.indptr)
    if len(occurrences) != 2:
        raise UsageError(f"occurrences has {plural(len(occurrences), 'part')}, want those of words and of terms")
    occur, term_occur = (check_array("occurrences", numbers) for numbers in occurrences)
    if len(occur) < frequent.shape[1] or len(term_occur) != postings.shape[1]:
        raise TacitError(
            f"occurrences are of {len(occur)} words and {len(term_occur)} terms, "
            f"want {words.shape[1]} and {postings.shape[1]}"
        )
    shape = (postings.shape[1], k)
    found = Correlated(np.full(shape, -1, np.int64), np.zeros(shape))

    def look_up(block: slice) -> None:
        docs = (postings.indptr, postings.indices, frequent.indptr, frequent.indices)
        most_correlated(*docs, occur, term_occur, first + block.start, first + block.stop, *found)

    map_blocks(look_up, cut(shape[0] - first, TERMS_IN_BLOCK), threads)
    return found


class CorrelatedHashing:
    """Rewrites rows over many terms as rows over few frequent words.

    Parameters
    ----------
    n_frequent : int, default=30000
        Number of frequent words (F).
    k : int, default=5
        Number of words that replace a term.
    skip_first : int, default=0
        Number of leading terms to leave out, for models that already have them.
    threads : int, default=None
        Number of threads; None for all cores.
    occur : {"documents", "occurrences"}, default="documents"
        Definition of occur(i): documents with the word, or all occurrences.

    Attributes
    ----------
    correlated_ : Correlated
        Best words of each term.
    map_ : CSR array of shape (n_terms, F), float32
        The hash map.

    Examples
    --------
    >>> counts = np.array([[1, 2, 1], [1, 0, 0], [3, 1, 0]])
    >>> CorrelatedHashing(2, 2).fit(counts).transform(np.array([[0, 0, 1]])).toarray().tolist()
    [[0.5, 0.5]]
    """

    def __init__(
        self,
        n_frequent: int = 30_000,
        k: int = 5,
        *,
        skip_first: int = 0,
        threads: int | None = None,
        occur: str = "documents",
    ) -> None:
        self.n_frequent, self.k, self.skip_first, self.threads = n_frequent, k, skip_first, threads
        self.occur = occur

    def fit(self, counts: Features, terms: Features | None = None) -> CorrelatedHashing:
        """Find the best words of each term, from texts without labels (see `correlated_words`); return self."""
        check_number("skip_first", self.skip_first, low=0, whole=True)
        check_choice("occur", self.occur, OCCUR)
        counts = check_features("counts", counts)
        terms = None if terms is None else check_features("terms", terms)
        sums = [np.asarray(sp.csr_array(rows).sum(axis=0)) for rows in (counts, counts if terms is None else terms)]
        self.correlated_ = correlated_words(
            counts,
            self.n_frequent,
            self.k,
            terms=terms,
            first=self.skip_first,
            threads=self.threads,
            occurrences=None if self.occur == "documents" else (sums[0], sums[1]),
        )
        self.map_ = hash_map(self.correlated_.words, min(self.n_frequent, counts.shape[1]))
        return self

    def transform(self, features: Features) -> sp.csr_array:
        """Transform rows over the terms to rows over the frequent words, float32 (n, F)."""
        check_fitted(self, "map_")
        rows = check_features("features", features, n_columns=self.map_.shape[0])
        return hashed_rows(rows, self.map_)


def hash_map(best: np.ndarray, n_words: int) -> sp.csr_array:
    """Return M (n_terms, n_words): 1/k at the k best words of each term; -1 means no word.

    >>> hash_map(np.array([[0, 1], [1, -1]]), 3).toarray().tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.5, 0.0]]
    """
    chosen = best >= 0
    terms, _ = np.nonzero(chosen)
    weights = np.full(len(terms), 1 / best.shape[1], np.float32)
    table = sp.csr_array((weights, (terms, best[chosen])), shape=(len(best), n_words))
    table.sort_indices()
    return table


def hashed_rows(rows: Features, table: sp.csr_array) -> sp.csr_array:
    """Return rows @ M as CSR with sorted rows; a row has the same bits alone as among others."""
    product = sp.csr_array(sp.csr_array(rows) @ table)
    product.sort_indices()
    return product


class DiceRow(NamedTuple):
    """A term and the words that represent it, best first."""

    term: str
    words: list[str]


@checked
def dice_table(
    correlated: Correlated, terms: Sequence[str], vocabulary: Sequence[str], chosen: Sequence[int] | np.ndarray
) -> list[DiceRow]:
    """Return the best words of some terms as text; `terms` and `vocabulary` name the rows and words of `correlated`.

    >>> dice_table(Correlated(np.array([[1, 0], [1, -1]]), np.ones((2, 2))), ["cat", "purr"], ["dog", "pet"], [0, 1])
    [DiceRow(term='cat', words=['pet', 'dog']), DiceRow(term='purr', words=['pet'])]
    """
    n_words = int(correlated.words.max(initial=-1)) + 1
    if len(terms) < len(correlated.words) or len(vocabulary) < n_words:
        found = f"{plural(len(terms), 'term')} and {plural(len(vocabulary), 'word')}"
        raise TacitError(f"names of {found}, want {len(correlated.words)} and {n_words} as in correlated")
    for term in (rows := check_list("chosen", chosen, "row numbers of terms")):
        check_number("chosen", term, low=0, high=len(correlated.words) - 1, whole=True)
    picked = [(int(term), correlated.words[term].tolist()) for term in rows]
    return [DiceRow(terms[term], [vocabulary[word] for word in best if word >= 0]) for term, best in picked]


@checked
def informative_terms(tfidf: Features, n: int, *, first: int = 0) -> np.ndarray:
    """Return the n columns from `first` on with the largest sums of weights, best first: informative examples.

    >>> informative_terms(np.array([[9.0, 1, 2, 0], [9, 0, 1, 2]]), 2, first=1)
    array([2, 3])
    """
    check_number("first", first, low=0, high=2**31, whole=True)
    mass = np.asarray(check_features("tfidf", tfidf).sum(axis=0, dtype=np.float64)).ravel()[first:]
    return first + np.argsort(-mass, kind="stable")[: check_number("n", n, low=0, whole=True)]


def _occurrences(name: str, rows: Features) -> sp.csr_array:
    """Return which words occur in which documents; a stored zero is no occurrence."""
    found = sp.csr_array(check_features(name, rows))
    if found.nnz and found.data.min() < 0:
        raise TacitError(f"{name} contains {found.data.min():g}, want counts or weights of words, none below 0")
    if found.nnz and not found.data.all():
        found = found.copy()
        found.eliminate_zeros()
    return found
