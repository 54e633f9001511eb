"""Semi-supervised LambdaMART: LightGBM's trees grown on our gradients, which include unjudged rows.

Each tree is fitted to dLoss/ds and its curvature from the same terms as SSLambdaRank's scorers: swap-weighted pairs,
expected pairs, neighbours. With beta = expected = 0 unjudged rows have no gradient, and the trees are supervised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tacit.core import check_number
from tacit.rerank.boosting.lightgbm import LightGbmRanker, import_lightgbm
from tacit.rerank.gradient.expected_pairs import expected_pairs
from tacit.rerank.gradient.losses import NeighbourRegularizer, PairLoss, SwapLoss
from tacit.rerank.gradient.neighbours import find_neighbours
from tacit.rerank.gradient.ranker import Scaled, center_and_spread
from tacit.rerank.gradient.scorer_training import GradientTerm
from tacit.rerank.rows import Rows

FLAT = 1e-6  # least curvature of a row with a gradient


class LambdaMartRanker(LightGbmRanker):
    """Boosted trees on semi-supervised lambda gradients.

    Parameters
    ----------
    measure : str, default="nDCG-exp"
        Measure whose change by a swap is the weight of a pair: nDCG, nDCG-exp or nDCG-letor (with or without @k), MAP,
        RR.
    beta : float, default=1.0
        Weight of the preference regularizer over neighbours.
    expected : float, default=0.5
        Share of expected pairs in the loss, from 0 to 1.
    n_neighbours : int, default=5
        Neighbours of each row in the regularizer.
    **params
        Parameters of `LightGbmRanker`.
    """

    _allow_nan: ClassVar[bool] = False
    _any_size: ClassVar[bool] = False
    _unjudged: ClassVar[bool] = True

    def __init__(
        self, measure: str = "nDCG-exp", beta: float = 1.0, expected: float = 0.5, n_neighbours: int = 5, **params: Any
    ) -> None:
        super().__init__(**params)
        self.measure, self.beta, self.expected, self.n_neighbours = measure, beta, expected, n_neighbours

    def _fit(self, rows: Rows, validation: Rows | None) -> None:
        check_number("beta", self.beta, low=0)
        check_number("expected", self.expected, low=0, high=1)
        rows.check_has_pairs()
        rows = rows.canonical()  # ties are ordered by row
        terms = self._terms(rows)

        def objective(scores: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
            return derivatives(terms, np.asarray(scores, np.float64))

        self._grow(import_lightgbm().Dataset(rows.X, np.zeros(len(rows.y))), objective, validation)

    def _terms(self, rows: Rows) -> list[GradientTerm]:
        loss = SwapLoss(rows, self.measure)
        likely = expected_pairs(rows) if self.expected else None
        share = self.expected if likely is not None and len(likely) else 0.0
        terms: list[GradientTerm] = [Scaled(loss, 1 - share)]
        if likely is not None and share:
            terms.append(Scaled(PairLoss(likely), share))
        if self.beta:
            near = find_neighbours(rows.starts, self.n_neighbours, vectors=rows.X / center_and_spread(rows.X)[1])
            terms.append(NeighbourRegularizer(near, rows.starts, self.beta, discounts=loss.discounts))
        return terms


def derivatives(terms: Sequence[GradientTerm], scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return dLoss/ds and the diagonal of d2Loss/ds2, times the number of rows, as if each row had its own loss."""
    gradient, curvature = np.zeros(len(scores)), np.zeros(len(scores))
    for term in terms:
        term.add(scores, gradient)
        term.add_curvature(scores, curvature)
    return gradient * len(scores), np.maximum(curvature * len(scores), FLAT)
