"""A part of the items in training, held by one process of a cluster: words, vectors, and copies of the vectors.

Changes are numbered and applied only once, so a repeated call is harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tacit.core.mapped import allocate
from tacit.retrieve.snapshots import copy_into, move_to

if TYPE_CHECKING:
    from tacit.distributed.validation import Question
    from tacit.retrieve import EmbeddingRanker

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # numbers of words, words, values


class ItemOwner:
    """Holds some of the items; its rows are numbered from 0.

    Parameters
    ----------
    lengths : ndarray of int
        Numbers of words of the items.
    dim : int
        Width of the vectors.
    n_vectors : int
        Number of vectors: the number of items, or 0 if items have no own vectors.
    n_changes : int
        Number of the last change applied to the vectors.

    Examples
    --------
    >>> owner = ItemOwner(np.array([1, 2]), dim=2, n_vectors=2, n_changes=0)
    >>> owner.fill_words(0, np.array([5, 0, 7], np.int32), np.ones(3, np.float32))
    >>> [part.tolist() for part in owner.take_words(np.array([1]))]
    [[2], [0, 7], [1.0, 1.0]]
    >>> owner.change(1, "put", "live", np.array([1]), np.full((1, 2), 3, np.float32))
    >>> owner.change(1, "put", "live", np.array([1]), np.full((1, 2), 4, np.float32))
    >>> owner.take_vectors("live", np.array([0, 1]), 1).tolist()
    [[0.0, 0.0], [3.0, 3.0]]
    """

    def __init__(self, lengths: np.ndarray, dim: int, n_vectors: int, n_changes: int) -> None:
        self._indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        n_entries = int(self._indptr[-1])
        self._words, self._values = np.empty(n_entries, np.int32), np.empty(n_entries, np.float32)
        self._shape, self._n_changes = (n_vectors, dim), n_changes
        self._vectors = {"live": allocate(self._shape)}
        self._candidates = np.empty(0, np.int64)
        self._ranker: EmbeddingRanker | None = None  # ranker of these candidates

    def fill_words(self, start: int, words: np.ndarray, values: np.ndarray) -> None:
        """Receive words and values from an entry on."""
        self._words[start : start + len(words)], self._values[start : start + len(words)] = words, values

    def fill_vectors(self, name: str, start: int, vectors: np.ndarray) -> None:
        """Receive vectors, or a copy of them, from a row on; this is not a change."""
        self._copy_of(name)[start : start + len(vectors)] = vectors

    def take_words(self, rows: np.ndarray) -> Rows:
        """Return words of some items."""
        starts, lengths = self._indptr[rows], self._indptr[rows + 1] - self._indptr[rows]
        before = np.cumsum(lengths) - lengths
        entries = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
        return lengths, self._words[entries], self._values[entries]

    def take_vectors(self, name: str, rows: np.ndarray, n_changes: int) -> np.ndarray:
        """Return vectors of some items after this many changes."""
        self._check(n_changes)
        return self._copy_of(name)[rows]

    def count_places(self, name: str, rows: np.ndarray, first: int, asked: Question, n_changes: int) -> np.ndarray:
        """Count the candidates among these rows for `validation`; `first` is the number of the first row."""
        from tacit.distributed.validation import count_in_part
        from tacit.retrieve.margin.embedding_sgd import Tables

        self._check(n_changes)
        if self._ranker is None or not np.array_equal(self._candidates, rows):
            self._candidates, self._ranker = rows, asked.ranker  # equal in every epoch
            self._ranker.items_ = self._rows(rows, len(asked.diagonal))
        ranker, vectors = self._ranker, self._copy_of(name)
        own = vectors[rows] if len(vectors) > len(rows) else vectors
        ranker.use_tables(Tables(asked.mapped[:0], asked.mapped, own, asked.diagonal), ranker.items_)
        found = count_in_part(ranker, asked, first)
        del ranker.item_vectors_, ranker.item_factors
        return found

    def _rows(self, rows: np.ndarray, n_words: int) -> sp.csr_array:
        """Return words of some items as a matrix, without copying if these are all items."""
        indptr, words, values = self._indptr, self._words, self._values
        if len(rows) < len(indptr) - 1:
            lengths, words, values = self.take_words(rows)
            indptr = np.concatenate([[0], np.cumsum(lengths)])
        return sp.csr_array((values, words, indptr), shape=(len(rows), n_words))

    def extremes(self, name: str, n_changes: int) -> tuple[float, float]:
        """Return the smallest and largest number of the vectors, or 0; NaN if any is NaN."""
        self._check(n_changes)
        vectors = self._copy_of(name)
        return float(vectors.min(initial=0)), float(vectors.max(initial=0))

    def change(self, number: int, name: str, *args: Any) -> None:
        """Apply the change with this number, unless it was already applied."""
        if number > self._n_changes:
            self._check(number - 1)
            changes: dict[str, Callable[..., None]] = {"put": self._put, "copy": self._copy, "move": self._move}
            changes[name](*args)
            self._n_changes = number

    def _check(self, n_changes: int) -> None:
        if self._n_changes != n_changes:
            raise AssertionError(f"{self._n_changes} changes were made, {n_changes} are expected")

    def _copy_of(self, name: str) -> np.ndarray:
        if name not in self._vectors:
            self._vectors[name] = allocate(self._shape)
        return self._vectors[name]

    def _put(self, name: str, rows: np.ndarray, vectors: np.ndarray) -> None:
        self._copy_of(name)[rows] = vectors

    def _copy(self, target: str, source: str) -> None:
        copy_into(self._copy_of(target), self._copy_of(source))

    def _move(self, target: str, source: str, weight: float) -> None:
        move_to(self._copy_of(target), self._copy_of(source), weight)
