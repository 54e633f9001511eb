"""Rankers with a separate weight for every pair of words: supervised semantic indexing without low rank.

    f(x, y) = x'Wy + alpha x.y        (Bai et al., "Learning to rank with (a lot of) word features", 2010)

W has a row for each query word and a column for each item word; `wordpair_forms` has the ways to store it.
All are trained on the margin ranking loss by `block_sgd`. New items need no training, because W scores their words.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, StoreError, TacitError, check_choice
from tacit.retrieve.epochs import Schedule
from tacit.retrieve.explanation import Term, difference, sparse_row
from tacit.retrieve.factors import ItemFactors, append_rows, make_factors
from tacit.retrieve.margin.base import SgdRanker
from tacit.retrieve.margin.tasks import TrainingTask
from tacit.retrieve.margin.wordpair_sgd import PairSettings, PairWeights, WordPairTrainer
from tacit.retrieve.training_data import TrainingData


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

    def check_new_items(self) -> None:
        """Accept all items."""

    def _add_items(self, items: Features) -> None:
        self.items_ = append_rows(self.items_, items)
