"""One block of margin-ranking SGD: a few queries against a shared pool of items, with all parameters frozen.

Slots number the items of the pool, b the queries of the block. scores and gradients are float32 (pool size, block
size). gradients[slot, b] is minus the derivative of the block's loss by that score, so a step along it raises items
that should rank higher and lowers the others.

Every loop has its own range of slots or queries, and each entry is summed in a fixed order. The result therefore has
the same bits for any number of threads.
"""

import numpy as np

from tacit.kernels.loops import FAST, njit
from tacit.kernels.rows import add_projection


@njit(cache=True, nogil=True)
def gather_pool(
    draws, queries, pairs_indptr, positives, pair_weights, offsets, slot_of, pool, chosen, n_chosen, weights
):
    """Fill pool with the drawn items and the positives of the block; return its size and where drawn items end.

    slot_of (n_items) must be -1 everywhere. chosen[b] receives the slots of the positives of query b, as many as its
    row has room for, spread over the list by offsets[b] in [0, 1); weights[b] receives the weights of these pairs.
    """
    size = 0
    for t in range(len(draws)):
        if slot_of[draws[t]] < 0:
            slot_of[draws[t]] = size
            pool[size] = draws[t]
            size += 1
    n_drawn, max_positives = size, chosen.shape[1]
    for b in range(len(queries)):
        first = pairs_indptr[queries[b]]
        n_all = pairs_indptr[queries[b] + 1] - first
        n_chosen[b] = min(n_all, max_positives)
        for j in range(n_chosen[b]):
            at = j if n_all <= max_positives else int((j + offsets[b]) * n_all / max_positives)
            at = min(at, n_all - 1)  # j + offset may round up to the next integer
            item, weights[b, j] = positives[first + at], pair_weights[first + at]
            if slot_of[item] < 0:
                slot_of[item] = size
                pool[size] = item
                size += 1
            chosen[b, j] = slot_of[item]
    return size, n_drawn


@njit(cache=True, nogil=True)
def release_pool(pool, size, slot_of):
    """Reset slot_of to -1 for the next block."""
    for slot in range(size):
        slot_of[pool[slot]] = -1


@njit(cache=True, nogil=True)
def index_queries(indptr, indices, data, queries, post_start, post_end, posts, values):
    """Postings of the block's words: word -> (query b, x_bw), from post_start to post_end. Both must be 0."""
    n_queries = len(queries)
    for b in range(n_queries):
        for t in range(indptr[queries[b]], indptr[queries[b] + 1]):
            post_end[indices[t]] += 1
    free = 0
    for b in range(n_queries):
        for t in range(indptr[queries[b]], indptr[queries[b] + 1]):
            word = indices[t]
            if post_end[word] > 0:  # first occurrence of the word: its count becomes a position, marked as negative
                post_start[word] = free
                free += post_end[word]
                post_end[word] = -post_start[word] - 1
            at = -post_end[word] - 1
            posts[at], values[at] = b, data[t]
            post_end[word] -= 1
    for b in range(n_queries):
        for t in range(indptr[queries[b]], indptr[queries[b] + 1]):
            word = indices[t]
            if post_end[word] < 0:
                post_end[word] = -post_end[word] - 1


@njit(cache=True, nogil=True)
def clear_index(indptr, indices, queries, post_start, post_end):
    """Reset the positions of the block's words to 0 for the next block."""
    for b in range(len(queries)):
        for t in range(indptr[queries[b]], indptr[queries[b] + 1]):
            post_start[indices[t]] = 0
            post_end[indices[t]] = 0


@njit(cache=True, nogil=True, fastmath=FAST)
def score_pool(query_columns, item_vectors, start, stop, scores, gradients):
    """scores[slot] = v_slot @ query_columns (dim, block size) and gradients[slot] = 0, for slots from start to stop."""
    dim = len(query_columns)
    every = np.arange(dim)
    for slot in range(start, stop):
        scores[slot] = 0
        gradients[slot] = 0
        add_projection(every, item_vectors[slot], 0, dim, query_columns, scores[slot])


