"""`qe`: query expansion by pseudo relevance feedback.

    x' = x + beta * (mean of the E best items of x)

x is the query row. The items are reranked by x' (Zighelnic and Kurland 2008, used as a baseline for HTR and SSI).
beta and E are chosen on training pairs, if there are any. Items that are not candidates, such as the document that the
query was taken from, do not expand it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, check_number
from tacit.kernels.topk import top_k_rows
from tacit.metrics import full_ranking_measures
from tacit.retrieve.factors import factor_scores
from tacit.retrieve.lexical.cosine import CosineRanker
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.validation import held_out_queries

BETAS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
EXPANSIONS = (1, 2, 5, 10, 20)


class QueryExpansionRanker(CosineRanker):
    """Cosine similarity with a query expanded by its best items (pseudo relevance feedback).

    Parameters
    ----------
    beta : float or None, default=None
        Weight of the expansion; None means chosen on training pairs, or 0.2 without pairs.
    n_expand : int or None, default=None
        Number of items that expand the query; None means chosen on training pairs, or 5 without pairs.

    Attributes
    ----------
    items_ : array or csr_array of shape (n_items, n_features)
        Rows of the items.
    beta_ : float
        The weight in use.
    n_expand_ : int
        The number of items in use.
    """

    _fitted: ClassVar = CosineRanker._fitted | {"beta_": "", "n_expand_": ""}
    learns_from_pairs: ClassVar[bool] = True

    def __init__(self, beta: float | None = None, n_expand: int | None = None) -> None:
        self.beta, self.n_expand = beta, n_expand

    def _fit(self, data: TrainingData) -> None:
        betas = BETAS if self.beta is None else (check_number("beta", self.beta, low=0),)
        sizes = EXPANSIONS if self.n_expand is None else (check_number("n_expand", self.n_expand, low=1, whole=True),)
        self.items_ = data.items
        self.beta_ = 0.2 if self.beta is None else float(self.beta)
        self.n_expand_ = 5 if self.n_expand is None else int(self.n_expand)
        if data.has_pairs and len(betas) * len(sizes) > 1:
            self._choose(data, betas, sizes)

    def _choose(self, data: TrainingData, betas: Sequence[float], sizes: Sequence[int]) -> None:
        # Only these two numbers are learned from pairs, so training pairs are used to choose them.
        held = held_out_queries(data.queries, data.pairs, None, queries_are_items=data.queries_are_items)
        totals = np.zeros((len(sizes), len(betas)))
        for block in held.blocks():
            plain = factor_scores(self.item_factors[0], block.queries)
            for row, size in enumerate(sizes):
                more = factor_scores(self.item_factors[0], self._mean_of_best(plain, block.excluded, size))
                for column, beta in enumerate(betas):
                    mixed = plain + np.float32(beta) * more
                    totals[row, column] += full_ranking_measures(mixed, block.relevant, block.excluded)["AP"].sum()
        best_size, best_beta = np.unravel_index(np.argmax(totals), totals.shape)
        self.beta_, self.n_expand_ = float(betas[int(best_beta)]), int(sizes[int(best_size)])

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [self._expand(queries, None)]

    def score_rows(self, rows: Features, skip: sp.csr_array | None = None) -> np.ndarray:
        """Return `scores` of the expanded queries."""
        return factor_scores(self.item_factors[0], self._expand(rows, skip))

    def _expand(self, queries: Features, skip: sp.csr_array | None) -> Features:
        plain = factor_scores(self.item_factors[0], queries)
        return queries + np.float32(self.beta_) * self._mean_of_best(plain, skip, self.n_expand_)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        check_number("n_expand_", self.n_expand_, low=1, whole=True)

    def _mean_of_best(self, scores: np.ndarray, skip: sp.csr_array | None, n_expand: int) -> Features:
        """Return the mean of the best candidates of each query; a query without matches is not expanded."""
        n_best = min(n_expand, self.n_items_)
        best, best_scores = np.empty((len(scores), n_best), np.int64), np.empty((len(scores), n_best), np.float32)
        skip = sp.csr_array(scores.shape, dtype=bool) if skip is None else skip
        top_k_rows(scores, skip.indptr, skip.indices, best, best_scores)
        found = best_scores > 0
        weights = (found / np.maximum(found.sum(axis=1, keepdims=True), 1)).astype(np.float32)
        rows = np.arange(0, best.size + 1, n_best)
        picked = sp.csr_array((weights.ravel(), np.maximum(best, 0).ravel(), rows), shape=scores.shape)
        return picked @ self.items_
