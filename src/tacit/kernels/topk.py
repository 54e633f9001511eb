"""The k best items of each row of scores: higher score first, then the smaller item number.

A bounded heap with the worst kept item on top takes O(n log k) and does not sort the row. Once it is full, blocks of
scores without one above the worst kept score are skipped: an equal score belongs to a later item, which ranks below.
"""

import numpy as np

from tacit.kernels.loops import njit

BLOCK = 64  # scores that are compared with the worst kept score together


@njit(cache=True, nogil=True)
def worse(score_a, item_a, score_b, item_b):
    """Return whether a ranks below b."""
    return score_a < score_b or (score_a == score_b and item_a > item_b)


@njit(cache=True, nogil=True)
def sift_down(scores, items, size, at):
    """Restore the heap below one position."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and worse(scores[child + 1], items[child + 1], scores[child], items[child]):
            child += 1
        if not worse(scores[child], items[child], scores[at], items[at]):
            return
        scores[child], scores[at] = scores[at], scores[child]
        items[child], items[at] = items[at], items[child]
        at = child


@njit(cache=True, nogil=True)
def any_above(scores, limit):
    """Return whether a score is above the limit. Booleans are joined as int32, which LLVM vectorizes."""
    found = np.int32(0)
    for at in range(scores.shape[0]):
        found |= np.int32(1) if scores[at] > limit else np.int32(0)
    return found > 0


@njit(cache=True, nogil=True)
def top_k_rows(scores, skip_indptr, skip_items, best_items, best_scores):
    """Fill best_items and best_scores (n_rows, k) from scores (n_rows, n_items).

    skip_items lists, row by row and in increasing order, the items that are not candidates. Rows with
    fewer than k candidates are padded with item -1 and score 0.
    """
    n_items, k = scores.shape[1], best_items.shape[1]
    for row in range(scores.shape[0]):
        kept_scores, kept_items = best_scores[row], best_items[row]
        size = 0
        skip, skip_end = skip_indptr[row], skip_indptr[row + 1]
        item = -1
        while item + 1 < n_items:
            item += 1
            if size == k and item % BLOCK == 0 and not any_above(scores[row, item : item + BLOCK], kept_scores[0]):
                item += BLOCK - 1
                continue
            while skip < skip_end and skip_items[skip] < item:
                skip += 1
            if skip < skip_end and skip_items[skip] == item:
                continue
            score = scores[row, item]
            if size < k:
                kept_scores[size], kept_items[size] = score, item
                size += 1
                if size == k:
                    for at in range(k // 2 - 1, -1, -1):
                        sift_down(kept_scores, kept_items, k, at)
            elif worse(kept_scores[0], kept_items[0], score, item):
                kept_scores[0], kept_items[0] = score, item
                sift_down(kept_scores, kept_items, k, 0)
        sort_best_first(kept_scores, kept_items, size)
        kept_items[size:] = -1
        kept_scores[size:] = 0


@njit(cache=True, nogil=True)
def sort_best_first(scores, items, size):
    """Sort the first entries from best to worst (heap sort, because ties depend on the item number)."""
    for at in range(size // 2 - 1, -1, -1):
        sift_down(scores, items, size, at)
    for end in range(size - 1, 0, -1):
        scores[0], scores[end] = scores[end], scores[0]
        items[0], items[end] = items[end], items[0]
        sift_down(scores, items, end, 0)
