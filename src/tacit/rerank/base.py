"""Base class of all rankers of feature lists: input checks, grouping, ranking, as in scikit-learn.

`fit(X, y, qid)` learns from rows in any order, `predict(X, qid)` scores rows, and `score` returns the mean
nDCG-letor@10. All accept `Lists` instead of arrays. A subclass implements `_fit` on grouped rows, and `_predict`.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, validate_data

from tacit.core import (
    DivergedError,
    Estimator,
    Lists,
    NotFittedError,
    Run,
    StoreError,
    TacitError,
    UsageError,
    check_params,
    plural,
    shown,
)
from tacit.metrics import evaluate_rows
from tacit.rerank.input_checks import (
    check_grades,
    check_memory,
    check_qid,
    check_size,
    list_weights,
    numeric_errors_in_one_line,
)
from tacit.rerank.list_columns import fill_missing, known_means
from tacit.rerank.rows import Rows, group_rows

# Stored attributes of every ranker, in addition to the attributes of its class.
COMMON_ATTRIBUTES = {"several_lists_": "?", "feature_names_in_": "?strings", "feature_means_": "?features"}


class ListNotFittedError(NotFittedError, SklearnNotFittedError):
    """Raised before `fit`; inherits from both error families, so scikit-learn's tools recognize it."""


class InputTypeError(TacitError, TypeError):
    """X contains a value that is not a number; inherits from both error families for scikit-learn's tools."""


