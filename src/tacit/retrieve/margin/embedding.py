"""Rankers that learn vectors from pairs: supervised semantic indexing (SSI) and half-transductive ranking (HTR).

    f(x, y_i) = (U x) . z_i + sum_w D_w x_w y_iw

x is the query row, y_i the row of item i, and U a table of vectors of query words. The forms differ in the item's
vector z_i and the diagonal D:

    items="mapped"    z_i = V y_i          SSI (Bai et al. 2009): W = U'V (+ I or D)
    items="tied"      z_i = U y_i          SSI, symmetric: W = U'U (+ I or D)
    items="free"      z_i = v_i            HTR (Bai et al. 2010): one free vector for each item
    items="residual"  z_i = V y_i + d_i    both: the vector of its words plus a learned vector of this item

gamma is the weight of a second margin loss on (U x) . (U y_i), which ties free and residual vectors to the words.
`block_sgd` trains all parameters on the margin ranking loss. A new item needs no training if its words have vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, TacitError, UsageError, check_choice, check_features, check_number, check_numbers
from tacit.core.mapped import allocate
from tacit.core.threads import cluster
from tacit.retrieve.epochs import Schedule
from tacit.retrieve.explanation import Term, difference, item_terms, pair_terms, sparse_row, word_terms
from tacit.retrieve.factors import (
    DenseFactors,
    ItemFactors,
    SparseFactors,
    append_rows,
    project,
    scale_columns,
    widened,
)
from tacit.retrieve.margin.base import LARGEST_BLOCK, LARGEST_TRIPLE_BLOCK, SgdRanker
from tacit.retrieve.margin.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Tables, TrainingRows
from tacit.retrieve.margin.tasks import TrainingTask, TripleTask
from tacit.retrieve.snapshots import row_blocks
from tacit.retrieve.training_data import TrainingData

ITEM_FORMS = ("mapped", "tied", "free", "residual")
IDENTITIES = ("none", "fixed", "learned")
STARTS = ("small", "normal", "scaled", "words")
START = 0.01  # scale of small first vectors, so a model starts at the score of its words alone


class EmbeddingRanker(SgdRanker):
    """Learned vectors for queries and items, in addition to shared words (SSI, HTR).

    Parameters
    ----------
    dim : int, default=100
        Number of dimensions of the vectors; 0 learns the diagonal only.
    items : {"mapped", "tied", "free", "residual"}, default="mapped"
        Source of an item's vector: its words, its words by the queries' table, a free vector, or its words plus a
        learned residual vector.
    identity : {"none", "fixed", "learned"}, default="fixed"
        Weight of shared words: 0, 1, or learned for each word.
    gamma : float, default=0.0
        Weight of a second loss that ties free and residual vectors to the words.
    n_words : int or None, default=None
        Number of leading columns that have vectors (most frequent first); None means all.
    item_rate : float, default=1.0
        Learning rate of free and residual vectors, as a multiple of `rate`.
    decay : float, default=0.03
        Fraction that word vectors lose after an epoch at the first rate; less as the rate falls.
    start : {"small", "normal", "scaled", "words"}, default="small"
        First vectors: standard deviation 0.01 for query words and free vectors and 0 for item words; or, of all
        vectors but residuals, standard deviation 1 as printed, or variance 1 / dim. "words" has variance 1 / dim for
        query words, and items start at the vectors that these give to their own words: v_i = U y_i. The printed recipe
        has "normal", or "scaled" or "words" if given.
    partitions : int or None, default=None
        Number of item partitions when training on a Ray cluster (`tacit fit --ray`); None means one for each machine.
        The result does not depend on it.
    **training
        Training parameters of `MarginRanker`.

    Attributes
    ----------
    query_table_ : ndarray of shape (n_query_words, dim), float32
        Vectors of query words (U).
    item_table_ : ndarray of shape (n_item_words, dim), float32
        Vectors of item words (V); no rows with free vectors.
    item_vectors_ : ndarray of shape (n_items, dim), float32
        Vectors of the items.
    items_ : csr_array of shape (n_items, n_item_features), float32
        Rows of the items.
    diagonal_ : ndarray of shape (n_item_features,), float32
        Weights of shared words (D).
    epochs_ : list of dict
        Loss and validation measures of each epoch. Not stored.
    """

    trains_on_cluster: ClassVar[bool] = True
    _fitted: ClassVar = {
        "query_table_": "query_words dim",
        "item_table_": "item_words dim",
        "item_vectors_": "items dim",
        "items_": "items item_features",
        "diagonal_": "item_features",
        **SgdRanker._fitted,
    }

    _printed: ClassVar = SgdRanker._printed | {"decay": (0.0,), "start": ("normal", "scaled", "words")}

    def __init__(
        self,
        dim: int = 100,
        *,
        items: str = "mapped",
        identity: str = "fixed",
        gamma: float = 0.0,
        n_words: int | None = None,
        item_rate: float = 1.0,
        decay: float = 0.03,
        start: str = "small",
        partitions: int | None = None,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.dim, self.items, self.identity, self.gamma, self.n_words = dim, items, identity, gamma, n_words
        self.item_rate, self.decay, self.start, self.partitions = item_rate, decay, start, partitions

    def _check_params(self, data: TrainingData) -> None:
        super()._check_params(data)
        queries, items = data.queries, data.items
        check_choice("items", self.items, ITEM_FORMS)
        check_choice("identity", self.identity, IDENTITIES)
        check_choice("start", self.start, STARTS)
        check_number("dim", self.dim, low=0, whole=True)
        check_numbers(self, "gamma", "item_rate", low=0)
        check_number("decay", self.decay, low=0, high=1)
        check_numbers(self, "n_words", "partitions", optional=True, low=1, whole=True)
        if self.gamma > 0 and self.items not in ("free", "residual"):
            raise UsageError(
                f"gamma is {self.gamma:g} with items={self.items!r}; only vectors of items are held by gamma"
            )
        one_dictionary = (
            self.identity != "none" or self.items == "tied" or self.gamma > 0 or self._used("start") == "words"
        )
        if one_dictionary and queries.shape[1] != items.shape[1]:
            raise TacitError(
                f"queries have {queries.shape[1]} features and items {items.shape[1]}: two dictionaries; "
                'want one for both, or identity="none" with items="mapped"'
            )

    def _training_rows(self, data: TrainingData) -> TrainingRows:
        query_words, item_words = (sp.csr_array(rows) for rows in (data.queries, data.items))
        low = self._leading(query_words), self._leading(item_words)
        return TrainingRows(*low, query_words, item_words, data.queries_are_items)

    def _leading(self, rows: sp.csr_array) -> sp.csr_array:
        """Return the columns that have vectors."""
        return rows if self.n_words is None else sp.csr_array(rows[:, : self.n_words])

    def _first_tables(self, rows: TrainingRows, rng: np.random.Generator) -> Tables:
        def zeros(n_rows: int) -> np.ndarray:
            return allocate((n_rows, self.dim))

        def drawn(n_rows: int) -> np.ndarray:
            table = zeros(n_rows)
            for part in row_blocks(table):
                table[part] = rng.normal(0, self._start_scale, table[part].shape)
            return table

        n_items, n_item_words = rows.item_rows.shape
        query_table = drawn(rows.query_rows.shape[1])
        by_words = self._used("start") == "words"
        # A small start has item words at zero, so a word that training never updates adds no noise.
        words = zeros if self._used("start") == "small" else (lambda _: query_table.copy()) if by_words else drawn
        mapped = {"tied": query_table, "free": zeros(0)}.get(self.items)
        free = (lambda _: project(rows.item_rows, query_table)) if by_words else drawn
        items = {"free": free, "residual": zeros}.get(self.items)
        return Tables(
            query_table,
            words(n_item_words) if mapped is None else mapped,
            zeros(0) if items is None else items(n_items),
            np.ones(rows.item_words.shape[1], np.float32),
        )

    @property
    def _start_scale(self) -> float:
        """Return the standard deviation of the first vectors."""
        return {"small": START, "normal": 1.0}.get(self._used("start"), max(1, self.dim) ** -0.5)

    def _train(self, data: TrainingData, rows: TrainingRows, task: TrainingTask, schedule: Schedule) -> None:
        rng = np.random.default_rng(self.seed)
        given = self._first_tables(rows, rng), rows, self._settings(task, schedule), self.threads
        used = cluster.get()
        trainer = EmbeddingTrainer(*given) if used is None else used.new_trainer(*given, self.partitions)
        trained_on = self._trained_on(trainer, data, rows, task, rng)
        measure = trainer.measuring(self, rows, task, data.monitor)
        history = self._run_epochs(trainer, trained_on, measure, rng, schedule, data.stage())
        self.rate_, self.best_epoch_, self.epochs_ = history
        self._keep(trainer.tables, rows.item_rows)
        trainer.close()

    def _trained_on(
        self,
        trainer: EmbeddingTrainer,
        data: TrainingData,
        rows: TrainingRows,
        task: TrainingTask,
        rng: np.random.Generator,
    ) -> TrainingTask:
        """Return the data that an epoch visits."""
        return task

    def _settings(self, task: TrainingTask, schedule: Schedule) -> EmbeddingSettings:
        largest = LARGEST_TRIPLE_BLOCK if isinstance(task, TripleTask) else LARGEST_BLOCK
        return EmbeddingSettings(
            **self._block_settings(task, schedule, largest),
            gamma=self.gamma,
            item_rate=self.item_rate,
            decay=self._used("decay"),
            use_diagonal=self.identity != "none",
            learn_diagonal=self.identity == "learned",
        )

    def use_tables(self, tables: Tables, items: sp.csr_array) -> None:
        """Rank these items by tables that are still in training."""
        if items is not getattr(self, "items_", None):
            self._forget_factors()
            self.items_ = items
        self._keep(tables, self._leading(items))

    def _keep(self, tables: Tables, item_rows: sp.csr_array) -> None:
        """Make the ranker that these tables mean for items, of which the columns with vectors are given."""
        self.__dict__.pop("item_factors", None)
        self.__dict__.pop("item_vectors_", None)  # before others are made
        self.query_table_ = tables.queries
        self.item_table_ = tables.mapped
        self.diagonal_ = tables.diagonal if self.identity != "none" else np.zeros_like(tables.diagonal)
        self.item_vectors_ = allocate((item_rows.shape[0], self.dim))
        for part in row_blocks(self.item_vectors_):
            if len(tables.items):
                self.item_vectors_[part] = tables.items[part]
            if len(tables.mapped):
                self.item_vectors_[part] += project(item_rows[part], tables.mapped)

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        parts: list[ItemFactors] = [DenseFactors(self.item_vectors_)]
        if self.identity != "none":
            postings = scale_columns(self._postings, self.diagonal_)
            parts.append(SparseFactors(postings, self.items_ if postings is self._postings else None))
        return parts

    @cached_property
    def _postings(self) -> sp.csc_array:
        """Return the items by words; all epochs of a training share them."""
        return self.items_.tocsc()

    def _forget_factors(self) -> None:
        super()._forget_factors()
        self.__dict__.pop("_postings", None)

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [self.embed_queries(queries), queries][: len(self.item_factors)]

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
                return terms  # the rest of the vector is rounding error
        return terms + item_terms(*side, vector)

    def embed_queries(self, queries: Features) -> np.ndarray:
        """Return the vectors of queries, float32 (n_queries, dim)."""
        self._check_fitted()
        rows = check_features("queries", queries, n_columns=self.n_features_)
        return project(rows[:, : len(self.query_table_)], self.query_table_)

    def embed_items(self, items: Features) -> np.ndarray:
        """Return the vectors of items from their features alone, as `add_items` computes them for new items."""
        self._check_fitted()
        self.check_new_items()
        rows = check_features("items", items, n_columns=self.items_.shape[1])
        return project(rows[:, : len(self.item_table_)], self.item_table_)

    def check_new_items(self) -> None:
        """Raise if vectors are free: each is learned for its item, so a new item would have no vector."""
        if self.items == "free":
            raise UsageError(
                'free item vectors are learned for each item, so a new item has no vector: use items="residual"'
            )

    def _add_items(self, items: Features) -> None:
        self.item_vectors_ = np.concatenate([self.item_vectors_, self.embed_items(items)])
        self.items_ = append_rows(self.items_, items)

    def _grow(self, width: int) -> None:
        super()._grow(width)
        self.diagonal_ = widened(self.diagonal_, width, 0.0 if self.identity == "none" else 1.0)

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
        fits = all(
            self._fits(table[0], most[0]) and table[1] == self.dim for table, most in zip(found, wanted, strict=True)
        )
        if not fits or (self.identity != "none" and n_item_features != self.n_features_):
            raise TacitError(f"tables of shape {found[0]} and {found[1]} do not fit, want {wanted[0]} and {wanted[1]}")
