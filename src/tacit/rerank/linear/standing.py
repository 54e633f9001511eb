"""A ranker for few labels that compares each judged row with all rows of its list, judged or not.

Pairwise losses learn from two judged rows of one list with different grades: if all judged rows of a list have grade
0, they learn nothing from it. This ranker learns from every judged row: its grade is regressed on its columns, with an
effect of its list (`ordinal`). This requires that rows of different lists are comparable, and the unjudged rows make
them so: the columns describe the position of a row in its list (`list_columns`). There are two views,

    quantiles   each feature, and the fraction of the list that is below the row by it
    places      each feature, its distance from the list's mean in standard deviations, and its discounted rank

and which one is better differs between collections. The one with the higher evidence is used, so no labels need to be
held out. With `view="features"` the ranker is supervised: unjudged rows are used only for the scale of features, as in
`linear`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.core import StoreError, check_choice, check_number, one_blas_thread
from tacit.rerank.base import ListRanker
from tacit.rerank.gradient.ranker import Choice, center_and_spread, values_of
from tacit.rerank.gradient.scorer_training import ValidationPairs, is_ahead
from tacit.rerank.input_checks import check_memory
from tacit.rerank.linear.ordinal import Answers, OrdinalModel, OrdinalProblem
from tacit.rerank.list_columns import Scale, centre_lists, to_columns
from tacit.rerank.rows import Rows

VIEWS: dict[str, Scale] = {
    "quantiles": {"feature": 1.0, "quantile": 1.0},
    "places": {"feature": 1.0, "standard": 1.0, "discount": 1 / 3},
    "features": {"feature": 1.0},
}
BY_EVIDENCE = ("quantiles", "places")
LEAST_SIZE = 1e-9  # for rows that do not differ at all
NARROWEST, WIDEST = 1e-3, 1e3  # log odds: smaller spreads are all ties, larger ones are certain


@dataclass(frozen=True)
class OrdinalView:
    """The judged rows in the columns of one view, and the prior of their weights."""

    name: str
    answers: Answers
    size: float  # mean squared length of a row within its list: the variance of scores with weights of variance 1
    list_spread: float
    start: np.ndarray

    def learn(self, score_spread: float) -> OrdinalModel:
        """Fit the model for a prior in which scores have this spread around the scores of `start`."""
        return OrdinalProblem(self.answers, self.size / score_spread**2, self.list_spread, self.start).solve()


class StandingRanker(ListRanker):
    """Ordinal regression on the positions of rows in their lists.

    Parameters
    ----------
    view : {"auto", "quantiles", "places", "features"}, default="auto"
        Columns to use; "auto" chooses quantiles or places by evidence.
    score_spread : float or sequence of float, default=(0.35, 0.18, 0.7)
        Prior standard deviation of scores within a list, in log odds; of several values, the best on validation lists.
        Smaller values regularize more.
    list_spread : float, default=1.5
        Prior standard deviation of the effects of lists, in log odds.
    start : int, default=None
        Number, from 0, of a feature that ranks well alone, such as the score of a search engine; few labels then change
        its order a little.
    start_weight : float, default=1.0
        Log odds for one standard deviation of the feature `start`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,), float64
        Weights of the columns.
    view_ : str
        The columns used.
    score_spread_ : float
        The prior standard deviation used.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, -1, 1, 2]
    >>> StandingRanker().fit(X, y).predict(X).argsort().tolist()
    [0, 1, 2, 3]
    """

    _fitted: ClassVar[dict[str, str]] = {
        "coef_": "columns", "center_": "features", "spread_": "+features", "view_": "text", "score_spread_": "",
    }  # fmt: skip

    def __init__(
        self,
        view: str = "auto",
        score_spread: Choice = (0.35, 0.18, 0.7),
        list_spread: float = 1.5,
        start: int | None = None,
        start_weight: float = 1.0,
    ) -> None:
        self.view = view
        self.score_spread = score_spread
        self.list_spread = list_spread
        self.start = start
        self.start_weight = start_weight

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        check_choice("view", self.view, ("auto", *VIEWS))
        check_number("list_spread", self.list_spread, low=0, high=WIDEST)
        spreads = values_of("score_spread", self.score_spread, low=NARROWEST, high=WIDEST)
        if self.start is not None:
            check_number("start", self.start, low=0, high=rows.X.shape[1] - 1, whole=True)
            check_number("start_weight", self.start_weight, low=-WIDEST, high=WIDEST)
        rows.check_has_pairs()
        n_columns = rows.X.shape[1] * max(len(VIEWS[view]) for view in self._views())
        check_memory(f"the Hessian of {n_columns} columns", 4 * 8 * n_columns**2)
        self.center_, self.spread_ = center_and_spread(rows.X)
        with one_blas_thread():
            views = [self._make_view(rows, name) for name in self._views()]
            models = [view.learn(spreads[0]) for view in views]
            best = int(np.argmax([model.log_evidence for model in models]))
            view, model = views[best], models[best]
            self.view_ = view.name
            self.coef_, self.score_spread_ = model.w, spreads[0]
            held_out = self._validation_pairs(validation)
            if held_out is not None:
                self._choose(view, spreads[1:], held_out)

    def _views(self) -> tuple[str, ...]:
        return BY_EVIDENCE if self.view == "auto" else (self.view,)

    def _make_view(self, rows: Rows, name: str) -> OrdinalView:
        columns = self._columns(rows.X, rows.list_of, name)
        size = float(np.mean(np.sum(centre_lists(columns, rows.list_of) ** 2, axis=1)))
        start = np.zeros(columns.shape[1])
        if self.start is not None:
            start[self.start] = self.start_weight  # every view begins with the features themselves
        return OrdinalView(name, Answers.of(rows, columns), max(size, LEAST_SIZE), self.list_spread, start)

    def _choose(self, view: OrdinalView, spreads: Sequence[float], held_out: ValidationPairs) -> None:
        """Use another spread of scores if validation lists clearly prefer it."""
        ahead = held_out.parts(held_out.X @ self.coef_)
        for spread in spreads:
            coef = view.learn(spread).w
            parts = held_out.parts(held_out.X @ coef)
            if is_ahead(parts, ahead):
                ahead, self.coef_, self.score_spread_ = parts, coef, spread

    def _validation_pairs(self, validation: Rows | None) -> ValidationPairs | None:
        if validation is None:
            return None
        return ValidationPairs.of(self._columns(validation.X, validation.list_of, self.view_), validation)

    def _columns(self, X: np.ndarray, lists: np.ndarray, view: str) -> np.ndarray:
        return to_columns((X - self.center_) / self.spread_, lists, VIEWS[view])

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            scores: np.ndarray = self._columns(X, qid, self.view_) @ self.coef_
        return scores

    def needs_lists(self) -> bool:
        """Return whether scores depend on the position of a row in its list."""
        return self.view_ != "features"

    def _check_loaded(self) -> None:
        if self.view_ not in VIEWS:
            raise StoreError(f"view_ is {self.view_!r}, want one of {', '.join(VIEWS)}")
        if len(self.coef_) != len(VIEWS[self.view_]) * self.n_features_in_:
            raise StoreError(f"coef_ has {len(self.coef_)} columns, which {self.n_features_in_} features do not make")
