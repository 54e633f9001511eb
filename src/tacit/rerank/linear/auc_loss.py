"""Losses of pairs of a positive and a negative row (Truong, Amini and Gallinari, equations 3 and 4).

Every positive row x of a list should rank above every negative row x'. Let h be a score; w = 1 for each list, or the
reciprocal of the number of terms, n_pos n_neg (n_pos^p n_neg for the push):

    exponential   L(h) = sum over lists of  w * sum_pos e^-h(x) * sum_neg e^h(x')       in time linear in the rows
    binomial      L(h) = sum over lists of  w * sum over pairs of log(1 + e^(h(x') - h(x)))
    p-norm push   L(h) = sum over lists of  w * sum_neg (sum_pos e^(h(x') - h(x)))^p

The push (Rudin 2009) raises the loss of a negative row to the power p, so that negative rows at the top of the list
cost most, as in average precision. It factors like the exponential loss, which is p = 1.

Single pairs (better, worse, weight) each add weight * e^(h(worse) - h(better)), or its binomial form. The binomial
loss does not factor, so it uses single pairs only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tacit.kernels.lambdas import add_pair_gradients
from tacit.rerank.rows import Pairs, Rows, graded_pairs, no_pairs

HIGHEST = 300.0  # e^300 squared is still finite, because a line search may try very long steps


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
