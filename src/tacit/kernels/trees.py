"""Sums of regression trees over rows.

Nodes are numbered consecutively over all trees. A node with feature f and threshold t sends a row to `left` if
X[row, f] <= t, else to `right`. A negative child is the leaf ~child. A child node has a larger number than its parent,
so every walk ends. `missing` defines NaN: 0 treats it as the value 0, 1 goes left, 2 goes right.
"""

from tacit.kernels.loops import njit


@njit(cache=True, nogil=True)
def add_trees(X, roots, feature, threshold, missing, left, right, values, scores):
    """scores[row] += the values of the leaves that the row reaches, tree by tree."""
    for row in range(X.shape[0]):
        total = scores[row]
        for tree in range(roots.shape[0]):
            at = roots[tree]
            while at >= 0:
                value = X[row, feature[at]]
                if value != value and missing[at] > 0:
                    at = left[at] if missing[at] == 1 else right[at]
                else:
                    if value != value:
                        value = 0.0
                    at = left[at] if value <= threshold[at] else right[at]
            total += values[~at]
        scores[row] = total
