"""SGD of half-transductive ranking by reconstruction (Bai et al. 2010, section 2.1), one document per step.

    gamma |V v_k - y_k|^2  +  max(0, margin - v_k.W x_k + v_k.W x_l)  +  max(0, margin - v_k.W x_k + v_l.W x_k)

y_k is a document's row, x_k the same row as a query (possibly with words dropped), v_k its free vector, and l another
document. V (words, dim) is stored as the product B M, so a step touches only the rows of the document's words.
With c = rate * gamma and N = M^-1,

    V <- V (I - 2c v v') + 2c y v'     is     M <- M (I - 2c v v'),   B += 2c y (N' v)' with the new N,

and G = V'V is updated in O(dim^2). Shapes: B, W (n_words, dim), vectors (n_docs, dim), M, N, G (dim, dim). M, N and G
are float64, because errors of thousands of steps add up in them. Rows are CSR.
"""

import numpy as np

from tacit.kernels.loops import FAST, njit

CHECK_EVERY = 32  # steps between checks of the condition of M


@njit(cache=True, nogil=True)
def room(indptr, data):
    """Arrays for the words and values of the longest row."""
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    return np.empty(longest, np.int64), np.empty(longest, data.dtype)


@njit(cache=True, nogil=True)
def keep_entries(indptr, indices, data, row, kept):
    """Fill `kept` with the words and values of a row that are not 0; return how many there are."""
    words, values = kept
    n_kept = 0
    for t in range(indptr[row], indptr[row + 1]):
        if data[t] != 0:
            words[n_kept], values[n_kept] = indices[t], data[t]
            n_kept += 1
    return n_kept


