"""Ordinal logistic regression of grades with random effects of lists, and its evidence.

A judged row is one binary observation for each grade g above the lowest: whether its grade is at least g. A given
preference is one observation: that one row is above another.

    P(y_i at least g) = sigmoid(w . x_i + c_g + spread b_l)      P(i above j) = sigmoid(w . (x_i - x_j))

c_g is the intercept of a grade, b_l the effect of list l. All have Gaussian priors; the loss to minimise is

    sum of -log P of the observations + (decay / 2) |w - start|^2 + (1 / 2) |b|^2 + (1 / 2) |c / 10|^2

It is a sum, not a mean, so that the influence of the priors decreases with the number of observations.

With an infinite spread only comparisons within a list count, as in pairwise losses; with spread 0 all lists have the
same share of relevant rows. In between, a judged row is informative even if its list has only one grade. The loss is
convex and minimised by Newton's method. The Hessian of b is diagonal and eliminated first, so that a step takes
O(rows d^2 + lists d^2 + d^3).

The evidence is the probability of the observations, integrated over the priors of all parameters by Laplace's
approximation. It compares sets of columns without held-out labels (MacKay 1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from tacit.core import DivergedError
from tacit.rerank.rows import Rows

MAX_STEPS, MAX_HALVINGS = 100, 40
TOLERANCE = 1e-10  # decrease of the loss that a step promises, for each observation
LEVEL_PRECISION = 0.01  # of the prior of c, which is wide and only keeps c finite


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
