"""`lsi` and `lsi+tfidf`: latent semantic indexing (Deerwester et al. 1990).

    X ~ Z C'

X are the items (n_items, n_words), approximated by a truncated singular value decomposition. A row x is mapped to x C,
and the score is the cosine of two such vectors. The mixture is alpha * lsi + (1 - alpha) * tfidf.

`cl-lsi` is cross-language latent semantic indexing (Dumais et al. 1997). A query and an item that say the same in two
languages are joined into one row over both dictionaries; [X_F X_E] ~ Z [C_F C_E]' by a truncated singular value
decomposition of the joined rows. A query becomes x C_F, an item y C_E, and the score is the cosine of two such vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError, check_choice, check_number, one_blas_thread
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, difference, item_terms, mix_terms, sparse_row, word_terms
from tacit.retrieve.factors import DenseFactors, ItemFactors, append_rows, factor_scores, make_factors, project
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.validation import HeldOut, choose_mixture, held_out_queries

ALPHAS = (0.0, 0.02, *np.round(np.arange(0.05, 1.0, 0.05), 2).tolist())
# How alpha is chosen: the measure and the pairs.
ALPHA_BY = ("MAP", "training-rank-loss")


class LsiRanker(CollectionRanker):
    """Latent semantic indexing: cosine in the space of leading singular vectors.

    Parameters
    ----------
    dim : int, default=200
        Number of concepts; a collection with fewer independent items or words has fewer.
    n_iter : int, default=4
        Power iterations of the randomized singular value decomposition.
    seed : int, default=0
        Random seed.

    Attributes
    ----------
    concepts_ : ndarray of shape (n_words, dim), float32
        Leading right singular vectors of the items.
    item_vectors_ : ndarray of shape (n_items, dim), float32
        Unit vectors of the items.
    """

    _fitted: ClassVar = {"concepts_": "words dim", "item_vectors_": "items dim"}
    learns_from_pairs: ClassVar[bool] = False

    def __init__(self, dim: int = 200, *, n_iter: int = 4, seed: int = 0) -> None:
        self.dim, self.n_iter, self.seed = dim, n_iter, seed

    def _fit(self, data: TrainingData) -> None:
        self._check_params()
        queries, items = data.queries, data.items
        if queries.shape[1] != items.shape[1]:
            raise TacitError(
                f"queries have {queries.shape[1]} features, items {items.shape[1]}; LSI wants one dictionary for both"
            )
        self.concepts_ = find_concepts(items, self.dim, self.n_iter, self.seed)
        self.item_vectors_ = self.embed_queries(items)

    def _check_params(self) -> None:
        check_number("dim", self.dim, low=1, whole=True)
        check_number("n_iter", self.n_iter, low=0, whole=True)

    def embed_queries(self, queries: Features) -> np.ndarray:
        """Return unit vectors in concept space; a row without known words stays zero."""
        return unit_rows(self._project(queries))

    embed_items = embed_queries  # LSI treats queries and items alike

    def _project(self, rows: Features) -> np.ndarray:
        """Return vectors in concept space; words added after fit have no vector."""
        n_known = len(self._query_concepts)
        return project(rows if rows.shape[1] == n_known else rows[:, :n_known], self._query_concepts)

    @property
    def _query_concepts(self) -> np.ndarray:
        return self.concepts_

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [DenseFactors(self.item_vectors_)]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [self.embed_queries(queries)]

    def _add_items(self, items: Features) -> None:
        self.item_vectors_ = np.concatenate([self.item_vectors_, self.embed_items(items)])

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        words, values = sparse_row(query[:, : len(self._query_concepts)])
        length = max(float(np.linalg.norm(self._project(query))), 1e-30)
        return item_terms(words, values / length, self._query_concepts, difference(self.item_vectors_, a, b))

    def _check_loaded(self) -> None:
        if not self._fits(len(self._query_concepts), self.n_features_):
            raise TacitError(f"concepts are of {len(self._query_concepts)} words, want {self.n_features_}")


class LsiTfidfRanker(LsiRanker):
    """Mixture of LSI and tf-idf: alpha * lsi + (1 - alpha) * tfidf.

    Parameters
    ----------
    alpha : float or None, default=None
        Weight of LSI, from 0 to 1; None means chosen on pairs, or 0.5 without any.
    alpha_by : {"MAP", "training-rank-loss"}, default="MAP"
        How alpha is chosen: by mean average precision on validation pairs, or on training pairs if there are none;
        or by the rank loss on training pairs, as in the paper on SSI.
    **lsi
        Parameters of `LsiRanker`: dim, n_iter, seed.

    Attributes
    ----------
    alpha_ : float
        The weight in use.
    items_ : array or csr_array of shape (n_items, n_features)
        Rows of the items.
    """

    _fitted: ClassVar = LsiRanker._fitted | {"items_": "items features", "alpha_": ""}
    learns_from_pairs: ClassVar[bool] = True

    def __init__(self, dim: int = 200, *, alpha: float | None = None, alpha_by: str = ALPHA_BY[0], **lsi: Any) -> None:
        super().__init__(dim, **lsi)
        self.alpha, self.alpha_by = alpha, alpha_by

    def _fit(self, data: TrainingData) -> None:
        super()._fit(data)
        self.items_ = data.items
        self.alpha_ = 0.5 if self.alpha is None else float(check_number("alpha", self.alpha, low=0, high=1))
        check_choice("alpha_by", self.alpha_by, ALPHA_BY)
        # Only alpha is learned from pairs, so without validation pairs, training pairs are used to choose it.
        on_training = data.validation is None or self.alpha_by != "MAP"
        chosen_on, known = (data.pairs, None) if on_training else (data.validation, data.pairs)
        if self.alpha is None and chosen_on is not None and len(chosen_on):
            held = held_out_queries(data.queries, chosen_on, known, queries_are_items=data.queries_are_items)
            self.alpha_ = self._choose_alpha(held)

    def _choose_alpha(self, held: HeldOut) -> float:
        lsi, tfidf = self.item_factors

        def lsi_scores(rows: Features) -> np.ndarray:
            return factor_scores(lsi, self.embed_queries(rows))

        def tfidf_scores(rows: Features) -> np.ndarray:
            return factor_scores(tfidf, rows)

        measure = "AP" if self.alpha_by == "MAP" else "rank_loss"
        odds = choose_mixture(tfidf_scores, lsi_scores, held, [alpha / (1 - alpha) for alpha in ALPHAS], measure)
        return round(odds / (1 + odds), 2)

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [DenseFactors(self.item_vectors_), make_factors(self.items_)]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        alpha = np.float32(self.alpha_)
        return [alpha * self.embed_queries(queries), (np.float32(1) - alpha) * queries]

    def _add_items(self, items: Features) -> None:
        super()._add_items(items)
        self.items_ = append_rows(self.items_, items)

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        words = word_terms(*sparse_row(query), difference(self.items_, a, b))
        return mix_terms((1 - self.alpha_, words), (self.alpha_, super()._terms(query, a, b)))


def find_concepts(items: Features, dim: int, n_iter: int, seed: int) -> np.ndarray:
    """Return the leading right singular vectors of the items, float32 (n_words, at most dim)."""
    from tacit.retrieve.latent.svd import randomized_svd  # imports scipy.linalg

    n_concepts = min(dim, min(items.shape))
    with one_blas_thread():
        strengths, rows = randomized_svd(items, n_concepts, n_iter, _random_state(seed))
    real = strengths > 1e-6 * max(strengths[0], 1e-30)  # directions of rounding noise carry no information
    return np.ascontiguousarray(rows[real].T, dtype=np.float32)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Scale rows to unit length, float32; zero rows stay zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.maximum(norms, 1e-30), dtype=np.float32)


def _random_state(seed: int) -> np.random.RandomState:
    """Return numpy's old generator, which accepts a seed of at most 32 bits."""
    return np.random.RandomState(seed) if seed < 2**32 else np.random.RandomState(np.random.MT19937(seed))


