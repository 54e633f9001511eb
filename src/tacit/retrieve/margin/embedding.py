"""Rankers that learn vectors from pairs: supervised semantic indexing (SSI) and half-transductive ranking (HTR).

    f(x, y_i) = (U x) . z_i + sum_w D_w x_w y_iw

with U a table of query words. Where the forms differ is the item's vector z_i and the diagonal D:

    items="mapped"    z_i = V y_i          SSI (Bai et al. 2009): W = U'V (+ I or D)
    items="tied"      z_i = U y_i          SSI, symmetric: W = U'U (+ I or D)
    items="free"      z_i = v_i            HTR (Bai et al. 2010): one free vector for each item
    items="residual"  z_i = V y_i + d_i    both: what the words say, and what only this item has learned

Free and residual vectors are held to the words by gamma: a second margin loss on (U x) . (U y_i). All is
trained on the margin ranking loss by `block_sgd`. A new item needs no training where its words have vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    Features,
    Links,
    TacitError,
    UsageError,
    check_choice,
    check_features,
    check_fitted,
    check_number,
)
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, difference, item_terms, pair_terms, sparse_row, word_terms
from tacit.retrieve.factors import DenseFactors, ItemFactors, append_rows, make_factors, project
from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows
from tacit.retrieve.margin.tasks import TrainingTask, TripleTask, make_task
from tacit.retrieve.margin.training import (
    LARGEST_BLOCK,
    LARGEST_TRIPLE_BLOCK,
    block_for,
    choose_rate_and_margin,
    epochs_for,
    n_drawn_for,
    run_epochs,
)

ITEM_FORMS = ("mapped", "tied", "free", "residual")
IDENTITIES = ("none", "fixed", "learned")
START = 0.01  # scale of the first vectors: small, so that a model starts at what its words alone say
RATES = (0.05, 0.1, 0.2)
MARGINS = (0.05, 0.1, 0.2)


class EmbeddingRanker(CollectionRanker):
    """TrainableState vectors for queries and items, with or without the words that both share.

    dim: width of the vectors; 0 learns the diagonal alone. items, identity, gamma: the form (see above).
    n_words: only so many leading columns have vectors (columns come most frequent first); None = all.
    rate, margin: of the SGD; `tune` chooses them on validation, from RATES and MARGINS with a third of the epochs.
    n_epochs: None = 8, more for small training sets. Learned: epochs_, one dict of loss and validation
    measures for each epoch; the tables are those of the best epoch.
    """

    _fitted: ClassVar = {
        "query_table_": "query_words dim",
        "item_table_": "item_words dim",
        "item_vectors_": "items dim",
        "items_": "items item_features",
        "diagonal_": "item_features",
        "best_epoch_": "",
        "rate_": "",
        "margin_": "",
    }
    needs_pairs: ClassVar[bool] = True

    def __init__(
        self,
        dim: int = 100,
        *,
        items: str = "mapped",
        identity: str = "fixed",
        gamma: float = 0.0,
        n_words: int | None = None,
        rate: float = 0.1,
        margin: float = 0.1,
        item_rate: float = 1.0,
        n_epochs: int | None = None,
        tune: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.dim, self.items, self.identity, self.gamma, self.n_words = dim, items, identity, gamma, n_words
        self.rate, self.margin, self.item_rate, self.n_epochs = rate, margin, item_rate, n_epochs
        self.tune, self.seed, self.threads = tune, seed, threads

    def _fit(
        self, queries: Features, items: Features, pairs: Links | np.ndarray | None, validation: Links | None
    ) -> None:
        self._check_params(queries, items)
        task = make_task(pairs, validation, queries, items, self._queries_are_items, self.seed)
        self.items_ = sp.csr_array(items)
        data = self._training_rows(queries, items)
        self.rate_, self.margin_ = float(self.rate), float(self.margin)
        n_epochs = self.n_epochs or epochs_for(task.n_visits)
        if self.tune:
            self.rate_, self.margin_ = self._tune(data, task, max(2, n_epochs // 3))
        self._train(data, task, n_epochs)

    def _check_params(self, queries: Features, items: Features) -> None:
        check_choice("items", self.items, ITEM_FORMS)
        check_choice("identity", self.identity, IDENTITIES)
        check_number("dim", self.dim, low=0, whole=True)
        check_number("seed", self.seed, low=0, whole=True)
        check_number("gamma", self.gamma, low=0)
        check_number("item_rate", self.item_rate, low=0)
        for name in ("rate", "margin"):
            check_number(name, getattr(self, name), low=0, open_low=True)
        for name in ("n_words", "n_epochs"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), low=1, whole=True)
        if self.gamma > 0 and self.items not in ("free", "residual"):
            raise UsageError(
                f"gamma is {self.gamma:g} with items={self.items!r}; only vectors of items are held by gamma"
            )
        one_dictionary = self.identity != "none" or self.items == "tied" or self.gamma > 0
        if one_dictionary and queries.shape[1] != items.shape[1]:
            raise TacitError(
                f"queries have {queries.shape[1]} features and items {items.shape[1]}: two dictionaries; "
                'want one for both, or identity="none" with items="mapped"'
            )

    def _training_rows(self, queries: Features, items: Features) -> TrainingRows:
        query_words, item_words = (sp.csr_array(rows) for rows in (queries, items))
        low_queries, low_items = query_words, item_words
        if self.n_words is not None:
            low_queries, low_items = (sp.csr_array(rows[:, : self.n_words]) for rows in (query_words, item_words))
        return TrainingRows(low_queries, low_items, query_words, item_words, queries_are_items=self._queries_are_items)

    def _first_tables(self, data: TrainingRows, rng: np.random.Generator) -> Tables:
        def drawn(n_rows: int) -> np.ndarray:
            return rng.normal(0, START, (n_rows, self.dim)).astype(np.float32)

        def zeros(n_rows: int) -> np.ndarray:
            return np.zeros((n_rows, self.dim), np.float32)

        n_items, n_item_words = data.item_rows.shape
        query_table = drawn(data.query_rows.shape[1])
        # Item words start at zero: one that training never touches stays silent instead of adding noise.
        mapped = {"tied": query_table, "free": zeros(0)}.get(self.items)
        items = {"free": drawn, "residual": zeros}.get(self.items)
        return Tables(
            query_table,
            zeros(n_item_words) if mapped is None else mapped,
            zeros(0) if items is None else items(n_items),
            np.ones(data.item_words.shape[1], np.float32),
        )

    def _train(self, data: TrainingRows, task: TrainingTask, n_epochs: int) -> None:
        """Run the epochs and keep the best."""
        rng = np.random.default_rng(self.seed)
        tables, settings = self._first_tables(data, rng), self._settings(task)
        trainer = EmbeddingTrainer(tables, data, settings, self.threads)

        def measure() -> dict[str, float]:
            self._keep(trainer.tables, data)
            return task.measure(self)

        history = run_epochs(trainer, trainer, task, measure, rng, self.rate_, n_epochs)
        self.rate_, self.best_epoch_, self.epochs_ = history
        self._keep(trainer.tables, data)

    def _settings(self, task: TrainingTask) -> EmbeddingSettings:
        largest = LARGEST_TRIPLE_BLOCK if isinstance(task, TripleTask) else LARGEST_BLOCK
        return EmbeddingSettings(
            block=block_for(task.n_visits, largest),
            n_drawn=n_drawn_for(self.items_.shape[0]),
            margin=self.margin_,
            gamma=self.gamma,
            item_rate=self.item_rate,
            use_diagonal=self.identity != "none",
            learn_diagonal=self.identity == "learned",
        )

    def _keep(self, tables: Tables, data: TrainingRows) -> None:
        """Make the ranker that these tables mean."""
        self.__dict__.pop("_item_factors", None)
        self.query_table_ = tables.queries
        self.item_table_ = tables.mapped
        self.diagonal_ = tables.diagonal if self.identity != "none" else np.zeros_like(tables.diagonal)
        vectors = (
            tables.items.copy() if len(tables.items) else np.zeros((data.item_rows.shape[0], self.dim), np.float32)
        )
        if len(tables.mapped):
            vectors += project(data.item_rows, tables.mapped)
        self.item_vectors_ = vectors

    def _tune(self, data: TrainingRows, task: TrainingTask, n_epochs: int) -> tuple[float, float]:
        """The best rate at the given margin, then the best margin at that rate: five short runs."""

        def value(rate: float, margin: float) -> float:
            self.rate_, self.margin_ = rate, margin
            self._train(data, task, n_epochs)
            return max(epoch[task.target] for epoch in self.epochs_)

        return choose_rate_and_margin(value, RATES, MARGINS, self.margin)

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        parts: list[ItemFactors] = [DenseFactors(self.item_vectors_)]
        if self.identity != "none":
            parts.append(make_factors(sp.csr_array(self.items_.multiply(self.diagonal_[None, :]), dtype=np.float32)))
        return parts

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [self.embed_queries(queries), queries][: len(self._item_factors)]

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        words, values = sparse_row(query)
        item, vector = difference(self.items_, a, b), difference(self.item_vectors_, a, b)
        known = words < len(self.query_table_)
        side = words[known], values[known], self.query_table_
        terms = word_terms(words, values, item * self.diagonal_) if self.identity != "none" else []
        if len(self.item_table_):
            terms += pair_terms(*side, item, self.item_table_)
            vector = vector - item[: len(self.item_table_)] @ self.item_table_.astype(np.float64)
            if self.items != "residual":
                return terms  # what is left of the vector is rounding
        return terms + item_terms(*side, vector)

    def embed_queries(self, queries: Features) -> np.ndarray:
        """Vectors of queries, float32 (n_queries, dim)."""
        check_fitted(self, "query_table_")
        rows = check_features("queries", queries, n_columns=self.n_features_)
        return project(rows[:, : len(self.query_table_)], self.query_table_)

    def embed_items(self, items: Features) -> np.ndarray:
        """Vectors that items get from their features alone: what `add_items` gives to new ones."""
        check_fitted(self, "query_table_")
        self.check_new_items()
        rows = check_features("items", items, n_columns=self.items_.shape[1])
        return project(rows[:, : len(self.item_table_)], self.item_table_)

    def check_new_items(self) -> None:
        """Free vectors are learned one by one, so a new item would have none."""
        if self.items == "free":
            raise UsageError('free item vectors are learned one by one, a new item has none: use items="residual"')

    def _add_items(self, items: Features) -> None:
        self.item_vectors_ = np.concatenate([self.item_vectors_, self.embed_items(items)])
        self.items_ = append_rows(self.items_, items)

    def _check_loaded(self) -> None:
        check_choice("items", self.items, ITEM_FORMS)
        check_choice("identity", self.identity, IDENTITIES)
        if not sp.issparse(self.items_) or sp.issparse(self.item_vectors_) or sp.issparse(self.query_table_):
            raise TacitError("items are to be sparse rows and vectors dense ones; found it otherwise")
        n_item_features = self.items_.shape[1]
        n_words, n_item_words = (
            width if self.n_words is None else min(self.n_words, width) for width in (self.n_features_, n_item_features)
        )
        wanted = (n_words, self.dim), (0 if self.items == "free" else n_item_words, self.dim)
        found = self.query_table_.shape, self.item_table_.shape
        if found != wanted or (self.identity != "none" and n_item_features != self.n_features_):
            raise TacitError(f"tables of shape {found[0]} and {found[1]} do not fit, want {wanted[0]} and {wanted[1]}")
