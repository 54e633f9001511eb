"""SSI for all words: vectors for the frequent ones, correlated feature hashing for the rest (Bai et al. 2009).

    f(x, y) = x . y + (U x_n) . (V y_n) + mu * (U' h(x)) . (V' h(y))

x_n are the n most frequent words of x, which have separate vectors; x . y is over all words. h(x) is the bag of
all *other* terms, each rewritten as its k most DICE-correlated among the F most frequent words
(`features.cfh`), at unit length: h(x) = M'x / |M'x|. A word that occurs in one document would overfit
to that document; this way it shares the vectors of correlated words.

The two models learn from the same pairs, in sequence, and mu is chosen on validation. Rows may have a second block of
columns, 2-grams, which can be hashed instead of rare words or together with them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError, UsageError, check_choice, check_features, check_number, check_numbers
from tacit.features.cfh import OCCUR, correlated_words, hash_map, hashed_rows
from tacit.features.text.weighting import weigh
from tacit.retrieve.base import FeatureKind
from tacit.retrieve.explanation import Term, difference, mix_terms, pair_terms, sparse_row
from tacit.retrieve.factors import DenseFactors, ItemFactors, append_rows, make_factors
from tacit.retrieve.margin.base import MarginRanker
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.tasks import make_task
from tacit.retrieve.training_data import TrainingData

HASHED = ("words", "grams", "words+grams")
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)


class CfhRanker(MarginRanker):
    """SSI with W = (U'V)_n + I, and a second low-rank model of correlated feature hashes.

    Parameters
    ----------
    dim : int, default=100
        Width of the vectors of both models.
    n_words : int, default=5000
        Number of most frequent words that have separate vectors (n).
    hashed : {"words", "grams", "words+grams"}, default="words"
        Terms that are hashed: the other words, 2-grams, or both.
    n_frequent : int or None, default=None
        Frequent words that terms are hashed to (F); None means `n_words`.
    k : int, default=5
        Frequent words that a term is hashed to.
    first_gram : int or None, default=None
        First column of 2-grams (`features.WordGramVectorizer`); None means that all columns are words.
    mu : float or None, default=None
        Weight of the second model; None means chosen on validation.
    occur : {"documents", "occurrences"}, default="documents"
        What DICE counts for a term: the documents that contain it, or every occurrence, as in the paper; `fit` then
        takes these counts.
    **training
        Training parameters of `MarginRanker`, for both models.

    Attributes
    ----------
    vectors_ : EmbeddingRanker
        The model of frequent words, with the identity over all words.
    hashed_ : EmbeddingRanker or None
        The model of hashed terms; None if no term is hashed.
    map_ : csr_array of shape (n_terms, n_frequent), float32
        The hash map (M).
    grams_ : csr_array of shape (n_items, n_grams) or None
        Columns of the items that are 2-grams.
    mu_ : float
        Weight that is used.
    """

    trains_on_cluster: ClassVar[bool] = True
    _renamed: ClassVar = {"grams_from": "first_gram"}
    _fitted: ClassVar = {
        "vectors_": "estimator",
        "hashed_": "?estimator",
        "map_": "terms frequent",
        "grams_": "?items grams",
        "mu_": "",
    }

    def __init__(
        self,
        dim: int = 100,
        *,
        n_words: int = 5000,
        hashed: str = "words",
        n_frequent: int | None = None,
        k: int = 5,
        first_gram: int | None = None,
        mu: float | None = None,
        occur: str = "documents",
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.dim, self.n_words, self.hashed, self.n_frequent, self.k = dim, n_words, hashed, n_frequent, k
        self.first_gram, self.mu, self.occur = first_gram, mu, occur

    @property
    def features(self) -> FeatureKind:
        """Words alone, or words and 2-grams where 2-grams are hashed."""
        return "words+grams" if "grams" in self.hashed else "tfidf"

    @property
    def reads(self) -> Set[str]:  # type: ignore[override]
        """Numbers of occurrences, only where DICE counts them."""
        return frozenset({"occurrences"} if self.occur == "occurrences" else ())

    def _fit(self, data: TrainingData) -> None:
        self._check_params(data)
        queries, items = sp.csr_array(data.queries), sp.csr_array(data.items)
        how = {"dim": self.dim} | self._training_params()
        task = make_task(replace(data, queries=queries, items=items), self.seed)
        self.map_ = self._make_map(items, data.occurrences)
        self.vectors_ = EmbeddingRanker(n_words=self.n_words, **how).fit(
            self._words(queries), self._words(items), **data.for_part("vectors")
        )
        self.hashed_ = None
        if self.map_.nnz:  # without identity: hashed rows share words that the texts do not
            self.hashed_ = EmbeddingRanker(identity="none", **how).fit(
                *map(self._hashed_rows, (queries, items)), **data.for_part("hashed")
            )
        self.grams_ = None if self.first_gram is None else sp.csr_array(items[:, self.first_gram :])
        self.mu_ = self._best_mu(task, WEIGHTS if self.map_.nnz else WEIGHTS[:1]) if self.mu is None else float(self.mu)

    @property
    def epochs_(self) -> list[dict[str, float]]:
        """Loss and validation measures of each epoch of the first model."""
        return self.vectors_.epochs_

    def _check_params(self, data: TrainingData) -> None:
        super()._check_params(data)
        queries, items, given = data.queries, data.items, data.occurrences
        check_choice("hashed", self.hashed, HASHED)
        check_choice("occur", self.occur, OCCUR)
        if self.reads and (given is None or len(given) != items.shape[1]):
            found = "none" if given is None else len(given)
            raise UsageError(f"occurrences given to fit: {found}, want one number for each of {items.shape[1]} columns")
        check_numbers(self, "dim", "n_words", "k", low=1, whole=True)
        check_numbers(self, "n_frequent", optional=True, low=1, whole=True)
        check_numbers(self, "mu", optional=True, low=0)
        if queries.shape[1] != items.shape[1]:
            raise TacitError(
                f"queries have {queries.shape[1]} features and items {items.shape[1]}: want one dictionary for both"
            )
        if self.first_gram is not None:
            check_number("first_gram", self.first_gram, low=1, high=items.shape[1], whole=True)
        elif self.hashed != "words":
            raise UsageError(f"hashed is {self.hashed!r} without first_gram, want the column where 2-grams begin")

    def _words(self, rows: Features) -> sp.csr_array:
        """The columns that are words."""
        if self.first_gram is None:
            return sp.csr_array(rows)
        return sp.csr_array(rows[:, : self.first_gram])

    def _make_map(self, items: sp.csr_array, occurrences: np.ndarray | None) -> sp.csr_array:
        """M (n_features, F); terms that are not hashed have empty rows."""
        words, grams = self._words(items), sp.csr_array(items[:, self._words(items).shape[1] :])
        n_frequent = min(self.n_frequent or self.n_words, words.shape[1])
        parts = [sp.csr_array((part.shape[1], n_frequent), dtype=np.float32) for part in (words, grams)]
        look_up = {"n_frequent": n_frequent, "k": self.k, "threads": self.threads}
        of_words, of_grams = None, None
        if occurrences is not None:
            counts = np.split(occurrences, [words.shape[1]])
            of_words, of_grams = (counts[0], counts[0]), (counts[0], counts[1])
        if "words" in self.hashed:
            first = min(self.n_words, words.shape[1])
            found = correlated_words(words, first=first, occurrences=of_words, **look_up)
            parts[0] = hash_map(found.words, n_frequent)
        if "grams" in self.hashed:
            found = correlated_words(words, terms=grams, occurrences=of_grams, **look_up)
            parts[1] = hash_map(found.words, n_frequent)
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _hashed_rows(self, rows: Features) -> sp.csr_array:
        """h(x) of each row: unit length, or zero; words that were added after fit are not hashed."""
        return weigh(hashed_rows(rows[:, : self.map_.shape[0]], self.map_), np.ones(self.map_.shape[1]))

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        vectors = self.vectors_.item_vectors_
        if self.hashed_ is not None:
            vectors = np.hstack([vectors, self.hashed_.item_vectors_])
        return [DenseFactors(vectors), make_factors(self.vectors_.items_)]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [self.embed_queries(queries), self._words(queries)]

    def embed_queries(self, queries: Features) -> np.ndarray:
        """[U x_n | mu U' h(x)], float32: its products with item vectors are all of f but x . y."""
        self._check_fitted()
        rows = check_features("queries", queries, n_columns=self.n_features_)
        vectors = self.vectors_.embed_queries(self._words(rows))
        if self.hashed_ is None:
            return vectors
        return np.hstack([vectors, np.float32(self.mu_) * self.hashed_.embed_queries(self._hashed_rows(rows))])

    def embed_items(self, items: Features) -> np.ndarray:
        """[V y_n | V' h(y)], float32."""
        self._check_fitted()
        rows = check_features("items", items, n_columns=self.n_features_)
        vectors = self.vectors_.embed_items(self._words(rows))
        if self.hashed_ is None:
            return vectors
        return np.hstack([vectors, self.hashed_.embed_items(self._hashed_rows(rows))])

    def _grow(self, width: int) -> None:
        if self.first_gram is not None:
            raise TacitError(f"new items have {width} features, want {self.n_features_}: 2-grams are the last columns")
        super()._grow(width)

    def _add_items(self, items: Features) -> None:
        self.vectors_.add_items(self._words(items))
        if self.hashed_ is not None:
            self.hashed_.add_items(self._hashed_rows(items))
        if self.grams_ is not None:
            self.grams_ = append_rows(self.grams_, items[:, self.first_gram :])

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        terms = self.vectors_._terms(self._words(query), a, b)
        return terms if self.hashed_ is None else mix_terms((1.0, terms), (self.mu_, self._hashed_terms(query, a, b)))

    def _hashed_terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        """Pairs of the terms that were hashed: x_w y_t (U'M_w) . (V'M_t), at the lengths of h."""
        assert self.hashed_ is not None
        items = self.vectors_.items_[[a] if b is None else [a, b]]
        if self.grams_ is not None:
            items = sp.hstack([items, self.grams_[[a] if b is None else [a, b]]], format="csr")
        words, values = sparse_row(self._at_unit_length(query))
        item = difference(self._at_unit_length(items), 0, None if b is None else 1)
        others = np.flatnonzero(item)
        tables = self.map_[words] @ self.hashed_.query_table_, self.map_[others] @ self.hashed_.item_table_
        terms = pair_terms(np.arange(len(words)), values, tables[0], item[others], tables[1])
        return [term._replace(query_word=int(words[term[1]]), item_word=int(others[term[2]])) for term in terms]

    def _at_unit_length(self, rows: Features) -> sp.csr_array:
        """Rows over the terms of the map, divided by the lengths of their hashed bags: x / |M'x|."""
        known = sp.csr_array(rows[:, : self.map_.shape[0]])
        lengths = np.sqrt(hashed_rows(known, self.map_).power(2).sum(axis=1, dtype=np.float64))
        factors = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return sp.csr_array(sp.diags_array(factors) @ known.astype(np.float64))

    def _check_loaded(self) -> None:
        kinds = [type(model) for model in (self.vectors_, self.hashed_) if model is not None]
        if kinds != [EmbeddingRanker] * len(kinds) or self.vectors_ is None:
            raise TacitError("the models inside are not models of correlated feature hashing")
        n_grams = 0 if self.grams_ is None else self.grams_.shape[1]
        if self.vectors_.n_features_ + n_grams != self.n_features_ or self.map_.shape[0] > self.n_features_:
            raise TacitError(
                f"the models are for {self.vectors_.n_features_} words and {n_grams} 2-grams, "
                f"want {self.n_features_} columns"
            )
        if self.hashed_ is not None and (
            self.hashed_.n_features_ != self.map_.shape[1] or self.hashed_.n_items_ != self.vectors_.n_items_
        ):
            raise TacitError(f"a map to {self.map_.shape[1]} words does not fit the models")