class ClLsiRanker(LsiRanker):
    """Cross-language LSI: cosine in a concept space of two languages.

    The pairs of `fit` join two versions of one document, in the languages of the queries and of the items.

    Parameters
    ----------
    dim : int, default=200
        Number of concepts; fewer independent pairs have fewer.
    n_iter : int, default=4
        Power iterations of the randomized singular value decomposition.
    seed : int, default=0
        Random seed.

    Attributes
    ----------
    query_concepts_ : ndarray of shape (n_query_words, dim), float32
        Concepts over the words of queries.
    item_concepts_ : ndarray of shape (n_item_words, dim), float32
        Concepts over the words of items.
    item_vectors_ : ndarray of shape (n_items, dim), float32
        Unit vectors of the items.

    Examples
    --------
    >>> from tacit.core import Links
    >>> rows = np.eye(2, dtype=np.float32)
    >>> mates = Links(np.array([0, 1]), np.array([1, 0]), 2, 2)
    >>> ClLsiRanker(dim=2).fit(rows, rows.copy(), mates).rank(rows, k=1).items.ravel()
    array([1, 0])
    """

    _fitted: ClassVar = {
        "query_concepts_": "features dim",
        "item_concepts_": "item_words dim",
        "item_vectors_": "items dim",
    }
    learns_from_pairs: ClassVar[bool] = True
    needs_pairs: ClassVar[bool] = True
    two_dictionaries: ClassVar[bool] = True

    def _fit(self, data: TrainingData) -> None:
        self._check_params()
        queries, items, pairs = data.queries, data.items, data.pairs
        if not data.has_pairs:
            raise TacitError("there is no pair of mates, want documents that say the same in both languages")
        joined = sp.hstack([sp.csr_array(queries)[pairs.sources], sp.csr_array(items)[pairs.targets]], format="csr")
        concepts = find_concepts(joined, self.dim, self.n_iter, self.seed)
        n_query_words = queries.shape[1]
        self.query_concepts_ = np.ascontiguousarray(concepts[:n_query_words])
        self.item_concepts_ = np.ascontiguousarray(concepts[n_query_words:])
        self.item_vectors_ = self.embed_items(items)

    def embed_items(self, items: Features) -> np.ndarray:
        """Unit vectors of item rows; an empty row stays zero."""
        return unit_rows(project(items[:, : len(self.item_concepts_)], self.item_concepts_))

    @property
    def _n_item_features(self) -> int:
        return len(self.item_concepts_)

    @property
    def _query_concepts(self) -> np.ndarray:
        return self.query_concepts_
