"""Weights for pairs of words, and one block of SGD on them (forms and formula in `wordpairs`).

There are at most three copies of the weights, because a full matrix takes gigabytes: the current weights, their average
over epochs if there is one, and the best so far, which is also restored after divergence (`retrieve.snapshots`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from tacit.core import cut, map_blocks
from tacit.kernels import blocks, triples, wordpairs
from tacit.retrieve.margin.block_sgd import BlockSettings, BlockTrainer, Comparison, FindGradients
from tacit.retrieve.snapshots import Snapshots

HASHED_RUN = 1 << 14  # consecutive buckets of one owner
# A prime far beyond any dictionary: the rows of a hashed table then start all over it, whatever its size.
PRIME = 2_038_074_743

Over = Callable[[int, Callable[[int, int], None]], None]


@dataclass(frozen=True)
class BlockUpdate:
    """Updates from the queries of a block: a step over item words for each, and where it is not 0.

    rows, queries: all query rows, and which of them; index: postings of their words (`blocks.index_queries`).
    """

    rows: sp.csr_array
    queries: np.ndarray
    index: tuple[np.ndarray, ...]
    steps: np.ndarray
    touched: np.ndarray
    n_touched: np.ndarray


class PairWeights(ABC):
    """W (query words by item words); `numbers` is the float32 array that is trained."""

    numbers: np.ndarray

    @abstractmethod
    def add_products(self, rows: sp.csr_array, queries: np.ndarray, out: np.ndarray, over: Over) -> None:
        """out[b] += x_b W for the named rows, in parallel by `over`."""

    @abstractmethod
    def learn(self, update: BlockUpdate, rate: float, owner: int, n_owners: int) -> None:
        """W += rate * sum_b x_b step_b', in the part of this owner."""


class Segments(PairWeights):
    """Pair (s, t) at position (s * stride + t) mod n_buckets of one array: a full matrix, or a hashed one."""

    def __init__(self, numbers: np.ndarray, stride: int, run: int) -> None:
        self.numbers, self.stride, self.run = numbers, stride, run

    @classmethod
    def full(cls, matrix: np.ndarray) -> Segments:
        """A matrix (C-contiguous); an owner has whole rows."""
        n_item_words = max(1, matrix.shape[1])
        return cls(matrix.reshape(-1), n_item_words, n_item_words)

    @classmethod
    def hashed(cls, buckets: np.ndarray) -> Segments:
        """A hash table in which pairs share buckets."""
        return cls(buckets, PRIME, HASHED_RUN)

    def add_products(self, rows: sp.csr_array, queries: np.ndarray, out: np.ndarray, over: Over) -> None:
        """Each thread has a range of item words."""

        def add(first: int, last: int) -> None:
            wordpairs.add_segments(*csr_arrays(rows), queries, first, last, self.numbers, self.stride, out)

        over(out.shape[1], add)

    def learn(self, update: BlockUpdate, rate: float, owner: int, n_owners: int) -> None:
        """Owners take turns at runs of buckets."""
        words = update.rows.indptr, update.rows.indices, update.queries
        steps = update.steps, update.touched, update.n_touched
        layout = np.float32(rate), self.stride, self.run, self.numbers
        wordpairs.learn_segments(*words, *update.index, *steps, *layout, owner, n_owners)


class Pattern(PairWeights):
    """A fixed number of columns (n_query_words, per_row) in each row, rising, with their values."""

    def __init__(self, columns: np.ndarray, values: np.ndarray) -> None:
        self.columns, self.numbers = columns, values

    @classmethod
    def largest_of(cls, matrix: np.ndarray, per_row: int, threads: int | None = None) -> Pattern:
        """The entries of each row that are largest in size; of equal ones the first."""
        columns = np.empty((len(matrix), min(per_row, matrix.shape[1])), np.int32)

        def find(part: slice) -> None:
            wordpairs.find_largest(matrix, part.start, part.stop, columns)

        map_blocks(find, cut(len(matrix), 1024), threads)
        return cls(columns, np.take_along_axis(matrix, columns, axis=1))

    def thinned(self, per_row: int, threads: int | None = None) -> Pattern:
        """The same with fewer entries in each row, the largest."""
        kept = Pattern.largest_of(self.numbers, per_row, threads)
        return Pattern(np.take_along_axis(self.columns, kept.columns, axis=1), kept.numbers)

    def copy(self) -> Pattern:
        """Return the same pattern with copied values."""
        return Pattern(self.columns, self.numbers.copy())

    def matrix(self, n_item_words: int) -> sp.csr_array:
        """W as CSR, sharing the values."""
        n_rows, per_row = self.columns.shape
        starts = np.arange(0, n_rows * per_row + 1, per_row) if per_row else np.zeros(n_rows + 1, np.int64)
        return sp.csr_array((self.numbers.reshape(-1), self.columns.reshape(-1), starts), shape=(n_rows, n_item_words))

    def add_products(self, rows: sp.csr_array, queries: np.ndarray, out: np.ndarray, over: Over) -> None:
        """Each thread has a range of queries."""

        def add(start: int, stop: int) -> None:
            wordpairs.add_pattern(*csr_arrays(rows), queries, start, stop, self.columns, self.numbers, out)

        over(len(queries), add)

    def learn(self, update: BlockUpdate, rate: float, owner: int, n_owners: int) -> None:
        """An owner has whole rows."""
        steps = update.steps, update.n_touched, np.float32(rate)
        rows = csr_arrays(update.rows)
        wordpairs.learn_pattern(*rows, update.queries, *steps, self.columns, self.numbers, owner, n_owners)


