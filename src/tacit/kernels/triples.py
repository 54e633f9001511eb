"""Steps of SGD on the margin ranking loss for given triples (query, better, worse).

`triple_steps`: a block of triples with all parameters frozen. Item 2 b should exceed item 2 b + 1 by a margin for query
b.

`visit_vectors`, `visit_pairs`: one triple per step, as in the papers (Bai et al. 2009, section 2.3; 2010, section 2.3).
Each step uses the parameters left by the previous one, so these loops are sequential. Rows are CSR triples (indptr,
indices, data) with increasing words; all numbers are float32. The rate changes linearly from the first of `rates` to
the second.
"""

import numpy as np

from tacit.kernels.loops import FAST, njit
from tacit.kernels.rows import add_projection, dot
from tacit.kernels.shared_words import shared_gap, update_diagonal_of_pair


@njit(cache=True, nogil=True, fastmath=FAST)
def triple_steps(
    query_vectors, item_vectors, gaps, weights, margin, start, stop, gradients, query_steps, steps, losses
):
    """Gradients, steps and losses of the triples from start to stop.

    gaps[b]: score difference apart from the vectors. gradients[b] is the weight where the margin is not reached,
    else 0; query_steps[b] += step (v_better - v_worse), steps[2 b] = step u_b and steps[2 b + 1] = -step u_b.
    """
    dim = query_vectors.shape[1]
    for b in range(start, stop):
        query, better, worse = query_vectors[b], item_vectors[2 * b], item_vectors[2 * b + 1]
        gap = gaps[b]
        for k in range(dim):
            gap += query[k] * (better[k] - worse[k])
        step = weights[b] if gap < margin else np.float32(0)
        gradients[b] = step
        losses[b] += step * (margin - gap)
        for k in range(dim):
            query_steps[b, k] += step * (better[k] - worse[k])
            steps[2 * b, k] = step * query[k]
            steps[2 * b + 1, k] = -step * query[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_row(rows, row, scale, vector, table):
    """table += scale * outer(y_row, vector), touching only the row's words."""
    indptr, indices, data = rows
    for t in range(indptr[row], indptr[row + 1]):
        value, entry = scale * data[t], table[indices[t]]
        for k in range(len(vector)):
            entry[k] += value * vector[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def project_gap(rows, better, worse, table, out, work):
    """out = (y_better - y_worse) @ table."""
    indptr, indices, data = rows
    out[:] = 0
    work[:] = 0
    add_projection(indices, data, indptr[better], indptr[better + 1], table, out)
    add_projection(indices, data, indptr[worse], indptr[worse + 1], table, work)
    for k in range(len(out)):
        out[k] -= work[k]


@njit(cache=True, nogil=True)
def update_shared(query_words, item_words, query, better, worse, step, diagonal):
    """diagonal[w] += step * x_w (y_better,w - y_worse,w)."""
    indptr, indices, data = query_words
    starts, words, values = item_words
    row = indices, data, indptr[query], indptr[query + 1]
    update_diagonal_of_pair(*row, words, values, starts[better], starts[better + 1], step, diagonal)
    update_diagonal_of_pair(*row, words, values, starts[worse], starts[worse + 1], -step, diagonal)


@njit(cache=True, nogil=True, fastmath=FAST)
def vector_gap(item_rows, better, worse, mapped, items, gap, work):
    """gap = z_better - z_worse, the vectors of two items; a table that this model lacks is empty."""
    gap[:] = 0
    if len(mapped) > 0:
        project_gap(item_rows, better, worse, mapped, gap, work)
    if len(items) > 0:
        for k in range(len(gap)):
            gap[k] += items[better, k] - items[worse, k]


@njit(cache=True, nogil=True, fastmath=FAST)
def move_items(item_rows, better, worse, step, item_rate, vector, mapped, items):
    """z_better += step * vector and z_worse -= step * vector, in the tables that this model has."""
    if len(mapped) > 0:
        add_row(item_rows, better, step, vector, mapped)
        add_row(item_rows, worse, -step, vector, mapped)
    if len(items) > 0:
        for k in range(len(vector)):
            items[better, k] += step * item_rate * vector[k]
            items[worse, k] -= step * item_rate * vector[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def visit_vectors(
    low_rows, word_rows, triples, weights, rates, margin, gamma, item_rate, use_diagonal, learn_diagonal,
    queries, mapped, items, diagonal,
):  # fmt: skip
    """Steps of a low-rank model on all triples, in order; return the sum of the losses before each step.

    low_rows and word_rows are (rows of queries, rows of items), for the vectors and for shared words. The tables are
    described in `retrieve.margin.embedding_sgd.Tables`. `mapped` may be the same array as `queries`; a table that this
    model lacks is empty. With gamma, HTR's second loss on (U x) . (U y) is added to the same step.
    """
    (query_rows, item_rows), (query_words, item_words), dim = low_rows, word_rows, queries.shape[1]
    indptr, indices, data = query_rows
    vector, gap, linear = np.empty(dim, np.float32), np.empty(dim, np.float32), np.zeros(dim, np.float32)
    work, total, n_triples = np.empty(dim, np.float32), 0.0, len(triples)
    for at in range(n_triples):
        query, better, worse = triples[at]
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * at / n_triples)
        vector[:] = 0
        add_projection(indices, data, indptr[query], indptr[query + 1], queries, vector)
        vector_gap(item_rows, better, worse, mapped, items, gap, work)
        found, second = dot(vector, gap), np.float32(0)
        if use_diagonal:
            found += shared_gap(query_words, item_words, query, better, worse, diagonal)
        first = weights[at] if found < margin else np.float32(0)
        total += first * (margin - found)
        if gamma > 0:
            project_gap(item_rows, better, worse, queries, linear, work)
            found = dot(vector, linear)
            second = gamma * weights[at] if found < margin else np.float32(0)
            total += second * (margin - found)
        if first != 0 or second != 0:
            for k in range(dim):
                work[k] = first * gap[k] + second * linear[k]
            add_row(query_rows, query, rate, work, queries)
            move_items(item_rows, better, worse, rate * first, item_rate, vector, mapped, items)
            if second != 0:
                move_items(item_rows, better, worse, rate * second, item_rate, vector, queries, items[:0])
            if learn_diagonal:
                update_shared(query_words, item_words, query, better, worse, rate * first, diagonal)
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def pair_score(query_rows, query, item_rows, item, weights, stride):
    """x'Wy, where W[s, t] is at (s * stride + t) mod the number of weights."""
    indptr, indices, data = query_rows
    starts, words, values = item_rows
    total, n_buckets = np.float32(0), len(weights)
    for e in range(indptr[query], indptr[query + 1]):
        first, part = np.int64(indices[e]) * stride % n_buckets, np.float32(0)
        for f in range(starts[item], starts[item + 1]):
            place = first + words[f]
            part += values[f] * weights[place if place < n_buckets else place % n_buckets]
        total += data[e] * part
    return total


@njit(cache=True, nogil=True)
def add_pairs(query_rows, query, item_rows, item, step, bar_diagonal, weights, stride):
    """W += step * x y', except on the diagonal with `bar_diagonal`."""
    indptr, indices, data = query_rows
    starts, words, values = item_rows
    n_buckets = len(weights)
    for e in range(indptr[query], indptr[query + 1]):
        first, scale = np.int64(indices[e]) * stride % n_buckets, step * data[e]
        for f in range(starts[item], starts[item + 1]):
            place = first + words[f]
            if not (bar_diagonal and words[f] == indices[e]):
                weights[place if place < n_buckets else place % n_buckets] += scale * values[f]


@njit(cache=True, nogil=True)
def visit_pairs(
    query_rows, item_rows, triples, triple_weights, rates, margin, learn_alpha, bar_diagonal,
    weights, stride, alpha, ones,
):  # fmt: skip
    """Steps of x'Wy + alpha x.y on all triples, in order; return the sum of the losses before each step, and alpha.

    ones (n_words) is all ones, or has length 0 if queries and items share no words.
    """
    total, n_triples = 0.0, len(triples)
    for at in range(n_triples):
        query, better, worse = triples[at]
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * at / n_triples)
        found = pair_score(query_rows, query, item_rows, better, weights, stride)
        found -= pair_score(query_rows, query, item_rows, worse, weights, stride)
        shared = np.float32(0)
        if len(ones) > 0:
            shared = shared_gap(query_rows, item_rows, query, better, worse, ones)
            found += np.float32(alpha) * shared
        if found < margin:
            total += triple_weights[at] * (margin - found)
            step = rate * triple_weights[at]
            add_pairs(query_rows, query, item_rows, better, step, bar_diagonal, weights, stride)
            add_pairs(query_rows, query, item_rows, worse, -step, bar_diagonal, weights, stride)
            if learn_alpha:
                alpha += step * shared
    return total, alpha
