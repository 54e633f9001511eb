"""Scores of query rows against all items, added into a block of rows; scores of a few items, and upper bounds.

Every score is summed in an order that depends only on its query and item. A score therefore has the same bits alone, in
a block, in a larger collection, and for any number of threads. A BLAS product does not guarantee that.

out: float32 (n_queries, n_items), changed in place.
"""

import math

import numpy as np

from tacit.kernels.loops import FAST, njit

TILE = 64  # item vectors of one tile stay in cache while all queries of the block are scored


@njit(cache=True, nogil=True)
def add_sparse_scores(indptr, indices, data, post_indptr, post_items, post_data, out):
    """out[q, i] += x_q . y_i; x is CSR over words, y is given by postings (items of each word)."""
    for q in range(out.shape[0]):
        row = out[q]
        for t in range(indptr[q], indptr[q + 1]):
            word, weight = indices[t], data[t]
            for p in range(post_indptr[word], post_indptr[word + 1]):
                row[post_items[p]] += weight * post_data[p]


@njit(cache=True, nogil=True)
def place_words(words):
    """Return a table with t + 1 at words[t] & (its size - 1), and 0 elsewhere.

    Its size is the first power of two, from 4096 on, for which the (distinct) words do not collide.
    """
    size = 4096
    while True:
        table, free = np.zeros(size, np.uint32), True
        for t in range(len(words)):
            at = words[t] & (size - 1)
            free = free and table[at] == 0
            table[at] = t + 1
        if free:
            return table
        size *= 2


@njit(cache=True, nogil=True)
def add_sparse_scores_at(items, words, values, row_indptr, row_words, row_data, out):
    """out[j] += x . y_i for i = items[j] and one query (words, values); y is CSR with increasing words.

    The query's words increase too, so sums run in the order of `add_sparse_scores` and have the same bits. Other words
    of an item add 0: without a branch, the entries of the next rows can be prefetched.
    """
    table = place_words(words)
    mask = np.uint32(len(table) - 1)
    names, weights = np.full(len(words) + 1, -1, np.int64), np.zeros(len(words) + 1, np.float32)
    names[1:], weights[1:] = words, values
    for j in range(len(items)):
        total = out[j]
        for p in range(row_indptr[items[j]], row_indptr[items[j] + 1]):
            t = table[np.uint32(row_words[p]) & mask]
            weight = weights[t]
            total += (weight if names[t] == row_words[p] else np.float32(0)) * row_data[p]
        out[j] = total


@njit(cache=True, nogil=True)
def largest_of_words(post_indptr, post_data, largest):
    """largest[w] = the largest value in the postings of word w, at least 0."""
    for word in range(len(largest)):
        found = post_data.dtype.type(0)
        for p in range(post_indptr[word], post_indptr[word + 1]):
            found = max(found, post_data[p])
        largest[word] = found


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_lengths(vectors, squares):
    """squares[i] = |v_i|^2."""
    for i in range(len(vectors)):
        total = 0.0
        for k in range(vectors.shape[1]):
            total += vectors[i, k] * vectors[i, k]
        squares[i] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def add_multiple(factor, values, out):
    """out += factor * values, without a temporary array."""
    for i in range(len(out)):
        out[i] += factor * values[i]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_dense_scores(query_vectors, item_vectors, out):
    """out[q, i] += u_q . v_i."""
    n_items, dim = item_vectors.shape
    for start in range(0, n_items, TILE):
        stop = min(start + TILE, n_items)
        for q in range(out.shape[0]):
            for i in range(start, stop):
                total = out.dtype.type(0)
                for k in range(dim):
                    total += query_vectors[q, k] * item_vectors[i, k]
                out[q, i] += total


@njit(cache=True, nogil=True)
def score_hashed_pairs(words, values, indptr, indices, data, buckets, prime, out):
    """out[i] = sum over words s of the query and t of item i of q_s y_t buckets[(s * prime + t) mod len(buckets)].

    One query (words, values) against items (CSR), with one lookup per pair of words.
    """
    n_buckets = len(buckets)
    for item in range(len(out)):
        total = 0.0
        for t in range(indptr[item], indptr[item + 1]):
            for s in range(len(words)):
                total += values[s] * data[t] * buckets[(words[s] * prime + indices[t]) % n_buckets]
        out[item] = total


@njit(cache=True, nogil=True)
def spread_of_rows(values, known, tied, out):
    """out[row] = standard deviation of the known values of a row, or 1 if it is at most `tied` times the largest."""
    for row in range(len(values)):
        n_known, total, squares, largest = 0, 0.0, 0.0, 0.0
        for t in range(values.shape[1]):
            if known[row, t]:
                n_known += 1
                total += values[row, t]
                largest = max(largest, abs(values[row, t]))
        mean = total / max(n_known, 1)
        for t in range(values.shape[1]):
            if known[row, t]:
                squares += (values[row, t] - mean) ** 2
        spread = math.sqrt(squares / max(n_known, 1))
        out[row] = spread if spread > tied * largest else 1.0
