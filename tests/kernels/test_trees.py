"""A walk down each tree in Python is the oracle."""

import numpy as np
import pytest

from tacit.kernels.boosting import add_trees


def grow(rng, nodes, leaves, depth):
    """Number of a random subtree's root; children are numbered after their parent."""
    if depth == 0 or rng.random() < 0.2:
        leaves.append(float(rng.normal()))
        return ~(len(leaves) - 1)
    at = len(nodes)
    nodes.append([int(rng.integers(3)), float(np.round(rng.normal(), 1)), int(rng.integers(3)), 0, 0])
    nodes[at][3:] = (grow(rng, nodes, leaves, depth - 1) for _ in range(2))
    return at


def walk(row, at, nodes, leaves):
    while at >= 0:
        feature, threshold, missing, left, right = nodes[at]
        value = row[feature]
        if np.isnan(value):
            goes_left = threshold >= 0.0 if missing == 0 else missing == 1
        else:
            goes_left = value <= threshold
        at = left if goes_left else right
    return leaves[~at]


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_the_sums_of_leaves(seed):
    rng = np.random.default_rng(seed)
    nodes, leaves = [], []
    roots = [grow(rng, nodes, leaves, depth) for depth in (0, 1, 3, 6)]
    X = np.round(rng.normal(size=(40, 3)), 1)
    X[rng.random(X.shape) < 0.2] = np.nan
    columns = list(zip(*nodes, strict=True))
    arrays = [np.array(roots), np.array(columns[0]), np.array(columns[1]), *map(np.array, columns[2:])]
    scores = np.ones(40)
    add_trees(X, *arrays, np.array(leaves), scores)
    expected = [1.0 + walk(row, roots[0], nodes, leaves) for row in X]
    for root in roots[1:]:
        expected = [total + walk(row, root, nodes, leaves) for total, row in zip(expected, X, strict=True)]
    assert scores.tolist() == expected
