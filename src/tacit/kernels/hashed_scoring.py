"""Scores of one query against many items by hash kernels, pair of words by pair of words.

f(q, d) = sum over words s of q and t of d of q_s d_t places[(s * prime + t) mod len(places)].
"""

from numba import njit


@njit(cache=True, nogil=True)
def score_hashed_pairs(words, values, indptr, indices, data, places, prime, out):
    """out[i] = f(q, item i) for the query's words and values, and items as CSR; |q||d| look-ups each."""
    n_buckets = len(places)
    for item in range(len(out)):
        total = 0.0
        for t in range(indptr[item], indptr[item + 1]):
            for s in range(len(words)):
                total += values[s] * data[t] * places[(words[s] * prime + indices[t]) % n_buckets]
        out[item] = total
