"""Queries in another language than the items: cross-language LSI and learned vectors as one score.

    f(q, d) = cl-lsi(q, d) + mu ssi-cross(q, d)

cl-lsi learns translations from pairs that say the same in two languages, ssi-cross learns which items belong to a
query. mu is chosen on held-out pairs; 0 is one of the choices, so that vectors that did not learn do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tacit.core import Features, Links, TacitError, UsageError, check_number
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.checkpoint import Checkpoint
from tacit.retrieve.explanation import Term, mix_terms
from tacit.retrieve.factors import ItemFactors
from tacit.retrieve.latent.cl_lsi import ClLsiRanker
from tacit.retrieve.margin.cross import CrossRanker
from tacit.retrieve.validation import choose_mixture, held_out_queries, hold_out

WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)  # of vectors whose scores spread as far as those of cl-lsi
HELD_SHARE = 0.1


class CrossMixtureRanker(CollectionRanker):
    """Cross-language LSI and learned vectors for two dictionaries, mixed with a weight chosen on validation.

    The pairs of `fit` join two versions of one document, in the language of the queries and in that of the items.

    Parameters
    ----------
    dim : int, default=100
        Width of the learned vectors.
    n_concepts : int, default=200
        Number of concepts of cl-lsi.
    share : {"none", "both", "target"}, default="none"
        What a second task of the vectors, links between the items, shares with the first; see `CrossRanker`.
    seed : int, default=0
        Random seed.
    threads : int or None, default=None
        Number of threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    concepts_ : ClLsiRanker
        Cross-language LSI, fitted on all pairs.
    vectors_ : CrossRanker or None
        The learned vectors; None if their weight is 0.
    mu_ : float
        Weight of the vectors.

    Examples
    --------
    >>> rows = np.eye(20, dtype=np.float32)
    >>> mates = Links(np.arange(20), np.arange(20), 20, 20)
    >>> CrossMixtureRanker(dim=5, n_concepts=20).fit(rows, rows.copy(), mates).rank(rows, k=1).items.ravel()[:4]
    array([0, 1, 2, 3])
    """

    _fitted: ClassVar = {"concepts_": "estimator", "vectors_": "?estimator", "mu_": ""}
    needs_pairs: ClassVar[bool] = True
    trains_in_epochs: ClassVar[bool] = True
    two_dictionaries: ClassVar[bool] = True

    def __init__(
        self,
        dim: int = 100,
        *,
        n_concepts: int = 200,
        share: str = "none",
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.dim, self.n_concepts, self.share, self.seed, self.threads = dim, n_concepts, share, seed, threads

    @property
    def needs_links(self) -> bool:
        """Only where links between the items are a second task."""
        return self.share != "none"

    def fit(
        self,
        queries: Features | None,
        items: Features,
        pairs: Links | None = None,
        validation: Links | None = None,
        *,
        queries_are_items: bool | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        links: Links | None = None,
    ) -> Self:
        """Learn from pairs and, with `share`, from links between the items; see `CrossRanker.fit`."""
        check_number("n_concepts", self.n_concepts, low=1, whole=True)
        if pairs is None or not len(pairs):
            raise UsageError("there is no pair of mates, want documents that say the same in both languages")
        self._links = links
        try:
            how: dict[str, Any] = {"queries_are_items": queries_are_items, "checkpoint": checkpoint}
            return super().fit(queries, items, pairs, validation, **how)
        finally:
            del self._links

    def _further_data(self) -> dict[str, Any]:
        return {"links": self._links}

    def _fit(self, queries: Features, items: Features, pairs: Links | None, validation: Links | None) -> None:
        assert pairs is not None
        train, held = (pairs, validation) if validation is not None else hold_out(pairs, HELD_SHARE, self.seed)
        vectors = CrossRanker(self.dim, share=self.share, seed=self.seed, threads=self.threads)
        further: dict[str, Any] = {"queries_are_items": self._queries_are_items}
        vectors.fit(queries, items, train, held, links=self._links, checkpoint=self._part("vectors"), **further)
        self.concepts_ = ClLsiRanker(self.n_concepts, seed=self.seed).fit(queries, items, train, **further)
        self.mu_ = self._choose(vectors, queries, held, train)
        self.vectors_ = vectors if self.mu_ else None
        if validation is None:
            self.concepts_ = ClLsiRanker(self.n_concepts, seed=self.seed).fit(queries, items, pairs, **further)

    def _choose(self, vectors: CrossRanker, queries: Features, held: Links, train: Links) -> float:
        """The weight with the best mean average precision on held-out pairs."""
        chosen = held_out_queries(queries, held, train, queries_are_items=False, seed=self.seed)
        some = next(chosen.blocks()).queries
        spreads = [float(ranker._scores(some).std()) or 1.0 for ranker in (self.concepts_, vectors)]
        weights = [weight * spreads[0] / spreads[1] for weight in WEIGHTS]
        return choose_mixture(self.concepts_._scores, vectors._scores, chosen, weights)[0]

    def _parts(self) -> list[tuple[float, CollectionRanker]]:
        return [(1.0, self.concepts_)] + ([] if self.vectors_ is None else [(self.mu_, self.vectors_)])

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [factors for _, ranker in self._parts() for factors in ranker._item_factors]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [
            np.float32(weight) * factor for weight, ranker in self._parts() for factor in ranker._query_factors(queries)
        ]

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        return mix_terms(*((weight, ranker._terms(query, a, b)) for weight, ranker in self._parts()))

    @property
    def _n_item_features(self) -> int:
        return self.concepts_._n_item_features

    def check_new_items(self) -> None:
        """Any item can be added."""

    def _add_items(self, items: Features) -> None:
        for _, ranker in self._parts():
            ranker.add_items(items)

    def _check_loaded(self) -> None:
        if not isinstance(self.concepts_, ClLsiRanker) or not isinstance(self.vectors_, CrossRanker | None):
            raise TacitError("the models inside are not cross-language LSI and learned vectors")
        sizes = {(ranker.n_features_, ranker.n_items_) for _, ranker in self._parts()}
        if len(sizes) > 1 or next(iter(sizes))[0] != self.n_features_:
            raise TacitError(
                f"the models inside are for {sorted(sizes)} words and items, want {self.n_features_} words"
            )
