"""A weight for each pair of a query word s and an item word t: projecting queries, and learning from a block.

The weights W are stored in one of two ways, as float32:
  segments: one array; (s, t) is at (s * stride + t) mod n_buckets, so row s of W is one run of n_item_words places,
            wrapped around the end (more than once if n_buckets < n_item_words). A full matrix is the case
            stride = n_item_words, n_buckets = n_query_words * n_item_words, in which no two pairs collide.
  pattern:  columns, values (n_query_words, per_row): row s is values[s] at the columns[s], and 0 elsewhere.

Queries and items are CSR rows. vectors, steps (block, n_item_words) are W'x_b of a query and its gradient step.
Every entry is summed in a fixed order, so the result has the same bits for any number of owners or ranges.
"""

import numpy as np

from tacit.kernels.loops import FAST, njit

TILE = 4096  # item words at a time, so that rows shared by queries of a block are still in cache


@njit(cache=True, nogil=True, fastmath=FAST)
def add_segments(indptr, indices, data, rows, first, last, weights, stride, out):
    """out[r, t] += sum_s x_rows[r][s] W[s, t], for the item words t from first to last."""
    n_buckets = len(weights)
    for low in range(first, last, TILE):
        width = min(TILE, last - low)
        for r in range(len(rows)):
            vector = out[r, low : low + width]
            for e in range(indptr[rows[r]], indptr[rows[r] + 1]):
                value, start, first = data[e], (np.int64(indices[e]) * stride + low) % n_buckets, 0
                while first < width:  # once or twice, unless the table is shorter than a row
                    n_straight = min(width - first, n_buckets - start)
                    straight, part = weights[start : start + n_straight], vector[first : first + n_straight]
                    for k in range(n_straight):
                        part[k] += value * straight[k]
                    first, start = first + n_straight, 0


@njit(cache=True, nogil=True)
def add_pattern(indptr, indices, data, rows, start, stop, columns, values, out):
    """out[r] += x_rows[r] W, for r from start to stop."""
    per_row = columns.shape[1]
    for r in range(start, stop):
        vector = out[r]
        for e in range(indptr[rows[r]], indptr[rows[r] + 1]):
            word, value = indices[e], data[e]
            for k in range(per_row):
                vector[columns[word, k]] += value * values[word, k]


@njit(cache=True, nogil=True)
def add_identity(indptr, indices, data, rows, start, stop, alpha, out):
    """out[r] += alpha * x_rows[r], for r from start to stop."""
    for r in range(start, stop):
        for e in range(indptr[rows[r]], indptr[rows[r] + 1]):
            out[r, indices[e]] += alpha * data[e]


@njit(cache=True, nogil=True, fastmath=FAST)
def score_words(indptr, indices, data, pool, start, stop, vectors, n_queries, scores):
    """scores[slot, b] = y_slot . vectors[b], for slots from start to stop."""
    for b in range(n_queries):
        vector = vectors[b]
        for slot in range(start, stop):
            total = np.float32(0)
            for e in range(indptr[pool[slot]], indptr[pool[slot] + 1]):
                total += data[e] * vector[indices[e]]
            scores[slot, b] = total


@njit(cache=True, nogil=True)
def word_steps(indptr, indices, data, pool, gradients, start, stop, steps, touched, n_touched):
    """steps[b] = sum_slot gradients[slot, b] y_slot, for queries from start to stop.

    The first n_touched[b] entries of touched[b] are the words where that is not 0, in increasing order.
    """
    for b in range(start, stop):
        step, size = steps[b], 0
        step[:] = 0
        for slot in range(len(pool)):
            gradient = gradients[slot, b]
            if gradient != 0:
                for e in range(indptr[pool[slot]], indptr[pool[slot] + 1]):
                    step[indices[e]] += gradient * data[e]
        for t in range(len(step)):
            if step[t] != 0:
                touched[b, size] = t
                size += 1
        n_touched[b] = size


@njit(cache=True, nogil=True)
def learn_segments(
    indptr, indices, queries, post_start, post_end, posts, values, steps, touched, n_touched,
    rate, stride, n_owned, weights, owner, n_owners,
):  # fmt: skip
    """W += rate * sum_b x_b steps[b]', only in the places of this owner.

    Owners alternate in runs of n_owned places. With the postings of the block's words (`blocks.index_queries`), a row
    learns from all its queries while it is in cache; it is visited at its first query.
    """
    n_buckets, n_item_words = len(weights), steps.shape[1]
    for b in range(len(queries)):
        for e in range(indptr[queries[b]], indptr[queries[b] + 1]):
            word = indices[e]
            if posts[post_start[word]] != b:
                continue
            start, low = np.int64(word) * stride % n_buckets, 0
            while low < n_item_words:
                place = (start + low) % n_buckets
                high = min(n_item_words, low + n_owned - place % n_owned, low + n_buckets - place)
                if (place // n_owned) % n_owners == owner:
                    run = weights[place : place + high - low]
                    for p in range(post_start[word], post_end[word]):
                        q = posts[p]
                        add_touched(rate * values[p], steps[q], touched[q, : n_touched[q]], low, high, run)
                low = high


@njit(cache=True, nogil=True)
def add_touched(scale, step, touched, low, high, run):
    """run[t - low] += scale * step[t], for the touched words t from low to high."""
    first = np.searchsorted(touched, low) if low > 0 else 0
    for j in range(first, len(touched)):
        t = touched[j]
        if t >= high:
            break
        run[t - low] += scale * step[t]


@njit(cache=True, nogil=True)
def learn_pattern(
    indptr, indices, data, queries, steps, n_touched, rate, columns, values, owner, n_owners
):  # fmt: skip
    """W += rate * sum_b x_b steps[b]' where W may be nonzero; word s belongs to owner s mod n_owners."""
    per_row = columns.shape[1]
    for b in range(len(queries)):
        if n_touched[b] == 0:
            continue
        step = steps[b]
        for e in range(indptr[queries[b]], indptr[queries[b] + 1]):
            word = indices[e]
            if word % n_owners == owner:
                scale = rate * data[e]
                for k in range(per_row):
                    values[word, k] += scale * step[columns[word, k]]


@njit(cache=True, nogil=True)
def find_largest(weights, start, stop, largest):
    """largest[s] = columns of the largest entries of weights[s] by size, in increasing order, rows start to stop.

    As many as `largest` has columns; ties go to the first.
    """
    n_columns, n_kept = weights.shape[1], largest.shape[1]
    for s in range(start, stop):
        sizes = np.abs(weights[s])
        border = np.partition(sizes, n_columns - n_kept)[n_columns - n_kept]
        n_equal = n_kept - np.sum(sizes > border)  # how many of those equal to the border are kept
        size = 0
        for t in range(n_columns):
            if sizes[t] > border or (sizes[t] == border and n_equal > 0):
                n_equal -= sizes[t] == border
                largest[s, size] = t
                size += 1
