"""Vectors quantized to one byte per number, to bound their products with a query at a quarter of the memory traffic.

v_i ~ s_i c_i with integers c_i from -127 to 127 and the scale s_i = max |v_i| / 127. With the error
e = max over i of |v_i - s_i c_i| / s_i, for any query u

    u . v_i <= s_i (u . c_i + e |u|)

codes: int8 (n_blocks, width, 64), in blocks of 64 items by coordinate, so that the inner loop runs over items. width is
a multiple of 4, padded with zeros.
"""

import math

import numpy as np

from tacit.kernels.loops import FAST, njit

BLOCK = 64
SMALLEST_SCALE = np.float32(1e-30)  # a vector with a smaller scale counts as 0, because its quotients would be inexact


@njit(cache=True, nogil=True)
def make_sketch(vectors, codes, scales):
    """Fill codes (initially zero) and scales (n_items,); return the error e."""
    largest_error = 0.0
    for i in range(len(vectors)):
        most = np.float32(0)
        for k in range(vectors.shape[1]):
            most = max(most, abs(vectors[i, k]))
        scale = most / np.float32(127)
        if scale < SMALLEST_SCALE:
            scales[i] = 0
            continue
        scales[i] = scale
        error, block, place = 0.0, codes[i // BLOCK], i % BLOCK
        for k in range(vectors.shape[1]):
            code = math.floor(vectors[i, k] / scale + np.float32(0.5))
            block[k, place] = code
            error += (np.float64(vectors[i, k]) / scale - code) ** 2
        largest_error = max(largest_error, error)
    return math.sqrt(largest_error)


@njit(cache=True, nogil=True, fastmath=FAST)
def lower_bounds(codes, scales, error, lengths, query, factor, wanted, bounds):
    """Replace factor |u| |v_i| in bounds[i] by the bound of the sketch, in blocks where some bound reaches `wanted`."""
    length = np.float32(0)
    for k in range(len(query)):
        length += query[k] * query[k]
    length = np.float32(math.sqrt(length))
    sums = np.empty(BLOCK, np.float32)
    for b in range(len(codes)):
        start = b * BLOCK
        size = min(BLOCK, len(bounds) - start)
        n_reaching = 0
        for j in range(size):
            n_reaching += bounds[start + j] >= wanted
        if n_reaching == 0:
            continue
        sums[:] = error * length
        for k in range(0, codes.shape[1], 4):
            u0, u1, u2, u3 = query[k], query[k + 1], query[k + 2], query[k + 3]
            for j in range(BLOCK):
                sums[j] += (
                    u0 * np.float32(codes[b, k, j])
                    + u1 * np.float32(codes[b, k + 1, j])
                    + u2 * np.float32(codes[b, k + 2, j])
                    + u3 * np.float32(codes[b, k + 3, j])
                )
        for j in range(size):
            bounds[start + j] += factor * (scales[start + j] * sums[j] - length * lengths[start + j])
