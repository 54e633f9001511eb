"""How per-list training fits its base ranker: any estimator that can be fitted on (X, y, lists).

A `Learner` stores the training rows and returns a fitted estimator for further columns and weights. `level` is the
level of the estimator's weights (pairs or rows); None if it takes none. For an estimator with `prepare`, `fit_prepared`
and `weight_level` (RankBoost, `ListRidgeRanker`), features are prepared once for all lists, and every stage (rounds of
boosting, penalties) is a ranker. For other estimators, `fit` must take `group` (LightGBM) or `qid`, and row weights are
passed if it takes `sample_weight`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from inspect import Parameter, signature
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from tacit.core import UsageError
from tacit.rerank.rows import Rows


class Learner(ABC):
    """An estimator with its training rows."""

    level: str | None = None
    staged: ClassVar[bool] = False

    def __init__(self, estimator: Any, rows: Rows) -> None:
        self.estimator, self.rows = estimator, rows

    @abstractmethod
    def learn(self, extra: np.ndarray | None, weights: np.ndarray | None, n_stages: int | None = None) -> Any:
        """Return an estimator fitted to the rows, with further columns (n_rows, n_extra) and weights of the level."""


class PreparedLearner(Learner):
    """An estimator whose features are prepared once; it is fitted with at most n_stages rounds, if it has rounds."""

    staged = True

    def __init__(self, estimator: Any, rows: Rows) -> None:
        super().__init__(estimator, rows)
        self.level = estimator.weight_level
        self._prepared = estimator.prepare(rows)

    def learn(self, extra: np.ndarray | None, weights: np.ndarray | None, n_stages: int | None = None) -> Any:
        """Fit on the prepared rows, in one thread."""
        fresh = clone(self.estimator)
        wanted = {"threads": 1} | ({} if n_stages is None else {"n_rounds": n_stages})
        known = fresh.get_params(deep=False)
        fresh.set_params(**{name: value for name, value in wanted.items() if name in known})
        return fresh.fit_prepared(self._prepared, extra=extra, weights=weights)


class ListsLearner(Learner):
    """An estimator with `fit(X, y, group=...)` or `fit(X, y, qid=...)`; unjudged rows are left out."""

    def __init__(self, estimator: Any, rows: Rows) -> None:
        super().__init__(estimator, rows)
        names = signature(estimator.fit).parameters
        self._lists = next((name for name in ("group", "qid", "groups") if name in names), None)
        if self._lists is None and not any(p.kind == Parameter.VAR_KEYWORD for p in names.values()):
            raise UsageError(
                f"base is {type(estimator).__name__}, whose fit takes no lists; want one with qid, group or groups"
            )
        self.level = "row" if "sample_weight" in names else None
        self._judged = ~np.isnan(rows.y)

    def learn(self, extra: np.ndarray | None, weights: np.ndarray | None, n_stages: int | None = None) -> Any:
        """Fit on the judged rows."""
        rows, judged = self.rows, self._judged
        X = rows.X if extra is None else np.hstack([rows.X, extra])
        options = {self._lists or "qid": self._list_values()}
        if weights is not None:
            options["sample_weight"] = weights[judged]
        return clone(self.estimator).fit(X[judged], rows.y[judged], **options)

    def _list_values(self) -> np.ndarray:
        numbers = self.rows.list_of[self._judged]
        if self._lists != "group":
            return numbers
        sizes = np.bincount(numbers, minlength=self.rows.n_lists)
        return sizes[sizes > 0]


def make_learner(estimator: Any, rows: Rows) -> Learner:
    """Return the learner that fits the estimator."""
    return (PreparedLearner if hasattr(estimator, "fit_prepared") else ListsLearner)(estimator, rows)


def staged_scores(fitted: Any, X: np.ndarray) -> np.ndarray:
    """Return scores after each stage of a fitted estimator, (n_stages, n_rows); other estimators have one stage."""
    if hasattr(fitted, "staged_scores"):
        return fitted.staged_scores(X)
    return np.asarray(fitted.predict(X), np.float64)[None]