@dataclass(frozen=True)
class PairSettings(BlockSettings):
    """Also: whether alpha, the weight of the identity, is trained; whether W's diagonal is fixed at 0."""

    learn_alpha: bool = False
    bar_diagonal: bool = False


class WordPairTrainer(BlockTrainer):
    """Changes weights and alpha in place, starting from `first()`."""

    settings: PairSettings

    def __init__(
        self,
        first: Callable[[], PairWeights],
        alpha: float,
        queries: sp.csr_array,
        items: sp.csr_array,
        queries_are_items: bool,
        settings: PairSettings,
        threads: int | None = None,
    ) -> None:
        super().__init__(items.shape[0], queries_are_items, settings, threads)
        self.weights, self.queries, self.items = first(), self._with_dropout(queries), items
        self._alpha = np.array([alpha])
        self.state = Snapshots(
            {"numbers": self.weights.numbers, "alpha": self._alpha},
            first=lambda: {"numbers": first().numbers, "alpha": np.array([alpha])},
        )
        self._comparison = Comparison(len(self._pool), settings.block)
        shape = settings.block, items.shape[1]
        self._vectors, self._steps = (np.empty(shape, np.float32) for _ in range(2))
        self._touched, self._n_touched = np.empty(shape, np.int32), np.zeros(settings.block, np.int64)
        n_words, longest = queries.shape[1], int(np.diff(queries.indptr).max(initial=0))
        places, posts = (np.zeros(n_words, np.int64) for _ in range(2)), settings.block * longest
        self._index = (*places, np.empty(posts, np.int64), np.empty(posts, np.float32))

    @property
    def alpha(self) -> float:
        """Weight of the identity."""
        return float(self._alpha[0])

    def _step(self, queries: np.ndarray, n_pool: int, find_gradients: FindGradients, rate: float) -> None:
        """Project, score, find gradients, update the weights."""
        rows, pool, n_queries = self.queries, self._pool[:n_pool], len(queries)
        blocks.index_queries(*csr_arrays(rows), queries, *self._index)
        self._vectors[:n_queries] = 0
        self.weights.add_products(rows, queries, self._vectors, self._over)
        self._over(n_queries, partial(self._add_identity, queries))
        self._over(n_pool, partial(self._score, pool, n_queries))
        self._over(n_queries, partial(self._find_gradients, pool, find_gradients))
        update = BlockUpdate(rows, queries, self._index, self._steps, self._touched, self._n_touched)
        self._each_owner(lambda owner: self.weights.learn(update, rate, owner, self.n_threads))
        if self.settings.learn_alpha:
            self._alpha += rate * self._alpha_step(queries)
        if self.settings.bar_diagonal:
            self._clear_diagonal(queries)
        blocks.clear_index(rows.indptr, rows.indices, queries, *self._index[:2])

    def _visit(
        self, given: np.ndarray, weights: np.ndarray, rng: np.random.Generator, rates: tuple[float, float]
    ) -> float:
        """Use one compiled loop if triples are visited sequentially and in full, and W is one array."""
        settings, W = self.settings, self.weights
        if not settings.uniform or settings.dropout or not isinstance(W, Segments):
            return super()._visit(given, weights, rng, rates)
        ones = np.ones(self.items.shape[1] if self.alpha or settings.learn_alpha else 0, np.float32)
        total, self._alpha[0] = triples.visit_pairs(
            csr_arrays(self.queries), csr_arrays(self.items), given, weights, rates, np.float32(settings.margin),
            settings.learn_alpha, settings.bar_diagonal, W.numbers, W.stride, self.alpha, ones,
        )  # fmt: skip
        return total / max(1, len(given))

    def _add_identity(self, queries: np.ndarray, start: int, stop: int) -> None:
        if self.alpha:
            alpha = np.float32(self.alpha)
            wordpairs.add_identity(*csr_arrays(self.queries), queries, start, stop, alpha, self._vectors)

    def _score(self, pool: np.ndarray, n_queries: int, start: int, stop: int) -> None:
        self._comparison.gradients[start:stop, :n_queries] = 0
        scores = self._comparison.scores
        wordpairs.score_words(*csr_arrays(self.items), pool, start, stop, self._vectors, n_queries, scores)

    def _find_gradients(self, pool: np.ndarray, find_gradients: FindGradients, start: int, stop: int) -> None:
        find_gradients(self._comparison, 1.0, start, stop)
        changed = self._comparison.gradients, start, stop, self._steps, self._touched, self._n_touched
        wordpairs.word_steps(*csr_arrays(self.items), pool, *changed)

    def _alpha_step(self, queries: np.ndarray) -> float:
        """Mean over the block of x_b . step_b: a sum would make steps of this one number too large."""
        shared = self.queries[queries].multiply(self._steps[: len(queries)])
        return float(shared.sum(dtype=np.float64)) / len(queries)

    def _clear_diagonal(self, queries: np.ndarray) -> None:
        words = np.unique(self.queries[queries].indices).astype(np.int64)
        self.weights.numbers[words * (self.items.shape[1] + 1)] = 0

    @property
    def averaged(self) -> tuple[PairWeights, float]:
        """Weights and alpha to rank with."""
        weights, arrays = copy(self.weights), self.state.averaged
        weights.numbers = arrays["numbers"]
        return weights, float(arrays["alpha"][0])

    def decay(self, share: float) -> None:
        """Weights of pairs of words do not decay."""


def csr_arrays(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three arrays that a compiled loop reads."""
    return matrix.indptr, matrix.indices, matrix.data
