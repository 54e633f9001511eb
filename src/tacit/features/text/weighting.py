"""tf-idf weights of counted words, rows of unit length.

weight(d, w) = tf(d, w) * idf(w), then each row is divided by its Euclidean length, with

    tf:  "raw"    count(d, w)                "log"     1 + ln count(d, w); a count below 1 unchanged
    idf: "plain"  ln(n / df(w))              "smooth"  ln((1 + n) / (1 + df(w))) + 1

where n is the number of documents and df(w) the number of documents with w. Plain idf gives a word in every document
the weight 0, smooth idf never does; smooth with raw counts is the default of scikit-learn. A row without weights
remains a row of zeros.
"""

from __future__ import annotations

from copy import copy
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from tacit.features.text.counting import stack_rows

_BLOCK_ENTRIES = 1 << 20
TF_NAMES = ("raw", "log")
IDF_NAMES = ("plain", "smooth")


def inverse_document_frequency(doc_frequency: np.ndarray, n_docs: int, kind: str = "plain") -> np.ndarray:
    """Return idf of each word as float32; every word must occur in a document.

    >>> inverse_document_frequency(np.array([4, 1]), 4).round(3)
    array([0.   , 1.386], dtype=float32)
    """
    df = np.asarray(doc_frequency, np.float64)
    idf = np.log(n_docs / df) if kind == "plain" else np.log((1 + n_docs) / (1 + df)) + 1
    return idf.astype(np.float32)


def weigh(counts: sp.csr_array, idf: np.ndarray, tf: str = "raw") -> sp.csr_array:
    """Return tf-idf rows of unit length, float32, without stored zeros, given counts (n, n_words) >= 0."""
    if counts.nnz <= _BLOCK_ENTRIES:
        return _weigh_rows(counts, idf, tf)
    # Some rows at a time, because weights are float64 until they are divided by the length.
    cuts = np.unique(np.searchsorted(counts.indptr, np.arange(0, counts.nnz, _BLOCK_ENTRIES)))
    cuts = np.unique([0, *cuts.tolist(), counts.shape[0]])
    return stack_rows((_weigh_rows(counts[first:end], idf, tf) for first, end in pairwise(cuts)), counts.shape[1])


def _weigh_rows(counts: sp.csr_array, idf: np.ndarray, tf: str) -> sp.csr_array:
    tf_part = counts.data.astype(np.float64)
    if tf == "log":
        # A count below 1, of a word with reduced weight, is not changed.
        tf_part = np.minimum(tf_part, 1) * (1 + np.log(np.maximum(tf_part, 1)))
    weights = tf_part * idf[counts.indices]
    lengths = np.sqrt(_row_sums(weights**2, counts.indptr))
    lengths[lengths == 0] = 1.0
    weights /= lengths if len(lengths) == 1 else np.repeat(lengths, np.diff(counts.indptr))
    rows = with_values(counts, weights.astype(np.float32))
    rows.indices, rows.indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)  # copies
    if not rows.data.all():
        rows.eliminate_zeros()
    return rows


def with_values(matrix: sp.csr_array, values: np.ndarray) -> sp.csr_array:
    """Return the same matrix with other values; the positions are shared.

    SciPy's constructor checks its arguments for 25 microseconds, which is long for the few words of a query.

    >>> with_values(sp.csr_array(np.eye(2)), np.array([3.0, 4.0])).toarray().tolist()
    [[3.0, 0.0], [0.0, 4.0]]
    """
    made = copy(matrix)
    made.data = values
    return made


def best_words(rows: sp.csr_array, n: int) -> sp.csr_array:
    """Return the n words with the largest weights in each row, scaled to unit length; ties go to the first.

    >>> best_words(sp.csr_array(np.array([[6.0, 8, 1], [0, 2, 0]])), 1).toarray().tolist()
    [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    """
    row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -rows.data, row_of))
    place = np.arange(rows.nnz) - rows.indptr[row_of[order]]
    kept = np.sort(order[place < n])
    cut_rows = sp.csr_array((rows.data[kept], (row_of[kept], rows.indices[kept])), shape=rows.shape)
    return weigh(cut_rows, np.ones(rows.shape[1]))


def _row_sums(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return the sum of each row's values; reduceat alone would give an empty row the next row's value."""
    sums = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(np.diff(indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(values, indptr[filled])
    return sums
