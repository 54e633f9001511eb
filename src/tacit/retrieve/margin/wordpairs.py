"""Rankers with a weight of its own for every pair of words: supervised semantic indexing without low rank.

    f(x, y) = x'Wy + alpha x.y        (Bai et al., "Learning to rank with (a lot of) word features", 2010)

W has a row for each query word and a column for each item word; how it is held is the form (`wordpair_forms`).
All are trained on the margin ranking loss by `block_sgd`. New items need no training: W knows their words.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, StoreError, TacitError, check_choice, check_number
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.explanation import Term, difference, sparse_row
from tacit.retrieve.factors import ItemFactors, append_rows, make_factors
from tacit.retrieve.margin.tasks import TrainingTask, make_task
from tacit.retrieve.margin.training import block_for, choose_rate_and_margin, epochs_for, n_drawn_for, run_epochs
from tacit.retrieve.margin.wordpair_sgd import PairSettings, PairWeights, WordPairTrainer

MARGINS = (0.1, 0.2, 0.4)


class WordPairRanker(CollectionRanker):
    """What all forms share; `identity` says what becomes of the words that query and item have in common.

    rate, margin: of the SGD; `tune` chooses them on validation (a third of the epochs each, rates around `rate`).
    n_epochs: None = 8, more for small training sets. Learned: epochs_, one dict of loss and validation measures
    for each epoch; the weights are those of the best epoch.
    """

    identities: ClassVar[tuple[str, ...]] = ()
    needs_pairs: ClassVar[bool] = True
    by_word_pairs: ClassVar[bool] = True

    def __init__(
        self,
        *,
        identity: str = "start",
        rate: float = 1.0,
        margin: float = 0.2,
        n_epochs: int | None = None,
        tune: bool = False,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.identity, self.rate, self.margin, self.n_epochs = identity, rate, margin, n_epochs
        self.tune, self.seed, self.threads = tune, seed, threads

    def _fit(
        self, queries: Features, items: Features, pairs: Links | np.ndarray | None, validation: Links | None
    ) -> None:
        self._check_params(queries, items)
        task = make_task(pairs, validation, queries, items, self._queries_are_items, self.seed)
        self.items_, rows = sp.csr_array(items), sp.csr_array(queries)
        n_epochs = self.n_epochs or epochs_for(task.n_visits)
        self.rate_, self.margin_ = float(self.rate), float(self.margin)
        if self.tune:
            self._tune(rows, task, max(2, n_epochs // 3))
        self._train(rows, task, n_epochs)

    def _check_params(self, queries: Features, items: Features) -> None:
        check_choice("identity", self.identity, self.identities)
        check_number("seed", self.seed, low=0, whole=True)
        for name in ("rate", "margin"):
            check_number(name, getattr(self, name), low=0, open_low=True)
        if self.n_epochs is not None:
            check_number("n_epochs", self.n_epochs, low=1, whole=True)
        if self.identity != "none" and queries.shape[1] != items.shape[1]:
            raise TacitError(
                f"queries have {queries.shape[1]} features and items {items.shape[1]}: two dictionaries; "
                'want one for both, or identity="none"'
            )

    def _tune(self, rows: sp.csr_array, task: TrainingTask, n_epochs: int) -> None:
        def value(rate: float, margin: float) -> float:
            self.rate_, self.margin_ = rate, margin
            self._train(rows, task, n_epochs)
            return max(epoch[task.target] for epoch in self.epochs_)

        rates = [factor * self.rate for factor in (0.5, 1.0, 2.0)]
        self.rate_, self.margin_ = choose_rate_and_margin(value, rates, MARGINS, self.margin)

    def _train(self, rows: sp.csr_array, task: TrainingTask, n_epochs: int) -> None:
        """Learn the weights from their start."""
        rng = np.random.default_rng(self.seed)
        self.epochs_: list[dict[str, float]] = []
        _, self.rate_ = self._run(self._first_weights, rows, task, rng, self.rate_, n_epochs)

    def _run(
        self,
        first: Callable[[], PairWeights],
        rows: sp.csr_array,
        task: TrainingTask,
        rng: np.random.Generator,
        rate: float,
        n_epochs: int,
    ) -> tuple[PairWeights, float]:
        """Train weights and become the ranker of their best epoch; return them, and the rate if it had to be halved."""
        settings = PairSettings(
            block=block_for(task.n_visits),
            n_drawn=n_drawn_for(self.items_.shape[0]),
            margin=self.margin_,
            learn_alpha=self.identity == "learned",
            bar_diagonal=self.identity == "barred",
        )
        alpha = 1.0 if self.identity == "learned" else 0.0
        trainer = WordPairTrainer(first, alpha, rows, self.items_, self._queries_are_items, settings, self.threads)

        def measure() -> dict[str, float]:
            self._keep(trainer.weights, trainer.alpha)
            return task.measure(self)

        history, n_before = run_epochs(trainer, trainer, task, measure, rng, rate, n_epochs), len(self.epochs_)
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

    @abstractmethod
    def _products(self, rows: sp.csr_array) -> sp.csr_array:
        """x'W + alpha x for some queries."""

    @abstractmethod
    def _weights_of(self, words: np.ndarray, item_words: np.ndarray) -> np.ndarray:
        """W + alpha I for some words of each side, float64."""

    def _make_item_factors(self) -> Sequence[ItemFactors]:
        return [make_factors(self.items_)]

    def _query_factors(self, queries: Features) -> Sequence[Features]:
        return [self._products(sp.csr_array(queries))]

    def _terms(self, query: Features, a: int, b: int | None) -> list[Term]:
        (words, values), item = sparse_row(query), difference(self.items_, a, b)
        others = np.flatnonzero(item)
        joined = self._weights_of(words, others) * values[:, None] * item[others][None, :]
        found = zip(*np.nonzero(joined), strict=True)
        return [self._term(int(words[s]), int(others[t]), float(joined[s, t])) for s, t in found]

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

    def check_new_items(self) -> None:
        """Any item can be added."""

    def _add_items(self, items: Features) -> None:
        self.items_ = append_rows(self.items_, items)
