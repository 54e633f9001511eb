"""Distances between rows of a dense table, one pair or one row at a time.

Every value is summed in an order that depends only on its own columns. It has the same bits whichever other rows are
computed in the same call, which a matrix product does not guarantee.
"""

import math

import numpy as np

from tacit.kernels.loops import FAST, njit


@njit(cache=True, nogil=True, fastmath=FAST)
def pair_squares(table, neighbours, start, stop, out):
    """out[i, t] = |table_i - table_j|^2 for j = neighbours[i, t], rows from start to stop; -1 is no neighbour."""
    for i in range(start, stop):
        for t in range(neighbours.shape[1]):
            j = neighbours[i, t]
            total = 0.0
            if j >= 0:
                for k in range(table.shape[1]):
                    gap = table[i, k] - table[j, k]
                    total += gap * gap
            out[i, t] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def minus_squares(rows, centres, out):
    """out[r, c] = -|rows_r - centres_c|^2: the nearest centre scores best."""
    for r in range(rows.shape[0]):
        for c in range(centres.shape[0]):
            total = np.float32(0)
            for k in range(rows.shape[1]):
                gap = rows[r, k] - centres[c, k]
                total += gap * gap
            out[r, c] = -total


@njit(cache=True, nogil=True)
def nearest_by_sum(queries, table, start, stop, squared, nearest, distances):
    """Find the row of table with the least |q - v|_1, or |q - v|_2^2 if squared; ties go to the smaller row.

    A row is abandoned as soon as its sum exceeds the best one.
    """
    for q in range(start, stop):
        best, best_row = distances[q], -1
        for row in range(table.shape[0]):
            total = 0.0
            for k in range(table.shape[1]):
                gap = float(queries[q, k]) - float(table[row, k])
                total += gap * gap if squared else abs(gap)
                if total >= best:
                    break
            if total < best:
                best, best_row = total, row
        nearest[q], distances[q] = best_row, best


@njit(cache=True, nogil=True)
def gaussians(scores, sigma, power, values):
    """values[r] = exp(scores[r] / (2 sigma^2)) of negative squared distances scores[r], best first, with norm 1.

    The norm is L2 (power 2) or L1 (power 1). Values are relative to the best, so no row underflows to 0. With power 0,
    values are not changed.
    """
    for r in range(scores.shape[0]):
        total = 0.0
        best = scores[r, 0] if power > 0 else 0.0
        for t in range(scores.shape[1]):
            value = math.exp((scores[r, t] - best) / (2.0 * sigma * sigma))
            values[r, t] = value
            total += value * value if power == 2 else value
        size = math.sqrt(total) if power == 2 else total if power == 1 else 1.0
        for t in range(scores.shape[1]):
            values[r, t] /= size


@njit(cache=True, nogil=True, fastmath=FAST)
def edge_squares(table, indptr, indices, out):
    """out[t] = |table_i - table_j|^2 for every stored entry (i, j) of a CSR graph."""
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            total = 0.0
            for k in range(table.shape[1]):
                gap = table[i, k] - table[indices[t], k]
                total += gap * gap
            out[t] = total
