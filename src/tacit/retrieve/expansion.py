"""`qe`: query expansion by pseudo relevance feedback.

The query x becomes x + beta * mean of its E best items, and is ranked again (Zighelnic and Kurland 2008,
as the baseline of HTR and SSI). beta and E are chosen on training pairs where there are some.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, check_number
from tacit.kernels.topk import top_k_rows
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, difference, sparse_row, word_terms
from tacit.retrieve.sides import Part, append_rows, part_of, part_scores
from tacit.retrieve.validation import choose_mixture, held_out_queries

BETAS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
EXPANSIONS = (1, 2, 5, 10, 20)


class QueryExpansionRanker(CollectionRanker):
    """Cosine with an expanded query. `beta` and `n_expand` None: chosen on pairs, else 0.2 and 5."""

    _fitted: ClassVar = {"items_": "items features", "beta_": "", "n_expand_": ""}

    def __init__(self, beta: float | None = None, n_expand: int | None = None) -> None:
        self.beta, self.n_expand = beta, n_expand

    def _fit(self, queries: Features, items: Features, pairs: Links | None, validation: Links | None) -> None:
        betas = BETAS if self.beta is None else (check_number("beta", self.beta, low=0),)
        sizes = EXPANSIONS if self.n_expand is None else (check_number("n_expand", self.n_expand, low=1, whole=True),)
        self.items_ = items
        self.beta_ = 0.2 if self.beta is None else float(self.beta)
        self.n_expand_ = 5 if self.n_expand is None else int(self.n_expand)
        if pairs is not None and len(pairs) and len(betas) * len(sizes) > 1:
            self._choose(queries, pairs, betas, sizes)

    def _choose(self, queries: Features, pairs: Links, betas: Sequence[float], sizes: Sequence[int]) -> None:
        # Nothing is learned from the pairs but these two numbers, so training pairs serve to choose them.
        held = held_out_queries(queries, pairs, None, same=self._same)
        best = -1.0
        for size in sizes:
            self.n_expand_ = size
            beta, value = choose_mixture(self._plain_scores, self._expansion_scores, held, betas)
            if value > best:
                best, chosen = value, (beta, size)
        self.beta_, self.n_expand_ = chosen

    def _make_parts(self) -> Sequence[Part]:
        return [part_of(self.items_)]

    def _query_sides(self, queries: Features) -> Sequence[Features]:
        return [queries + np.float32(self.beta_) * self._mean_of_best(queries)]

    def check_new_items(self) -> None:
        """Any item can be added."""

    def _add_items(self, items: Features) -> None:
        self.items_ = append_rows(self.items_, items)

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        (expanded,) = self._query_sides(query)
        return word_terms(*sparse_row(expanded), difference(self.items_, a, b))

    def _plain_scores(self, queries: Features) -> np.ndarray:
        return part_scores(self._parts[0], queries)

    def _expansion_scores(self, queries: Features) -> np.ndarray:
        return self._plain_scores(self._mean_of_best(queries))

    def _mean_of_best(self, queries: Features) -> Features:
        """Mean of the best items of each query, itself among them where it is an item; no match, no expansion."""
        scores = self._plain_scores(queries)
        n_best = min(self.n_expand_, self.n_items_)
        best, best_scores = np.empty((len(scores), n_best), np.int64), np.empty((len(scores), n_best), np.float32)
        no_skips = np.zeros(len(scores) + 1, np.int32), np.empty(0, np.int32)
        top_k_rows(scores, *no_skips, best, best_scores)
        found = best_scores > 0
        weights = (found / np.maximum(found.sum(axis=1, keepdims=True), 1)).astype(np.float32)
        rows = np.arange(0, best.size + 1, n_best)
        return sp.csr_array((weights.ravel(), best.ravel(), rows), shape=scores.shape) @ self.items_
