"""Queries in another language than the items: cross-language LSI, learned vectors and shared words as one score.

    f(q, d) = cl-lsi(q, d) + mu ssi-cross(q, d) + nu shared(q, d)

cl-lsi learns translations from pairs of translated texts, ssi-cross learns which items belong to a
query, `shared` counts words that both languages spell alike (names, numbers, identifiers). mu, then nu, are chosen on
held-out pairs; 0 is one of the choices, so useless vectors do no harm.

Vectors learn little from few pairs with one item for each query: on some hundred translated paragraphs the training
loss falls to 0 while held-out paragraphs are hardly found; cl-lsi, which needs no negative items, finds most of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tacit.core import Features, TacitError, UsageError, check_number
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, mix_terms
from tacit.retrieve.factors import ItemFactors
from tacit.retrieve.latent.lsi import ClLsiRanker
from tacit.retrieve.lexical.cosine import SharedWordsRanker
from tacit.retrieve.margin.cross import CrossRanker
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.validation import HeldOut, ScoreRows, choose_mixture, held_out_queries, hold_out

# Weights of scores that spread as far as those they are added to; of equally good ones the first is taken.
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
WEIGHTS_OF_WORDS = (0.5, 0.25, 1.0, 0.1, 2.0, 0.0, 4.0)
HELD_SHARE = 0.1


class CrossMixtureRanker(CollectionRanker):
    """Cross-language LSI, learned vectors and shared words, mixed with weights chosen on validation.

    The pairs of `fit` join two versions of one document, in the languages of the queries and of the items.

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
    words_ : SharedWordsRanker or None
        Words that both languages spell alike; None if their weight is 0.
    nu_ : float
        Weight of these words.

    Examples
    --------
    >>> from tacit.core import Links
    >>> rows = np.eye(20, dtype=np.float32)
    >>> mates = Links(np.arange(20), np.arange(20), 20, 20)
    >>> CrossMixtureRanker(dim=5, n_concepts=20).fit(rows, rows.copy(), mates).rank(rows, k=1).items.ravel()[:4]
    array([0, 1, 2, 3])
    """

    _fitted: ClassVar = {
        "concepts_": "estimator",
        "vectors_": "?estimator",
        "words_": "?estimator",
        "mu_": "",
        "nu_": "?",
    }
    needs_pairs: ClassVar[bool] = True
    trains_in_epochs: ClassVar[bool] = True
    two_dictionaries: ClassVar[bool] = True
    prefers_stems: ClassVar[bool] = True
    reads = frozenset({"links", "same_words"})
    nu_: float | None = None  # of models without shared words
    words_: SharedWordsRanker | None = None

    def __init__(
        self, dim: int = 100, *, n_concepts: int = 200, share: str = "none", seed: int = 0, threads: int | None = None
    ) -> None:
        self.dim, self.n_concepts, self.share, self.seed, self.threads = dim, n_concepts, share, seed, threads

    @property
    def needs_links(self) -> bool:
        """Whether links between the items are a second task."""
        return self.share != "none"

    def _prepared(self, data: TrainingData) -> TrainingData:
        check_number("n_concepts", self.n_concepts, low=1, whole=True)
        if not data.has_pairs:
            raise UsageError("there is no pair of mates, want documents that say the same in both languages")
        return data

    def _fit(self, data: TrainingData) -> None:
        queries, items, pairs, held = data.queries, data.items, data.pairs, data.validation
        train, held = (pairs, held) if held is not None else hold_out(pairs, HELD_SHARE, self.seed)
        vectors = CrossRanker(self.dim, share=self.share, seed=self.seed, threads=self.threads)
        further: dict[str, Any] = {"queries_are_items": data.queries_are_items}
        vectors.fit(queries, items, train, held, links=data.links, checkpoint=data.part("vectors"), **further)
        self.concepts_ = ClLsiRanker(self.n_concepts, seed=self.seed).fit(queries, items, train, **further)
        chosen = held_out_queries(queries, held, train, queries_are_items=False, seed=self.seed)
        self.mu_ = _choose(self.concepts_.score_rows, vectors.score_rows, chosen, WEIGHTS)
        self.vectors_, self.words_, self.nu_ = vectors if self.mu_ else None, None, 0.0
        if data.same_words is not None and data.same_words.nnz:
            self._add_words(SharedWordsRanker().fit(queries, items, same_words=data.same_words, **further), chosen)
        if data.validation is None:
            self.concepts_ = ClLsiRanker(self.n_concepts, seed=self.seed).fit(queries, items, pairs, **further)

    def _add_words(self, words: SharedWordsRanker, held: HeldOut) -> None:
        """Give shared words a weight, if they help."""
        self._forget_factors()
        self.nu_ = _choose(self.score_rows, words.score_rows, held, WEIGHTS_OF_WORDS)
        self.words_ = words if self.nu_ else None
        self._forget_factors()

    def _parts(self) -> list[tuple[float, CollectionRanker]]:
        others = [(self.mu_, self.vectors_), (self.nu_, self.words_)]
        return [(1.0, self.concepts_), *((weight, part) for weight, part in others if weight and part is not None)]

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [factors for _, ranker in self._parts() for factors in ranker.item_factors]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [
            np.float32(weight) * factor for weight, ranker in self._parts() for factor in ranker._query_factors(queries)
        ]

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        return mix_terms(*((weight, ranker._terms(query, a, b)) for weight, ranker in self._parts()))

    @property
    def _n_item_features(self) -> int:
        return self.concepts_._n_item_features

    def _add_items(self, items: Features) -> None:
        for _, ranker in self._parts():
            ranker.add_items(items)

    def _check_loaded(self) -> None:
        kinds = {"concepts_": ClLsiRanker, "vectors_": CrossRanker | None, "words_": SharedWordsRanker | None}
        if not all(isinstance(getattr(self, name), kind) for name, kind in kinds.items()):
            raise TacitError("the models inside are not cross-language LSI, learned vectors and shared words")
        sizes = {(ranker.n_features_, ranker.n_items_) for _, ranker in self._parts()}
        if len(sizes) > 1 or next(iter(sizes))[0] != self.n_features_:
            raise TacitError(
                f"the models inside are for {sorted(sizes)} words and items, want {self.n_features_} words"
            )


def _choose(main: ScoreRows, other: ScoreRows, held: HeldOut, weights: Sequence[float]) -> float:
    """The weight of other scores with the best mean average precision on held-out pairs."""
    some = next(held.blocks()).queries
    spreads = [float(scores(some).std()) or 1.0 for scores in (main, other)]
    return choose_mixture(main, other, held, [weight * spreads[0] / spreads[1] for weight in weights])
