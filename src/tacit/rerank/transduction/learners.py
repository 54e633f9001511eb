"""How per-list training speaks to the ranker that it trains: any estimator that learns from (X, y, lists).

A `Learner` holds the training rows and gives a fitted estimator for further columns and weights. `level` is what the
estimator's weights stand at, None if it takes none. It is read from the estimator: one that has `prepare` and
`fit_prepared` has its features made ready once for all lists, and takes pair weights (RankBoost) or, where it has a
path of penalties, row weights (`ListRidgeRanker`); one whose `fit` knows `group` (LightGBM) or `qid` takes row weights
if it knows `sample_weight`.
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
    """An estimator with the rows that it learns from."""

    level: str | None = None
    staged: ClassVar[bool] = False

    def __init__(self, estimator: Any, rows: Rows) -> None:
        self.estimator, self.rows = estimator, rows

    @abstractmethod
    def learn(self, extra: np.ndarray | None, weights: np.ndarray | None, n_stages: int | None = None) -> Any:
        """An estimator fitted to the rows, with further columns (n_rows, n_extra) and weights of the level."""

    def scores(self, fitted: Any, X: np.ndarray) -> np.ndarray:
        """Scores of rows (1, n_rows); where the learner is staged, after each stage (n_stages, n_rows)."""
        found: np.ndarray = np.asarray(fitted.predict(X), np.float64)[None]
        return found


class PreparedLearner(Learner):
    """RankBoost and its like: binned once, any prefix of its rounds is a ranker."""

    level = "pair"
    staged = True

    def __init__(self, estimator: Any, rows: Rows) -> None:
        super().__init__(estimator, rows)
        self._prepared = estimator.prepare(rows)

    def learn(self, extra: np.ndarray | None, weights: np.ndarray | None, n_stages: int | None = None) -> Any:
        """Fit with at most n_stages rounds."""
        fresh = clone(self.estimator).set_params(threads=1)
        if n_stages is not None:
            fresh.set_params(n_rounds=n_stages)
        return fresh.fit_prepared(self._prepared, extra=extra, weights=weights)

    def scores(self, fitted: Any, X: np.ndarray) -> np.ndarray:
        """Scores after each round; one row of zeros where no stump was found."""
        added = fitted.stumps_.outputs(X)
        found: np.ndarray = np.cumsum(added, axis=0) if len(added) else np.zeros((1, len(X)))
        return found


class PathLearner(Learner):
    """A ranker with a path of penalties, each of which is a ranker (`ListRidgeRanker`)."""

    level = "row"
    staged = True

    def __init__(self, estimator: Any, rows: Rows) -> None:
        super().__init__(estimator, rows)
        self._prepared = estimator.prepare(rows)

    def learn(self, extra: np.ndarray | None, weights: np.ndarray | None, n_stages: int | None = None) -> Any:
        """Fit for all penalties at once."""
        return clone(self.estimator).fit_prepared(self._prepared, extra=extra, weights=weights)

    def scores(self, fitted: Any, X: np.ndarray) -> np.ndarray:
        """Scores by penalty, strongest first."""
        scores: np.ndarray = fitted.staged_scores(X)
        return scores


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


def learner_of(estimator: Any, rows: Rows) -> Learner:
    """The learner that fits the estimator."""
    if hasattr(estimator, "staged_scores"):
        return PathLearner(estimator, rows)
    if hasattr(estimator, "fit_prepared"):
        return PreparedLearner(estimator, rows)
    return ListsLearner(estimator, rows)
