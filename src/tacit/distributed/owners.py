"""The owners of all items, from the view of the training process.

A call to an owner on a lost machine starts a new owner: it gets the words again, the vectors of the last checkpoint,
and the changes since then, which are kept until the next checkpoint. Without a checkpoint the training ends with an
error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError, cut
from tacit.distributed.backend import Backend, Owner, Parts
from tacit.distributed.owner import ItemOwner, Rows

if TYPE_CHECKING:
    from tacit.distributed.validation import Question

SENT_ENTRIES, SENT_ROWS = 4 << 20, 1 << 14  # maximum of words and vectors per message

ReadRows = Callable[[int, int], np.ndarray]  # returns vectors from one row to another


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
        """Let every owner count its candidates for `validation`; return the sums."""
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
