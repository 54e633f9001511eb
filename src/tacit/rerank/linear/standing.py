"""A ranker for few labels that compares each judged row with all rows of its list, judged or not.

Pairwise losses learn from two judged rows of one list with different grades: if all judged rows of a list have grade 0,
they learn nothing from it. This ranker learns from every judged row: its grade is regressed on its columns, with an
effect of its list. This requires that rows of different lists are comparable, and the unjudged rows make them so: the
columns describe the position of a row in its list (`list_columns`). There are two views,

    quantiles   each feature, and the fraction of the list that is below the row by it
    places      each feature, its distance from the list's mean in standard deviations, and its discounted rank

and which one is better differs between collections. The one with the higher evidence is used, so no labels need to be
held out. With `view="features"` the ranker is supervised: unjudged rows are used only for the scale of features, as in
`linear`.

The regression is an ordinal logistic one with random effects of lists. A judged row is one binary observation for each
grade g above the lowest: whether its grade is at least g. A given preference is one observation: that one row is above
another.

    P(y_i at least g) = sigmoid(w . x_i + c_g + spread b_l)      P(i above j) = sigmoid(w . (x_i - x_j))

c_g is the intercept of a grade, b_l the effect of list l. All have Gaussian priors; the loss to minimise is

    sum of -log P of the observations + (decay / 2) |w - start|^2 + (1 / 2) |b|^2 + (1 / 2) |c / 10|^2

It is a sum, not a mean, so that the influence of the priors decreases with the number of observations.

With an infinite spread only comparisons within a list count, as in pairwise losses; with spread 0 all lists have the
same share of relevant rows. In between, a judged row is informative even if its list has only one grade. The loss is
convex and minimised by Newton's method. The Hessian of b is diagonal and eliminated first, so that a step takes O(rows
d^2 + lists d^2 + d^3).

The evidence is the probability of the observations, integrated over the priors of all parameters by Laplace's
approximation. It compares sets of columns without held-out labels (MacKay 1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from tacit.core import DivergedError, StoreError, check_choice, check_number, one_blas_thread
from tacit.rerank.base import ListRanker
from tacit.rerank.gradient.ranker import Choice, center_and_spread, values_of
from tacit.rerank.gradient.scorer_training import ValidationPairs, is_ahead
from tacit.rerank.input_checks import check_memory
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
MAX_STEPS, MAX_HALVINGS = 100, 40
TOLERANCE = 1e-10  # decrease of the loss that a step promises, for each observation
LEVEL_PRECISION = 0.01  # of the prior of c, which is wide and only keeps c finite


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


@dataclass(frozen=True)
class Answers:
    """Grades of rows as binary observations, and given preferences."""

    X: np.ndarray  # (n, d): the judged rows, list by list
    at_least: np.ndarray  # bool (n, n_levels)
    lists: np.ndarray  # number from 0 of each row's list, rising, none left out
    gaps: np.ndarray  # (m, d): the better row minus the worse one
    weight: np.ndarray  # (m,)

    @classmethod
    def of(cls, rows: Rows, X: np.ndarray) -> Answers:
        """Return all observations of the rows, with columns X (n_rows, d)."""
        judged = np.flatnonzero(~np.isnan(rows.y))
        grades = rows.y[judged]
        _, lists = np.unique(rows.list_of[judged], return_inverse=True)
        gaps = X[rows.given.better] - X[rows.given.worse]
        return cls(X[judged], grades[:, None] >= np.unique(grades)[1:], lists, gaps, rows.given.weight)

    @property
    def n_lists(self) -> int:
        """Number of lists with a judged row."""
        return int(self.lists[-1]) + 1 if len(self.lists) else 0

    @property
    def total(self) -> float:
        """Total weight of the observations."""
        return float(self.at_least.size + self.weight.sum())


@dataclass(frozen=True)
class Parameters:
    """w (d,), c (n_levels,), b (n_lists,)."""

    w: np.ndarray
    c: np.ndarray
    b: np.ndarray

    def moved(self, step: Parameters, share: float) -> Parameters:
        """Return the parameters minus a share of a step."""
        return Parameters(self.w - share * step.w, self.c - share * step.c, self.b - share * step.b)


@dataclass(frozen=True)
class OrdinalModel:
    """Weights of the columns (d,), and the log evidence."""

    w: np.ndarray
    log_evidence: float


@dataclass(frozen=True)
class OrdinalProblem:
    """Observations and priors: weights around `start` (d,), effects of lists with standard deviation `spread`."""

    answers: Answers
    decay: float
    spread: float
    start: np.ndarray

    def solve(self) -> OrdinalModel:
        """Minimise the loss."""
        at = Parameters(self.start, np.zeros(self.answers.at_least.shape[1]), np.zeros(self.answers.n_lists))
        loss = self.loss(at)
        for _ in range(MAX_STEPS):
            step, gain, log_det = self.newton_step(at)
            if gain <= TOLERANCE * self.answers.total:
                priors = len(at.w) * np.log(self.decay) + len(at.c) * np.log(LEVEL_PRECISION)
                return OrdinalModel(at.w, float(0.5 * (priors - log_det) - loss))
            at, loss = self.line_search(at, step, loss)
        raise DivergedError(f"no minimum after {MAX_STEPS} Newton steps at decay {self.decay:g}: want more of it")

    def loss(self, at: Parameters) -> float:
        """Return loss at a point."""
        logits, away = self._logits(at), at.w - self.start
        fit = np.logaddexp(0, np.where(self.answers.at_least, -logits, logits)).sum()
        order = self.answers.weight @ np.logaddexp(0, -(self.answers.gaps @ at.w))
        priors = self.decay * (away @ away) + at.b @ at.b + LEVEL_PRECISION * (at.c @ at.c)
        return float(fit + order + 0.5 * priors)

    def _logits(self, at: Parameters) -> np.ndarray:
        """Return logits of the observations of judged rows, (n, n_levels)."""
        level: np.ndarray = self.answers.X @ at.w + self.spread * at.b[self.answers.lists]
        return level[:, None] + at.c

    def line_search(self, at: Parameters, step: Parameters, loss: float) -> tuple[Parameters, float]:
        """Halve the step until the loss does not increase."""
        share = 1.0
        for _ in range(MAX_HALVINGS):
            there = at.moved(step, share)
            found = self.loss(there)
            if found <= loss:
                return there, found
            share /= 2
        return at.moved(step, 1.0), loss  # the difference is below the precision of the loss

    def newton_step(self, at: Parameters) -> tuple[Parameters, float, float]:
        """Newton step, half its product with the gradient (expected decrease), and log determinant of the Hessian."""
        X, lists, gaps, weight = self.answers.X, self.answers.lists, self.answers.gaps, self.answers.weight
        d, n_lists = len(at.w), len(at.b)
        chance = expit(self._logits(at))
        error, curvature = chance - self.answers.at_least, chance * (1 - chance)
        above = expit(gaps @ at.w)
        residual, row_curvature = error.sum(axis=1), curvature.sum(axis=1)

        # Gradient and Hessian of a = (w, c); of b, whose Hessian is diagonal; and of the two together.
        gradient_a = np.concatenate([
            X.T @ residual - gaps.T @ (weight * (1 - above)) + self.decay * (at.w - self.start),
            error.sum(axis=0) + LEVEL_PRECISION * at.c,
        ])  # fmt: skip
        gradient_b = self.spread * np.bincount(lists, residual, n_lists) + at.b
        gap_curvature = weight * above * (1 - above)
        across = X.T @ curvature
        hessian_a = np.block([
            [(X.T * row_curvature) @ X + (gaps.T * gap_curvature) @ gaps + self.decay * np.eye(d), across],
            [across.T, np.diag(curvature.sum(axis=0) + LEVEL_PRECISION)],
        ])  # fmt: skip
        hessian_b = self.spread**2 * np.bincount(lists, row_curvature, n_lists) + 1
        mixed = self.spread * _sum_by_list(np.hstack([X * row_curvature[:, None], curvature]), lists)

        # Eliminate b; the remaining matrix of a is the Schur complement.
        factor = cho_factor(hessian_a - (mixed.T / hessian_b) @ mixed)
        step_a = cho_solve(factor, gradient_a - mixed.T @ (gradient_b / hessian_b))
        step_b = (gradient_b - mixed @ step_a) / hessian_b
        gain = 0.5 * float(gradient_a @ step_a + gradient_b @ step_b)
        log_det = 2 * np.log(np.diag(factor[0])).sum() + np.log(hessian_b).sum()
        return Parameters(step_a[:d], step_a[d:], step_b), gain, float(log_det)


def _sum_by_list(table: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Return sums of rows by list; the rows of a list are consecutive."""
    if not len(lists):
        return np.zeros((0, table.shape[1]))
    first = np.flatnonzero(np.r_[True, lists[1:] != lists[:-1]])
    return np.add.reduceat(table, first, axis=0)