@njit(cache=True, nogil=True)
def mine_gradients(
    queries, start, stop, known_indptr, known, queries_are_items, slot_of, n_drawn, chosen, n_chosen, weights,
    n_items, n_hardest, weigh_ranks, margin, scores, gradients, losses,
):  # fmt: skip
    """Gradients of the queries from start to stop, against the hardest drawn items that are not known positives.

    For a positive p, count the drawn items that violate its margin. Their share of the pool, scaled to all items,
    estimates the rank r of p. The step log(1 + r) / log(1 + n_items), or 1 without weigh_ranks, is divided among
    the violating items of the n_hardest best-scored drawn items. A query with P positives weights each by P^-1/2.
    gradients must be 0 everywhere.
    """
    full = np.log(1.0 + n_items)
    hardest, reached = np.empty(n_hardest, np.int64), np.empty(n_hardest, np.float32)
    lowered, column = np.empty(n_hardest, np.float32), np.empty(n_drawn, np.float32)
    for b in range(start, stop):
        lowest = np.float32(np.inf)
        for j in range(n_chosen[b]):
            lowest = min(lowest, scores[chosen[b, j], b])
        for slot in range(n_drawn):
            column[slot] = scores[slot, b]
        bar_known(queries[b], known_indptr, known, queries_are_items, slot_of, n_drawn, column)
        n_kept = keep_hardest(column, lowest - margin, hardest, reached)
        lowered[:n_kept] = 0
        share = 1 / np.sqrt(np.float32(max(1, n_chosen[b])))
        for j in range(n_chosen[b]):
            slot = chosen[b, j]
            floor = scores[slot, b] - margin
            n_violating = count_above(reached[:n_kept], floor)
            if n_violating == 0:
                continue
            if weigh_ranks:
                rank = count_above(column, floor) * (n_items / n_drawn)
                step = np.float32(weights[b, j] * share * np.log(1.0 + rank) / full / n_violating)
            else:
                step = np.float32(weights[b, j] * share / n_violating)
            for h in range(n_violating):  # best first
                gradients[slot, b] += step
                lowered[h] += step
                losses[b] += step * (reached[h] - floor)
        for h in range(n_kept):
            gradients[hardest[h], b] -= lowered[h]


@njit(cache=True, nogil=True)
def bar_known(query, known_indptr, known, queries_are_items, slot_of, n_drawn, column):
    """Set scores of known positives, and of the query if it is also an item, below every floor."""
    for t in range(known_indptr[query], known_indptr[query + 1]):
        if 0 <= slot_of[known[t]] < n_drawn:
            column[slot_of[known[t]]] = -np.inf
    if queries_are_items and 0 <= slot_of[query] < n_drawn:
        column[slot_of[query]] = -np.inf


@njit(cache=True, nogil=True)
def count_above(values, floor):
    """Return how many values exceed the floor."""
    n = 0
    for value in values:
        n += value > floor
    return n


@njit(cache=True, nogil=True)
def keep_hardest(column, floor, hardest, reached):
    """Keep the best-scored slots above the floor, best first (ties: smaller slot); return how many."""
    size, n_most = 0, len(hardest)
    for slot in range(len(column)):
        score = column[slot]
        if score <= floor or (size == n_most and score <= reached[size - 1]):
            continue
        at = size if size < n_most else n_most - 1
        while at > 0 and reached[at - 1] < score:
            reached[at], hardest[at] = reached[at - 1], hardest[at - 1]
            at -= 1
        reached[at], hardest[at] = score, slot
        size = min(size + 1, n_most)
    return size


@njit(cache=True, nogil=True)
def triple_gradients(better, worse, weights, start, stop, margin, scores, gradients, losses):
    """Gradients of given triples from start to stop: slot better[b] should exceed worse[b] by the margin."""
    for b in range(start, stop):
        gap = scores[better[b], b] - scores[worse[b], b]
        if gap < margin:
            gradients[better[b], b] += weights[b]
            gradients[worse[b], b] -= weights[b]
            losses[b] += weights[b] * (margin - gap)


@njit(cache=True, nogil=True, fastmath=FAST)
def query_steps(gradients, item_vectors, size, start, stop, steps):
    """steps[b] += sum_slot gradients[slot, b] v_slot, for queries from start to stop."""
    dim = item_vectors.shape[1]
    for slot in range(size):
        for b in range(start, stop):
            step = gradients[slot, b]
            if step != 0:
                for k in range(dim):
                    steps[b, k] += step * item_vectors[slot, k]


@njit(cache=True, nogil=True, fastmath=FAST)
def item_steps(gradients, query_vectors, n_queries, start, stop, steps):
    """steps[slot] = sum_b gradients[slot, b] u_b, for slots from start to stop."""
    dim = query_vectors.shape[1]
    for slot in range(start, stop):
        steps[slot] = 0
        for b in range(n_queries):
            step = gradients[slot, b]
            if step != 0:
                for k in range(dim):
                    steps[slot, k] += step * query_vectors[b, k]
