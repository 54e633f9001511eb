"""LambdaRank and SSLambdaRank: pairs weighted by the change of nDCG, MAP or RR when they are swapped (PREF, 5).

Pairs of neighbours are weighted by |R(position_i) - R(position_j)|, which is largest near the top of the list.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.rerank.gradient.losses import SwapLoss, discount_table, parse_swap_measure
from tacit.rerank.gradient.ranker import GradientRanker
from tacit.rerank.gradient.scorer_training import GradientTerm
from tacit.rerank.rows import Rows


class LambdaRankRanker(GradientRanker):
    """LambdaRank: Bradley-Terry with pairs weighted by the change of a measure when they are swapped.

    Parameters
    ----------
    measure : str, default="nDCG-exp"
        The measure: nDCG, nDCG-exp or nDCG-letor (with @k or without), MAP or RR. nDCG-letor gives positions 1 and 2
        the same discount, so a swap of these has no weight.
    positions : {"judged", "list"}, default="judged"
        Positions that the discounts of nDCG are taken at: among the judged rows, as if the others were not in the list,
        or in the whole list, where judged rows far down count little.
    **params
        Parameters of `GradientRanker`.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, -1, 1, 2]
    >>> LambdaRankRanker(n_hidden=0).fit(X, y).predict(X).argsort().tolist()
    [0, 1, 2, 3]
    """

    def __init__(self, measure: str = "nDCG-exp", positions: str = "judged", **params: Any) -> None:
        super().__init__(**params)
        self.measure, self.positions = measure, positions

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        super()._fit(rows.canonical(), validation)  # equal scores are ordered by row

    def _loss(self, rows: Rows) -> GradientTerm:
        return SwapLoss(rows, self.measure, mean=not self.sums, positions=self.positions)

    def _discounts(self, rows: Rows) -> np.ndarray:
        return discount_table(parse_swap_measure(self.measure), int(np.diff(rows.starts).max()))
