"""Given triples in a block, all parameters frozen: query b wants item 2 b above item 2 b + 1 by a margin."""

import numpy as np
from numba import njit

from tacit.kernels.rows import FAST


@njit(cache=True, nogil=True, fastmath=FAST)
def triple_steps(
    query_vectors, item_vectors, gaps, weights, margin, start, stop, gradients, query_steps, steps, losses
):
    """Gradients, steps and losses of the triples from start to stop.

    gaps[b]: what the scores differ by beside their vectors. gradients[b] is the weight where the margin is not reached,
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
