"""Member `spelling`: BM25 of words that are spelt like the words of the query.

Similar words share runs of four characters ("retriev" and "retrieval"; "filepath" and "path"). The weight of word w for
a query with the words u is

    x(w) = sum over runs g of  c(u, g) idf(g) c(w, g)

c(w, g) is the number of occurrences of run g in word w, and idf(g) is its inverse document frequency. Only the largest
weights are kept. The score of an item is the sum of x(w) times the part of BM25 that does not depend on idf. This is
BM25 on runs of four characters, except that saturation applies to the counts of words instead of runs. On nine
collections the two rank alike. The member uses the postings of words; postings of runs would be three to five times as
large.

The share of items that contain run g is estimated from the words that contain it, as if words were independent:

    idf(g) = -ln(1 - product over words w with g of (1 - p(w)))

p(w) = exp(-idf(w)) is the share of items that contain word w.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import check_numbers
from tacit.features.text.spelling import N_CHARACTERS, spelling_rows
from tacit.kernels.expansion import keep_largest, sum_rows
from tacit.retrieve.blend.expansion import ExpansionMember, words_of
from tacit.retrieve.blend.member import ItemRows, QueryBlock
from tacit.retrieve.factors import Words, append_rows, whole
from tacit.retrieve.training_data import TrainingData

if TYPE_CHECKING:
    from tacit.retrieve.blend.ranker import BlendRanker

LONG_SHARE = 0.2  # minimum share of words with more than four characters: in Chinese a run is a whole word
MOST = 1 - 1e-6  # maximum assumed share of items that contain a word


class Runs(NamedTuple):
    """Words indexed by their runs of characters.

    Attributes
    ----------
    words : csr_array of shape (n_runs, n_features), float32
        Number of occurrences of each run in each word.
    idf : ndarray of shape (n_runs,), float64
        Inverse document frequencies of runs.
    of : ndarray of shape (n_features,), float32
        The idf of words used to compute `idf`.
    """

    words: sp.csr_array
    idf: np.ndarray
    of: np.ndarray


class SpellingMember(ExpansionMember):
    """BM25 of words that are spelt like the words of the query.

    Parameters
    ----------
    n_expansion : int, default=100
        Number of words added to the query.

    Attributes
    ----------
    spelled_ : csr_array of shape (n_features, n_runs), float32
        Number of occurrences of each run of four characters in each word.
    """

    _fitted: ClassVar = {"spelled_": "features runs"}
    name: ClassVar[str] = "spelling"
    spelled_: sp.csr_array
    _runs: Runs | None = None

    def __init__(self, n_expansion: int = 100) -> None:
        self.n_expansion = n_expansion

    @classmethod
    def fitted(cls, blend: BlendRanker, items: ItemRows, data: TrainingData) -> Self | None:
        """Index the spelling of all words; None if they have no names, or if most are too short."""
        if items.terms is None or not (blend.spelling or data.has_pairs):
            return None
        n_long = sum(len(word) > N_CHARACTERS for word in items.terms.words)
        if n_long < LONG_SHARE * len(items.terms.words):
            return None
        made = cls(blend.n_expansion)
        made.spelled_ = spelling_rows(items.terms.words)
        return made

    def prior(self, blend: BlendRanker, data: TrainingData) -> float:
        """Return the weight given as a parameter."""
        return blend.spelling

    def words(self, block: QueryBlock, row: int) -> Words:
        """Return the words with the most similar spelling, including the words of the query."""
        asked, idf = words_of(block, row), block.bm25.idf_
        runs = self._by_run(idf)
        found, sums = _sum_rows(self.spelled_, asked.indices, asked.data.astype(np.float64))
        words, values = _sum_rows(runs.words, found, sums * runs.idf[found])
        values[idf[words] == 0] = 0  # occurs in no item
        n_kept = keep_largest(words, values, self.n_expansion)
        order = np.argsort(words[:n_kept])
        words, values = words[:n_kept][order], values[:n_kept][order]
        return Words(words, (values / idf[words]).astype(np.float32))

    def _by_run(self, idf: np.ndarray) -> Runs:
        """Return the runs, computed once for the current items."""
        if self._runs is None or self._runs.of is not idf:
            words = sp.csr_array(self.spelled_.T)
            shares = np.where(idf > 0, np.minimum(np.exp(-idf.astype(np.float64)), MOST), 0.0)
            absent = np.log1p(-shares)[words.indices]
            rows = np.repeat(np.arange(words.shape[0]), np.diff(words.indptr))
            none = np.bincount(rows, absent, words.shape[0])
            occurring = np.flatnonzero(none < 0)  # of a million runs, few
            by_run = np.zeros(words.shape[0])
            by_run[occurring] = -np.log(-np.expm1(np.minimum(none[occurring], -1e-300)))
            self._runs = Runs(words, by_run, idf)
        return self._runs

    def add(self, items: ItemRows) -> None:
        """Append new words; words without names match no other word."""
        known, width = self.spelled_.shape[0], items.counts.shape[1]
        new = [""] * (width - known) if items.terms is None else items.terms.words[known:]
        rows = spelling_rows(new) if items.terms is not None else sp.csr_array((len(new), self.spelled_.shape[1]))
        self.spelled_ = append_rows(self.spelled_, rows.astype(np.float32))

    def check(self, n_features: int, n_items: int) -> None:
        """Raise unless the parameters are valid."""
        check_numbers(self, "n_expansion", low=1, whole=True)


def _sum_rows(matrix: sp.csr_array, rows: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of some rows, and the sums over these rows of share * entry."""
    n_entries = int((matrix.indptr[rows + 1] - matrix.indptr[rows]).sum())
    columns, sums = np.empty(n_entries, np.int64), np.empty(n_entries)
    if not n_entries:
        return columns, sums
    n_found = sum_rows(matrix.indptr, matrix.indices, matrix.data, whole(rows), shares, columns, sums)
    return columns[:n_found], sums[:n_found]
