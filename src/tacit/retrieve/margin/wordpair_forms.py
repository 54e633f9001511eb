"""The forms of word-pair rankers: how the matrix W of `wordpairs` is stored.

FullPairRanker     the full matrix, from I, from 0 (the margin ranking perceptron), or with its diagonal fixed at 0
HashedPairRanker   hash kernels: pair (s, t) shares bucket (sP + t) mod H of one array with other pairs
SparsePairRanker   a few entries in each row, chosen by recursive feature elimination
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import StoreError, TacitError, check_number
from tacit.kernels.wordpairs import add_identity
from tacit.retrieve.epochs import Schedule
from tacit.retrieve.margin.tasks import TrainingTask
from tacit.retrieve.margin.wordpair_sgd import PRIME, PairWeights, Pattern, Segments, csr_arrays
from tacit.retrieve.margin.wordpairs import WordPairRanker
from tacit.retrieve.training_data import TrainingData

MOST_PAIRS = 1 << 31  # entries of a full matrix: 8 GB, and twice as much again while it is trained
LADDER = (1000, 100, 10)  # entries of a row on the way to a sparse matrix


class FullPairRanker(WordPairRanker):
    """A learned weight for every pair of words, in a dense matrix W.

    The matrix has n_query_words times n_item_words float32 numbers: 3.6 GB for 30,000 words.

    Parameters
    ----------
    identity : {"start", "none", "barred"}, default="start"
        Start at W = I, at W = 0, or at 0 with the diagonal fixed at 0, which learns synonyms only.
    rate : float, default=1.0
        Learning rate.
    margin : float, default=0.2
        A relevant item should score higher than others by this much.
    **training
        Further training parameters of `MarginRanker`.

    Attributes
    ----------
    items_ : csr_array of shape (n_items, n_item_features), float32
        Rows of the items.
    weights_ : ndarray of shape (n_query_words, n_item_words), float32
        W.
    """

    identities: ClassVar[tuple[str, ...]] = ("start", "none", "barred")
    _fitted: ClassVar = {
        "items_": "items item_features",
        "weights_": "query_words item_words",
        "best_epoch_": "",
        "rate_": "",
        "margin_": "",
        "validation_items_": "?",
    }

    def _check_params(self, data: TrainingData) -> None:
        super()._check_params(data)
        n_words, n_item_words = data.queries.shape[1], data.items.shape[1]
        n_pairs = n_words * n_item_words
        if n_pairs > MOST_PAIRS:
            raise TacitError(
                f"a full matrix for {n_words} x {n_item_words} words has {n_pairs:.1e} entries, "
                f"want at most {MOST_PAIRS:.1e}: fewer words, or hashed pairs"
            )

    def _first_weights(self) -> PairWeights:
        matrix = np.zeros((self.n_features_, self.items_.shape[1]), np.float32)
        if self.identity == "start":
            np.fill_diagonal(matrix, 1)
        return Segments.full(matrix)

    def _keep(self, weights: PairWeights, alpha: float) -> None:
        self.weights_: np.ndarray | sp.csr_array = weights.numbers.reshape(-1, self.items_.shape[1])

    @property
    def _n_known(self) -> tuple[int, int]:
        n_words, n_item_words = self.weights_.shape
        return n_words, n_item_words

    def _products(self, rows: sp.csr_array) -> sp.csr_array:
        return _segment_products(Segments.full(self.weights_), rows, self.weights_.shape[1])

    def _weights_of(self, words: np.ndarray, item_words: np.ndarray) -> np.ndarray:
        return self.weights_[np.ix_(words, item_words)].astype(np.float64)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if not isinstance(self.weights_, np.ndarray):
            raise StoreError("the weights are a sparse matrix, want a dense one")


class HashedPairRanker(WordPairRanker):
    """Hash kernels: every pair of words has one of `n_buckets` weights, which other pairs share.

    Parameters
    ----------
    n_buckets : int, default=6_000_000
        Length of the array of weights; it may be shorter than the dictionary.
    identity : {"learned", "none"}, default="learned"
        "learned" adds alpha I, so the weight of equal words does not depend on collisions.
    rate : float, default=0.3
        Learning rate; lower than for a full matrix, because a step changes all pairs of a bucket.
    margin : float, default=0.2
        A relevant item should score higher than others by this much.
    **training
        Further training parameters of `MarginRanker`.

    Attributes
    ----------
    items_ : csr_array of shape (n_items, n_item_features), float32
        Rows of the items.
    buckets_ : ndarray of shape (n_buckets,), float32
        The weights.
    alpha_ : float
        Additional weight of shared words.
    n_words_, n_item_words_ : int
        Words of queries and items at `fit`; words added later have no pairs.
    """

    identities = ("learned", "none")
    _fitted: ClassVar = {
        "items_": "items item_features",
        "buckets_": "buckets",
        "alpha_": "",
        "n_words_": "",
        "n_item_words_": "",
        "best_epoch_": "",
        "rate_": "",
        "margin_": "",
        "validation_items_": "?",
    }

    def __init__(
        self,
        n_buckets: int = 6_000_000,
        *,
        identity: str = "learned",
        rate: float = 0.3,
        margin: float = 0.2,
        **training: Any,
    ) -> None:
        super().__init__(identity=identity, rate=rate, margin=margin, **training)
        self.n_buckets = n_buckets

    def _check_params(self, data: TrainingData) -> None:
        super()._check_params(data)
        check_number("n_buckets", self.n_buckets, low=1, whole=True)

    def _first_weights(self) -> PairWeights:
        return Segments.hashed(np.zeros(self.n_buckets, np.float32))

    def _keep(self, weights: PairWeights, alpha: float) -> None:
        self.buckets_, self.alpha_ = weights.numbers, alpha
        self.n_words_, self.n_item_words_ = self.n_features_, int(self.items_.shape[1])

    @property
    def _n_known(self) -> tuple[int, int]:
        return self.n_words_, self.n_item_words_

    @property
    def _identity_weight(self) -> float:
        return self.alpha_

    def _products(self, rows: sp.csr_array) -> sp.csr_array:
        return _segment_products(Segments.hashed(self.buckets_), rows, self.n_item_words_, self.alpha_)

    def _weights_of(self, words: np.ndarray, item_words: np.ndarray) -> np.ndarray:
        buckets = (words[:, None].astype(np.int64) * PRIME + item_words[None, :]) % len(self.buckets_)
        return self.buckets_[buckets].astype(np.float64) + self.alpha_ * (words[:, None] == item_words[None, :])

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if len(self.buckets_) != self.n_buckets or not self.n_buckets:
            raise StoreError(f"the table has {len(self.buckets_)} buckets, want {max(1, self.n_buckets)}")


class SparsePairRanker(FullPairRanker):
    """W with a few entries in each row, chosen by recursive feature elimination.

    A full matrix is trained; then, in stages of 1000, 100 and 10 entries until `n_per_row` remain, the smallest of
    each row are dropped for good and the rest is trained on, for at most a quarter of the epochs each time.

    Parameters
    ----------
    n_per_row : int, default=100
        Entries that each row keeps.
    identity : {"start", "none"}, default="start"
        Start at W = I or at W = 0.
    **training
        Training parameters of `MarginRanker`.
    """

    identities = ("start", "none")

    _renamed: ClassVar = {"per_row": "n_per_row"}

    def __init__(self, n_per_row: int = 100, **training: Any) -> None:
        super().__init__(**training)
        self.n_per_row = n_per_row

    def _check_params(self, data: TrainingData) -> None:
        super()._check_params(data)
        check_number("n_per_row", self.n_per_row, low=1, whole=True)

    def _train(self, data: TrainingData, rows: sp.csr_array, task: TrainingTask, schedule: Schedule) -> None:
        super()._train(data, rows, task, schedule)
        shorter = replace(
            schedule,
            rate=self.rate_ / 2,
            n_epochs=None if schedule.n_epochs is None else max(1, schedule.n_epochs // 4),
            max_epochs=max(1, schedule.max_epochs // 4),
        )
        rng, stages = np.random.default_rng([self.seed, 1]), self._stages()
        pattern = Pattern.largest_of(self.weights_, stages[0], self.threads)
        for n_per_row in stages:
            pattern = pattern.thinned(n_per_row, self.threads)
            trained, _ = self._run(pattern.copy, data, rows, task, rng, shorter)
            pattern = Pattern(pattern.columns, trained.numbers)

    def _stages(self) -> list[int]:
        return [n_per_row for n_per_row in LADDER if n_per_row > self.n_per_row] + [self.n_per_row]

    def _keep(self, weights: PairWeights, alpha: float) -> None:
        if isinstance(weights, Pattern):
            self.weights_ = weights.matrix(self.items_.shape[1])
        else:
            super()._keep(weights, alpha)

    def _products(self, rows: sp.csr_array) -> sp.csr_array:
        if isinstance(self.weights_, np.ndarray):  # during training: the full matrix before pruning
            return super()._products(rows)
        return rows @ self.weights_

    def _weights_of(self, words: np.ndarray, item_words: np.ndarray) -> np.ndarray:
        return self.weights_[words][:, item_words].toarray().astype(np.float64)

    def _check_loaded(self) -> None:
        WordPairRanker._check_loaded(self)
        if not sp.issparse(self.weights_):
            raise StoreError("the weights are a dense matrix, want a sparse one")


def _segment_products(weights: Segments, rows: sp.csr_array, n_item_words: int, alpha: float = 0.0) -> sp.csr_array:
    """Return x'W + alpha x as CSR rows with an entry for every item word."""
    n_rows, everyone = rows.shape[0], np.arange(rows.shape[0])
    out = np.zeros((n_rows, n_item_words), np.float32)
    weights.add_products(rows, everyone, out, lambda n, add: add(0, n))
    if alpha:
        add_identity(*csr_arrays(rows), everyone, 0, n_rows, np.float32(alpha), out)
    words = np.tile(np.arange(n_item_words, dtype=np.int32), n_rows)
    return sp.csr_array((out.reshape(-1), words, np.arange(n_rows + 1) * n_item_words), shape=out.shape)
