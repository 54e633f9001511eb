"""Rankers with a separate weight for every pair of words: supervised semantic indexing without low rank.

    f(x, y) = x'Wy + alpha x.y        (Bai et al., "Learning to rank with (a lot of) word features", 2010)

W has a row for each query word and a column for each item word; it is stored in one of three forms. All are trained on
the margin ranking loss by `block_sgd`. New items need no training, because W scores their words.

    FullPairRanker     the full matrix, from I, from 0 (the margin ranking perceptron), or with its diagonal fixed at 0
    HashedPairRanker   hash kernels: pair (s, t) shares bucket (sP + t) mod H of one array with other pairs
    SparsePairRanker   a few entries in each row, chosen by recursive feature elimination
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, StoreError, TacitError, check_choice, check_number
from tacit.kernels.wordpairs import add_identity
from tacit.retrieve.epochs import Schedule
from tacit.retrieve.explanation import Term, difference, sparse_row
from tacit.retrieve.factors import ItemFactors, append_rows, make_factors
from tacit.retrieve.margin.base import SgdRanker
from tacit.retrieve.margin.tasks import TrainingTask
from tacit.retrieve.margin.wordpair_sgd import (
    PRIME,
    PairSettings,
    PairWeights,
    Pattern,
    Segments,
    WordPairTrainer,
    csr_arrays,
)
from tacit.retrieve.training_data import TrainingData

MOST_PAIRS = 1 << 31  # entries of a full matrix: 8 GB, and twice as much again while it is trained
LADDER = (1000, 100, 10)  # entries of a row on the way to a sparse matrix


class WordPairRanker(SgdRanker):
    """Base of all word-pair rankers.

    Parameters
    ----------
    identity : str, default="start"
        Weight of the words that query and item share; each form says what it offers.
    rate : float, default=1.0
        Learning rate.
    margin : float, default=0.2
        A relevant item should score higher than others by this much.
    patience : int, default=4
        Number of epochs without improvement after which training ends, if `n_epochs` is None.
    average : float, default=0.7
        Weight of earlier epochs in the running average of the parameters; 0 means no average. Lower than for vectors,
        because weights of word pairs converge in a few, slow epochs.
    dropout : float, default=0.0
        Fraction of a query's words that each visit drops.
    **training
        Further training parameters of `MarginRanker`.
    """

    identities: ClassVar[tuple[str, ...]] = ()
    by_word_pairs: ClassVar[bool] = True

    def __init__(
        self,
        *,
        identity: str = "start",
        rate: float = 1.0,
        margin: float = 0.2,
        patience: int = 4,
        average: float = 0.7,
        dropout: float = 0.0,
        **training: Any,
    ) -> None:
        super().__init__(rate=rate, margin=margin, patience=patience, average=average, dropout=dropout, **training)
        self.identity = identity

    def _check_params(self, data: TrainingData) -> None:
        super()._check_params(data)
        queries, items = data.queries, data.items
        check_choice("identity", self.identity, self.identities)
        if self.identity != "none" and queries.shape[1] != items.shape[1]:
            raise TacitError(
                f"queries have {queries.shape[1]} features and items {items.shape[1]}: two dictionaries; "
                'want one for both, or identity="none"'
            )

    def _training_rows(self, data: TrainingData) -> sp.csr_array:
        return sp.csr_array(data.queries)

    def _train(self, data: TrainingData, rows: sp.csr_array, task: TrainingTask, schedule: Schedule) -> None:
        rng = np.random.default_rng(self.seed)
        self.epochs_ = []
        _, self.rate_ = self._run(self._first_weights, data, rows, task, rng, schedule)

    def _run(
        self,
        first: Callable[[], PairWeights],
        data: TrainingData,
        rows: sp.csr_array,
        task: TrainingTask,
        rng: np.random.Generator,
        schedule: Schedule,
    ) -> tuple[PairWeights, float]:
        """Train weights and become the ranker of their best epoch; return them, and the rate if it had to be halved."""
        settings = PairSettings(
            **self._block_settings(task, schedule),
            learn_alpha=self.identity == "learned",
            bar_diagonal=self.identity == "barred",
        )
        alpha = 1.0 if self.identity == "learned" else 0.0
        trainer = WordPairTrainer(first, alpha, rows, self.items_, data.queries_are_items, settings, self.threads)

        measured = self._measured(task)

        def measure() -> dict[str, np.ndarray]:
            measured._keep(*trainer.averaged)
            return task.values(measured)

        n_before = len(self.epochs_)
        history = self._run_epochs(trainer, task, measure, rng, schedule, data.stage())
        self.epochs_ += [epoch | {"epoch": n_before + epoch["epoch"]} for epoch in history.epochs]
        self.best_epoch_ = n_before + history.best_epoch
        self._keep(trainer.weights, trainer.alpha)
        return trainer.weights, history.rate

    @abstractmethod
    def _first_weights(self) -> PairWeights:
        """W where training starts."""

    @abstractmethod
    def _keep(self, weights: PairWeights, alpha: float) -> None:
        """Make the ranker that these weights mean, without copying them."""

    @property
    @abstractmethod
    def _n_known(self) -> tuple[int, int]:
        """Query words and item words that W has rows and columns for; words added later have no rows or columns."""

    @property
    def _identity_weight(self) -> float:
        """Weight of a shared word that W does not know."""
        return 1.0 if self.identity == "start" else 0.0

    @abstractmethod
    def _products(self, rows: sp.csr_array) -> sp.csr_array:
        """x'W + alpha x for some queries, over the words that W knows."""

    @abstractmethod
    def _weights_of(self, words: np.ndarray, item_words: np.ndarray) -> np.ndarray:
        """W + alpha I for some words of each side that W knows, float64."""

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [make_factors(self.items_)]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        rows, (n_words, n_item_words) = sp.csr_array(queries), self._n_known
        if n_item_words == self.items_.shape[1]:
            return [self._products(sp.csr_array(rows[:, :n_words]))]
        # Columns of words that were added are words of both sides, or of the items alone.
        added = sp.csr_array((rows.shape[0], self.items_.shape[1] - n_item_words), dtype=np.float32)
        if self._identity_weight:
            added = np.float32(self._identity_weight) * rows[:, n_words:]
        return [sp.csr_array(sp.hstack([self._products(sp.csr_array(rows[:, :n_words])), added], format="csr"))]

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        (words, values), item = sparse_row(query), difference(self.items_, a, b)
        n_words, n_item_words = self._n_known
        known, others = words < n_words, np.flatnonzero(item[:n_item_words])
        joined = self._weights_of(words[known], others) * values[known][:, None] * item[others][None, :]
        found = zip(*np.nonzero(joined), strict=True)
        terms = [self._term(int(words[known][s]), int(others[t]), float(joined[s, t])) for s, t in found]
        if self._identity_weight:
            added = values[~known] * self._identity_weight * item[words[~known]]
            terms += [Term("word", int(w), int(w), float(v)) for w, v in zip(words[~known], added, strict=True) if v]
        return terms

    def _term(self, word: int, item_word: int, value: float) -> Term:
        is_shared = self.identity != "none" and word == item_word  # two dictionaries may share numbers, not words
        return Term("word" if is_shared else "pair", word, item_word, value)

    def _check_loaded(self) -> None:
        if self.identity not in self.identities:
            raise StoreError(f"identity is {self.identity!r}, want one of {', '.join(self.identities)}")
        if not sp.issparse(self.items_):
            raise StoreError("items are a dense matrix, want a sparse one")
        if self.identity != "none" and self.items_.shape[1] != self.n_features_:
            raise StoreError(f"items have {self.items_.shape[1]} features, want {self.n_features_} as queries")
        n_words, n_item_words = self._n_known
        if not self._fits(n_words, self.n_features_) or not self._fits(n_item_words, self.items_.shape[1]):
            raise StoreError(
                f"the weights are for {n_words} and {n_item_words} words, want {self.n_features_} "
                f"and {self.items_.shape[1]}"
            )

    def _add_items(self, items: Features) -> None:
        self.items_ = append_rows(self.items_, items)


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
    _fitted: ClassVar = {"items_": "items item_features", "weights_": "query_words item_words", **SgdRanker._fitted}

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
        **SgdRanker._fitted,
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
