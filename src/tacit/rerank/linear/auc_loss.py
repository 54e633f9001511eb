"""The exponential loss of pairs, in time linear in the rows (Truong, Amini and Gallinari, equation 4).

Every positive row of a list is to stand above every negative one. Scores h; the double sum is a product of two sums:

    L(h) = sum over lists of  w * sum_pos e^-h(x) * sum_neg e^h(x'),   w = 1 / (n_pos n_neg) or 1

Single pairs (better, worse, weight) add weight * e^(h(worse) - h(better)) each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tacit.rerank.rows import Pairs, Rows, no_pairs

HIGHEST = 300.0  # e^300 squared is still finite: a line search may try steps that are far too long


@dataclass(frozen=True)
class AucLoss:
    """Loss of scores and its gradient. positive, negative: row numbers; *_list: the list of each; weight: per list."""

    positive: np.ndarray
    negative: np.ndarray
    positive_list: np.ndarray
    negative_list: np.ndarray
    weight: np.ndarray
    pairs: Pairs = field(default_factory=no_pairs)

    @classmethod
    def of(cls, rows: Rows, relevant: float = 1.0, *, mean: bool = True) -> AucLoss:
        """The loss over judged rows; `mean` divides each list's sum by its number of pairs."""
        positive, negative = np.flatnonzero(rows.y >= relevant), np.flatnonzero(rows.y < relevant)
        lists = rows.list_of
        n_pairs = np.bincount(lists[positive], minlength=rows.n_lists) * np.bincount(
            lists[negative], minlength=rows.n_lists
        )
        weight = np.where(n_pairs > 0, 1 / np.maximum(n_pairs, 1) if mean else 1.0, 0.0)
        return cls(positive, negative, lists[positive], lists[negative], weight, rows.given)

    @property
    def is_empty(self) -> bool:
        """Whether there is no pair to learn from."""
        return not self.weight.any() and not len(self.pairs)

    def value_and_gradient(self, h: np.ndarray) -> tuple[float, np.ndarray]:
        """L(h), and dL/dh as float64 (n_rows,)."""
        gradient = np.zeros(len(h))
        value = self._add_products(h, gradient) + self._add_pairs(h, gradient)
        return value, gradient

    def _add_products(self, h: np.ndarray, gradient: np.ndarray) -> float:
        n_lists = len(self.weight)
        # The product does not change when a list's scores move together; so no sum but that of wrong pairs is large.
        top = np.full(n_lists, -np.inf)
        np.maximum.at(top, self.negative_list, h[self.negative])
        top[np.isinf(top)] = 0.0
        up = np.exp(np.minimum(top[self.positive_list] - h[self.positive], HIGHEST))
        down = np.exp(h[self.negative] - top[self.negative_list])
        sum_up = np.bincount(self.positive_list, up, n_lists)
        sum_down = np.bincount(self.negative_list, down, n_lists)
        gradient[self.positive] -= up * (self.weight * sum_down)[self.positive_list]
        gradient[self.negative] += down * (self.weight * sum_up)[self.negative_list]
        return float(np.sum(self.weight * sum_up * sum_down))

    def _add_pairs(self, h: np.ndarray, gradient: np.ndarray) -> float:
        better, worse, weight = self.pairs
        terms = weight * np.exp(np.minimum(h[worse] - h[better], HIGHEST))
        np.subtract.at(gradient, better, terms)
        np.add.at(gradient, worse, terms)
        return float(terms.sum())
