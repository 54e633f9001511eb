"""BM25: the weight of a word in a document, in the variants compared by Kamphuis et al. (2020).

    weight = idf * tf part,   L = 1 - b + b length / mean length

    variant     idf                                      tf part
    lucene      ln(1 + (N - df + 1/2) / (df + 1/2))      tf / (tf + k1 L)
    robertson   ln((N - df + 1/2) / (df + 1/2)), >= 0    tf / (tf + k1 L)
    atire       ln(N / df)                               (k1 + 1) tf / (tf + k1 L)
    bm25l       ln((N + 1) / (df + 1/2))                 (k1 + 1) (c + delta) / (k1 + c + delta), c = tf / L
    bm25+       ln((N + 1) / df)                         (k1 + 1) tf / (tf + k1 L) + delta

N: number of documents; df: number of documents with the word; tf: count of the word in the document; length: number of
words of the document; k1, b and delta: parameters. In bm25l and bm25+ the tf part of an absent word is above 0 and the
same for all documents (`is_shifted`). The formulas and their order of operations are those of the library bm25s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

K1, B, DELTA = 1.5, 0.75, 0.5


class Variant(NamedTuple):
    """One variant of BM25: `idf(df, n_docs)`, `tf_part(tf, length_norm, k1, delta)`."""

    idf: Callable[[float, int], float]
    tf_part: Callable[[Any, Any, float, float], Any]
    is_shifted: bool = False


def _odds(df: float, n_docs: int) -> float:
    return (n_docs - df + 0.5) / (df + 0.5)


def _saturated(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    return tf / (k1 * norm + tf)


def _scaled(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    return (tf * (k1 + 1)) / (tf + k1 * norm)


def _scaled_plus(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    return _scaled(tf, norm, k1, delta) + delta


def _by_length(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    count = tf / norm
    return ((k1 + 1) * (count + delta)) / (k1 + count + delta)


VARIANTS = {
    "lucene": Variant(lambda df, n_docs: math.log(1 + _odds(df, n_docs)), _saturated),
    "robertson": Variant(lambda df, n_docs: math.log(max(1, _odds(df, n_docs))), _saturated),
    "atire": Variant(lambda df, n_docs: math.log(n_docs / df), _scaled),
    "bm25l": Variant(lambda df, n_docs: math.log((n_docs + 1) / (df + 0.5)), _by_length, is_shifted=True),
    "bm25+": Variant(lambda df, n_docs: math.log((n_docs + 1) / df), _scaled_plus, is_shifted=True),
}


def inverse_frequencies(doc_frequency: Iterable[float], n_docs: int, variant: str = "lucene") -> np.ndarray:
    """Return the idf of each word, float64; 0 for a word in no document.

    >>> inverse_frequencies([0, 1, 2], 2).round(3).tolist()
    [0.0, 0.693, 0.182]
    """
    idf = VARIANTS[variant].idf
    return np.array([idf(df, n_docs) if df else 0.0 for df in doc_frequency], np.float64)


def length_norms(lengths: np.ndarray, mean_length: float, b: float = B) -> np.ndarray:
    """Return L of each document, which reduces counts in long documents."""
    return (1 - b) + b * lengths / mean_length
