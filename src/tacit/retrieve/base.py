"""Base of rankers of a whole collection: scoring in blocks, ranking, explaining, adding and removing items.

A score is a sum of products of a query factor and an item factor (`_query_factors`, one for each of the
`item_factors`). This module handles blocks, threads, ties and top-k. The scores of all queries and all items are never
in memory together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Set
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import (
    Estimator,
    Features,
    Links,
    Ranking,
    TacitError,
    UsageError,
    check_features,
    check_kind,
    check_number,
    check_params,
    cut,
    map_blocks,
    plural,
)
from tacit.features.knn import import_faiss
from tacit.kernels.topk import top_k_rows
from tacit.retrieve import approximate
from tacit.retrieve.approximate import NeighborGraph
from tacit.retrieve.checkpoint import Checkpoint, describe
from tacit.retrieve.explanation import Explanation, Term, strongest_first
from tacit.retrieve.factors import DenseFactors, FactorPair, ItemFactors, best_among, nothing_skipped, widened
from tacit.retrieve.training_data import TrainingData, check_inputs

FeatureKind = Literal["tfidf", "counts", "words+grams"]


class HoldsItems(Estimator):
    """Has a row for each item in attributes whose first axis is "items", and in nested estimators of this kind."""

    def with_items(self, rows: np.ndarray) -> Self:
        """Return a copy with some of the items."""
        made = copy(self)
        for name, spec in self._fitted.items():
            value = getattr(self, name, None)
            if isinstance(value, HoldsItems):
                setattr(made, name, value.with_items(rows))
            elif isinstance(value, list):
                setattr(made, name, [v.with_items(rows) if isinstance(v, HoldsItems) else v for v in value])
            elif value is not None and spec.lstrip("?+").split()[:1] == ["items"]:
                setattr(made, name, value[rows])
        return made


class ChangingItems(HoldsItems):
    """Adds and removes items of a fitted ranker; attributes whose first axis is "items" follow."""

    n_features_: int
    n_added_: int
    n_removed_: int
    graph_: NeighborGraph | None = None
    two_dictionaries: ClassVar[bool] = False  # query words and item words are counted apart

    @property
    @abstractmethod
    def n_items_(self) -> int:
        """Number of items that are ranked."""

    @abstractmethod
    def _forget_factors(self) -> None:
        """Discard cached values that depend on the items."""

    def add_items(self, items: Features) -> Self:
        """Make new items rankable without training.

        New items get the next row numbers. Scores of old items do not change, unless they depend on the first results
        of the query (`qe`, `blend`). Sparse rows may have additional columns, for words that `fit` has not seen. Such
        words count if the score has a term for shared words. Weights of known words (idf, mean length) do not change
        until the next `fit`.

        Parameters
        ----------
        items : array or sparse matrix of shape (n_new_items, n_item_features)
            Rows of the new items.
        """
        rows = self._checked_new(items)
        self._add_items(rows)
        return self._added(rows.shape[0])

    def _checked_new(self, items: Features) -> Features:
        """Return rows of new items; append columns for words that `fit` has not seen to the ranker."""
        self._check_fitted()
        self.check_new_items()
        rows, width = check_features("items", items), self._n_item_features
        if rows.shape[1] < width or (rows.shape[1] > width and isinstance(rows, np.ndarray)):
            raise TacitError(f"new items have {plural(rows.shape[1], 'feature')}, want {width} as in fit")
        if rows.shape[1] > width:
            self._grow(int(rows.shape[1]))
        return rows

    def _added(self, n_items: int) -> Self:
        """Count new items, after they were added to the fitted attributes."""
        self.n_added_ += int(n_items)
        self._forget_factors()
        return self

    def remove_items(self, rows: Sequence[int] | np.ndarray) -> Self:
        """Remove items from the ranking without training; the following items move up.

        Parameters
        ----------
        rows : sequence of int
            Row numbers of the items; at least one item must remain.
        """
        self._check_fitted()
        removed = np.unique(np.asarray(rows, np.int64)) if len(rows) else np.empty(0, np.int64)
        if len(removed) and not 0 <= removed[0] <= removed[-1] < self.n_items_:
            bad = removed[0] if removed[0] < 0 else removed[-1]
            raise TacitError(f"there is no item {bad} to remove, want row numbers from 0 to {self.n_items_ - 1}")
        if len(removed) == self.n_items_:
            raise TacitError("no item would remain, want at least one")
        vars(self).update(vars(self.with_items(np.setdiff1d(np.arange(self.n_items_), removed))))
        self._forget_factors()
        return self

    def with_items(self, rows: np.ndarray) -> Self:
        """Return a copy that ranks some of the items."""
        made = super().with_items(rows)
        made.n_removed_ += self.n_items_ - len(rows)
        made._forget_factors()
        if self.graph_ is not None:
            made.graph_ = self.graph_.with_items(rows)
        return made

    def check_new_items(self) -> None:
        """Raise unless this ranker accepts new items, fitted or not: by default, if it can add them."""
        if type(self)._add_items is ChangingItems._add_items:
            raise UsageError(f"{type(self).__name__} cannot take new items: fit it again with all of them")

    def _add_items(self, items: Features) -> None:
        """Append checked items, which have the current width of the ranker, to the fitted attributes."""
        raise AssertionError("check_new_items refuses before")

    @property
    def _n_item_features(self) -> int:
        """Width of an item row."""
        items = getattr(self, "items_", None)
        return self.n_features_ if items is None else int(items.shape[1])

    def _grow(self, width: int) -> None:
        """Append columns for words that `fit` has not seen to item rows and query rows."""
        if not self.two_dictionaries and self.n_features_ == self._n_item_features:
            self.n_features_ = width
        for name, spec in self._fitted.items():
            if spec in ("items features", "items item_features"):
                setattr(self, name, widened(getattr(self, name), width))


class CollectionRanker(ChangingItems, ABC):
    """Base of all rankers of collections.

    Subclasses store their parameters in `__init__` and set the attributes of `_fitted` in `_fit`. These attributes are
    the whole model, in memory and on disk. `_fitted` maps each attribute to its axes ("items features", "" for a single
    number). Axes of the same name have the same length; the length of "features" is the width of a query row.

    Attributes
    ----------
    n_features_ : int
        Width of a query row.
    n_items_ : int
        Number of items that are ranked.
    n_added_, n_removed_ : int
        Items added and removed since `fit`.
    graph_ : NeighborGraph or None
        Index for approximate search (`build_graph`).
    """

    # `rank` on a cluster (`tacit.distributed`)
    rank_in_parts: Callable[[Features, int, sp.csr_array], Ranking] | None = None
    block_bytes: int = 32 << 20  # size of the scores of one block of queries; small enough for a few threads at a time

    _n_features_attribute: ClassVar[str | None] = "n_features_"
    # What a ranker requires. Where it depends on parameters, a subclass overrides it with a property.
    learns_from_pairs: ClassVar[bool] = True  # learns from pairs, or at least chooses a weight by them
    needs_pairs: ClassVar[bool] = False
    prefers_stems: ClassVar[bool] = False  # words are stemmed unless the user decides otherwise
    reads: Set[str] = frozenset()  # inputs of `fit` that it uses in addition to rows and pairs (`TrainingData`)
    by_words: ClassVar[bool] = False  # a score of 0 means that query and item share no word
    answers_above: ClassVar[float | None] = None  # a search shows only higher scores; None: all scores except 0
    trains_in_epochs: ClassVar[bool] = False  # `fit` can resume from a checkpoint
    trains_on_cluster: ClassVar[bool] = False  # `fit` can train vectors of the items on Ray (`tacit.distributed`)
    by_word_pairs: ClassVar[bool] = False  # has a weight for each pair of words: cost grows with the square of a text

    # Fitted numbers that were counted, not chosen.
    _counted: ClassVar[tuple[str, ...]] = ("n_added_", "n_removed_", "n_words_", "n_item_words_", "mean_length_")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Add the number of items added and removed since `fit`, and the graph, to the stored attributes."""
        super().__init_subclass__(**kwargs)
        cls._fitted = {**cls._fitted, "n_added_": "", "n_removed_": "", "graph_": "?estimator"}

    @property
    def features(self) -> FeatureKind:
        """Rows that the ranker requires: "tfidf", "counts", or "words+grams" (tf-idf of words, then of 2-grams)."""
        return "tfidf"

    @property
    def vectors_dim(self) -> int:
        """Number of dimensions of query vectors, in addition to words; 0 if there are none."""
        return 0

    @property
    def uses_vectors(self) -> bool:
        """Whether vectors of queries affect the scores."""
        return False

    @property
    def needs_links(self) -> bool:
        """Whether it learns from links between the items in addition to pairs."""
        return False

    def fit(
        self,
        queries: Features | None,
        items: Features,
        pairs: Links | None = None,
        validation: Links | None = None,
        *,
        queries_are_items: bool | None = None,
        checkpoint: Checkpoint | str | Path | None = None,
        **further: Any,
    ) -> Self:
        """Fit the ranker to items and, if the method supports it, to (query, relevant item) pairs.

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_features), or None
            Query rows; None means that the items are the queries. For a ranker that reads `vectors`, vectors of the
            queries may follow their words (`join_vectors`).
        items : array or sparse matrix of shape (n_items, n_item_features)
            Item rows.
        pairs : Links or None, default=None
            Relevant items of queries, weighted by grade or confidence. Items without a pair count as probably worse;
            with `ClickedLinks`, only items that were shown do.
        validation : Links or None, default=None
            Pairs for validation. Without them, rankers that need validation hold out a part of `pairs`.
        queries_are_items : bool or None, default=None
            Whether query row i and item row i are the same document, which is then not a candidate for itself. None
            means true if `queries` and `items` are the same object, as with links between documents.
        checkpoint : str, Path, Checkpoint or None, default=None
            Folder for the state of training in epochs. If training is killed, run it again with the same parameters and
            data to resume from there. The result is bit-identical to an uninterrupted run. The folder remains until it
            is removed (`Checkpoint.remove`).
        **further
            Inputs that only some rankers use, named by the attribute `reads`. Others raise UsageError.

        Other Parameters
        ----------------
        titles : csr_array of shape (n_items, n_features) or None
            Counts of the words of the titles alone; `items` count them too.
        title_keys : ndarray of shape (n_items,), int64, or None
            Hashes of the titles as texts (`tacit.features.text.words.title_keys`), to tell apart titles with the same
            words.
        terms : Terms or None
            The word of each column. The members `content` and `spelling` of a blend need it.
        zeros : Links or None
            Items judged not relevant, for the same queries as `pairs`.
        program : ProgramLinks or None
            Items graded by a program, in addition to `pairs`. They are weighted by the trust in the program, and are
            used for training only, never for evaluation. Queries without pairs are added up to a total of 500 queries.
        vectors : ndarray of shape (n_items, dim_of_vectors) or None
            Vectors of the items by another model. A row of zeros is an item without a vector.
        passages : ndarray of shape (n_items + 1,), int64, or None
            Offset of the first vector of each item, if items have several. An item scores by its best passage.
        probes : Probes or None
            Queries made from some items, used to measure the weight of `vectors`. None means that the items themselves
            are the queries.
        references : sequence of ndarray of shape (n_items, dim)
            Vectors computed from the items' own words. If they explain `vectors`, the weight of `vectors` is 0.
        members : BlendRanker or None
            A blend fitted with the same parameters on the same items. Its members that do not learn from pairs are
            reused, so only the weights are learned. The result is the same as without it.
        links, query_links : Links or None
            Links between items, and between queries, from which a second task learns (`CrossRanker`).
        same_words : csr_array of shape (n_query_words, n_item_words) or None
            Which words of queries and items are the same string (`find_same_words`).
        occurrences : ndarray of shape (n_features,) or None
            Number of occurrences of the term of each column in the items.
        monitor : callable or None
            Returns further measures of the ranker after each epoch, for `epochs_`; they decide nothing.
        """
        check_params(self)
        if checkpoint is not None and not self.trains_in_epochs:
            raise UsageError(f"{type(self).__name__} is not trained in epochs, so a checkpoint has no effect")
        checked = check_features("items", items)
        shared = queries is items or queries is None
        query_rows = checked if shared else check_features("queries", queries)
        same = shared if queries_are_items is None else queries_are_items
        if same and query_rows.shape[0] != checked.shape[0]:
            raise TacitError(
                f"queries have {query_rows.shape[0]} rows and items {checked.shape[0]}; "
                "rows that are the same documents want the same number"
            )
        self.n_features_ = int(query_rows.shape[1])
        self.n_added_ = self.n_removed_ = 0
        self.graph_ = None
        self._forget_factors()
        inputs = check_inputs(checked, further, self.reads)
        data = self._prepared(TrainingData(query_rows, checked, pairs, validation, same, **inputs))
        if checkpoint is None:
            self._fit(data)
            return self
        place = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        with place.of(describe(type(self).__name__, self.get_params(deep=False), **data.described())) as held:
            self._fit(replace(data, checkpoint=held))
        return self

    def _prepared(self, data: TrainingData) -> TrainingData:
        """Check parameters and inputs before anything is learned; return the data as `_fit` reads them."""
        return data

    @abstractmethod
    def _fit(self, data: TrainingData) -> None:
        """Set the fitted attributes from checked input."""

    @abstractmethod
    def _make_item_factors(self) -> Sequence[ItemFactors]:
        """Return the factors of the items, one for each term of the score, from the fitted attributes."""

    @cached_property
    def item_factors(self) -> Sequence[ItemFactors]:
        """The factors of the items, one for each term of the score."""
        return self._make_item_factors()

    @abstractmethod
    def _query_factors(self, queries: Features) -> Sequence[Features]:
        """Return the factors of checked query rows, one for each of the item factors."""

    def factor_pairs(self, rows: Features) -> list[FactorPair]:
        """Return the factors whose products are the scores of checked query rows: of the items, and of the queries."""
        return list(zip(self.item_factors, self._query_factors(rows), strict=True))

    @property
    def n_items_(self) -> int:
        """Number of items that are ranked."""
        return self.item_factors[0].n_items

    def scores(self, queries: Features, *, exclude: sp.csr_array | None = None) -> np.ndarray:
        """Return the scores of all items for a few queries, float32 (n_queries, n_items).

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_features)
            Query rows.
        exclude : csr_array of shape (n_queries, n_items) or None, default=None
            Items that are not candidates. They are also scored, but do not expand the query.
        """
        self._check_fitted()
        rows = self._check_queries(queries)
        return self.score_rows(rows, _skips(exclude, (rows.shape[0], self.n_items_)))

    def unmatched_scores(self, queries: Features) -> np.ndarray:
        """Return scores of items that share nothing with a query, float32 (n_queries, 1): 0 except in BM25 variants."""
        return np.zeros((queries.shape[0], 1), np.float32)

    def mark_titles(self, rows: sp.csr_array, texts: Sequence[str]) -> sp.csr_array:
        """Return query rows that mark typed texts that are titles, if the ranker compares titles as texts."""
        return rows

    def _check_queries(self, queries: Features) -> Features:
        """Return query rows as float32; raise unless they match the ranker."""
        return check_features("queries", queries, n_columns=self.n_features_)

    def rank(
        self, queries: Features, k: int = 10, *, exclude: sp.csr_array | None = None, threads: int | None = None
    ) -> Ranking:
        """Return the k best items of each query.

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_features)
            Query rows.
        k : int, default=10
            Number of items.
        exclude : csr_array of shape (n_queries, n_items) or None, default=None
            Items that are not candidates.
        threads : int or None, default=None
            Number of threads; None means all cores. The result does not depend on it.
        """
        self._check_fitted()
        check_number("k", k, low=1, whole=True)
        rows = self._check_queries(queries)
        width = min(k, self.n_items_)
        items = np.empty((rows.shape[0], width), np.int64)
        scores = np.empty((rows.shape[0], width), np.float32)
        skip = _skips(exclude, (rows.shape[0], self.n_items_))
        if self.rank_in_parts is not None:
            return self.rank_in_parts(rows, width, skip)

        blocks = self.blocks(rows)
        if len(blocks) == 1:  # slicing a sparse matrix takes longer than a check
            self._rank_rows(rows, skip, items, scores)
        else:
            map_blocks(lambda at: self._rank_rows(rows[at], skip[at], items[at], scores[at]), blocks, threads)
        return Ranking(items, scores)

    def _rank_rows(self, rows: Features, skip: sp.csr_array, items: np.ndarray, scores: np.ndarray) -> None:
        """Fill items and scores (n_rows, k) with the best items of each query."""
        if self.graphs:
            approximate.rank_by_graphs(self, rows, skip, items, scores)
        else:
            top_k_rows(self.score_rows(rows, skip), skip.indptr, skip.indices, items, scores)

    def items_with_word(self, column: int) -> np.ndarray | None:
        """Return the rows of the items that contain a word; None if the ranker does not know."""
        return None

    def items_with_content(self, row: sp.csr_array) -> np.ndarray | None:
        """Return the rows of the items that contain a content word of one query, rising.

        None means that all items with a score count as matches: the ranker compares words only or knows no words, or
        the query has none.
        """
        return None

    @property
    def ranks_by_scores(self) -> bool:
        """Whether `rank` sorts the result of `scores`, with no index, pruning or cluster selecting candidates."""
        plain = type(self)._rank_rows is CollectionRanker._rank_rows
        return plain and not self.graphs and self.rank_in_parts is None

    def prepare(self, query: Features) -> None:
        """Compute what queries such as this one need and `rank` otherwise computes when one first needs it."""

    def rank_among(self, row: Features, items: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the k best of some items (ascending) for one query, and their scores, bit-identical to `rank`.

        None means that only `rank` can select items.
        """
        return best_among(items, self.scores(row)[0, items], k) if self.ranks_by_scores else None

    def check_graph(self) -> None:
        """Raise unless `build_graph` can be called after `fit`; called before a long training."""
        if self.by_words or self.by_word_pairs:
            raise approximate.no_vectors(self)
        import_faiss()

    def build_graph(self, queries: Features, **params: Any) -> Self:
        """Build an index, so `rank` need not compare a query with every vector; its results become approximate.

        Parameters
        ----------
        queries : array or sparse matrix of shape (n_queries, n_features)
            Queries used to measure the recall of the exact top 10 (`graph_.recall_`).
        **params
            Parameters of `NeighborGraph`.
        """
        self._check_fitted()
        approximate.build_graphs(self, self._check_queries(queries), params)
        return self

    @cached_property
    def graphs(self) -> list[NeighborGraph]:
        """The indexes that `rank` uses."""
        return approximate.checked_graphs(self)

    def rankers_by_vectors(self) -> list[CollectionRanker]:
        """Return the ranker itself if one term of its score is a product with an item vector; of a blend, members."""
        n_dense = sum(isinstance(factors, DenseFactors) for factors in self.item_factors)
        return [self] if n_dense == 1 and type(self).score_rows is CollectionRanker.score_rows else []

    def _fits(self, n_known: int, width: int) -> bool:
        """Whether a table for these words fits rows of this width: words added with new items have no entry."""
        return n_known == width or (self.n_added_ > 0 and n_known < width)

    def _forget_factors(self) -> None:
        for name in ("item_factors", "graphs", "rank_in_parts"):
            self.__dict__.pop(name, None)

    def chosen(self) -> dict[str, float]:
        """Return the numbers chosen by fitting, such as the weight of a mixture."""
        return {name: value for name, value in super().chosen().items() if f"{name}_" not in self._counted}

    def score_rows(self, rows: Features, skip: sp.csr_array | None = None) -> np.ndarray:
        """Return `scores` of checked query rows and checked exclusions."""
        out = np.zeros((rows.shape[0], self.n_items_), np.float32)
        for factors, of_queries in self.factor_pairs(rows):
            factors.add_scores(of_queries, out)
        return out

    def blocks(self, rows: Features) -> list[slice]:
        """Return the blocks of queries that are scored together."""
        return cut(rows.shape[0], max(1, min(256, self.block_bytes // (4 * max(1, self.n_items_)))))

    def explain(self, query: Features, a: int, b: int | None = None) -> Explanation:
        """Return the terms that sum to the score of an item, or to the difference of two scores, within float error.

        Parameters
        ----------
        query : array or sparse matrix of shape (1, n_features)
            Query row.
        a : int
            Row number of the item.
        b : int or None, default=None
            Row number of another item, whose score is subtracted.
        """
        self._check_fitted()
        row = self._check_queries(query)
        if row.shape[0] != 1:
            raise TacitError(f"query has {row.shape[0]} rows, want 1")
        for name, item in (("a", a), ("b", a if b is None else b)):
            check_number(name, item, low=0, high=self.n_items_ - 1, whole=True)
        return Explanation(strongest_first(self._terms(row, a, b)))

    @abstractmethod
    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        """Return the terms of score(a) - score(b), or of score(a) alone."""


def _skips(exclude: sp.csr_array | None, shape: tuple[int, int]) -> sp.csr_array:
    """Return the items to leave out, ascending in each row, without stored False values."""
    if exclude is None:
        return nothing_skipped(shape)
    check_kind("exclude", exclude, sp.sparray | sp.spmatrix, "a sparse matrix")
    if exclude.shape != shape:
        raise TacitError(f"exclude has shape {exclude.shape}, want {shape}: queries by items")
    skip = sp.csr_array(exclude, dtype=bool, copy=True)
    skip.sum_duplicates()
    skip.eliminate_zeros()
    return skip
