"""Boosted stumps and trees in XGBoost's two JSON formats.

`model_json` returns the format of `Booster.save_model` and `Booster.load_model`; `dump_json` returns the format of
`Booster.get_dump`, which search engines read (the learning-to-rank plugins of OpenSearch and Elasticsearch, Vespa).

XGBoost stores numbers in 32 bits and goes left if value < condition. For "value > t goes right" the condition is the
smallest 32-bit number above t, which gives the same decision as t for every 32-bit value. A constant that makes the
lowest leaf 0 is added to each tree: the order does not change, and search engines need non-negative scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit.core import TacitError
from tacit.rerank import LightGbmRanker, ListRanker, RankBoostRanker
from tacit.rerank.boosting.lightgbm import Trees

LARGEST_FLOAT32 = np.finfo(np.float32).max


class Node(NamedTuple):
    """A split (value < condition goes to `left`) or, if `feature` is -1, a leaf with a value."""

    feature: int
    condition: np.float32
    left: int
    right: int
    missing_left: bool
    parent: int


Tree = list[Node]


def make_trees(ranker: ListRanker, *, zero_if_missing: bool = False) -> list[Tree]:
    """Return the trees of a ranker; their sum is its score, up to a constant.

    Parameters
    ----------
    ranker : RankBoostRanker or LightGbmRanker
        Fitted ranker: `rankboost`, `adacost`, `rankboost-semi`, `lightgbm`, `lightgbm-pointwise` or `sslambdamart`.
    zero_if_missing : bool, default=False
        Send missing values where 0 goes, instead of where the ranker sends them, because a search engine has no value
        for a field without a word of the query.
    """
    if isinstance(ranker, RankBoostRanker):
        trees = _stumps(ranker)
    elif isinstance(ranker, LightGbmRanker):
        trees = _trees(ranker)
    else:
        raise TacitError(f"a {type(ranker).__name__} is not a sum of trees")
    if not trees:
        raise TacitError("the model has no tree, because no feature separated rows")
    return [_shift(tree, zero_if_missing) for tree in trees]


def model_json(trees: Sequence[Tree], names: Sequence[str]) -> dict[str, Any]:
    """Return the model in the format of `Booster.save_model`; load it by `xgboost.Booster(model_file=...)`."""
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": list(range(len(trees) + 1)),
        "tree_info": [0] * len(trees),
        "trees": [_tree_json(number, tree, len(names)) for number, tree in enumerate(trees)],
    }
    param = {"base_score": "0E0", "boost_from_average": "0", "num_class": "0", "num_feature": str(len(names)),
             "num_target": "1"}  # fmt: skip
    learner = {
        "attributes": {},
        "feature_names": list(names),
        "feature_types": ["float"] * len(names),
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": param,
        "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
    }
    return {"learner": learner, "version": [2, 1, 0]}


def dump_json(trees: Sequence[Tree], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the trees in the format of `Booster.get_dump(dump_format="json")`."""
    return [_dump(tree, 0, 0, names) for tree in trees]


def _stumps(ranker: RankBoostRanker) -> list[Tree]:
    """Return one tree for each stump; rounds with the same stump are combined."""
    weights: dict[tuple[int, float], float] = {}
    for feature, threshold, weight in zip(*(column.tolist() for column in ranker.stumps_), strict=True):
        weights[feature, threshold] = weights.get((feature, threshold), 0.0) + weight
    return [
        [Node(feature, _above(threshold), 1, 2, True, -1), _leaf(0.0, 0), _leaf(weight, 0)]
        for (feature, threshold), weight in weights.items()
    ]


def _trees(ranker: LightGbmRanker) -> list[Tree]:
    """Return one tree for each of LightGBM's, each node before its children."""
    found = ranker.trees()
    return [_tree(found, int(root)) for root in found.roots]


def _tree(found: Trees, root: int) -> Tree:
    """Return nodes level by level, so that the two children of a node are adjacent, as XGBoost requires."""
    tree, waiting = list[Node](), [(root, -1)]
    for place, (at, parent) in enumerate(waiting):  # grows in the loop; the node of entry t is node t of the tree
        if at < 0:
            tree.append(_leaf(found.values[~at], parent))
            continue
        threshold, missing = float(found.threshold[at]), found.missing[at]
        missing_left = missing == 1 or (missing == 0 and threshold >= 0)  # 0: a missing value counts as 0
        left = len(waiting)
        waiting += [(int(found.left[at]), place), (int(found.right[at]), place)]
        tree.append(Node(int(found.feature[at]), _above(threshold), left, left + 1, missing_left, parent))
    return tree


def _leaf(value: float, parent: int) -> Node:
    return Node(-1, np.float32(value), -1, -1, False, parent)


def _above(threshold: float) -> np.float32:
    """Return the smallest 32-bit number above a 64-bit one, or the largest finite one."""
    if threshold >= LARGEST_FLOAT32:
        return LARGEST_FLOAT32
    near = np.float32(threshold)
    return near if float(near) > threshold else np.nextafter(near, np.float32(np.inf))


def _shift(tree: Tree, zero_if_missing: bool) -> Tree:
    """Return the tree with 0 as its lowest leaf, and the requested direction of missing values."""
    lowest = min(node.condition for node in tree if node.feature < 0)
    return [
        node._replace(condition=node.condition - lowest)
        if node.feature < 0
        else node._replace(missing_left=bool(node.condition > 0) if zero_if_missing else node.missing_left)
        for node in tree
    ]


def _tree_json(number: int, tree: Tree, n_features: int) -> dict[str, Any]:
    values = [float(node.condition) for node in tree]
    return {
        "base_weights": values,
        "categories": [], "categories_nodes": [], "categories_segments": [], "categories_sizes": [],
        "default_left": [int(node.missing_left) for node in tree],
        "id": number,
        "left_children": [node.left for node in tree],
        "loss_changes": [0.0] * len(tree),
        "parents": [node.parent if node.parent >= 0 else 2**31 - 1 for node in tree],
        "right_children": [node.right for node in tree],
        "split_conditions": values,
        "split_indices": [max(node.feature, 0) for node in tree],
        "split_type": [0] * len(tree),
        "sum_hessian": [1.0] * len(tree),
        "tree_param": {"num_deleted": "0", "num_feature": str(n_features), "num_nodes": str(len(tree)),
                       "size_leaf_vector": "1"},
    }  # fmt: skip


def _dump(tree: Tree, place: int, depth: int, names: Sequence[str]) -> dict[str, Any]:
    node = tree[place]
    if node.feature < 0:
        return {"nodeid": place, "leaf": float(node.condition)}
    children = [_dump(tree, child, depth + 1, names) for child in (node.left, node.right)]
    return {
        "nodeid": place, "depth": depth, "split": names[node.feature], "split_condition": float(node.condition),
        "yes": node.left, "no": node.right, "missing": node.left if node.missing_left else node.right,
        "children": children,
    }  # fmt: skip
