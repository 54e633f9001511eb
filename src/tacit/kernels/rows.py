"""Sparse rows and a table of vectors: projecting rows, and adding the gradient steps of rows to the table.

CSR rows (indptr, indices, data) over words, with increasing words in each row; table: float32 (n_words, dim). `rows`
lists row numbers, so a few rows of a large matrix are used without copying.

An owner has a contiguous range of words, so two owners never write the same row of the table and rarely share a cache
line. The sum of a word runs over r in order, so the result has the same bits for any number of owners.
"""

import numpy as np

from tacit.kernels.loops import FAST, njit


@njit(cache=True, nogil=True)
def take_rows(table, rows, start, stop, out):
    """out[r] = table[rows[r]], for r from start to stop; 0 if the table is empty."""
    for r in range(start, stop):
        if len(table) > 0:
            out[r] = table[rows[r]]
        else:
            out[r] = 0


@njit(cache=True, nogil=True, fastmath=FAST)
def add_projections(indptr, indices, data, rows, start, stop, table, out):
    """out[r] += x_rows[r] @ table, for r from start to stop."""
    for r in range(start, stop):
        add_projection(indices, data, indptr[rows[r]], indptr[rows[r] + 1], table, out[r])


@njit(cache=True, nogil=True, fastmath=FAST)
def add_projection(indices, data, first, last, table, vector):
    """vector += sum of data[t] * table[indices[t]]; four rows at a time, to hide memory latency."""
    whole = last - (last - first) % 4
    for t in range(first, whole, 4):
        a, b, c, d = data[t], data[t + 1], data[t + 2], data[t + 3]
        va, vb, vc, vd = table[indices[t]], table[indices[t + 1]], table[indices[t + 2]], table[indices[t + 3]]
        for k in range(len(vector)):
            vector[k] += a * va[k] + b * vb[k] + c * vc[k] + d * vd[k]
    for t in range(whole, last):
        value, entry = data[t], table[indices[t]]
        for k in range(len(vector)):
            vector[k] += value * entry[k]


@njit(cache=True, nogil=True)
def add_dense_products(indptr, indices, data, table, out):
    """out[row] += x_row @ table, four rows of the table at a time; sums keep the order of the words."""
    for row in range(len(indptr) - 1):
        first, last = indptr[row], indptr[row + 1]
        whole, vector = last - (last - first) % 4, out[row]
        for t in range(first, whole, 4):
            a, b, c, d = data[t], data[t + 1], data[t + 2], data[t + 3]
            va, vb, vc, vd = table[indices[t]], table[indices[t + 1]], table[indices[t + 2]], table[indices[t + 3]]
            for k in range(len(vector)):
                vector[k] = (((vector[k] + a * va[k]) + b * vb[k]) + c * vc[k]) + d * vd[k]
        for t in range(whole, last):
            value, entry = data[t], table[indices[t]]
            for k in range(len(vector)):
                vector[k] += value * entry[k]


@njit(cache=True, nogil=True)
def add_transposed_products(indptr, indices, data, table, out):
    """out[word] += sum over rows of x_row[word] * table[row], in the order of the rows."""
    for row in range(len(indptr) - 1):
        vector = table[row]
        for t in range(indptr[row], indptr[row + 1]):
            value, entry = data[t], out[indices[t]]
            for k in range(len(vector)):
                entry[k] += value * vector[k]


@njit(cache=True, nogil=True)
def split_rows(indptr, indices, borders, starts):
    """starts[o, row] = position of the row's first word >= borders[o], for o from 0 to the number of owners."""
    for row in range(len(indptr) - 1):
        at = indptr[row]
        for o in range(len(borders)):
            while at < indptr[row + 1] and indices[at] < borders[o]:
                at += 1
            starts[o, row] = at


@njit(cache=True, nogil=True)
def drop_words(rows, widths, draws, share, indptr, data, dropped):
    """dropped = data in the given rows, with 0 where the draw in [0, 1) is less than the share.

    A row has widths[row] draws, in the order of its words; a matrix truncated to leading columns uses the first ones.
    """
    first = 0
    for row in rows:
        start = indptr[row]
        for t in range(start, indptr[row + 1]):
            dropped[t] = data[t] if draws[first + t - start] >= share else 0
        first += widths[row]


@njit(cache=True, nogil=True, fastmath=FAST)
def find_moving(steps, n_rows, moving):
    """Numbers of the first rows of steps that are not all zero, in order; return how many there are."""
    n_moving = 0
    for r in range(n_rows):
        size = np.float32(0)
        for k in range(steps.shape[1]):
            size += abs(steps[r, k])
        if size != 0:  # NaN counts as a step: it is detected at the end of the epoch
            moving[n_moving] = r
            n_moving += 1
    return n_moving


@njit(cache=True, nogil=True, fastmath=FAST)
def add_outer(starts, ends, indices, data, rows, moving, steps, rate, table):
    """table[w] += rate * sum_r x_rows[r][w] * steps[r], for the words from starts[row] to ends[row] (of one owner).

    The sum runs over the r in `moving`, found once for all owners.
    """
    dim = table.shape[1]
    for r in moving:
        step, row = steps[r], rows[r]
        for t in range(starts[row], ends[row]):
            value, entry = rate * data[t], table[indices[t]]
            for k in range(dim):
                entry[k] += value * step[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_to_rows(rows, moving, steps, rate, table, low, high):
    """table[rows[r]] += rate * steps[r] for the r in `moving`, only for the rows of the table from low to high."""
    dim = table.shape[1]
    for r in moving:
        row = rows[r]
        if low <= row < high:
            for k in range(dim):
                table[row, k] += rate * steps[r, k]


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(a, b):
    """a . b in float32."""
    total = np.float32(0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total
