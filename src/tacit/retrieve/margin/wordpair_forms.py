"""The forms of word pair rankers: how the matrix W of `wordpairs` is held.

FullPairRanker     the whole matrix, from I, from 0 (the margin ranking perceptron), or with its diagonal barred
HashedPairRanker   hash kernels: pair (s, t) shares place (sP + t) mod H of one array with other pairs
SparsePairRanker   a few entries in each row, chosen by recursive feature elimination
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, StoreError, TacitError, check_number
from tacit.kernels.wordpairs import add_identity
from tacit.retrieve.margin.tasks import TrainingTask
from tacit.retrieve.margin.wordpair_sgd import PRIME, PairWeights, Pattern, Segments, csr_arrays
from tacit.retrieve.margin.wordpairs import WordPairRanker

MOST_PAIRS = 1 << 31  # entries of a full matrix: 8 GB, and as much again while it is trained
LADDER = (1000, 100, 10)  # entries of a row on the way to a sparse matrix


class FullPairRanker(WordPairRanker):
    """W as a dense float32 matrix: n_query_words times n_item_words numbers, 3.6 GB for 30,000 words.

    identity: "start" begins at W = I, "none" at W = 0, "barred" at 0 with the diagonal held there: synonyms only.
    """

    identities: ClassVar[tuple[str, ...]] = ("start", "none", "barred")
    _fitted: ClassVar = {
        "items_": "items item_features",
        "weights_": "features item_features",
        "best_epoch_": "",
        "rate_": "",
        "margin_": "",
    }

    def _check_params(self, queries: Features, items: Features) -> None:
        super()._check_params(queries, items)
        n_pairs = queries.shape[1] * items.shape[1]
        if n_pairs > MOST_PAIRS:
            raise TacitError(
                f"a full matrix for {queries.shape[1]} x {items.shape[1]} words has {n_pairs:.1e} entries, "
                f"want at most {MOST_PAIRS:.1e}: fewer words, or hashed pairs"
            )

    def _first_weights(self) -> PairWeights:
        matrix = np.zeros((self.n_features_, self.items_.shape[1]), np.float32)
        if self.identity == "start":
            np.fill_diagonal(matrix, 1)
        return Segments.full(matrix)

    def _keep(self, weights: PairWeights, alpha: float) -> None:
        self.weights_: np.ndarray | sp.csr_array = weights.numbers.reshape(-1, self.items_.shape[1])

    def _products(self, rows: sp.csr_array) -> sp.csr_array:
        return _segment_products(Segments.full(self.weights_), rows, self.items_.shape[1])

    def _weights_of(self, words: np.ndarray, item_words: np.ndarray) -> np.ndarray:
        return self.weights_[np.ix_(words, item_words)].astype(np.float64)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if not isinstance(self.weights_, np.ndarray):
            raise StoreError("the weights are a sparse matrix, want a dense one")


class HashedPairRanker(WordPairRanker):
    """Hash kernels: W in an array of n_buckets numbers; every pair of words has one of them, and others share it.

    identity: "learned" adds alpha I beside the table, so that equal words do not depend on luck; "none" does not.
    A third of a full matrix's rate: what a pair learns moves all pairs of its place, and rank loss pays for more.
    """

    identities = ("learned", "none")
    _renamed: ClassVar = {"n_places": "n_buckets", "places_": "buckets_"}
    _fitted: ClassVar = {
        "items_": "items item_features",
        "buckets_": "places",
        "alpha_": "",
        "best_epoch_": "",
        "rate_": "",
        "margin_": "",
    }

    def __init__(
        self,
        n_buckets: int = 6_000_000,
        *,
        identity: str = "learned",
        rate: float = 0.3,
        margin: float = 0.2,
        n_epochs: int | None = None,
        tune: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        super().__init__(
            identity=identity, rate=rate, margin=margin, n_epochs=n_epochs, tune=tune, seed=seed, threads=threads
        )
        self.n_buckets = n_buckets

    def _check_params(self, queries: Features, items: Features) -> None:
        super()._check_params(queries, items)
        # With fewer places than item words, a row of W would share places with itself.
        check_number("n_buckets", self.n_buckets, low=max(1, items.shape[1]), whole=True)

    def _first_weights(self) -> PairWeights:
        return Segments.hashed(np.zeros(self.n_buckets, np.float32))

    def _keep(self, weights: PairWeights, alpha: float) -> None:
        self.buckets_, self.alpha_ = weights.numbers, alpha

    def _products(self, rows: sp.csr_array) -> sp.csr_array:
        return _segment_products(Segments.hashed(self.buckets_), rows, self.items_.shape[1], self.alpha_)

    def _weights_of(self, words: np.ndarray, item_words: np.ndarray) -> np.ndarray:
        places = (words[:, None].astype(np.int64) * PRIME + item_words[None, :]) % len(self.buckets_)
        return self.buckets_[places].astype(np.float64) + self.alpha_ * (words[:, None] == item_words[None, :])

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if len(self.buckets_) != self.n_buckets or self.n_buckets < self.items_.shape[1]:
            found, n_words = len(self.buckets_), self.items_.shape[1]
            raise StoreError(f"the table has {found} buckets, want {self.n_buckets}, for {n_words} item words")


class SparsePairRanker(FullPairRanker):
    """W with per_row entries in each row, by recursive feature elimination.

    A full matrix is trained; then, down a ladder of 1000, 100, 10 entries until per_row remain, the smallest of
    each row are dropped for good and the rest is trained on, for a quarter of the epochs each time.
    identity: "start" begins at W = I, "none" at W = 0.
    """

    identities = ("start", "none")

    def __init__(
        self,
        per_row: int = 100,
        *,
        identity: str = "start",
        rate: float = 1.0,
        margin: float = 0.2,
        n_epochs: int | None = None,
        tune: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        super().__init__(
            identity=identity, rate=rate, margin=margin, n_epochs=n_epochs, tune=tune, seed=seed, threads=threads
        )
        self.per_row = per_row

    def _check_params(self, queries: Features, items: Features) -> None:
        super()._check_params(queries, items)
        check_number("per_row", self.per_row, low=1, whole=True)

    def _train(self, rows: sp.csr_array, task: TrainingTask, n_epochs: int) -> None:
        super()._train(rows, task, n_epochs)
        rng, stages = np.random.default_rng([self.seed, 1]), self._stages()
        pattern = Pattern.largest_of(self.weights_, stages[0], self.threads)
        for per_row in stages:
            pattern = pattern.thinned(per_row, self.threads)
            trained, _ = self._run(pattern.copy, rows, task, rng, self.rate_ / 2, max(1, n_epochs // 4))
            pattern = Pattern(pattern.columns, trained.numbers)

    def _stages(self) -> list[int]:
        return [per_row for per_row in LADDER if per_row > self.per_row] + [self.per_row]

    def _keep(self, weights: PairWeights, alpha: float) -> None:
        if isinstance(weights, Pattern):
            self.weights_ = weights.matrix(self.items_.shape[1])
        else:
            super()._keep(weights, alpha)

    def _products(self, rows: sp.csr_array) -> sp.csr_array:
        if isinstance(self.weights_, np.ndarray):  # on the way: the full matrix that will be thinned
            return super()._products(rows)
        return rows @ self.weights_

    def _weights_of(self, words: np.ndarray, item_words: np.ndarray) -> np.ndarray:
        return self.weights_[words][:, item_words].toarray().astype(np.float64)

    def _check_loaded(self) -> None:
        WordPairRanker._check_loaded(self)
        if not sp.issparse(self.weights_):
            raise StoreError("the weights are a dense matrix, want a sparse one")


def _segment_products(weights: Segments, rows: sp.csr_array, n_item_words: int, alpha: float = 0.0) -> sp.csr_array:
    """x'W + alpha x as CSR rows in which every item word stands."""
    n_rows, everyone = rows.shape[0], np.arange(rows.shape[0])
    out = np.zeros((n_rows, n_item_words), np.float32)
    weights.add_products(rows, everyone, out, lambda n, add: add(0, n))
    if alpha:
        add_identity(*csr_arrays(rows), everyone, 0, n_rows, np.float32(alpha), out)
    words = np.tile(np.arange(n_item_words, dtype=np.int32), n_rows)
    return sp.csr_array((out.reshape(-1), words, np.arange(n_rows + 1) * n_item_words), shape=out.shape)