class ListRanker(Estimator, BaseEstimator, ABC):
    """Base of all rankers of feature lists.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : list of str
        Names of the features, if `fit` was given a data frame.
    several_lists_ : bool
        Whether `fit` was given more than one list.
    feature_means_ : ndarray of shape (n_features,), float64
        Mean of the known values of each feature. A missing value (NaN) is replaced by the mean of the known values in
        its list, or by this mean if there are none; RankBoost and LightGBM handle missing values themselves.
    """

    _n_features_attribute: ClassVar[str | None] = "n_features_in_"
    _array_dtypes: ClassVar[tuple[str, ...]] = ("float64", "float32", "int64", "uint8")
    # Whether the ranker handles missing values (NaN) itself; for other rankers they are filled in.
    _allow_nan: ClassVar[bool] = False
    # Whether only the order of a feature's values matters, so that values of any size are allowed.
    _any_size: ClassVar[bool] = False
    # Whether the score of a row depends on the other rows of its list.
    _scores_by_list: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the attributes that every ranker stores, and show all parameters in the constructor's signature."""
        super().__init_subclass__(**options)
        parameters = list(signature(vars(cls)["__init__"]).parameters.values()) if "__init__" in vars(cls) else []
        if parameters and parameters[-1].kind is Parameter.VAR_KEYWORD:
            own = {parameter.name for parameter in parameters}
            passed_on = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in cls._parameters() if p.name not in own]
            cls.__init__.__signature__ = Signature([*parameters[:-1], *passed_on])  # type: ignore[attr-defined]
        cls._fitted = dict(cls._fitted) | COMMON_ATTRIBUTES

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        pairs: Any = None,
        pair_weights: Any = None,
        validation: Lists | None = None,
    ) -> Self:
        """Learn from grades and preferences.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features), or Lists
            Features of rows in any order. With `Lists`, y and qid come from them.
        y : array-like of shape (n_rows,), default=None
            Grades; -1 or NaN is unjudged.
        qid : array-like of shape (n_rows,), default=None
            List of each row: numbers or strings. Without it all rows are one list.
        pairs : array-like of shape (n_pairs, 2), default=None
            Preferences: the better row, the worse row.
        pair_weights : array-like of shape (n_pairs,), default=None
            Weights of the preferences; 1 each by default.
        validation : Lists, default=None
            Lists for the choice of parameters, with the same features.
        """
        return self._fit_on(X, y, qid, pairs, pair_weights, validation)

    def _fit_on(
        self, X: Any, y: Any, qid: Any, pairs: Any, pair_weights: Any, validation: Lists | None, **near: Any
    ) -> Self:
        """Check and group the rows, and fit; `near` are other fields of `Rows`."""
        check_params(self)
        X, y, qid = _unpack(X, y, qid)
        rows = replace(self._checked_rows(X, y, qid, pairs, pair_weights), **near)
        if rows.n_contradictory:
            warnings.warn(f"preferences that contradict a grade or each other: {rows.n_contradictory}", stacklevel=3)
        self.several_lists_ = rows.n_lists > 1
        with numeric_errors_in_one_line(type(self).__name__, rows.X.shape):
            self._fit(rows, None if validation is None else self._checked_validation(validation))
            self._check_finite()
        return self

    def _fit_rows(self, rows: Rows, validation: Rows | None) -> Self:
        """`fit` of a nested ranker, whose rows are already checked."""
        self.n_features_in_ = rows.X.shape[1]
        self._fit(rows, validation)
        return self

    @abstractmethod
    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        """Set the fitted attributes from checked and grouped rows."""

    @abstractmethod
    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        """Return scores of checked rows; most rankers score each row separately and ignore the lists."""

    def predict(self, X: Any, qid: Any = None) -> np.ndarray:
        """Return scores of rows; larger is better within a list.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features), or Lists
            Features of rows.
        qid : array-like of shape (n_rows,), default=None
            List of each row. Rankers whose scores depend on all rows of a list require it if they were fitted on more
            than one list.

        Returns
        -------
        scores : ndarray of shape (n_rows,), float64
        """
        self._check_fitted()
        X, _, qid = _unpack(X, None, qid)
        if qid is None and self.needs_lists() and getattr(self, "several_lists_", False):
            raise TacitError(
                f"qid is None, want the list of each row: {type(self).__name__} scores depend on all rows of a list, "
                "and it was fitted on more than one"
            )
        table = self._checked(X, reset=False)
        lists = check_qid(qid, len(table))
        with numeric_errors_in_one_line(type(self).__name__, table.shape), self._loaded_errors_in_one_line():
            scores = self._predict(self._read_table(table, lists), lists)
        if not np.isfinite(scores).all():
            raise DivergedError(f"scores are not finite, first in row {int(np.argmin(np.isfinite(scores)))}")
        return scores

    def rank(self, lists: Lists, name: str | None = None) -> Run:
        """Rank lists: return a run with the score of every document.

        Parameters
        ----------
        lists : Lists
            The lists.
        name : str, default=None
            Name of the run; default: the method's or the class's name.
        """
        self._check_fitted()
        if not isinstance(lists, Lists):
            raise UsageError(f"lists is {shown(lists)}, want Lists")
        if not isinstance(name, str | None):
            raise UsageError(f"name is {shown(name)}, want a text or None")
        check_width("the lists to rank have", lists, self.n_features_in_)
        return lists.to_run(self.predict(lists), name or getattr(self, "method_", "") or type(self).__name__)

    def score(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean nDCG-letor@10 over lists.

        Parameters
        ----------
        X, y, qid
            As for `fit`. A ranker fitted on more than one list requires `qid`.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows; a list gets the mean weight of its rows.
        """
        self._check_fitted()
        X, y, qid = _unpack(X, y, qid)
        if qid is None and getattr(self, "several_lists_", False):
            raise TacitError("qid is None, want the list of each row: the score is a mean over lists, and the ranker "
                             "was fitted on more than one")  # fmt: skip
        scores = self.predict(X, qid)
        found = evaluate_rows(check_grades(y, len(scores)), scores, qid)
        if sample_weight is None:
            return found.means()["nDCG-letor@10"]
        weights = list_weights(sample_weight, check_qid(qid, len(scores)))
        return float(np.average(found.values["nDCG-letor@10"], weights=weights))

    @contextmanager
    def _loaded_errors_in_one_line(self) -> Iterator[None]:
        """Turn errors of a loaded ranker, whose values passed every check but are inconsistent, into one line."""
        try:
            yield
        except TacitError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if not self._loaded:
                raise
            reason = " ".join(str(error).split())
            raise StoreError(f"the stored {type(self).__name__} does not fit together: {reason}") from error

    def needs_lists(self) -> bool:
        """Return whether the scores of this fitted ranker depend on all rows of a list."""
        return self._scores_by_list

    def _check_fitted(self) -> None:
        # `fit` sets the attributes of every ranker first, so an attribute of the class itself must exist too.
        own = self._fitted.keys() - COMMON_ATTRIBUTES.keys()
        needed = [name for name in own if not self._fitted[name].startswith("?")]
        if not all(hasattr(self, name) for name in needed) or not any(hasattr(self, name) for name in own):
            raise ListNotFittedError(f"{type(self).__name__} is not fitted yet: call fit first")

    def _check_finite(self) -> None:
        for name in self._fitted:
            value = getattr(self, name, None)
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
                raise DivergedError(f"{name} of {type(self).__name__} is not finite: want features of similar sizes")

    def _checked_rows(self, X: Any, y: Any, qid: Any, pairs: Any, weights: Any) -> Rows:
        table = self._checked(X, reset=True)
        if y is None:
            raise TacitError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        grades, lists = check_grades(y, len(table)), check_qid(qid, len(table))
        self.feature_means_ = known_means(table)
        return group_rows(self._read_table(table, lists), grades, lists, pairs, weights)

    def _read_table(self, table: np.ndarray, lists: np.ndarray) -> np.ndarray:
        """Return checked features for `_fit` and `_predict`: missing values are filled in, unless `_allow_nan`."""
        if self._allow_nan or not np.isnan(table).any():
            return table
        if getattr(self, "feature_means_", None) is None:
            raise TacitError(
                f"X contains NaN, and this {type(self).__name__} was saved by a version that does not fill in missing "
                "values: want it fitted again, or finite X"
            )
        return fill_missing(table, lists, self.feature_means_)

    def _checked_validation(self, lists: Lists) -> Rows:
        if not isinstance(lists, Lists):
            raise TacitError(f"validation is a {type(lists).__name__}, want Lists")
        check_width("validation lists have", lists, self.n_features_in_)
        lists = replace(lists, X=self._read_table(self._checked(lists.X, reset=False, names=False), lists.qid))
        if not (lists.y >= 0).any():
            raise TacitError(
                f"validation lists have no judged row (rows: {len(lists.y)}, lists: {len(lists)}): nothing to choose "
                "by; want some grades, or no validation lists"
            )
        return Rows.of(lists)

    def _checked(self, X: Any, reset: bool, names: bool = True) -> np.ndarray:
        if sp.issparse(X):
            check_memory("X as a dense table", X.shape[0] * X.shape[1] * 8)
        options: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "accept_sparse": "csr"}
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # the checks sum all values, 1e308 and -1e308 too
                if names:
                    found = validate_data(self, X, reset=reset, **options)
                else:
                    found = check_array(X, **options)
        except (OverflowError, TypeError, ValueError) as error:  # scikit-learn's message, as our error and on one line
            family = InputTypeError if isinstance(error, TypeError) else TacitError
            raise family(" ".join(str(error).split())) from None
        table: np.ndarray = found.toarray() if sp.issparse(found) else found
        if not self._any_size:
            check_size(table)
        return table

    def __sklearn_tags__(self) -> Tags:
        """Return the tags for scikit-learn's tools."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _unpack(X: Any, y: Any, qid: Any) -> tuple[Any, Any, Any]:
    """Return features, grades and lists of rows; `Lists` contain all three."""
    if not isinstance(X, Lists):
        return X, y, qid
    if y is not None or qid is not None:
        raise TacitError("X is Lists, which contain y and qid: want neither given again")
    return X.X, X.y, X.qid


def check_nested(owner: ListRanker, rankers: Sequence[Any], n_least: int = 1, n_most: int | None = None) -> None:
    """Raise unless loaded nested rankers are rankers with the same features."""
    if not n_least <= len(rankers) <= (n_most or len(rankers)):
        raise StoreError(f"{type(owner).__name__} contains {plural(len(rankers), 'ranker')}, want {n_most or n_least}")
    for ranker in rankers:
        if not isinstance(ranker, ListRanker) or ranker.n_features_in_ != owner.n_features_in_:
            wanted = f"a ranker of lists with {plural(owner.n_features_in_, 'feature')}"
            raise StoreError(f"{type(owner).__name__} contains a {type(ranker).__name__}, want {wanted}")


def check_width(what: str, lists: Lists, wanted: int) -> None:
    """Raise unless lists have the same number of features as the training lists."""
    found = lists.X.shape[1]
    if found != wanted:
        hint = f"; where absent features are zeros, say how many there are (--features {wanted})"
        raise TacitError(
            f"{what} {plural(found, 'feature')}, the training lists have {wanted}" + (hint if found < wanted else "")
        )
