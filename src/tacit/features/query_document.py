"""Features of a query and a document from their words: eleven measures for each field of the text.

The set of Szummer and Yilmaz (2011), table 1, with LETOR's definitions. For a field (body, title, both) of a document,
c is the count of a query word, |d| the number of words, df the number of documents whose field has the word, and n the
number of documents; every sum is over the words of the query, with repetition:

    bm25               see `bm25`, Lucene's variant, as in the ranker `bm25`
    log_bm25           ln(1 + bm25)
    lm_absolute, lm_dirichlet, lm_jelinek_mercer     see below
    tf                 sum c                          normalized_tf      sum c / |d|
    log_normalized_tf  sum ln(1 + c / |d|)            sum_log_tf         sum ln(1 + c)
    tf_idf             sum c ln(n / df)               log_tf_idf         sum ln(1 + c / |d| ln(n / df))

Words in no document are left out.

A smoothed language model of a document gives log p(q | d) = sum over the query's words w of (count in the query) * ln
p(w | d). Let p(w | C) be the share of w among all words of the collection, c = c(w, d) its count in the document and
|d| the document's length (Zhai and Lafferty, 2001):

    absolute         max(c - delta, 0) / |d| + delta u / |d| p(w | C),   u different words in d
    dirichlet        (c + mu p(w | C)) / (|d| + mu)
    jelinek-mercer   (1 - lambda) c / |d| + lambda p(w | C)

An empty document has c / |d| = 0 and u / |d| = 1, like a single word that is not in the query. Words that are not in
the collection are left out of the query, because they would not distinguish documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError, check_kind
from tacit.features.bm25 import DELTA, K1, VARIANTS, inverse_frequencies, length_norms

MEASURES = (
    "bm25", "log_bm25", "lm_absolute", "lm_dirichlet", "lm_jelinek_mercer",
    "tf", "normalized_tf", "log_normalized_tf", "sum_log_tf", "tf_idf", "log_tf_idf",
)  # fmt: skip
LM_DELTA, MU, LAMBDA = 0.7, 2000.0, 0.1  # of the language models


@dataclass(frozen=True)
class FieldCounts:
    """Words of one field of every document, and the statistics that the formulas need.

    counts: CSR (n_docs, n_words); lengths, n_different: (n_docs,); doc_frequency, shares: (n_words,).
    """

    counts: sp.csr_array
    lengths: np.ndarray
    n_different: np.ndarray
    doc_frequency: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, counts: sp.csr_array) -> FieldCounts:
        """Make counts with their statistics."""
        totals = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])
        return cls(
            counts=counts,
            lengths=np.asarray(counts.sum(axis=1), np.float64).ravel(),
            n_different=np.diff(counts.indptr).astype(np.float64),
            doc_frequency=np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64),
            shares=totals / max(totals.sum(), 1.0),
        )

    def measures(self, times: np.ndarray, words: np.ndarray, docs: np.ndarray) -> np.ndarray:
        """Return the eleven measures of documents (rows) for a query of `words` with counts `times`: (n_docs, 11)."""
        known = self.doc_frequency[words] > 0
        words, times = words[known], times[known].astype(np.float64)
        lengths = self.lengths[docs]
        c = self.counts[docs][:, words].toarray().astype(np.float64)
        share = c / np.maximum(lengths, 1)[:, None]
        n_docs, df = len(self.lengths), self.doc_frequency[words]
        idf, shares = np.log(n_docs / df), self.shares[words]
        bm25 = self._bm25(c, df, lengths) @ times
        columns = [
            bm25,
            np.log1p(bm25),
            absolute(c, shares, lengths, self.n_different[docs]) @ times,
            dirichlet(c, shares, lengths) @ times,
            jelinek_mercer(c, shares, lengths) @ times,
            c @ times,
            share @ times,
            np.log1p(share) @ times,
            np.log1p(c) @ times,
            c @ (idf * times),
            np.log1p(share * idf) @ times,
        ]
        return np.column_stack(columns)

    def _bm25(self, c: np.ndarray, df: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        norms = length_norms(lengths, max(self.lengths.mean(), 1e-12))[:, None]
        idf = inverse_frequencies(df.tolist(), len(self.lengths))
        weights: np.ndarray = idf * VARIANTS["lucene"].tf_part(c, norms, K1, DELTA)
        return weights


class QueryDocumentFeatures:
    """Features of query-document pairs from word counts of several fields.

    Parameters
    ----------
    fields : mapping of str to CSR matrix of shape (n_docs, n_words)
        Counts by field, all over one vocabulary.

    Examples
    --------
    >>> counts = sp.csr_array(np.array([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    >>> features = QueryDocumentFeatures({"body": counts})
    >>> features.names[0], features.names[5]
    ('body.bm25', 'body.tf')
    >>> features.of(sp.csr_array(np.array([[1.0, 0.0, 1.0]])), np.array([0, 1]))[:, 5]
    array([3., 0.])
    """

    def __init__(self, fields: Mapping[str, sp.csr_array]) -> None:
        for name, counts in check_kind("fields", fields, Mapping, "a dict of counts by field").items():
            check_kind(f"fields[{name!r}]", counts, sp.csr_array, "a CSR array of counts")
        shapes = {counts.shape for counts in fields.values()}
        if len(shapes) != 1:
            raise TacitError(f"fields have shapes {sorted(shapes)}, want one: the same documents and words")
        self.fields = {name: FieldCounts.of(counts) for name, counts in fields.items()}
        self.n_docs, self.n_words = shapes.pop()

    @property
    def names(self) -> list[str]:
        """Return the names of the columns: `field.measure`."""
        return [f"{field}.{measure}" for field in self.fields for measure in MEASURES]

    def of(self, query: sp.csr_array, docs: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return features of one query (CSR row of counts) with some documents: float64 (n_docs, 11 * n_fields)."""
        if query.shape != (1, self.n_words):
            raise TacitError(f"query has shape {query.shape}, want (1, {self.n_words}): counts of its words")
        rows = np.asarray(docs, np.int64)
        if len(rows) and (rows.min() < 0 or rows.max() >= self.n_docs):
            raise TacitError(f"docs has row {rows.max()}, want 0 to {self.n_docs - 1}")
        row = sp.csr_array(query)
        return np.hstack([field.measures(row.data, row.indices, rows) for field in self.fields.values()])


def absolute(counts: np.ndarray, shares: np.ndarray, lengths: np.ndarray, n_different: np.ndarray) -> np.ndarray:
    """Return ln p(w | d) with absolute discounting, (n_docs, n_words), given counts and shares (n_words,)."""
    length = np.maximum(lengths, 1)[:, None]
    kept = np.where(lengths > 0, n_different, 1)[:, None]
    return np.log(np.maximum(counts - LM_DELTA, 0) / length + LM_DELTA * kept / length * shares)


def dirichlet(counts: np.ndarray, shares: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return ln p(w | d) with a Dirichlet prior, (n_docs, n_words).

    >>> dirichlet(np.array([[0.0]]), np.array([0.5]), np.array([0.0])).round(4)
    array([[-0.6931]])
    """
    return np.log((counts + MU * shares) / (lengths[:, None] + MU))


def jelinek_mercer(counts: np.ndarray, shares: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return ln p(w | d) as a mixture with the collection, (n_docs, n_words)."""
    return np.log((1 - LAMBDA) * counts / np.maximum(lengths, 1)[:, None] + LAMBDA * shares)
