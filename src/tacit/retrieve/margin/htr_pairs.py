"""HTR's residual form and hashed pairs of words, mixed: what a document is about, and which words call for which.

    f(x, y_i) = (U x) . (V y_i + d_i) + x . y_i + mu (x'W y_i + alpha x . y_i)

The two models (`embedding`, `wordpair_forms`) learn from the same pairs one after the other, and mu is chosen on
validation. Vectors generalise and keep the rank loss low, pairs of words are exact and raise the first answers;
trained as one model they would share each other's mistakes, and the mixture was measured to be better.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, TacitError, check_number
from tacit.features.text.weighting import best_words
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, join_terms
from tacit.retrieve.factors import ItemFactors, append_rows
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.tasks import TrainingTask, make_task
from tacit.retrieve.margin.wordpair_forms import HashedPairRanker

WEIGHTS = (0.0, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 5.0, 10.0)
VECTORS = ("query_table_", "item_table_", "item_vectors_", "diagonal_", "items_")
PAIRS = ("buckets_", "alpha_")


class HtrPairsRanker(CollectionRanker):
    """The residual form beside hashed pairs of words.

    dim, gamma: of the vectors. n_buckets: of the hash table; 30 million leave few pairs of words to share a place.
    max_words: the pairs see so many of a row's heaviest words, since they cost the square of a text's length; None =
    all. mu: None = chosen on validation. Rates and margins are those of the two models; `tune` chooses them.

    Learned: the arrays of both models, mu_; epochs_ and pair_epochs_, the history of each.
    """

    _fitted: ClassVar = {
        "query_table_": "words dim",
        "item_table_": "words dim",
        "item_vectors_": "items dim",
        "diagonal_": "features",
        "items_": "items features",
        "buckets_": "places",
        "alpha_": "",
        "mu_": "",
    }
    needs_pairs: ClassVar[bool] = True
    _renamed: ClassVar = {"n_places": "n_buckets", "places_": "buckets_", "longest": "max_words"}

    def __init__(
        self,
        dim: int = 100,
        *,
        gamma: float = 1.0,
        n_buckets: int = 30_000_000,
        max_words: int | None = 200,
        mu: float | None = None,
        n_epochs: int | None = None,
        tune: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.dim, self.gamma, self.n_buckets, self.max_words, self.mu = dim, gamma, n_buckets, max_words, mu
        self.n_epochs, self.tune, self.seed, self.threads = n_epochs, tune, seed, threads

    def _fit(self, queries: Features, items: Features, pairs: Links | None, validation: Links | None) -> None:
        for name in ("max_words", "mu"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), low=name == "max_words", whole=name == "max_words")
        vectors, words = self._new_members()
        vectors.fit(queries, items, pairs, validation, queries_are_items=self._queries_are_items)
        words.fit(
            self._heaviest(queries), self._heaviest(items), pairs, validation, queries_are_items=self._queries_are_items
        )
        self._members = vectors, words
        self.query_table_, self.item_table_, self.diagonal_ = (
            vectors.query_table_,
            vectors.item_table_,
            vectors.diagonal_,
        )
        self.items_, self.item_vectors_ = vectors.items_, vectors.item_vectors_
        self.buckets_, self.alpha_ = words.buckets_, words.alpha_
        self.epochs_, self.pair_epochs_ = vectors.epochs_, words.epochs_
        task = make_task(pairs, validation, queries, items, self._queries_are_items, self.seed)
        self.mu_ = self._choose_mu(task) if self.mu is None else float(self.mu)

    def _new_members(self) -> tuple[EmbeddingRanker, HashedPairRanker]:
        how = {name: getattr(self, name) for name in ("n_epochs", "tune", "seed", "threads")}
        vectors = EmbeddingRanker(self.dim, items="residual", gamma=self.gamma, **how)
        n_buckets = min(self.n_buckets, 4 * self.n_features_**2)  # of few words no pair would share a place anyway
        return vectors, HashedPairRanker(max(n_buckets, self.n_features_), rate=1.0, **how)

    @cached_property
    def _members(self) -> tuple[EmbeddingRanker, HashedPairRanker]:
        """The two fitted models, from the arrays."""
        vectors, words = self._new_members()
        for names, member in ((VECTORS, vectors), (PAIRS, words)):
            member.n_features_ = self.n_features_
            for name in names:
                setattr(member, name, getattr(self, name))
        words.items_ = self._heaviest(self.items_)
        return vectors, words

    def _heaviest(self, rows: Features) -> sp.csr_array:
        """The words of each row that the pairs see."""
        return sp.csr_array(rows) if self.max_words is None else best_words(sp.csr_array(rows), self.max_words)

    def _choose_mu(self, task: TrainingTask) -> float:
        """The weight with the least rank loss among those as good as the best within one standard error.

        The best of each query's first answers and the best of its last ones are different weights; MAP alone would
        pay any rank loss for a gain that is mere chance. Given triples know no rank loss: there the best is taken.
        """
        found = {}
        for self.mu_ in WEIGHTS:
            found[self.mu_] = task.values(self)
        best = max(found, key=lambda mu: found[mu][task.target].mean())
        lost = {mu: found[best][task.target] - values[task.target] for mu, values in found.items()}
        good = [mu for mu, loss in lost.items() if loss.mean() <= loss.std() / np.sqrt(len(loss))]
        return min(good, key=lambda mu: found[mu]["rank_loss"].mean()) if "rank_loss" in found[best] else best

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [part for member in self._members for part in member._item_factors]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        vectors, words = self._members
        pairs = words._query_factors(self._heaviest(queries))
        return [*vectors._query_factors(queries), *(np.float32(self.mu_) * side for side in pairs)]

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        vectors, words = self._members
        pairs = [term._replace(value=self.mu_ * term.value) for term in words._terms(self._heaviest(query), a, b)]
        return join_terms(vectors._terms(query, a, b), pairs)

    def embed_queries(self, queries: Features) -> np.ndarray:
        """Vectors of queries, float32 (n_queries, dim): the part of the score that vectors hold."""
        return self._members[0].embed_queries(queries)

    def embed_items(self, items: Features) -> np.ndarray:
        """Vectors that items get from their words alone: what `add_items` gives to new ones."""
        return self._members[0].embed_items(items)

    def check_new_items(self) -> None:
        """New items are welcome: both models know their words."""

    def _add_items(self, items: Features) -> None:
        vectors = self.embed_items(items)
        self.items_ = append_rows(self.items_, items)
        self.item_vectors_ = np.concatenate([self.item_vectors_, vectors])
        self.__dict__.pop("_members", None)

    def _check_loaded(self) -> None:
        if not sp.issparse(self.items_):
            raise TacitError("items are a dense matrix, want a sparse one")
        for member in self._members:
            member._check_loaded()
