"""`auc-logistic` and `auc-semi`: linear rankers with a pairwise AUC loss, supervised and semi-supervised.

`auc-logistic` minimises the exponential (or binomial) pair loss below plus l2 / 2 |beta|^2, where beta are the weights
of the features. `auc-semi` (Truong, Amini and Gallinari) repeats until nothing changes: take the n best-scored unjudged
rows of a list, order them by manifold ranking (phi), and refit

    w (sum of pairs e^(h(worse) - h(better)) + lambda sum_{j < n} e^(h(x_phi(j+1)) - h(x_phi(j)))) + l2 / 2 |beta|^2

with the w below for each list: 1 / (number of its pairs), or 1 with `mean=False`, as printed in the paper for this
step. Both terms have the same w, so lambda weighs them as printed, and lambda = 0 is `auc-logistic`.

One positive row in many dimensions can always be separated, so only the L2 term keeps beta finite. It is small and
fixed, and `chosen()` shows it.

**Losses** of pairs of a positive and a negative row (equations 3 and 4). Every positive row x of a list should rank
above every negative row x'. Let h be a score; w = 1 for each list, or the reciprocal of the number of terms, n_pos
n_neg (n_pos^p n_neg for the push):

    exponential   L(h) = sum over lists of  w * sum_pos e^-h(x) * sum_neg e^h(x')       in time linear in the rows
    binomial      L(h) = sum over lists of  w * sum over pairs of log(1 + e^(h(x') - h(x)))
    p-norm push   L(h) = sum over lists of  w * sum_neg (sum_pos e^(h(x') - h(x)))^p

The push (Rudin 2009) raises the loss of a negative row to the power p, so that negative rows at the top of the list
cost most, as in average precision. It factors like the exponential loss, which is p = 1.

Single pairs (better, worse, weight) each add weight * e^(h(worse) - h(better)), or its binomial form. The binomial
loss does not factor, so it uses single pairs only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tacit.core import DivergedError, TacitError, check_choice, check_number, check_numbers
from tacit.features.scaling import deviations
from tacit.kernels.lambdas import add_pair_gradients
from tacit.rerank.base import ListRanker
from tacit.rerank.gradient.ranker import Choice, values_of
from tacit.rerank.gradient.scorer_training import ValidationPairs
from tacit.rerank.propagation.manifold import propagate, smooth_graph
from tacit.rerank.rows import Pairs, Rows, graded_pairs, no_pairs

L2, LOSSES = 0.1, ("exponential", "binomial", "p-norm-push")
HIGHEST = 300.0  # e^300 squared is still finite, because a line search may try very long steps


class AucRanker(ListRanker):
    """Linear ranker that minimises a loss over pairs of positive and negative rows.

    Parameters
    ----------
    relevant : float, default=1.0
        Rows of this grade or more are positive.
    l2 : float, default=0.1
        Weight of the L2 penalty.
    scale : bool, default=True
        Divide features by their standard deviation before fitting.
    loss : {"exponential", "binomial", "p-norm-push"}, default="exponential"
        Loss of a pair; the exponential loss takes time linear in the rows, the binomial loss in the pairs. The p-norm
        push is exponential and emphasizes the top of the list: a negative row there costs most.
    mean : bool, default=True
        Divide the loss of each list by the number of its pairs.
    power : float, default=4.0
        Exponent of the p-norm push, at least 1; larger values put more weight on the top of the list.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,), float64
        Weights of the features.
    l2_ : float
        The penalty.

    Examples
    --------
    >>> X, y = np.array([[0.0, 1], [1, 0], [2, 1]]), [0, 0, 1]
    >>> AucRanker().fit(X, y).predict(X).argsort().tolist()[-1]
    2
    """

    _fitted: ClassVar[dict[str, str]] = {"weights_": "features", "l2_": ""}

    def __init__(
        self,
        relevant: float = 1.0,
        l2: float = L2,
        scale: bool = True,
        loss: str = "exponential",
        mean: bool = True,
        power: float = 4.0,
    ) -> None:
        self.relevant, self.l2, self.scale, self.loss, self.mean, self.power = relevant, l2, scale, loss, mean, power

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        check_number("relevant", self.relevant, low=0, open_low=True)
        check_choice("loss", self.loss, LOSSES)
        check_number("power", self.power, low=1, high=64)
        self.l2_ = float(check_number("l2", self.l2, low=0, open_low=True))
        deviation = deviations(rows.X) if self.scale else np.zeros(1)
        spread = np.where(deviation > 0, deviation, 1.0)
        held_out = None if validation is None else ValidationPairs.of(validation.X / spread, validation)
        power = self.power if self.loss == "p-norm-push" else 1.0
        loss = AucLoss.of(rows, self.relevant, mean=self.mean, binomial=self.loss == "binomial", power=power)
        _check_not_empty(loss, rows, self.relevant)
        self.weights_ = self._learn(rows, rows.X / spread if self.scale else rows.X, loss, held_out) / spread

    def _learn(self, rows: Rows, X: np.ndarray, loss: AucLoss, held_out: ValidationPairs | None) -> np.ndarray:
        return minimise(loss, X, self.l2_)

    def _predict(self, X: np.ndarray, qid: np.ndarray) -> np.ndarray:
        return X @ self.weights_


class SemiAucRanker(AucRanker):
    """`AucRanker` that also preserves the order of the best unjudged rows by manifold ranking.

    Parameters
    ----------
    lam : float, default=1.0
        Weight of the order by manifold ranking; 0 is `AucRanker`.
    n_top : int, default=10
        Number of unjudged rows of each list that are ordered.
    k : int, default=5
        Neighbours of each row in the graph.
    alpha : float or sequence of float, default=(0.99, 0.9, 0.5)
        How far relevance spreads in the graph, from 0 to 1; of several values, the best on validation lists, or without
        these the first.
    max_rounds : int, default=20
        Maximum number of refits.
    **params
        Parameters of `AucRanker`.

    Attributes
    ----------
    n_rounds_ : int
        Number of refits.
    alpha_ : float
        The value used.
    """

    _fitted: ClassVar[dict[str, str]] = {"weights_": "features", "l2_": "", "n_rounds_": "", "alpha_": "?"}

    def __init__(
        self,
        lam: float = 1.0,
        n_top: int = 10,
        k: int = 5,
        alpha: Choice = (0.99, 0.9, 0.5),
        max_rounds: int = 20,
        **params: Any,
    ) -> None:
        super().__init__(**params)
        self.lam, self.n_top, self.k, self.alpha, self.max_rounds = lam, n_top, k, alpha, max_rounds

    def _learn(self, rows: Rows, X: np.ndarray, loss: AucLoss, held_out: ValidationPairs | None) -> np.ndarray:
        alphas = self._checked_alphas()
        first = super()._learn(rows, X, loss, held_out)
        best, kept = -np.inf, first
        for alpha in alphas if held_out is not None else alphas[:1]:
            beta, n_rounds = self._refit(rows, X, loss, first, alpha)
            value = 0.0 if held_out is None else held_out.value(held_out.X @ beta)
            if value > best:
                best, kept, self.n_rounds_, self.alpha_ = value, beta, n_rounds, alpha
        return kept

    def _refit(
        self, rows: Rows, X: np.ndarray, loss: AucLoss, beta: np.ndarray, alpha: float
    ) -> tuple[np.ndarray, int]:
        """Refit from the supervised weights until an order repeats; return weights and number of refits."""
        if not self.lam:
            return beta, 0
        smooth, seen = self._manifold(rows, X, alpha), set[bytes]()
        while len(seen) < self.max_rounds:
            order = np.concatenate([*self._orders(rows, X @ beta, smooth), np.empty((0, 2), np.int64)])
            if order.tobytes() in seen:
                break
            seen.add(order.tobytes())
            weight = self.lam * loss.weight[rows.list_of[order[:, 0]]]
            beta = minimise(loss.join(order[:, 0], order[:, 1], weight), X, self.l2_, start=beta)
        return beta, len(seen)

    def _checked_alphas(self) -> list[float]:
        check_number("lam", self.lam, low=0)
        check_number("n_top", self.n_top, low=2, whole=True)
        check_numbers(self, "k", "max_rounds", low=1, whole=True)
        return values_of("alpha", self.alpha, low=0, high=1 - 1e-6)

    def _manifold(self, rows: Rows, X: np.ndarray, alpha: float) -> np.ndarray:
        """Return manifold scores of all rows, with a separate graph for each list."""
        scores = np.zeros(len(rows.y))
        for start, stop in zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
            seeds = (rows.y[start:stop] >= self.relevant).astype(np.float64)
            if seeds.any():
                scores[start:stop] = propagate(smooth_graph(X[start:stop], self.k), seeds, alpha)
        return scores

    def _orders(self, rows: Rows, h: np.ndarray, smooth: np.ndarray) -> Iterator[np.ndarray]:
        """Return, for each list, (better, worse) of neighbours in phi among the n best-scored unjudged rows."""
        for start, stop in zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
            if not (rows.y[start:stop] >= self.relevant).any():
                continue  # nothing spreads in a list without a positive row
            unjudged = start + np.flatnonzero(np.isnan(rows.y[start:stop]))
            best = unjudged[np.argsort(-h[unjudged], kind="stable")[: self.n_top]]
            phi = best[np.lexsort((-h[best], -smooth[best]))]
            told = smooth[phi[:-1]] > smooth[phi[1:]]  # the graph does not order rows that relevance does not reach
            yield np.column_stack([phi[:-1], phi[1:]])[told]


def minimise(loss: AucLoss, X: np.ndarray, l2: float, start: np.ndarray | None = None) -> np.ndarray:
    """Return beta that minimises loss(X beta) + l2 / 2 |beta|^2; rows that are in no pair are ignored."""
    from scipy.optimize import minimize

    used, small = _only_used(loss, len(X))
    table = np.ascontiguousarray(X[used])

    def objective(beta: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = small.value_and_gradient(table @ beta)
        return value + l2 / 2 * float(beta @ beta), table.T @ gradient + l2 * beta

    first = np.zeros(X.shape[1]) if start is None else start
    options = {"maxiter": 500, "gtol": 1e-7, "ftol": 1e-12}
    found: Any = minimize(objective, first, jac=True, method="L-BFGS-B", options=options)
    if not np.isfinite(found.x).all():
        raise DivergedError(f"the weights are not finite after {found.nit} steps; try an l2 above {l2:g}")
    return found.x


def _only_used(loss: AucLoss, n_rows: int) -> tuple[np.ndarray, AucLoss]:
    """Return the rows in the loss, and the loss with their numbers."""
    used = np.unique(np.concatenate([loss.positive, loss.negative, loss.pairs.better, loss.pairs.worse]))
    position = np.full(n_rows, -1, np.int64)
    position[used] = np.arange(len(used))
    pairs = Pairs(position[loss.pairs.better], position[loss.pairs.worse], loss.pairs.weight)
    return used, replace(loss, positive=position[loss.positive], negative=position[loss.negative], pairs=pairs)


def _check_not_empty(loss: AucLoss, rows: Rows, relevant: float) -> None:
    if loss.is_empty:
        raise TacitError(
            f"no list has both a row of grade >= {relevant:g} and a judged row below it (rows: {len(rows.y)}, "
            f"unjudged: {int(np.isnan(rows.y).sum())}, lists: {rows.n_lists}); want at least one such pair"
        )


@dataclass(frozen=True)
class AucLoss:
    """Loss of scores and its gradient. positive, negative: row numbers; *_list: list of each row; weight: per list."""

    positive: np.ndarray
    negative: np.ndarray
    positive_list: np.ndarray
    negative_list: np.ndarray
    weight: np.ndarray
    pairs: Pairs = field(default_factory=no_pairs)
    binomial: bool = False
    power: float = 1.0

    @classmethod
    def of(
        cls, rows: Rows, relevant: float = 1.0, *, mean: bool = True, binomial: bool = False, power: float = 1.0
    ) -> AucLoss:
        """Make the loss over judged rows; `mean` divides each list's sum by its number of terms."""
        positive, negative = np.flatnonzero(rows.y >= relevant), np.flatnonzero(rows.y < relevant)
        lists = rows.list_of
        n_positive, n_negative = (np.bincount(lists[part], minlength=rows.n_lists) for part in (positive, negative))
        weight = 1 / np.maximum(n_positive**power * n_negative, 1) if mean else np.ones(rows.n_lists)
        found = cls(positive, negative, lists[positive], lists[negative], weight, rows.given, binomial, power)
        if not binomial:
            return found
        pairs = graded_pairs(np.where(np.isnan(rows.y), np.nan, rows.y >= relevant), rows.starts)
        return found.join(pairs.better, pairs.worse, pairs.weight * weight[lists[pairs.better]])

    def join(self, better: np.ndarray, worse: np.ndarray, weight: np.ndarray) -> AucLoss:
        """Return the loss with further single pairs."""
        columns = zip(self.pairs, (better, worse, weight), strict=True)
        return replace(self, pairs=Pairs(*(np.concatenate(column) for column in columns)))

    @property
    def is_empty(self) -> bool:
        """Whether there is no pair to learn from."""
        return not np.intersect1d(self.positive_list, self.negative_list).size and not len(self.pairs)

    def value_and_gradient(self, h: np.ndarray) -> tuple[float, np.ndarray]:
        """L(h), and dL/dh as float64 (n_rows,)."""
        gradient = np.zeros(len(h))
        if self.binomial:
            return float(add_pair_gradients(h, *self.pairs, gradient)), gradient
        value = self._add_products(h, gradient) + self._add_pairs(h, gradient)
        return value, gradient

    def _add_products(self, h: np.ndarray, gradient: np.ndarray) -> float:
        n_lists = len(self.weight)
        # The product does not change when all scores of a list shift together, so only the sum of wrong pairs is large.
        top = np.full(n_lists, -np.inf)
        np.maximum.at(top, self.negative_list, h[self.negative])
        top[np.isinf(top)] = 0.0
        p = self.power
        up = np.exp(np.minimum(top[self.positive_list] - h[self.positive], HIGHEST / p))
        down = np.exp(p * (h[self.negative] - top[self.negative_list]))
        sum_up = np.bincount(self.positive_list, up, n_lists)
        sum_down = np.bincount(self.negative_list, down, n_lists)
        gradient[self.positive] -= p * up * (self.weight * sum_up ** (p - 1) * sum_down)[self.positive_list]
        gradient[self.negative] += p * down * (self.weight * sum_up**p)[self.negative_list]
        return float(np.sum(self.weight * sum_up**p * sum_down))

    def _add_pairs(self, h: np.ndarray, gradient: np.ndarray) -> float:
        better, worse, weight = self.pairs
        terms = weight * np.exp(np.minimum(h[worse] - h[better], HIGHEST))
        np.subtract.at(gradient, better, terms)
        np.add.at(gradient, worse, terms)
        return float(terms.sum())
