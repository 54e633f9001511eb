"""The loops of importance estimation: a quadratic on the simplex, and weights of pairs of rows."""

import numpy as np

from tacit.kernels.loops import FAST, njit


@njit(cache=True, nogil=True)
def climb_quadratic(H, linear, gamma, n_steps, tolerance):
    """Move gamma (entries >= 0, sum 1) to the maximum of linear.gamma - gamma.H.gamma / 2 on the simplex, in place.

    H is positive semidefinite. Projected gradient ascent with Barzilai-Borwein step lengths and an exact line search
    towards the projected point. Stops when no more than the tolerance can be gained.
    """
    gradient = linear - H @ gamma
    length = 1.0
    for _ in range(n_steps):
        if gradient.max() - gradient @ gamma <= tolerance:
            break
        step = project_to_simplex(gamma + length * gradient) - gamma
        slope, bent = gradient @ step, H @ step
        curve = step @ bent
        if slope <= 0.0:
            break
        share = min(1.0, slope / curve) if curve > 0.0 else 1.0
        gamma += share * step
        gradient -= share * bent
        length = min(max((step @ step) / curve, 1e-8), 1e8) if curve > 0.0 else 1e8


@njit(cache=True, nogil=True)
def project_to_simplex(point):
    """Return the nearest point with entries >= 0 that sum to 1."""
    falling = np.sort(point)[::-1]
    total, level = 0.0, 0.0
    for k in range(len(falling)):
        total += falling[k]
        if falling[k] * (k + 1) <= total - 1.0:
            break
        level = (total - 1.0) / (k + 1)
    return np.maximum(point - level, 0.0)


@njit(cache=True, nogil=True, fastmath=FAST)
def mirrored_pair_weights(better, worse, squared, products, centre_norms, beta, scale, weights):
    """weights[t] = sum_b beta_b (exp(-s |x - c_b|^2) + exp(-s |x + c_b|^2)) / 2 for x = X[better[t]] - X[worse[t]].

    squared[t] = |x|^2, products = X @ C.T, scale s = 1 / (2 sigma^2), so no difference is ever formed.
    """
    for t in range(len(better)):
        first, second = products[better[t]], products[worse[t]]
        total = 0.0
        for b in range(len(beta)):
            middle = squared[t] + centre_norms[b]
            along = 2.0 * (first[b] - second[b])
            total += beta[b] * (np.exp(-scale * (middle - along)) + np.exp(-scale * (middle + along)))
        weights[t] = 0.5 * total


@njit(cache=True, nogil=True, fastmath=FAST)
def pair_distances(X, better, worse, squared):
    """squared[t] = |X[better[t]] - X[worse[t]]|^2."""
    for t in range(len(better)):
        first, second = X[better[t]], X[worse[t]]
        total = 0.0
        for f in range(len(first)):
            gap = first[f] - second[f]
            total += gap * gap
        squared[t] = total
