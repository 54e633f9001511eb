"""Words shared by queries and items: their part of a score, sum_w D_w x_w y_w, and the gradient step of D.

For a block and a pool, the words of the queries are spread over dense rows: spread[row_of[w], b] = x_bw, float32
(n_words, block size), 0 where a query lacks the word. An item then adds entire rows, which is faster than looping over
queries. For given triples, only two items per query are scored, by merging sorted lists of words.

Rows of CSR matrices are canonical: columns are sorted and unique.
"""

import numpy as np

from tacit.kernels.loops import FAST, njit
from tacit.kernels.rows import add_projection


@njit(cache=True, nogil=True)
def spread_queries(indptr, indices, data, queries, row_of, spread):
    """Fill the rows of the block's words; row_of (n_words) must be -1 everywhere."""
    n_rows = 0
    for b in range(len(queries)):
        for t in range(indptr[queries[b]], indptr[queries[b] + 1]):
            word = indices[t]
            if row_of[word] < 0:
                row_of[word] = n_rows
                spread[n_rows] = 0
                n_rows += 1
            spread[row_of[word], b] = data[t]


@njit(cache=True, nogil=True)
def release_words(indptr, indices, queries, row_of):
    """Reset row_of to -1 for the next block."""
    for b in range(len(queries)):
        for t in range(indptr[queries[b]], indptr[queries[b] + 1]):
            row_of[indices[t]] = -1


@njit(cache=True, nogil=True, fastmath=FAST)
def add_shared_words(indptr, indices, data, pool, start, stop, max_words, row_of, spread, diagonal, scores):
    """scores[slot, b] += sum_w x_bw diagonal_w y_w, for slots from start to stop; no item has more than `max_words`."""
    rows, weights = np.empty(max_words, np.int32), np.empty(max_words, np.float32)
    for slot in range(start, stop):
        n_found = 0
        for t in range(indptr[pool[slot]], indptr[pool[slot] + 1]):
            word = indices[t]
            if row_of[word] >= 0:
                rows[n_found], weights[n_found] = row_of[word], data[t] * diagonal[word]
                n_found += 1
        add_projection(rows, weights, 0, n_found, spread, scores[slot])


@njit(cache=True, nogil=True, fastmath=FAST)
def update_diagonal(starts, ends, indices, data, pool, size, row_of, spread, gradients, rate, diagonal):
    """diagonal[w] += rate * sum gradients[slot, b] x_bw y_w, for words from starts[row] to ends[row] (one owner)."""
    for slot in range(size):
        of_slot = gradients[slot]
        for t in range(starts[pool[slot]], ends[pool[slot]]):
            word = indices[t]
            if row_of[word] >= 0:
                entry, total = spread[row_of[word]], np.float32(0)
                for b in range(len(of_slot)):
                    total += of_slot[b] * entry[b]
                diagonal[word] += rate * total * data[t]


@njit(cache=True, nogil=True)
def shared_sum(indices, data, at, end, other_indices, other_data, other, other_end, diagonal):
    """sum_w x_w diagonal_w y_w of two rows, given by their first positions and ends."""
    total = np.float32(0)
    while at < end and other < other_end:
        word, other_word = indices[at], other_indices[other]
        if word == other_word:
            total += data[at] * other_data[other] * diagonal[word]
        at += word <= other_word
        other += other_word <= word
    return total


@njit(cache=True, nogil=True)
def shared_gap(query_words, item_words, query, better, worse, diagonal):
    """Shared words of a query and the better item, weighted by the diagonal, minus those with the worse item."""
    indptr, indices, data = query_words
    starts, words, values = item_words
    row = indices, data, indptr[query], indptr[query + 1]
    gap = shared_sum(*row, words, values, starts[better], starts[better + 1], diagonal)
    return gap - shared_sum(*row, words, values, starts[worse], starts[worse + 1], diagonal)


@njit(cache=True, nogil=True)
def shared_gaps(query_words, item_words, queries, items, start, stop, diagonal, gaps):
    """gaps[b] = shared-word score of query b with items[2 b] minus that with items[2 b + 1], for b from start to stop.

    query_words and item_words are CSR triples (indptr, indices, data).
    """
    for b in range(start, stop):
        gaps[b] = shared_gap(query_words, item_words, queries[b], items[2 * b], items[2 * b + 1], diagonal)


@njit(cache=True, nogil=True)
def update_diagonal_of_pair(indices, data, at, end, other_indices, other_data, other, other_end, step, diagonal):
    """diagonal[w] += step * x_w y_w for two rows, given by their first positions and ends."""
    while at < end and other < other_end:
        word, other_word = indices[at], other_indices[other]
        if word == other_word:
            diagonal[word] += step * data[at] * other_data[other]
        at += word <= other_word
        other += other_word <= word


@njit(cache=True, nogil=True)
def update_diagonal_by_triples(
    query_words, starts, ends, item_indices, item_data, queries, items, gradients, rate, diagonal
):
    """diagonal[w] += rate * sum_b gradients[b] x_bw (y_better,w - y_worse,w), for the item words of one owner."""
    indptr, indices, data = query_words
    for b in range(len(queries)):
        row = indices, data, indptr[queries[b]], indptr[queries[b] + 1]
        for item, step in ((items[2 * b], rate * gradients[b]), (items[2 * b + 1], -rate * gradients[b])):
            if step != 0:
                update_diagonal_of_pair(*row, item_indices, item_data, starts[item], ends[item], step, diagonal)
