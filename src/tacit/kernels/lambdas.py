"""Gradients of pairwise losses for each row's score, and the change of a measure when two rows swap.

A pair (b, w) with weight c has the loss c log(1 + exp(s_w - s_b)), the Bradley-Terry likelihood. Its gradient for s_b
is -c P(w > b), and the opposite for s_w. LambdaRank multiplies c by |change of the measure when b and w swap|.

Positions count from 0. For nDCG `positions[i]` is the position of row i in its list. For AP and RR, which depend on the
grades of all rows above, it is the position among the judged rows, and -1 for an unjudged row.

Regularizers pull the scores of neighbours together. With d = s_i - s_j and P = 1 / (1 + exp(-d)), over unordered pairs
of neighbours (i, j) with strength q:

    preference   -(beta / 2) q log(P (1 - P)),    gradient for s_i:  beta q (P - 1/2)
    quadratic     (beta / 8) q d^2,               gradient for s_i:  beta q d / 4

Both are losses. The second has the curvature of the first at d = 0, so beta has the same meaning in both; far from 0
the first grows only like |d|. All functions change their array arguments in place.
"""

import numpy as np

from tacit.kernels.loops import njit


@njit(cache=True, nogil=True)
def add_pair_gradients(scores, better, worse, weight, gradient):
    """gradient += dLoss/ds of all weighted pairs; return the loss."""
    loss = 0.0
    for t in range(len(better)):
        b, w = better[t], worse[t]
        gap = scores[b] - scores[w]
        # Both branches call exp only with arguments of at most 0.
        if gap >= 0:
            small = np.exp(-gap)
            loss += weight[t] * np.log1p(small)
            wrong = small / (1 + small)
        else:
            small = np.exp(gap)
            loss += weight[t] * (np.log1p(small) - gap)
            wrong = 1 / (1 + small)
        gradient[b] -= weight[t] * wrong
        gradient[w] += weight[t] * wrong
    return loss


@njit(cache=True, nogil=True)
def fill_positions(scores, starts, counted, positions):
    """Position of each counted row among the counted rows of its list, by score, then row; -1 for other rows."""
    for number in range(len(starts) - 1):
        start, stop = starts[number], starts[number + 1]
        # A stable sort of the negated scores puts the smaller row first in ties.
        order = np.argsort(-scores[start:stop], kind="mergesort")
        position = 0
        for at in order:
            positions[start + at] = -1
            if counted[start + at]:
                positions[start + at] = position
                position += 1


@njit(cache=True, nogil=True)
def swap_ndcg(better, worse, positions, gain, discounts, change):
    """change[t] = gain[t] |R(position_b) - R(position_w)|.

    gain[t]: difference of the pair's gains, divided by the best DCG of its list; discounts[p] = R(p), 0 from the
    cutoff on, with the length of the longest list.
    """
    for t in range(len(better)):
        change[t] = gain[t] * abs(discounts[positions[better[t]]] - discounts[positions[worse[t]]])


@njit(cache=True, nogil=True)
def swap_average_precision(starts, better, worse, positions, relevant, first_pair, change):
    """change[t] = |change of average precision| when the rows of pair t swap; 0 unless one of them is relevant.

    Pairs of list l are first_pair[l] to first_pair[l + 1].
    """
    for number in range(len(starts) - 1):
        start, stop = starts[number], starts[number + 1]
        n = stop - start
        is_hit = np.zeros(n + 1, np.bool_)
        for row in range(start, stop):
            if positions[row] >= 0:
                is_hit[positions[row] + 1] = relevant[row]
        hits, inverse = np.zeros(n + 1), np.zeros(n + 1)  # running sums of hits and of hits / position
        for position in range(1, n + 1):
            hits[position] = hits[position - 1] + is_hit[position]
            inverse[position] = inverse[position - 1] + is_hit[position] / position
        for t in range(first_pair[number], first_pair[number + 1]):
            b, w = better[t], worse[t]
            if relevant[b] == relevant[w]:
                change[t] = 0.0
                continue
            hit, miss = positions[b] + 1, positions[w] + 1
            if not relevant[b]:
                hit, miss = miss, hit
            if hit < miss:  # the hit falls: rows in between lose one hit above them
                between = inverse[miss] - inverse[hit]
                moved = hits[hit] / hit - hits[miss] / miss
            else:
                between = inverse[hit - 1] - inverse[miss]
                moved = (hits[miss] + 1) / miss - hits[hit] / hit
            change[t] = abs(moved + between) / hits[n]


@njit(cache=True, nogil=True)
def swap_reciprocal_rank(starts, better, worse, positions, relevant, first_pair, change):
    """change[t] = |change of 1 / position of the first relevant row| when the rows of pair t swap."""
    for number in range(len(starts) - 1):
        first, second = np.inf, np.inf
        for row in range(starts[number], starts[number + 1]):
            if positions[row] >= 0 and relevant[row]:
                position = positions[row] + 1.0
                if position < first:
                    first, second = position, first
                elif position < second:
                    second = position
        for t in range(first_pair[number], first_pair[number + 1]):
            b, w = better[t], worse[t]
            if relevant[b] == relevant[w]:
                change[t] = 0.0
                continue
            hit, miss = positions[b] + 1.0, positions[w] + 1.0
            if not relevant[b]:
                hit, miss = miss, hit
            others = second if hit == first else first
            change[t] = abs(1 / first - 1 / min(others, miss))


@njit(cache=True, nogil=True)
def add_pair_curvatures(scores, better, worse, weight, curvature):
    """curvature += d2Loss/ds2 of weighted pairs, its diagonal only: c P (1 - P) for both rows.

    The preference regularizer, (beta / 2) q of the same P (1 - P) from either order, has beta q P (1 - P).
    """
    for t in range(len(better)):
        small = np.exp(-abs(scores[better[t]] - scores[worse[t]]))
        bend = weight[t] * small / (1 + small) ** 2
        curvature[better[t]] += bend
        curvature[worse[t]] += bend


@njit(cache=True, nogil=True)
def add_preference_gradients(scores, left, right, strength, beta, gradient):
    """gradient += dLoss/ds of the preference regularizer; return the loss, 0 if all scores are equal."""
    loss = 0.0
    for t in range(len(left)):
        i, j = left[t], right[t]
        gap = scores[i] - scores[j]
        # -log(P (1 - P)) = |d| + 2 log(1 + exp(-|d|)), minus 2 log 2, its value at a tie.
        size = abs(gap)
        small = np.exp(-size)
        loss += 0.5 * beta * strength[t] * (size + 2 * np.log1p(small) - 2 * np.log(2.0))
        pull = beta * strength[t] * (1 / (1 + small) - 0.5)
        if gap < 0:
            pull = -pull
        gradient[i] += pull
        gradient[j] -= pull
    return loss


@njit(cache=True, nogil=True)
def add_quadratic_gradients(scores, left, right, strength, beta, gradient):
    """gradient += dLoss/ds of the quadratic regularizer; return the loss."""
    loss = 0.0
    for t in range(len(left)):
        i, j = left[t], right[t]
        gap = scores[i] - scores[j]
        loss += 0.125 * beta * strength[t] * gap * gap
        pull = 0.25 * beta * strength[t] * gap
        gradient[i] += pull
        gradient[j] -= pull
    return loss


@njit(cache=True, nogil=True)
def scale_by_discounts(left, right, strength, positions, discounts, scaled):
    """scaled[t] = strength |R(position_i) - R(position_j)|, so neighbours count by the effect of their order."""
    for t in range(len(left)):
        scaled[t] = strength[t] * abs(discounts[positions[left[t]]] - discounts[positions[right[t]]])
