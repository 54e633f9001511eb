"""Ridge regression on differences within lists: a linear ranker in closed form.

    minimise  sum over lists of (1 / n) sum over pairs i, j of ((s_i - s_j) - (y_i - y_j))^2  +  penalty |w|^2,

where s = w.x is the score, y the grade and n the number of judged rows of the list. The sum over pairs is n times the
sum of squares after centring over the list, so this is regression on list-centred features and grades: one product of
features, solved for all penalties together (RankRLS, Pahikkala et al. 2009). Features are first scaled to deviation 1
within lists.

It is a fast base for per-list training: for each list only the products with additional columns are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.core import TacitError, check_number
from tacit.metrics import evaluate_rows, is_loss, parse_measure
from tacit.rerank.base import ListRanker
from tacit.rerank.input_checks import check_memory
from tacit.rerank.rows import Rows

PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True)
class PreparedRidge:
    """Judged rows, centred over their lists, and the products of their features."""

    rows: Rows
    judged: np.ndarray
    list_of: np.ndarray
    X: np.ndarray
    y: np.ndarray
    products: np.ndarray


class ListRidgeRanker(ListRanker):
    """Linear ranker by ridge regression within lists.

    Parameters
    ----------
    penalties : sequence of float, default=(1.0, 0.3, 0.1, 0.03, 0.01)
        Ridge penalties. With validation lists the best is used; without these the mean of all, each with standard
        deviation 1 over the training rows.
    measure : str, default="AP"
        Measure on validation lists for the choice of the penalty.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,), float64
        Weights of the features.
    path_ : ndarray of shape (n_penalties, n_features), float64
        Weights for each penalty, strongest first.

    Examples
    --------
    >>> X, y = np.array([[3, 0], [1, 5], [2, 5.0]]), [2, 0, 1]
    >>> np.argsort(-ListRidgeRanker().fit(X, y).predict(X)).tolist()
    [0, 2, 1]
    """

    _fitted: ClassVar[dict[str, str]] = {"weights_": "features", "path_": "?penalties features"}
    weight_level: ClassVar[str] = "row"  # level of the weights of `fit_prepared`

    def __init__(self, penalties: tuple[float, ...] = PENALTIES, measure: str = "AP") -> None:
        self.penalties = penalties
        self.measure = measure

    def prepare(self, rows: Rows) -> PreparedRidge:
        """Centre the judged rows and compute the products of their features, for `fit_prepared`."""
        self._check_params()
        rows.check_has_graded_pairs(type(self).__name__)
        judged = np.flatnonzero(~np.isnan(rows.y))
        list_of = rows.list_of[judged]
        check_memory(f"products of {rows.X.shape[1]} features", 4 * 8 * rows.X.shape[1] ** 2)
        X = _centre(rows.X[judged], list_of, None)
        return PreparedRidge(rows, judged, list_of, X, _centre(rows.y[judged], list_of, None), X.T @ X)

    def fit_prepared(
        self, prepared: PreparedRidge, extra: np.ndarray | None = None, weights: np.ndarray | None = None
    ) -> Self:
        """Fit on prepared rows with further columns (n_rows, n_extra) and weights of rows (n_rows,)."""
        X, y, products = prepared.X, prepared.y, prepared.products
        if weights is not None:
            counted = weights[prepared.judged]
            X = _centre(prepared.rows.X[prepared.judged], prepared.list_of, counted)
            y = _centre(prepared.rows.y[prepared.judged], prepared.list_of, counted) * counted
            products = (X * counted[:, None]).T @ X
        else:
            counted = None
        if extra is not None:
            Z = _centre(extra[prepared.judged], prepared.list_of, counted)
            heavy = Z if counted is None else Z * counted[:, None]
            across = X.T @ heavy
            products = np.block([[products, across], [across.T, heavy.T @ Z]])
            X = np.hstack([X, Z])
        self.path_ = self._solve(products / len(y), X.T @ y / len(y))
        self.weights_ = self.path_.mean(axis=0)
        self.n_features_in_ = X.shape[1]
        return self

    def staged_scores(self, X: np.ndarray) -> np.ndarray:
        """Return scores by penalty, largest penalty first, (n_penalties, n_rows)."""
        return self.path_ @ X.T

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        self.fit_prepared(self.prepare(rows))
        if validation is not None:
            values = [self._value(validation, weights) for weights in self.path_]
            self.weights_ = self.path_[int(np.argmin(values) if is_loss(self.measure) else np.argmax(values))]

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        return X @ self.weights_

    def _solve(self, products: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return weights for each penalty, scaled so that scores of training rows have deviation 1."""
        deviation = np.sqrt(np.diag(products))
        scale = 1 / np.where(deviation > 1e-9 * max(float(deviation.max()), 1e-300), deviation, np.inf)
        values, vectors = np.linalg.eigh(products * scale[:, None] * scale)
        along = vectors.T @ (targets * scale)
        path = np.array([vectors @ (along / (np.maximum(values, 0) + p)) for p in sorted(self.penalties)[::-1]]) * scale
        spread = np.sqrt(np.maximum(np.einsum("pf,fg,pg->p", path, products, path), 0))
        return path / np.where(spread > 0, spread, 1)[:, None]

    def _value(self, validation: Rows, weights: np.ndarray) -> float:
        means = evaluate_rows(validation.y, validation.X @ weights, validation.list_of, self.measure).means()
        return next(iter(means.values()))

    def _check_params(self) -> None:
        parse_measure(self.measure)
        if not len(self.penalties):
            raise TacitError("penalties is empty, want at least one number above 0")
        for penalty in self.penalties:
            check_number("penalty", penalty, low=0, open_low=True)


def _centre(table: np.ndarray, list_of: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the table minus its (weighted) mean over each list; rows of a list are consecutive."""
    starts = np.flatnonzero(np.append(True, list_of[1:] != list_of[:-1]))
    lengths = np.diff(np.append(starts, len(list_of)))
    shape = (-1, *[1] * (table.ndim - 1))
    counted = np.ones(len(table)) if weights is None else np.maximum(weights, 1e-12)
    means = np.add.reduceat(table * counted.reshape(shape), starts, axis=0)
    means /= np.add.reduceat(counted, starts).reshape(shape)
    return table - np.repeat(means, lengths, axis=0)