@njit(cache=True, nogil=True)
def project_row(indptr, indices, data, row, table, out, kept):
    """out = y_row @ table, in float64; return |y_row|^2.

    Four rows of the table are read at a time, to hide memory latency; sums keep the order of the words.
    """
    n_kept = keep_entries(indptr, indices, data, row, kept)
    words, values = kept
    square, whole = 0.0, n_kept - n_kept % 4
    for t in range(n_kept):
        square += values[t] * values[t]
    out[:] = 0
    for t in range(0, whole, 4):
        a, b, c, d = values[t], values[t + 1], values[t + 2], values[t + 3]
        ya, yb, yc, yd = table[words[t]], table[words[t + 1]], table[words[t + 2]], table[words[t + 3]]
        for j in range(len(out)):
            out[j] = (((out[j] + a * ya[j]) + b * yb[j]) + c * yc[j]) + d * yd[j]
    for t in range(whole, n_kept):
        value, entry = values[t], table[words[t]]
        for j in range(len(out)):
            out[j] += value * entry[j]
    return square


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_row(indptr, indices, data, row, direction, table, kept):
    """table += outer(y_row, direction), touching only the row's words, two at a time."""
    n_kept = keep_entries(indptr, indices, data, row, kept)
    words, values = kept
    whole = n_kept - n_kept % 2
    for t in range(0, whole, 2):
        a, b, ya, yb = values[t], values[t + 1], table[words[t]], table[words[t + 1]]
        for j in range(len(direction)):
            ya[j] += a * direction[j]
            yb[j] += b * direction[j]
    for t in range(whole, n_kept):
        value, entry = values[t], table[words[t]]
        for j in range(len(direction)):
            entry[j] += value * direction[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def times(matrix, vector, out):
    """out = matrix @ vector."""
    for i in range(len(out)):
        total = 0.0
        for j in range(len(vector)):
            total += matrix[i, j] * vector[j]
        out[i] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def transposed_times(matrix, vector, out):
    """out = matrix' @ vector, reading the matrix row by row."""
    out[:] = 0
    for i in range(len(vector)):
        for j in range(len(out)):
            out[j] += matrix[i, j] * vector[i]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_outer_product(scale, left, right, matrix):
    """matrix += scale * outer(left, right)."""
    for i in range(len(left)):
        value = scale * left[i]
        for j in range(len(right)):
            matrix[i, j] += value * right[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def reconstruct_step(indptr, indices, data, row, v, c, B, M, N, G, gradient, work, kept):
    """One descent step of V on |V v - y|^2 at rate c; return the loss before it.

    gradient becomes 2 (G v - V'y), the gradient by v at the V before the step; the caller updates v. c is limited so
    that 2c|v|^2 <= 1/2: a larger step would overshoot and make M ill-conditioned.
    """
    dim = len(v)
    mapped, target, product = work[0], work[1], work[2]
    square = project_row(indptr, indices, data, row, B, mapped, kept)
    transposed_times(M, mapped, target)  # V'y
    times(G, v, gradient)  # V'V v
    length = loss = 0.0
    for j in range(dim):
        length += v[j] * v[j]
        loss += v[j] * (gradient[j] - 2 * target[j])
    loss += square
    if c * length > 0.25:
        c = 0.25 / length
    step_gram(v, c, loss, target, gradient, G, product)
    left = 1 - 2 * c * length
    times(M, v, product)
    add_outer_product(-2 * c, product, v, M)
    transposed_times(N, v, product)
    add_outer_product(2 * c / left, v, product, N)
    for j in range(dim):
        product[j] *= 2 * c / left
    add_row(indptr, indices, data, row, product, B, kept)
    for j in range(dim):
        gradient[j] = 2 * (gradient[j] - target[j])
    return loss


@njit(cache=True, nogil=True, fastmath=FAST)
def step_gram(v, c, loss, target, gram_v, G, shift):
    """G <- V'V of the new V = V E + 2c y v', where E = I - 2c v v': all changes are along v.

    E G E + 2c (E t v' + v t'E) + 4c^2 |y|^2 v v' = G + s v' + v s' with t = V'y, g = G v and
    s = 2c (t - g) + 2c^2 |V v - y|^2 v.
    """
    for j in range(len(v)):
        shift[j] = 2 * c * (target[j] - gram_v[j]) + 2 * c * c * loss * v[j]
    for i in range(len(v)):
        for j in range(len(v)):
            G[i, j] += shift[i] * v[j] + v[i] * shift[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def dot(a, b):
    """a . b in float64."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def hinge_step(indptr, indices, queries, k, other, rival, both_ways, rate, margin, vectors, W, gradient, work, kept):
    """One descent step of W and v_rival on the margin losses; return their sum before the step.

    The second loss is used only with `both_ways`. `other` is the document whose query should score less for v_k,
    `rival` the one whose vector should score less for the query of k. work[0] is W x_k. The gradient by v_k is added
    to `gradient`; the caller updates v_k.
    """
    v, mine, theirs, step = vectors[k], work[0], work[1], work[2]
    project_row(indptr, indices, queries, other, W, theirs, kept)
    own = dot(v, mine)
    first = margin - own + dot(v, theirs)
    second = margin - own + dot(vectors[rival], mine) if both_ways else 0.0
    step[:] = 0
    if first > 0:
        for j in range(len(v)):
            gradient[j] -= mine[j] - theirs[j]
            step[j] = rate * v[j]
            theirs[j] = -step[j]
        add_row(indptr, indices, queries, other, theirs, W, kept)
    if second > 0:
        for j in range(len(v)):
            gradient[j] -= mine[j]
            step[j] += rate * (v[j] - vectors[rival, j])
            vectors[rival, j] -= rate * mine[j]
    if first > 0 or second > 0:
        add_row(indptr, indices, queries, k, step, W, kept)
    return max(first, 0.0) + max(second, 0.0)


@njit(cache=True, nogil=True, fastmath=FAST)
def hardest(candidates, vectors, mine):
    """Return the candidate whose vector scores best for a query's image; ties go to the first."""
    best = candidates[0]
    found = dot(vectors[best], mine)
    for other in candidates[1:]:
        score = dot(vectors[other], mine)
        if score > found:
            best, found = other, score
    return best


@njit(cache=True, nogil=True, fastmath=FAST)
def train_documents(
    indptr, indices, data, queries, order, candidates, both_ways, start, rates, gamma, margin,
    vectors, W, B, M, N, G, limit, losses,
):  # fmt: skip
    """Visit the documents of `order` from `start` on; return where it stopped: at the end, or where M must be folded.

    Step t trains document order[t] against the documents candidates[t] at rate rates[t]: the first candidate gives the
    other query, the hardest gives the rival vector. Reconstruction and margin losses are added to losses (2). Stops
    early when |M| |N| (Frobenius) exceeds `limit`, so that the caller folds M into B.
    """
    dim = vectors.shape[1]
    gradient, work, kept = np.empty(dim), np.empty((3, dim)), room(indptr, data)
    for t in range(start, len(order)):
        k, rate = order[t], rates[t]
        v = vectors[k]
        if gamma > 0:
            losses[0] += reconstruct_step(indptr, indices, data, k, v, rate * gamma, B, M, N, G, gradient, work, kept)
            for j in range(dim):
                gradient[j] *= gamma
        else:
            gradient[:] = 0
        project_row(indptr, indices, queries, k, W, work[0], kept)
        other, rival = candidates[t, 0], hardest(candidates[t], vectors, work[0])
        given = k, other, rival, both_ways, rate, margin
        losses[1] += hinge_step(indptr, indices, queries, *given, vectors, W, gradient, work, kept)
        for j in range(dim):
            v[j] -= rate * gradient[j]
        if t % CHECK_EVERY == CHECK_EVERY - 1 and frobenius(M) * frobenius(N) > limit:
            return t + 1
    return len(order)


@njit(cache=True, nogil=True, fastmath=FAST)
def train_triplets(
    indptr, indices, data, triplets, start, rate, gamma, margin, vectors, W, B, M, N, G, limit, losses
):  # fmt: skip
    """As `train_documents`, but as published: step t has documents (i, k, l) = triplets[t] at a constant rate.

    v_i and V learn to reconstruct i; v_k and W learn that v_k fits the words of k better than the words of l.
    """
    dim = vectors.shape[1]
    gradient, work, kept = np.empty(dim), np.empty((3, dim)), room(indptr, data)
    for t in range(start, len(triplets)):
        i, k, other = triplets[t]
        if gamma > 0:
            losses[0] += reconstruct_step(
                indptr, indices, data, i, vectors[i], rate * gamma, B, M, N, G, gradient, work, kept
            )
            for j in range(dim):
                vectors[i, j] -= rate * gamma * gradient[j]
        gradient[:] = 0
        project_row(indptr, indices, data, k, W, work[0], kept)
        given = k, other, other, False, rate, margin
        losses[1] += hinge_step(indptr, indices, data, *given, vectors, W, gradient, work, kept)
        for j in range(dim):
            vectors[k, j] -= rate * gradient[j]
        if t % CHECK_EVERY == CHECK_EVERY - 1 and frobenius(M) * frobenius(N) > limit:
            return t + 1
    return len(triplets)


@njit(cache=True, nogil=True, fastmath=FAST)
def frobenius(matrix):
    """Square root of the sum of all squares."""
    total = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * matrix[i, j]
    return np.sqrt(total)
