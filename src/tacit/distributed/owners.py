"""The owners of the items in training: the part that each process of a cluster holds, and all of them together.

An owner has words, vectors, and copies of the vectors. Changes are numbered and applied only once, so a repeated call
is harmless. A call to an owner on a lost machine starts a new owner: it gets the words again, the vectors of the last
checkpoint, and the changes since then, which are kept until the next checkpoint. Without a checkpoint the training ends
with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError, cut
from tacit.core.mapped import allocate
from tacit.distributed.backend import Backend, Owner, Parts
from tacit.retrieve.snapshots import copy_into, move_to

if TYPE_CHECKING:
    from tacit.distributed.parted_embedding import Question
    from tacit.retrieve import EmbeddingRanker

SENT_ENTRIES, SENT_ROWS = 4 << 20, 1 << 14  # maximum of words and vectors per message

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # numbers of words, words, values
ReadRows = Callable[[int, int], np.ndarray]  # returns vectors from one row to another


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
        """Count the candidates among these rows for validation; `first` is the number of the first row."""
        from tacit.distributed.parted_embedding import count_in_part
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


class Owners(Parts):
    """The owners of all items.

    Parameters
    ----------
    backend : Backend
        Holds the owners.
    words : csr_array of shape (n_items, n_words)
        Rows of the items. They are read again only if an owner is lost.
    vectors : ndarray of shape (n_items, dim) or (0, dim)
        Initial vectors.
    n_parts : int
        Number of parts.
    """

    def __init__(self, backend: Backend, words: sp.csr_array, vectors: np.ndarray, n_parts: int) -> None:
        n_parts = min(n_parts, words.shape[0])
        self.shape, self._words = vectors.shape, words
        self._first_change, self._log = [0] * n_parts, [list[tuple[Any, ...]]() for _ in range(n_parts)]
        self._n_changes, self._keeps_log = [0] * n_parts, False
        self._saved: Mapping[str, ReadRows] | None = {"live": lambda start, stop: vectors[start:stop]}
        super().__init__(backend, words.shape[0], n_parts)
        self._saved = None if len(vectors) else {}

    def take_words(self, items: np.ndarray) -> Callable[[], Rows]:
        """Request the words of some items, in ascending order; calling the returned function waits for the result."""
        wait = self._ask("take_words", self._parts(items))

        def joined() -> Rows:
            lengths, words, values = zip(*wait(), strict=True)
            return np.concatenate(lengths), np.concatenate(words), np.concatenate(values)

        return joined

    def take_vectors(self, name: str, items: np.ndarray) -> np.ndarray:
        """Return vectors of some items, in ascending order."""
        calls = {part: (name, *args, self._n_changes[part]) for part, args in self._parts(items).items()}
        return np.concatenate([np.empty((0, self.shape[1]), np.float32), *self._ask("take_vectors", calls)()])

    def count_places(self, name: str, candidates: np.ndarray, asked: Question) -> np.ndarray:
        """Let every owner count its candidates for validation; return the sums."""
        calls, first, shared = dict[int, tuple[Any, ...]](), 0, self._backend.share(asked)
        for part, (rows,) in self._parts(candidates).items():
            calls[part] = name, rows, first, shared, self._n_changes[part]
            first += len(rows)
        return np.sum(self._ask("count_places", calls)(), axis=0)

    def extremes(self, name: str) -> tuple[float, float]:
        """Return the smallest and largest number, or 0; NaN if any is NaN."""
        calls = {part: (name, number) for part, number in enumerate(self._n_changes)}
        found = np.array(self._ask("extremes", calls)())
        return float(found[:, 0].min()), float(found[:, 1].max())

    def put(self, name: str, items: np.ndarray, vectors: np.ndarray) -> None:
        """Replace the vectors of some items, in ascending order."""
        start = 0
        for part, (rows,) in self._parts(items).items():
            self._change(part, "put", name, rows, vectors[start : start + len(rows)])
            start += len(rows)

    def change_all(self, name: str, *args: Any) -> None:
        """Let every owner change all its vectors."""
        for part in range(len(self.owners)):
            self._change(part, name, *args)

    def saved(self, read: Mapping[str, ReadRows]) -> None:
        """Note that all vectors are in a checkpoint; `read` returns them by the names of their copies."""
        self._saved, self._keeps_log = read, True
        self._first_change = list(self._n_changes)
        for changes in self._log:
            changes.clear()

    def _parts(self, items: np.ndarray) -> dict[int, tuple[np.ndarray]]:
        """Return row numbers within each part that has some of the items."""
        ends = np.searchsorted(items, self.borders)
        places = enumerate(pairwise(ends))
        return {part: (items[a:b] - self.borders[part],) for part, (a, b) in places if a < b}

    def _change(self, part: int, name: str, *args: Any) -> None:
        self._n_changes[part] += 1
        change = (self._n_changes[part], name, *args)
        if self._keeps_log:
            self._log[part].append(change)
        self.owners[part].call("change", *change)

    def _replace(self, part: int) -> None:
        if self._saved is None:
            raise TacitError(
                f"the machine with items {self._range(part)} was lost in training; with a checkpoint "
                "(--checkpoint DIR) the training would have resumed"
            )
        super()._replace(part)

    def _start(self, part: int) -> Owner:
        """Start a new owner with the words and the saved vectors of its items, and the changes since then."""
        start, stop = (int(border) for border in self.borders[part : part + 2])
        indptr = self._words.indptr[start : stop + 1].astype(np.int64)
        n_vectors = min(stop - start, self.shape[0])
        owner = self._backend.own(ItemOwner, np.diff(indptr), self.shape[1], n_vectors, self._first_change[part])
        for message in self._messages(indptr, start, stop if n_vectors else start):
            owner.call(*message)()  # waits for arrival before the next message
        for change in self._log[part]:
            owner.call("change", *change)
        return owner

    def _messages(self, indptr: np.ndarray, start: int, stop: int) -> Iterator[tuple[Any, ...]]:
        """Yield words and vectors in pieces."""
        for piece in cut(int(indptr[-1] - indptr[0]), SENT_ENTRIES):
            entries = slice(piece.start + int(indptr[0]), piece.stop + int(indptr[0]))
            words, values = self._words.indices[entries], self._words.data[entries]
            yield "fill_words", piece.start, words.astype(np.int32, copy=False), values
        for name, read in (self._saved or {}).items():
            for piece in cut(stop - start, SENT_ROWS):
                yield "fill_vectors", name, piece.start, read(start + piece.start, start + piece.stop)


class OwnedVectors:
    """Vectors of all items, or a copy of them, held by their owners; with the row access of an array."""

    dtype = np.dtype(np.float32)

    def __init__(self, owners: Owners, name: str = "live") -> None:
        self.owners, self.name, self.shape = owners, name, owners.shape

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        if isinstance(rows, slice):
            return self.owners.take_vectors(self.name, np.arange(*rows.indices(len(self))))
        items, places = np.unique(rows, return_inverse=True)
        return self.owners.take_vectors(self.name, items)[places]

    def __setitem__(self, rows: slice, vectors: np.ndarray) -> None:
        self.owners.put(self.name, np.arange(*rows.indices(len(self))), vectors)

    def like(self, name: str) -> OwnedVectors:
        """Return space for a copy."""
        return OwnedVectors(self.owners, name)

    def copy_from(self, source: OwnedVectors) -> None:
        """Copy the vectors, each owner its part."""
        self.owners.change_all("copy", self.name, source.name)

    def move_to(self, source: OwnedVectors, weight: float) -> None:
        """Set (1 - weight) * these + weight * source, each owner its part."""
        self.owners.change_all("move", self.name, source.name, weight)

    def saved(self, read: Mapping[str, ReadRows]) -> None:
        """Note that a checkpoint has the vectors and their copies."""
        self.owners.saved(read)

    def min(self, initial: float = 0) -> float:
        """Return the smallest number, or 0."""
        return self.owners.extremes(self.name)[0]

    def max(self, initial: float = 0) -> float:
        """Return the largest number, or 0; NaN if any is NaN."""
        return self.owners.extremes(self.name)[1]
