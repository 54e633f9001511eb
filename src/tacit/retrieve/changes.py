"""Adding and removing items after `fit`: this part of every ranker of collections."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import ClassVar, Self

import numpy as np

from tacit.core import Estimator, Features, TacitError, UsageError, check_features, plural
from tacit.retrieve.factors import widened
from tacit.retrieve.neighbor_graph import NeighborGraph


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
        """Raise unless this ranker accepts new items, fitted or not."""
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
