"""RankBoost with a cost for each pair: what is important gains weight fast and loses it slowly.

theta and the stump are chosen as in RankBoost, but D *= exp(-c theta (h(better) - h(worse))) with

    c = 0.5 + 0.5 w~ where this stump orders the pair wrongly, 0.5 - 0.5 w~ where it does not,

w~ = (w - min w) / (max w - min w), and 0 when all are equal (Duh and Kirchhoff 2011 after Fan and others 1999; the
footnote there has the two cases swapped against the text and against AdaCost; `footnote=True` is this variant).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.rerank.boosting.pairs import CostlyDistribution, PairDistribution
from tacit.rerank.boosting.rankboost import Prepared, RankBoostRanker, weighted_pairs


class AdaCostRanker(RankBoostRanker):
    """RankBoost in which weights of pairs are costs of mistakes.

    All pairs start with the same share.

    Parameters
    ----------
    n_rounds : int, default=300
        Largest number of stumps.
    footnote : bool, default=False
        Costs as in footnote 7 of Duh and Kirchhoff: important pairs gain weight slowly and lose it fast.
    **params
        Further parameters of `RankBoostRanker`.

    Examples
    --------
    >>> X, pairs = np.tile([[1.0, 0.0], [0.0, 1.0]], (3, 1)), [[0, 1], [3, 2], [5, 4]]
    >>> ranker = AdaCostRanker(n_rounds=2).fit(X, [-1] * 6, pairs=pairs, pair_weights=[3.0, 1.0, 1.0])
    >>> ranker.stump_weights_.round(3).tolist()
    [-0.347, -0.087]
    """

    def __init__(self, n_rounds: int = 300, *, footnote: bool = False, **params: Any) -> None:
        super().__init__(n_rounds, **params)
        self.footnote = footnote

    def _distribution(self, prepared: Prepared, weights: np.ndarray | None) -> PairDistribution:
        return CostlyDistribution(weighted_pairs(prepared.rows, weights), prepared.used, self.footnote)
