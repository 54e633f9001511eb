"""SGD on half-transductive embeddings of a graph (HTR, section 2.2).

    gamma * L(v_i, v_j, A_ij) + L(W phi_i, v_j, A_ij),
    L(z, z', 1) = |z - z'|,  L(z, z', 0) = max(0, margin - |z - z'|),

where |.| is the sum of absolute differences, or of squares. V: float32 (n_items, dim); W: float32 (n_features, dim),
one row per feature; phi: CSR rows (indptr, indices, data). A pair (i, j) changes v_i, v_j and the rows of W for the
features of phi_i, so a step costs O(features of phi_i x dim) for any number of items. Both terms use the parameters
before the step. The first term is skipped for i = j, where it has no gradient.

The helpers are inlined. As separate functions, their sums could be ordered one way in the process that compiles them
and another way in processes that load them from the cache, because each selects its own copy.
"""

import numpy as np

from tacit.kernels.loops import FAST, njit


@njit(cache=True, nogil=True, fastmath=FAST)
def graph_epoch(indptr, indices, data, near, far, V, W, first_rate, last_rate, gamma, margin, squared):
    """Step on pairs near[s] and far[s] (row numbers) alternately; return the sum of the losses.

    The rate changes linearly from first_rate to last_rate. A far pair with i = j is skipped.
    """
    image, direction, link = np.empty_like(V[0]), np.empty_like(V[0]), np.empty_like(V[0])
    total = 0.0
    for s in range(len(near)):
        rate = np.float32(first_rate + (last_rate - first_rate) * s / len(near))
        i, j = near[s]
        total += graph_step(
            indptr, indices, data, i, j, True, V, W, rate, gamma, margin, squared, image, direction, link
        )
        i, j = far[s]
        if i != j:
            total += graph_step(
                indptr, indices, data, i, j, False, V, W, rate, gamma, margin, squared, image, direction, link
            )
    return total


@njit(inline="always")
def graph_step(indptr, indices, data, i, j, is_near, V, W, rate, gamma, margin, squared, image, direction, link):
    """Descend on one pair; return its loss. image, direction and link are work space."""
    dim = V.shape[1]
    find_image(indptr, indices, data, i, W, image)
    loss, moves = pair_gradient(image, V[j], is_near, margin, squared, direction)
    if gamma > 0 and i != j:
        link_loss, links = pair_gradient(V[i], V[j], is_near, margin, squared, link)
        if links:
            loss += gamma * link_loss
            for k in range(dim):
                step = rate * gamma * link[k]
                V[i, k] += step
                V[j, k] -= step
    if moves:
        for k in range(dim):
            V[j, k] -= rate * direction[k]
        for t in range(indptr[i], indptr[i + 1]):
            value, entry = rate * data[t], W[indices[t]]
            for k in range(dim):
                entry[k] += value * direction[k]
    return loss


@njit(inline="always")
def find_image(indptr, indices, data, i, W, image):
    """image = W phi_i."""
    image[:] = 0
    for t in range(indptr[i], indptr[i + 1]):
        value, entry = data[t], W[indices[t]]
        for k in range(len(image)):
            image[k] += value * entry[k]


@njit(cache=True, nogil=True)
def find_images(indptr, indices, data, start, stop, W, images):
    """images[i] = W phi_i, from start to stop, with the same bits as `find_image`."""
    for i in range(start, stop):
        find_image(indptr, indices, data, i, W, images[i])


@njit(inline="always")
def pair_gradient(a, b, is_near, margin, squared, direction):
    """direction = minus the derivative of L(a, b) by a (the derivative by b is its negative); return loss, loss > 0."""
    distance = np.float32(0)
    for k in range(len(a)):
        gap = a[k] - b[k]
        distance += gap * gap if squared else abs(gap)
    if not is_near and distance >= margin:
        return np.float32(0), False
    sign = np.float32(-1) if is_near else np.float32(1)
    for k in range(len(a)):
        gap = a[k] - b[k]
        direction[k] = sign * (2 * gap if squared else np.sign(gap))
    return distance if is_near else margin - distance, True
