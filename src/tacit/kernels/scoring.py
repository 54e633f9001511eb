"""Scores of query rows against all items, added into a block of rows.

Every score is summed in an order that depends on its own query and item only, so a score has the
same bits alone, in a block, in a larger collection, and for any number of threads. A BLAS product
does not promise that.

out: float32 (n_queries, n_items), changed in place.
"""

from numba import njit

FAST = {"contract", "reassoc", "arcp", "nsz"}  # sums may be reordered; NaN keeps its meaning
TILE = 64  # item vectors of one tile stay in cache while all queries of the block pass over them


@njit(cache=True, nogil=True)
def add_sparse_scores(indptr, indices, data, post_indptr, post_items, post_data, out):
    """out[q, i] += x_q . y_i; x is CSR over words, y is given by postings (items of each word)."""
    for q in range(out.shape[0]):
        row = out[q]
        for t in range(indptr[q], indptr[q + 1]):
            word, weight = indices[t], data[t]
            for p in range(post_indptr[word], post_indptr[word + 1]):
                row[post_items[p]] += weight * post_data[p]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_dense_scores(query_vectors, item_vectors, out):
    """out[q, i] += u_q . v_i."""
    n_items, dim = item_vectors.shape
    for start in range(0, n_items, TILE):
        stop = min(start + TILE, n_items)
        for q in range(out.shape[0]):
            for i in range(start, stop):
                total = out.dtype.type(0)
                for k in range(dim):
                    total += query_vectors[q, k] * item_vectors[i, k]
                out[q, i] += total


@njit(cache=True, nogil=True)
def score_hashed_pairs(words, values, indptr, indices, data, buckets, prime, out):
    """out[i] = sum over words s of the query and t of item i of q_s y_t buckets[(s * prime + t) mod len(buckets)].

    One query (words, values) against items (CSR), with one look-up for each pair of words.
    """
    n_buckets = len(buckets)
    for item in range(len(out)):
        total = 0.0
        for t in range(indptr[item], indptr[item + 1]):
            for s in range(len(words)):
                total += values[s] * data[t] * buckets[(words[s] * prime + indices[t]) % n_buckets]
        out[item] = total
