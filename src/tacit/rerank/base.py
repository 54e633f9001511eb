"""What every ranker of feature lists does at its doors: check, group, measure. The scikit-learn way.

`__init__` only stores; `fit(X, y, qid)` learns from rows in any order; `predict(X)` scores rows; `score` is the mean
nDCG-letor@10. A subclass says how it learns from grouped rows (`_fit`) and how it scores (`_predict`).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from tacit.core import Estimator, Lists, NotFittedError, TacitError
from tacit.metrics import evaluate_rows
from tacit.rerank.rows import Rows, group_rows


class ListNotFittedError(NotFittedError, SklearnNotFittedError):
    """Asked before `fit`: an error of both families, so that scikit-learn's tools know it too."""


class ListRanker(Estimator, BaseEstimator, ABC):
    """Base of all rankers of feature lists.

    `_fitted` names the attributes that are the model and the axes of each ("features", "rounds", "" for a single
    number, "text" for a string); they are what is stored. `_allow_nan` says that NaN in X is a missing value and not
    a mistake.
    """

    _n_features_attribute: ClassVar[str | None] = "n_features_in_"
    _array_dtypes: ClassVar[tuple[str, ...]] = ("float64", "float32", "int64", "uint8")
    _allow_nan: ClassVar[bool] = False

    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        pairs: Any = None,
        pair_weights: Any = None,
        validation: Lists | None = None,
    ) -> Self:
        """Learn from grades (-1 or NaN: unjudged) and from pairs of (better row, worse row).

        X: (n_rows, n_features); y: (n_rows,); qid: (n_rows,), without it all rows are one list; validation: lists
        to choose on, of the same features.
        """
        rows = self._checked_rows(X, y, qid, pairs, pair_weights)
        if rows.n_contradictory:
            warnings.warn(f"{rows.n_contradictory} preferences contradict a grade or each other", stacklevel=2)
        self._fit(rows, None if validation is None else self._checked_validation(validation))
        return self

    def _fit_rows(self, rows: Rows, validation: Rows | None) -> Self:
        """`fit` of a ranker inside another one, whose rows are checked."""
        self.n_features_in_ = rows.X.shape[1]
        self._fit(rows, validation)
        return self

    @abstractmethod
    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        """Set the fitted attributes from checked and grouped rows."""

    @abstractmethod
    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        """Scores of checked rows; most rankers score each row by itself and ignore the lists."""

    def predict(self, X: Any, qid: Any = None) -> np.ndarray:
        """Scores of rows, float64 (n_rows,); larger is better within a list."""
        self._check_fitted()
        table = self._checked(X, reset=False)
        return self._predict(table, self._checked_lists(qid, len(table)))

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Mean nDCG-letor@10 over lists."""
        self._check_fitted()
        grades = _flat("y", y, len(self._checked(X, reset=False)))
        return evaluate_rows(grades, self.predict(X, qid), qid).means()["nDCG-letor@10"]

    def _check_fitted(self) -> None:
        try:
            super()._check_fitted()
        except NotFittedError as error:
            raise ListNotFittedError(str(error)) from None

    def _checked_rows(self, X: Any, y: Any, qid: Any, pairs: Any, weights: Any) -> Rows:
        table = self._checked(X, reset=True)
        if y is None:
            raise TacitError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        grades = _flat("y", y, len(table))
        if np.isinf(grades).any():
            raise TacitError(f"y holds infinity in row {int(np.argmax(np.isinf(grades)))}, want grades, -1 or NaN")
        return group_rows(table, grades, self._checked_lists(qid, len(table)), pairs, weights)

    def _checked_validation(self, lists: Lists) -> Rows:
        self._checked(lists.X, reset=False)
        return Rows.of(lists)

    def _checked(self, X: Any, reset: bool) -> np.ndarray:
        finite = "allow-nan" if self._allow_nan else True
        try:
            table: np.ndarray = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=finite)
        except ValueError as error:  # scikit-learn's words, in our family and on one line
            raise TacitError(" ".join(str(error).split())) from None
        return table

    def _checked_lists(self, qid: Any, n_rows: int) -> np.ndarray:
        if qid is None:
            return np.zeros(n_rows, np.int64)
        numbers = np.asarray(qid)
        if numbers.shape != (n_rows,):
            raise TacitError(f"qid has shape {numbers.shape}, want ({n_rows},): the list of each row")
        return numbers

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn's tools should know."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allow_nan
        tags.target_tags.required = True
        return tags


def _flat(name: str, values: Any, n_rows: int) -> np.ndarray:
    """The values as float64, one for each row."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise TacitError(f"{name} holds something that is no number, want a grade, -1 or NaN for each row") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (n_rows,):
        raise TacitError(f"{name} has shape {array.shape}, want ({n_rows},): inconsistent numbers of rows in X and y")
    return array
