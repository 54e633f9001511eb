"""The trees of a LightGBM model, read from its text without LightGBM.

LightGBM's own reader trusts the text: some errors end the whole process. Here each line needed for scoring is checked,
and all others are ignored. The scores are bit-identical to LightGBM's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tacit.core import StoreError
from tacit.kernels.trees import add_trees

MOST_LEAVES = 131_072  # maximum number of leaves of a tree in LightGBM
CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of a split's decision_type; bits 2 and 3 encode missing values
MISSING_ZERO, MISSING_NAN = 1, 2


class Trees(NamedTuple):
    """All trees, with consecutive numbers of nodes and leaves, as `kernels.trees` reads them."""

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing: np.ndarray
    left: np.ndarray
    right: np.ndarray
    values: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return sums of leaves of rows without infinity; NaN is missing."""
        scores = np.zeros(len(X))
        add_trees(np.ascontiguousarray(X, np.float64), *self, scores)
        return scores


def read_trees(model: bytes, n_features: int) -> Trees:
    """Read the trees from a model's text; raise a StoreError that cites the line if they cannot be scored.

    Parameters
    ----------
    model : bytes
        Text that LightGBM wrote.
    n_features : int
        Number of features of the rows; splits may only use these.
    """
    try:
        lines = model.decode("ascii").split("\nend of trees", 1)[0]
    except UnicodeDecodeError:
        raise StoreError("the model of LightGBM is not text") from None
    head, *blocks = re.split(r"^Tree=[0-9]+$", lines, flags=re.MULTILINE)
    said = _table(head)
    wanted = {"num_class": "1", "num_tree_per_iteration": "1"}
    for key, value in wanted.items():
        if said.get(key) != value:
            raise StoreError(f"the model of LightGBM has {key}={str(said.get(key))[:40]}, want {value}")
    if not head.startswith("tree\n") or "\naverage_output" in head:
        raise StoreError("the model of LightGBM does not begin as one of boosted trees does")
    trees = [_read_tree(_table(block), number, n_features) for number, block in enumerate(blocks)]
    return _joined(trees)


def _table(block: str) -> dict[str, str]:
    pairs = (line.split("=", 1) for line in block.split("\n") if "=" in line)
    return {key: value for key, value in pairs}  # noqa: C416 - the pairs are lists


def _read_tree(said: Mapping[str, str], number: int, n_features: int) -> Trees:
    place = f"tree {number} of LightGBM's model"
    leaves = said.get("num_leaves", "")
    n_leaves = int(leaves) if re.fullmatch("[0-9]{1,6}", leaves) else 0
    if not 1 <= n_leaves <= MOST_LEAVES:
        raise StoreError(f"{place}: num_leaves is {leaves[:40]!r}, want 1 to {MOST_LEAVES}")
    if said.get("num_cat", "0") != "0" or said.get("is_linear", "0") != "0":
        raise StoreError(f"{place}: has splits of categories or linear leaves, want neither")
    n = n_leaves - 1
    values = _numbers(said, "leaf_value", n_leaves, place, np.float64)
    feature = _numbers(said, "split_feature", n, place, np.int64)
    threshold = _numbers(said, "threshold", n, place, np.float64)
    kind = _numbers(said, "decision_type", n, place, np.int64)
    left, right = (_numbers(said, key, n, place, np.int64) for key in ("left_child", "right_child"))
    if not np.isfinite(values).all() or np.isnan(threshold).any():
        raise StoreError(f"{place}: a leaf or a threshold is not finite")
    if n and (feature.min() < 0 or feature.max() >= n_features):
        raise StoreError(f"{place}: a split has feature {feature.max()}, want 0 to {n_features - 1}")
    what = kind >> 2 & 3
    if ((kind < 0) | (kind > 15) | (kind & CATEGORICAL > 0) | (what == MISSING_ZERO) | (what == 3)).any():
        raise StoreError(f"{place}: a decision_type is not one of a number that may be NaN")
    _check_shape(left, right, n_leaves, place)
    missing = np.where(what == MISSING_NAN, np.where(kind & DEFAULT_LEFT, 1, 2), 0)
    return Trees(np.array([0 if n else -1]), feature, threshold, missing, left, right, values)


def _numbers(said: Mapping[str, str], key: str, n: int, place: str, dtype: type) -> np.ndarray:
    texts = said.get(key, "").split(" ") if n else []
    try:
        found: np.ndarray = np.array([dtype(text) for text in texts], dtype)
    except (ValueError, OverflowError):
        raise StoreError(f"{place}: {key} contains a value that is not a number") from None
    if len(found) != n:
        raise StoreError(f"{place}: {key} has {len(found)} numbers, want {n}")
    return found


def _check_shape(left: np.ndarray, right: np.ndarray, n_leaves: int, place: str) -> None:
    """Raise unless every node except the first, and every leaf, has one parent, and nodes follow their parents."""
    children = np.concatenate([left, right])
    parents = np.tile(np.arange(len(left)), 2)
    expected = np.arange(-n_leaves, n_leaves - 1)
    if n_leaves > 1:
        expected = expected[expected != 0]
        if not np.array_equal(np.sort(children), expected) or (children[children > 0] <= parents[children > 0]).any():
            raise StoreError(f"{place}: its nodes do not form a tree")


def _joined(trees: list[Trees]) -> Trees:
    """Return the trees with consecutive numbers of nodes and leaves."""
    if not trees:
        raise StoreError("the model of LightGBM has no tree")
    nodes = np.cumsum([0, *(len(tree.feature) for tree in trees)])
    leaves = np.cumsum([0, *(len(tree.values) for tree in trees)])
    moved = []
    for tree, node, leaf in zip(trees, nodes, leaves, strict=False):
        roots, left, right = (np.where(at >= 0, at + node, at - leaf) for at in (tree.roots, tree.left, tree.right))
        moved.append(tree._replace(roots=roots, left=left, right=right))
    return Trees(*(np.concatenate(column) for column in zip(*moved, strict=True)))
