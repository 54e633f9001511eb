"""Rankers that learn vectors from pairs: supervised semantic indexing (SSI) and half-transductive ranking (HTR).

    f(x, y_i) = (U x) . z_i + sum_w D_w x_w y_iw

with U a table of query words. Where the forms differ is the item's vector z_i and the diagonal D:

    items="mapped"    z_i = V y_i          SSI (Bai et al. 2009): W = U'V (+ I or D)
    items="tied"      z_i = U y_i          SSI, symmetric: W = U'U (+ I or D)
    items="free"      z_i = v_i            HTR (Bai et al. 2010): one free vector for each item
    items="residual"  z_i = V y_i + d_i    both: what the words say, and what only this item has learned

Free vectors are held to the words by gamma: a second margin loss on (U x) . (U y_i). All is trained on the
margin ranking loss by `block_sgd`. A new item needs no training where its words have vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    DivergedError,
    Features,
    Links,
    TacitError,
    UsageError,
    check_choice,
    check_features,
    check_fitted,
    check_number,
    track,
)
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.embedding_sgd import EmbeddingSettings, EmbeddingTrainer, Sides, Tables
from tacit.retrieve.explanation import Term, difference, item_terms, pair_terms, sparse_row, word_terms
from tacit.retrieve.lessons import Lesson, make_lesson
from tacit.retrieve.sides import DensePart, Part, append_rows, part_of, project

ITEM_FORMS = ("mapped", "tied", "free", "residual")
IDENTITIES = ("none", "fixed", "learned")
START = 0.02  # scale of the first vectors: small, so that a model starts near what its words alone say
LARGEST_BLOCK = 64
FEWEST_BLOCKS = 600  # a small training set is visited more often: too few steps leave the vectors where they began
FEWEST_EPOCHS = 8
RATES = (0.1, 0.2, 0.4)
MARGINS = (0.05, 0.1, 0.2)


class EmbeddingRanker(CollectionRanker):
    """Learned vectors for queries and items, with or without the words that both share.

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

    def __init__(
        self,
        dim: int = 100,
        *,
        items: str = "mapped",
        identity: str = "fixed",
        gamma: float = 0.0,
        n_words: int | None = None,
        rate: float = 0.2,
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
        lesson = make_lesson(pairs, validation, queries, items, self._same, self.seed)
        self.items_ = sp.csr_array(items)
        sides = self._sides(queries, items)
        self.rate_, self.margin_ = float(self.rate), float(self.margin)
        n_epochs = self.n_epochs or epochs_for(lesson.n_visits)
        if self.tune:
            self.rate_, self.margin_ = self._tune(sides, lesson, max(2, n_epochs // 3))
        self._train(sides, lesson, n_epochs)

    def _check_params(self, queries: Features, items: Features) -> None:
        check_choice("items", self.items, ITEM_FORMS)
        check_choice("identity", self.identity, IDENTITIES)
        check_number("dim", self.dim, low=0, whole=True)
        check_number("gamma", self.gamma, low=0)
        check_number("item_rate", self.item_rate, low=0)
        for name in ("rate", "margin"):
            check_number(name, getattr(self, name), low=0, open_low=True)
        for name in ("n_words", "n_epochs"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), low=1, whole=True)
        if self.gamma > 0 and self.items != "free":
            raise UsageError(f"gamma is {self.gamma:g} with items={self.items!r}; only free vectors are held by gamma")
        one_dictionary = self.identity != "none" or self.items == "tied" or self.gamma > 0
        if one_dictionary and queries.shape[1] != items.shape[1]:
            raise TacitError(
                f"queries have {queries.shape[1]} features and items {items.shape[1]}: two dictionaries; "
                'want one for both, or identity="none" with items="mapped"'
            )

    def _sides(self, queries: Features, items: Features) -> Sides:
        query_words, item_words = (sp.csr_array(rows) for rows in (queries, items))
        low_queries, low_items = query_words, item_words
        if self.n_words is not None:
            low_queries, low_items = (sp.csr_array(rows[:, : self.n_words]) for rows in (query_words, item_words))
        return Sides(low_queries, low_items, query_words, item_words, same=self._same)

    def _first_tables(self, sides: Sides, rng: np.random.Generator) -> Tables:
        def drawn(n_rows: int) -> np.ndarray:
            return rng.normal(0, START, (n_rows, self.dim)).astype(np.float32)

        absent = np.empty((0, self.dim), np.float32)
        n_items, n_item_words = sides.item_rows.shape
        query_table = drawn(sides.query_rows.shape[1])
        mapped = {"tied": query_table, "free": absent}.get(self.items)
        items = {"free": drawn, "residual": lambda n: np.zeros((n, self.dim), np.float32)}.get(self.items)
        diagonal = np.ones(sides.item_words.shape[1], np.float32)
        return Tables(
            query_table,
            drawn(n_item_words) if mapped is None else mapped,
            absent if items is None else items(n_items),
            diagonal,
        )

    def _train(self, sides: Sides, lesson: Lesson, n_epochs: int) -> None:
        """Run the epochs and keep the best; numbers that stop being finite are rolled back once."""
        rng = np.random.default_rng(self.seed)
        tables, settings = self._first_tables(sides, rng), self._settings(lesson.n_visits)
        rate, halved, best = self.rate_, False, -math.inf
        self.epochs_: list[dict[str, float]] = []
        with EmbeddingTrainer(tables, sides, settings, self.threads).running() as trainer:
            for epoch in track(range(n_epochs), "training", n_epochs):
                before = trainer.tables.copy()
                rates = rate * (1 - epoch / n_epochs), rate * (1 - (epoch + 1) / n_epochs)
                loss = lesson.epoch(trainer, rng, rates)
                if not trainer.tables.is_sound():
                    if halved:
                        raise DivergedError(
                            f"numbers stopped being finite in epoch {epoch + 1} at rate {rate:g}, "
                            f"after {2 * rate:g} had failed too; give a smaller rate"
                        )
                    trainer.tables, rate, halved = before, rate / 2, True
                    continue
                self._keep(trainer.tables, sides)
                found = lesson.measure(self)
                self.epochs_.append({"epoch": epoch + 1, "loss": loss, **found})
                if found[lesson.target] > best:
                    best, kept, self.best_epoch_ = found[lesson.target], trainer.tables.copy(), epoch + 1
        self.rate_ = rate
        self._keep(kept, sides)

    def _settings(self, n_visits: int) -> EmbeddingSettings:
        return EmbeddingSettings(
            block=block_for(n_visits),
            margin=self.margin_,
            gamma=self.gamma,
            item_rate=self.item_rate,
            use_diagonal=self.identity != "none",
            learn_diagonal=self.identity == "learned",
        )

    def _keep(self, tables: Tables, sides: Sides) -> None:
        """Make the ranker that these tables mean."""
        self.__dict__.pop("_parts", None)
        self.query_table_ = tables.queries
        self.item_table_ = tables.mapped
        self.diagonal_ = tables.diagonal if self.identity != "none" else np.zeros_like(tables.diagonal)
        vectors = (
            tables.items.copy() if len(tables.items) else np.zeros((sides.item_rows.shape[0], self.dim), np.float32)
        )
        if len(tables.mapped):
            vectors += project(sides.item_rows, tables.mapped)
        self.item_vectors_ = vectors

    def _tune(self, sides: Sides, lesson: Lesson, n_epochs: int) -> tuple[float, float]:
        """The best rate at the given margin, then the best margin at that rate: five short runs."""

        def value(rate: float, margin: float) -> float:
            self.rate_, self.margin_ = rate, margin
            try:
                self._train(sides, lesson, n_epochs)
            except DivergedError:
                return -math.inf
            return max(epoch[lesson.target] for epoch in self.epochs_)

        found = {(rate, self.margin): value(rate, self.margin) for rate in RATES}
        best_rate = max(found, key=lambda setting: found[setting])[0]
        found |= {(best_rate, margin): value(best_rate, margin) for margin in MARGINS if margin != self.margin}
        return max(found, key=lambda setting: found[setting])

    def _make_parts(self) -> Sequence[Part]:
        parts: list[Part] = [DensePart(self.item_vectors_)]
        if self.identity != "none":
            parts.append(part_of(sp.csr_array(self.items_.multiply(self.diagonal_[None, :]), dtype=np.float32)))
        return parts

    def _query_sides(self, queries: Features) -> Sequence[Features]:
        return [self.embed_queries(queries), queries][: len(self._parts)]

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

    def _check_fitted(self) -> None:
        n_words = self.n_features_ if self.n_words is None else min(self.n_words, self.n_features_)
        n_item_words = self.items_.shape[1] if self.n_words is None else min(self.n_words, self.items_.shape[1])
        fits = len(self.query_table_) == n_words and len(self.item_table_) in (0, n_item_words)
        if not fits or (self.identity != "none" and self.items_.shape[1] != self.n_features_):
            raise TacitError(
                f"tables for {len(self.query_table_)} and {len(self.item_table_)} words do not fit the rest"
            )


def block_for(n_visits: int) -> int:
    """Queries in a block: few where there are few, since a block moves an item once for all its queries."""
    return min(LARGEST_BLOCK, max(4, n_visits // 32))


def epochs_for(n_visits: int) -> int:
    """How often the training set is visited when nothing is said."""
    n_blocks = max(1, math.ceil(n_visits / block_for(n_visits)))
    return max(FEWEST_EPOCHS, math.ceil(FEWEST_BLOCKS / n_blocks))
