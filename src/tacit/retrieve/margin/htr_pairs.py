"""Mixture of HTR's residual form, for topics, and hashed word pairs, for exact word relations.

    f(x, y_i) = (U x) . (V y_i + d_i) + x . y_i + mu (x'W y_i + alpha x . y_i)

The two models (`embedding`, `wordpair_forms`) learn from the same pairs in sequence, and mu is chosen on validation.
Vectors generalise and keep the rank loss low. Word pairs are exact and improve the first results. Trained as one
model, they would share each other's errors; the mixture was measured to be better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError, check_numbers
from tacit.features.text.weighting import best_words
from tacit.retrieve.explanation import Term, mix_terms
from tacit.retrieve.factors import ItemFactors
from tacit.retrieve.margin.base import MarginRanker
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.tasks import make_task
from tacit.retrieve.margin.wordpairs import HashedPairRanker
from tacit.retrieve.training_data import TrainingData

WEIGHTS = (0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0, 10.0)

OF_VECTORS = ("rate", "margin", "patience", "average", "dropout")  # word pairs have other values


class HtrPairsRanker(MarginRanker):
    """HTR's residual form mixed with hashed pairs of words.

    Parameters
    ----------
    dim : int, default=100
        Width of the vectors.
    gamma : float, default=1.0
        Weight of the loss that ties the items' residual vectors to the words.
    n_buckets : int, default=30_000_000
        Weights of pairs of words; with so many, few pairs share one. Small dictionaries get fewer.
    max_words : int or None, default=200
        Number of words of a row in pairs, by largest weight; None means all. Their cost grows with the square.
    mu : float or None, default=None
        Weight of the pairs; None means chosen on validation.
    pair_rate : float, default=1.0
        Learning rate of the pairs of words.
    pair_margin : float, default=0.2
        Margin of the pairs of words.
    **training
        Training parameters of `MarginRanker`, for both models; rate, margin, patience, average and dropout apply to
        the vectors.

    Attributes
    ----------
    vectors_ : EmbeddingRanker
        The residual form.
    pairs_ : HashedPairRanker
        The pairs of words.
    mu_ : float
        Weight that is used.
    """

    trains_on_cluster: ClassVar[bool] = True
    _fitted: ClassVar = {"vectors_": "estimator", "pairs_": "estimator", "mu_": ""}

    def __init__(
        self,
        dim: int = 100,
        *,
        gamma: float = 1.0,
        n_buckets: int = 30_000_000,
        max_words: int | None = 200,
        mu: float | None = None,
        pair_rate: float = 1.0,
        pair_margin: float = 0.2,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.dim, self.gamma, self.n_buckets, self.max_words, self.mu = dim, gamma, n_buckets, max_words, mu
        self.pair_rate, self.pair_margin = pair_rate, pair_margin

    def _fit(self, data: TrainingData) -> None:
        self._check_params(data)
        check_numbers(self, "max_words", optional=True, low=1, whole=True)
        check_numbers(self, "mu", optional=True, low=0)
        vectors, words = self._new_models()
        self.vectors_ = vectors.fit(data.queries, data.items, **data.for_part("vectors"))
        rows = self._heaviest(data.queries), self._heaviest(data.items)
        self.pairs_ = words.fit(*rows, **data.for_part("pairs"))
        task = make_task(data, self.seed)
        # MAP measures the first results of a query, rank loss all of them. With MAP alone, a gain within chance could
        # cost any amount of rank loss. Given triples have no rank loss, so the best weight is chosen.
        self.mu_ = self._best_mu(task, WEIGHTS, least="rank_loss") if self.mu is None else float(self.mu)

    def _new_models(self) -> tuple[EmbeddingRanker, HashedPairRanker]:
        how = self._training_params()
        vectors = EmbeddingRanker(self.dim, items="residual", gamma=self.gamma, **how)
        n_buckets = min(self.n_buckets, 4 * self.n_features_**2)  # of few words no two pairs would share a bucket
        how = {name: value for name, value in how.items() if name not in OF_VECTORS}
        how |= {"rate": self.pair_rate, "margin": self.pair_margin}
        return vectors, HashedPairRanker(max(n_buckets, self.n_features_), **how)

    @property
    def epochs_(self) -> list[dict[str, float]]:
        """Loss and validation measures of each epoch of the vectors."""
        return self.vectors_.epochs_

    def _heaviest(self, rows: Features) -> sp.csr_array:
        """The words of each row that the pairs see."""
        return sp.csr_array(rows) if self.max_words is None else best_words(sp.csr_array(rows), self.max_words)

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [*self.vectors_.item_factors, *self.pairs_.item_factors]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        pairs = self.pairs_._query_factors(self._heaviest(queries))
        return [*self.vectors_._query_factors(queries), *(np.float32(self.mu_) * factor for factor in pairs)]

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        pairs = self.pairs_._terms(self._heaviest(query), a, b)
        return mix_terms((1.0, self.vectors_._terms(query, a, b)), (self.mu_, pairs))

    def embed_queries(self, queries: Features) -> np.ndarray:
        """Vectors of queries, float32 (n_queries, dim): the part of the score that vectors hold."""
        return self.vectors_.embed_queries(queries)

    def embed_items(self, items: Features) -> np.ndarray:
        """Vectors that items get from their words alone, as `add_items` gives them to new ones."""
        return self.vectors_.embed_items(items)

    def _add_items(self, items: Features) -> None:
        self.vectors_.add_items(items)
        self.pairs_.add_items(self._heaviest(items))

    def _check_loaded(self) -> None:
        models = self.vectors_, self.pairs_
        if not isinstance(models[0], EmbeddingRanker) or not isinstance(models[1], HashedPairRanker):
            raise TacitError("the models inside are not a residual form and hashed pairs of words")
        if {model.n_features_ for model in models} != {self.n_features_} or models[0].n_items_ != models[1].n_items_:
            raise TacitError(
                f"the models inside are for {models[0].n_features_} and {models[1].n_features_} words, "
                f"{models[0].n_items_} and {models[1].n_items_} items, want {self.n_features_} words and the same items"
            )
