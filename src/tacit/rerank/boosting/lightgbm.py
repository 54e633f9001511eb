"""LightGBM as a ranker of lists: its LambdaMART or regression on judged rows, or trees on our gradients.

LightGBM rejects unjudged rows, so its own objective uses judged rows only. The number of trees is chosen on validation
lists by the share of judged pairs in the right order, like the epochs of the gradient rankers. It runs in one thread,
because lists of LETOR size gain nothing from more, and so the bits stay the same. Training needs the extra `bench`; a
fitted model is scored without LightGBM.

LightGBM's own reader trusts the text: some errors end the whole process. Here each line needed for scoring is checked,
and all others are ignored. The scores are bit-identical to LightGBM's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tacit.core import MissingExtraError, StoreError, TacitError, check_number, check_numbers
from tacit.kernels.boosting import add_trees
from tacit.rerank.base import ListRanker
from tacit.rerank.gradient.scorer_training import ValidationPairs
from tacit.rerank.rows import Rows

LEAVES_OF_ALL = 20  # of pointwise trees: if judged rows are few, leaves shrink so that this many hold all of them
MOST_LEAVES, HIGHEST_GRADE = 131_072, 30  # limits of LightGBM: leaves of a tree, and a grade
Objective = Callable[[np.ndarray, Any], tuple[np.ndarray, np.ndarray]]
CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of a split's decision_type; bits 2 and 3 encode missing values
MISSING_ZERO, MISSING_NAN = 1, 2


class LightGbmRanker(ListRanker):
    """LambdaMART of LightGBM on judged rows.

    Grades are rounded to whole numbers, and preferences are not used.

    Parameters
    ----------
    n_trees : int, default=200
        Maximum number of trees; with validation lists the best number is used.
    n_leaves : int, default=15
        Leaves of each tree.
    n_leaf_rows : int, default=20
        Smallest number of rows in a leaf.
    rate : float, default=0.05
        Learning rate: the weight of each tree.
    seed : int, default=0
        Random seed.

    Attributes
    ----------
    n_trees_ : int
        Number of trees kept.
    model_ : ndarray of shape (n_bytes,), uint8
        The model in LightGBM's format.
    """

    _fitted: ClassVar[dict[str, str]] = {"model_": "bytes", "n_trees_": ""}
    _allow_nan: ClassVar[bool] = True
    _any_size: ClassVar[bool] = True
    _unjudged: ClassVar[bool] = False  # whether unjudged rows are used in the choice of the number of trees

    def __init__(
        self, n_trees: int = 200, n_leaves: int = 15, n_leaf_rows: int = 20, rate: float = 0.05, seed: int = 0
    ) -> None:
        self.n_trees, self.n_leaves, self.n_leaf_rows, self.rate = n_trees, n_leaves, n_leaf_rows, rate
        self.seed = seed

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        rows.check_has_graded_pairs(type(self).__name__)
        judged = ~np.isnan(rows.y)
        sizes = np.bincount(rows.list_of[judged], minlength=rows.n_lists)
        grades = np.round(rows.y[judged])
        if grades.max() > HIGHEST_GRADE:
            raise TacitError(f"grade {grades.max():g}: LightGBM's lambdarank takes grades from 0 to {HIGHEST_GRADE}")
        data = import_lightgbm().Dataset(rows.X[judged], grades, group=sizes[sizes > 0])
        self._grow(data, "lambdarank", validation)

    def _grow(self, data: Any, objective: str | Objective, validation: Rows | None) -> None:
        """Grow all trees, and keep the number of trees that is best on validation."""
        lightgbm = import_lightgbm()
        try:
            options = {"objective": objective} | self._options(len(data.get_label()))
            booster = lightgbm.train(options, data, self.n_trees)
        except lightgbm.basic.LightGBMError as error:
            if "num_features" not in str(error):
                raise TacitError(f"LightGBM refuses to train: {error}") from None
            raise TacitError(
                f"no feature splits the {len(data.get_label())} rows into leaves of {self.n_leaf_rows}: "
                "want more rows, features that differ, or a smaller n_leaf_rows"
            ) from None
        self.n_trees_ = booster.num_trees()
        held_out = None if validation is None else ValidationPairs.of(validation.X, validation, self._unjudged)
        if held_out is not None:
            self.n_trees_ = best_number(booster, held_out)
        text = booster.model_to_string(num_iteration=self.n_trees_)
        self.model_ = np.frombuffer(text.encode(), np.uint8)

    def _options(self, n_rows: int) -> dict[str, Any]:
        """Return LightGBM's options for a number of rows."""
        check_numbers(self, "n_trees", "n_leaf_rows", low=1, high=2**31 - 1, whole=True)
        check_number("n_leaves", self.n_leaves, low=2, high=MOST_LEAVES, whole=True)
        check_number("rate", self.rate, low=0, open_low=True)
        return {
            "num_leaves": self.n_leaves, "min_data_in_leaf": self.n_leaf_rows, "learning_rate": self.rate,
            "seed": self.seed % 2**31, "num_threads": 1, "deterministic": True, "force_row_wise": True, "verbosity": -1,
        }  # fmt: skip

    def _check_loaded(self) -> None:
        self.trees()

    def trees(self) -> Trees:
        """Trees read from `model_`."""
        return read_trees(self.model_.tobytes(), self.n_features_in_)

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        return self.trees().predict(X)


class PointwiseLightGbmRanker(LightGbmRanker):
    """Regression of grades by the boosted trees of LightGBM, on single judged rows.

    Lists and preferences are not used, so a single judged row in a list is as informative as one of many. With few
    labels, a leaf needs fewer rows.

    Parameters
    ----------
    n_leaf_rows : int, default=20
        Minimum number of rows in a leaf; reduced to a twentieth of the judged rows if that is less.
    """

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        rows.check_has_graded_pairs(type(self).__name__)
        judged = ~np.isnan(rows.y)
        self._grow(import_lightgbm().Dataset(rows.X[judged], rows.y[judged]), "regression", validation)

    def _options(self, n_rows: int) -> dict[str, Any]:
        return super()._options(n_rows) | {"min_data_in_leaf": max(1, min(self.n_leaf_rows, n_rows // LEAVES_OF_ALL))}


def best_number(booster: Any, held_out: ValidationPairs) -> int:
    """Return the smallest number of trees with the best share of validation pairs in the right order."""
    scores, best, kept = np.zeros(len(held_out.X)), -np.inf, 1
    for tree in range(booster.num_trees()):
        scores += booster.predict(held_out.X, raw_score=True, start_iteration=tree, num_iteration=1, num_threads=1)
        value = held_out.value(scores)
        if value > best:
            best, kept = value, tree + 1
    return kept


def import_lightgbm() -> Any:
    """Return the library; raise an error that names the extra."""
    try:
        import lightgbm
    except ImportError:
        raise MissingExtraError("boosted trees", "lightgbm", "bench") from None
    return lightgbm


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
