"""LightGBM as a ranker of lists: its LambdaMART or regression on judged rows, or trees on our gradients.

LightGBM rejects unjudged rows, so its own objective uses judged rows only. The number of trees is chosen on validation
lists by the share of judged pairs in the right order, like the epochs of the gradient rankers. It runs in one thread,
because lists of LETOR size gain nothing from more, and so the bits stay the same. Training needs the extra `bench`; a
fitted model is scored without LightGBM (`trees.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tacit.core import MissingExtraError, TacitError, check_number, check_numbers
from tacit.rerank.base import ListRanker
from tacit.rerank.boosting.trees import Trees, read_trees
from tacit.rerank.gradient.scorer_training import ValidationPairs
from tacit.rerank.rows import Rows

LEAVES_OF_ALL = 20  # of pointwise trees: if judged rows are few, leaves shrink so that this many hold all of them
MOST_LEAVES, HIGHEST_GRADE = 131_072, 30  # limits of LightGBM
Objective = Callable[[np.ndarray, Any], tuple[np.ndarray, np.ndarray]]


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
