"""Sparse rows against a table of vectors: projecting rows, and adding to the table what rows learned.

CSR rows (indptr, indices, data) over words; table: float32 (n_words, dim). Rows are named by number in
`rows`, so that a few of a large matrix are used without copying them.
"""

from numba import njit

FAST = {"contract", "reassoc", "arcp", "nsz"}  # sums may be reordered; NaN keeps its meaning


@njit(cache=True, nogil=True, fastmath=FAST)
def add_projections(indptr, indices, data, rows, start, stop, table, out):
    """out[r] += x_rows[r] @ table, for r from start to stop."""
    dim = table.shape[1]
    for r in range(start, stop):
        vector = out[r]
        for t in range(indptr[rows[r]], indptr[rows[r] + 1]):
            value, entry = data[t], table[indices[t]]
            for k in range(dim):
                vector[k] += value * entry[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_outer(indptr, indices, data, rows, n_rows, steps, rate, table, owner, n_owners):
    """table[w] += rate * sum_r x_rows[r][w] * steps[r], only for the words that this owner has.

    A word belongs to owner w mod n_owners, and its sum runs over r in order: the result has the same
    bits for any number of owners, and no two owners ever write the same row. Rows whose step is zero
    everywhere are passed over.
    """
    dim = table.shape[1]
    for r in range(n_rows):
        step = steps[r]
        moved = False
        for k in range(dim):
            moved |= step[k] != 0
        if not moved:
            continue
        for t in range(indptr[rows[r]], indptr[rows[r] + 1]):
            word = indices[t]
            if word % n_owners == owner:
                value, entry = rate * data[t], table[word]
                for k in range(dim):
                    entry[k] += value * step[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_to_rows(rows, n_rows, steps, rate, table, owner, n_owners):
    """table[rows[r]] += rate * steps[r], only for the rows of the table that this owner has."""
    dim = table.shape[1]
    for r in range(n_rows):
        row = rows[r]
        if row % n_owners == owner:
            for k in range(dim):
                table[row, k] += rate * steps[r, k]
