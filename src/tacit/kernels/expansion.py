"""Sums of the entries of a few rows by word, keeping the largest."""

import numpy as np

from tacit.kernels.loops import njit
from tacit.kernels.topk import sift_down, worse

HASH = np.uint64(0x9E3779B1)  # 2^32 / golden ratio: spreads neighbouring numbers


@njit(cache=True, nogil=True)
def place_of(word, places, words):
    """Return the position of a word in a hash table of indices into `words`, or the free position (-1) for it."""
    mask = np.uint64(len(places) - 1)
    at = ((np.uint64(word) * HASH) >> np.uint64(16)) & mask
    while places[at] >= 0 and words[places[at]] != word:
        at = (at + np.uint64(1)) & mask
    return at


@njit(cache=True, nogil=True)
def square_rows(indptr, data, rows, squares):
    """Fill squares with the squared entries of some CSR rows, row after row."""
    at = 0
    for row in rows:
        for t in range(indptr[row], indptr[row + 1]):
            squares[at] = data[t] * data[t]
            at += 1


@njit(cache=True, nogil=True)
def sum_rows(indptr, indices, data, rows, shares, words, sums):
    """Sum share * entry by word over some CSR rows; return the number of distinct words.

    words and sums (float64) have room for every entry of the rows. Each sum runs in the order of the rows.
    """
    size, n_words = 8, 0
    while size < 2 * len(words):
        size *= 2
    places = np.full(size, -1, np.int32)
    for j in range(len(rows)):
        share = shares[j]
        for t in range(indptr[rows[j]], indptr[rows[j] + 1]):
            at = place_of(indices[t], places, words)
            if places[at] < 0:
                places[at] = n_words
                words[n_words], sums[n_words] = indices[t], 0.0
                n_words += 1
            sums[places[at]] += share * np.float64(data[t])
    return n_words


@njit(cache=True, nogil=True)
def keep_largest(words, sums, n_kept):
    """Move the largest positive sums and their words to the front, unordered; return how many there are.

    Ties go to the first words.
    """
    # The heap of `topk.top_k_rows`. A separate function would not be inlined, and that loop would be five times slower.
    size = 0
    for t in range(len(words)):
        word, value = words[t], sums[t]
        if value <= 0:
            continue
        if size < n_kept:
            words[size], sums[size] = word, value
            size += 1
            if size == n_kept:
                for at in range(size // 2 - 1, -1, -1):
                    sift_down(sums, words, size, at)
        elif worse(sums[0], words[0], value, word):
            words[0], sums[0] = word, value
            sift_down(sums, words, size, 0)
    return size
