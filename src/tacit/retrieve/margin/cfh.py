"""SSI for all words: vectors for the frequent ones, correlated feature hashing for the rest (Bai et al. 2009).

    f(x, y) = x . y + (U x_n) . (V y_n) + mu * (U' h(x)) . (V' h(y))

x_n: the n most frequent words of x, with vectors of their own; x . y runs over all words. h(x) is the bag of
all *other* terms, each rewritten as its k most DICE-correlated among the F most frequent words
(`features.cfh`), at unit length: h(x) = M'x / |M'x|. A word of one document would learn any vector that suits
that document; this way it shares those of the words it goes with.

The two models learn from the same pairs, one after the other, and mu is chosen on validation. Rows may hold
a second block of columns, 2-grams; those can be hashed in the place of rare words, or with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, TacitError, UsageError, check_choice, check_features, check_fitted, check_number
from tacit.features.cfh import correlated_words, hash_map, hashed_rows
from tacit.features.text.weighting import weigh
from tacit.retrieve.base import CollectionRanker, FeatureKind
from tacit.retrieve.explanation import Term, difference, pair_terms, sparse_row, word_terms
from tacit.retrieve.factors import DenseFactors, ItemFactors, append_rows, make_factors, project
from tacit.retrieve.margin.embedding import EmbeddingRanker
from tacit.retrieve.margin.tasks import TrainingTask, make_task

HASHED = ("words", "grams", "words+grams")
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)


class CfhRanker(CollectionRanker):
    """SSI with W = (U'V)_n + I, and a second low-rank model of hashed terms.

    n_words: n. hashed: which terms are rewritten: the other words, 2-grams, or both. n_frequent: F, the
    words that they are rewritten to; None = n. k: how many of them for a term. grams_from: the column where
    2-grams begin (`features.WordGramVectorizer`); None = all columns are words. mu: None = chosen on
    validation. The rest as in `EmbeddingRanker`, for both models.

    Learned: map_ (n_features, F), the map M; tables and item vectors, those of the two models side by side;
    mu_; epochs_ and hashed_epochs_, the history of each model.
    """

    _fitted: ClassVar = {
        "query_table_": "words dim",
        "item_table_": "words dim",
        "map_": "features frequent",
        "hashed_query_table_": "frequent dim",
        "hashed_item_table_": "frequent dim",
        "item_vectors_": "items both_dims",
        "items_": "items features",
        "mu_": "",
    }
    needs_pairs: ClassVar[bool] = True

    def __init__(
        self,
        dim: int = 100,
        *,
        n_words: int = 5000,
        hashed: str = "words",
        n_frequent: int | None = None,
        k: int = 5,
        grams_from: int | None = None,
        mu: float | None = None,
        rate: float = 0.1,
        margin: float = 0.1,
        n_epochs: int | None = None,
        tune: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.dim, self.n_words, self.hashed, self.n_frequent, self.k = dim, n_words, hashed, n_frequent, k
        self.grams_from, self.mu, self.rate, self.margin, self.n_epochs = grams_from, mu, rate, margin, n_epochs
        self.tune, self.seed, self.threads = tune, seed, threads

    @property
    def features(self) -> FeatureKind:
        """Words alone, or words and 2-grams where 2-grams are hashed."""
        return "words+grams" if "grams" in self.hashed else "tfidf"

    def _fit(self, queries: Features, items: Features, pairs: Links | None, validation: Links | None) -> None:
        self._check_params(queries, items)
        queries, items = sp.csr_array(queries), sp.csr_array(items)
        task = make_task(pairs, validation, queries, items, self._queries_are_items, self.seed)
        base = self._embedding(n_words=self.n_words)
        base.fit(self._words(queries), self._words(items), pairs, validation, queries_are_items=self._queries_are_items)
        self.query_table_, self.item_table_, self.epochs_ = base.query_table_, base.item_table_, base.epochs_
        self.map_ = self._make_map(items)
        self._fit_hashed(queries, items, pairs, validation)
        self.items_, self.item_vectors_ = items, self.embed_items(items)
        self.mu_ = self._choose_mu(task) if self.mu is None else float(self.mu)

    def _check_params(self, queries: Features, items: Features) -> None:
        check_choice("hashed", self.hashed, HASHED)
        for name, low in (("dim", 1), ("n_words", 1), ("k", 1)):
            check_number(name, getattr(self, name), low=low, whole=True)
        if self.n_frequent is not None:
            check_number("n_frequent", self.n_frequent, low=1, whole=True)
        if self.mu is not None:
            check_number("mu", self.mu, low=0)
        if queries.shape[1] != items.shape[1]:
            raise TacitError(
                f"queries have {queries.shape[1]} features and items {items.shape[1]}: want one dictionary for both"
            )
        if self.grams_from is not None:
            check_number("grams_from", self.grams_from, low=1, high=items.shape[1], whole=True)
        elif self.hashed != "words":
            raise UsageError(f"hashed is {self.hashed!r} without grams_from, want the column where 2-grams begin")

    def _embedding(self, **form: Any) -> EmbeddingRanker:
        how = {name: getattr(self, name) for name in ("dim", "rate", "margin", "n_epochs", "tune", "seed", "threads")}
        return EmbeddingRanker(**how | form)

    def _words(self, rows: Features) -> sp.csr_array:
        """The columns that are words."""
        return sp.csr_array(rows[:, : self.grams_from])

    def _make_map(self, items: sp.csr_array) -> sp.csr_array:
        """M (n_features, F); terms that are not hashed have empty rows."""
        words, grams = self._words(items), sp.csr_array(items[:, self._words(items).shape[1] :])
        n_frequent = min(self.n_frequent or self.n_words, words.shape[1])
        parts = [sp.csr_array((part.shape[1], n_frequent), dtype=np.float32) for part in (words, grams)]
        look_up = {"n_frequent": n_frequent, "k": self.k, "threads": self.threads}
        if "words" in self.hashed:
            first = min(self.n_words, words.shape[1])
            parts[0] = hash_map(correlated_words(words, first=first, **look_up).words, n_frequent)
        if "grams" in self.hashed:
            parts[1] = hash_map(correlated_words(words, terms=grams, **look_up).words, n_frequent)
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _fit_hashed(
        self, queries: sp.csr_array, items: sp.csr_array, pairs: Links | None, validation: Links | None
    ) -> None:
        """The second model, without identity: hashed bags share words that the texts do not."""
        self.hashed_epochs_: list[dict[str, float]] = []
        if not self.map_.nnz:  # every word has a vector of its own already
            self.hashed_query_table_, self.hashed_item_table_ = np.zeros((2, self.map_.shape[1], self.dim), np.float32)
            return
        second = self._embedding(identity="none")
        second.fit(
            self._hashed_rows(queries),
            self._hashed_rows(items),
            pairs,
            validation,
            queries_are_items=self._queries_are_items,
        )
        self.hashed_query_table_, self.hashed_item_table_ = second.query_table_, second.item_table_
        self.hashed_epochs_ = second.epochs_

    def _choose_mu(self, task: TrainingTask) -> float:
        """The weight with the best validation measure; of equally good ones the smallest."""
        found = {}
        for mu in WEIGHTS if self.map_.nnz else WEIGHTS[:1]:
            self.mu_ = mu
            found[mu] = task.measure(self)[task.target]
        return max(found, key=lambda mu: found[mu])

    def _hashed_rows(self, rows: Features) -> sp.csr_array:
        """h(x) of each row: unit length, or zero."""
        return weigh(hashed_rows(rows, self.map_), np.ones(self.map_.shape[1]))

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [DenseFactors(self.item_vectors_), make_factors(self._words(self.items_))]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [self.embed_queries(queries), self._words(queries)]

    def embed_queries(self, queries: Features) -> np.ndarray:
        """[U x_n | mu U' h(x)], float32 (n_queries, 2 dim): its products with item vectors are all of f but x . y."""
        check_fitted(self, "mu_")
        rows = check_features("queries", queries, n_columns=self.n_features_)
        frequent, hashed = self._project(rows, self.query_table_, self.hashed_query_table_)
        return np.hstack([frequent, np.float32(self.mu_) * hashed])

    def embed_items(self, items: Features) -> np.ndarray:
        """[V y_n | V' h(y)], float32 (n_items, 2 dim)."""
        check_fitted(self, "map_")
        rows = check_features("items", items, n_columns=self.n_features_)
        return np.hstack(self._project(rows, self.item_table_, self.hashed_item_table_))

    def _project(self, rows: Features, table: np.ndarray, hashed_table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return project(sp.csr_array(rows[:, : len(table)]), table), project(self._hashed_rows(rows), hashed_table)

    def check_new_items(self) -> None:
        """New items are welcome: all that the score reads of them is their words."""

    def _add_items(self, items: Features) -> None:
        vectors = self.embed_items(items)
        self.items_ = append_rows(self.items_, items)
        self.item_vectors_ = np.concatenate([self.item_vectors_, vectors])

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        words, values = sparse_row(query)
        item = difference(self.items_, a, b)
        single = words < self._n_single()
        frequent = words < len(self.query_table_)
        terms = word_terms(words[single], values[single], item)
        terms += pair_terms(words[frequent], values[frequent], self.query_table_, item, self.item_table_)
        return terms + self._hashed_terms(query, a, b)

    def _n_single(self) -> int:
        return self.n_features_ if self.grams_from is None else self.grams_from

    def _hashed_terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        """Pairs of the terms that were rewritten: mu x_w y_t (U'M_w) . (V'M_t), at the lengths of h."""
        words, values = sparse_row(self._at_unit_length(query))
        rows = self._at_unit_length(self.items_[[a] if b is None else [a, b]])
        item = difference(rows, 0, None if b is None else 1)
        others = np.flatnonzero(item)
        tables = self.map_[words] @ self.hashed_query_table_, self.map_[others] @ self.hashed_item_table_
        terms = pair_terms(np.arange(len(words)), self.mu_ * values, tables[0], item[others], tables[1])
        return [term._replace(query_word=int(words[term[1]]), item_word=int(others[term[2]])) for term in terms]

    def _at_unit_length(self, rows: Features) -> sp.csr_array:
        """Rows over all terms, divided by the lengths of their hashed bags: x / |M'x|."""
        lengths = np.sqrt(hashed_rows(rows, self.map_).power(2).sum(axis=1, dtype=np.float64))
        factors = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return sp.csr_array(sp.diags_array(factors) @ sp.csr_array(rows).astype(np.float64))

    def _check_loaded(self) -> None:
        n_single, n_dims = self._n_single(), self.query_table_.shape[1]
        fits = len(self.query_table_) <= n_single <= self.n_features_ and self.map_.shape[1] <= n_single
        if not fits or self.item_vectors_.shape[1] != 2 * n_dims:
            raise TacitError(
                f"tables for {len(self.query_table_)} words and a map to {self.map_.shape[1]} do not fit the rest"
            )
