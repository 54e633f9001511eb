"""Training parameters and the fitting procedure that all rankers trained on the margin ranking loss share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from tacit.core import DivergedError, check_choice, check_number, check_numbers
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.checkpoint import Stage
from tacit.retrieve.epochs import EpochLog, Schedule, TrainingHistory, WithRecipe, run_epochs
from tacit.retrieve.margin.block_sgd import BlockTrainer
from tacit.retrieve.margin.tasks import TrainingTask, make_task
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.validation import best_weight

LARGEST_BLOCK, LARGEST_TRIPLE_BLOCK = 64, 256  # a triple has two items, where a query has a pool of them
MOST_DRAWN, FEWEST_DRAWN, DRAWN_SHARE = 1000, 100, 0.1
FEWEST_BLOCKS = 75  # blocks of an epoch: a small training set is visited more often, because single steps change little
TUNING_EPOCHS = 3  # of each setting that `tune` tries, where no number of epochs is given
TUNED_FACTORS = (0.5, 1.0, 2.0)  # of rate and margin, tried by `tune`
PRINTED_FACTORS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of the rate, with the printed recipe: it depends on `start`
NEGATIVES = ("mined", "uniform")


class MarginRanker(WithRecipe, CollectionRanker):
    """Base of rankers trained on pairs by SGD on the margin ranking loss (`block_sgd`).

    Parameters
    ----------
    rate : float, default=0.1
        Learning rate.
    margin : float, default=0.1
        A relevant item should score higher than others by this much.
    n_epochs : int or None, default=None
        None means that training continues at a constant rate until the validation measure stops rising. A number is
        the number of visits to every training query; the rate then falls linearly to 0, without averaging.
    max_epochs : int, default=60
        Maximum number of epochs if `n_epochs` is None. An epoch visits every training query once, or more often if the
        training set is small, so that it has at least 75 blocks of queries.
    patience : int, default=8
        Number of epochs without improvement after which training ends, if `n_epochs` is None.
    average : float, default=0.9
        Weight of earlier epochs in the running average of the parameters, which is measured and kept; 0 means
        no average.
    dropout : float, default=0.3
        Fraction of a query's words that each visit drops.
    tune : bool, default=False
        Choose rate and margin on validation, from half, once and twice the given values. With the printed
        recipe, only the rate, from 0.01 to 3 times the given one.
    recipe : {"mined", "printed"}, default="mined"
        "printed" trains as in the papers: negatives="uniform", margin 1, a constant rate for any `n_epochs`, and no
        average, dropout or decay. Parameters that are not given have the recipe's values; other values are refused.
    negatives : {"mined", "uniform"}, default="mined"
        "mined": blocks of queries against the best-scored of the drawn items. "uniform": one step for one triple, a
        training pair and one item drawn from all others; an epoch has as many steps as there are pairs.
    n_drawn : int or None, default=None
        Items drawn for a block of queries; None means a tenth of the items, at least 100 and at most 1,000.
    n_hardest : int, default=20
        Number of best-scored drawn items that are the negatives of a query.
    weigh_ranks : bool, default=True
        Weight a relevant item by log(1 + rank) / log(1 + n_items), with its rank estimated from the drawn items; False
        gives equal weights.
    max_positives : int, default=20
        Maximum number of relevant items of a query that one visit uses.
    seed : int, default=0
        Random seed.
    threads : int or None, default=None
        Number of threads; None means all cores. The result does not depend on it.
    """

    needs_pairs: ClassVar[bool] = True
    trains_in_epochs: ClassVar[bool] = True
    _printed: ClassVar[dict[str, tuple[Any, ...]]] = {
        "negatives": ("uniform",),
        "margin": (1.0,),
        "average": (0.0,),
        "dropout": (0.0,),
    }

    def __init__(
        self,
        *,
        rate: float = 0.1,
        margin: float = 0.1,
        n_epochs: int | None = None,
        max_epochs: int = 60,
        patience: int = 8,
        average: float = 0.9,
        dropout: float = 0.3,
        tune: bool = False,
        recipe: str = "mined",
        negatives: str = "mined",
        n_drawn: int | None = None,
        n_hardest: int = 20,
        weigh_ranks: bool = True,
        max_positives: int = 20,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.rate, self.margin, self.n_epochs, self.tune = rate, margin, n_epochs, tune
        self.max_epochs, self.patience, self.average, self.dropout = max_epochs, patience, average, dropout
        self.recipe, self.negatives, self.weigh_ranks = recipe, negatives, weigh_ranks
        self.n_drawn, self.n_hardest, self.max_positives = n_drawn, n_hardest, max_positives
        self.seed, self.threads = seed, threads

    def _training_params(self) -> dict[str, Any]:
        """The parameters above, for a model inside this one."""
        return {name: getattr(self, name) for name in MarginRanker._get_param_names()}

    def _best_mu(self, task: TrainingTask, weights: Sequence[float], least: str = "") -> float:
        """The weight `mu_` of a second model inside this one that is best on validation; see `best_weight`."""
        measured: Any = self if task.candidates is None else self.with_items(task.candidates)

        def values(mu: float) -> dict[str, np.ndarray]:
            measured.mu_ = mu
            return task.values(measured)

        return best_weight(weights, values, task.target, least=least)

    def _check_params(self, data: TrainingData) -> None:
        """Raise unless the parameters are possible and fit the data."""
        check_number("seed", self.seed, low=0, whole=True)
        check_choice("negatives", self.negatives, NEGATIVES)
        self._check_recipe()
        check_numbers(self, "rate", "margin", low=0, open_low=True)
        check_numbers(self, "n_epochs", "n_drawn", optional=True, low=1, whole=True)
        check_numbers(self, "max_epochs", "patience", "n_hardest", "max_positives", low=1, whole=True)
        check_numbers(self, "average", "dropout", low=0, high=0.99)


class SgdRanker(MarginRanker):
    """A single model trained by SGD; subclasses say what it is trained on and how.

    Attributes
    ----------
    epochs_ : list of dict
        Loss, rate and validation measures of each epoch; the best epoch is kept. Not stored.
    best_epoch_ : int
        Number of the best epoch, from 1: by mean average precision and rank loss (`retrieve.epochs.epoch_score`).
    rate_, margin_ : float
        Rate and margin that were used.
    validation_items_ : int or None
        Number of items that validation ranked, if it was a sample (of more than 200,000 items); None means all.
    """

    _fitted: ClassVar = {"best_epoch_": "", "rate_": "", "margin_": "", "validation_items_": "?"}
    items_: sp.csr_array
    epochs_: list[dict[str, float]]

    def _fit(self, data: TrainingData) -> None:
        self._check_params(data)
        task = make_task(data, self.seed)
        self.items_ = sp.csr_array(data.items)
        self.validation_items_ = None if task.candidates is None else len(task.candidates)
        rows = self._training_rows(data)
        self.rate_, self.margin_, self.best_epoch_ = float(self.rate), float(self._used("margin")), 0
        if self.tune:
            self.rate_, self.margin_ = self._tune(data, rows, task)
        constant = self.recipe == "printed"
        self._train(data, rows, task, Schedule(self.rate_, self.n_epochs, self.max_epochs, self.patience, constant))

    def _measured(self, task: TrainingTask) -> Self:
        """The ranker that validation measures: this one, or a copy for a sample of the items."""
        if task.candidates is None:
            return self
        made = copy(self)
        made.items_ = sp.csr_array(self.items_[task.candidates])
        return made

    @abstractmethod
    def _training_rows(self, data: TrainingData) -> Any:
        """The rows of queries and items in the form that `_train` reads."""

    @abstractmethod
    def _train(self, data: TrainingData, rows: Any, task: TrainingTask, schedule: Schedule) -> None:
        """Train from the start with `margin_`, and set the fitted attributes."""

    def _run_epochs(
        self,
        trainer: BlockTrainer,
        task: TrainingTask,
        measure: Callable[[], Mapping[str, np.ndarray | float]],
        rng: np.random.Generator,
        schedule: Schedule,
        stage: Stage | None,
    ) -> TrainingHistory:
        """Run the epochs of a trainer; `measure` gives validation values of its averaged parameters."""
        n_passes = self._n_passes(task)

        def epoch(rates: tuple[float, float]) -> float:
            ends = np.linspace(*rates, n_passes + 1)
            losses = [task.epoch(trainer, rng, (ends[i], ends[i + 1])) for i in range(n_passes)]
            trainer.decay(rates[0] / schedule.rate)
            return float(np.mean(losses))

        def average_and_measure(number: int) -> dict[str, float]:
            trainer.average(number)
            return {name: float(np.mean(found)) for name, found in measure().items()}

        n_blocks = 0 if trainer.settings.uniform else n_passes * math.ceil(task.n_visits / trainer.settings.block)
        trainer.log = EpochLog(rng, stage, n_blocks)
        with trainer.running():
            return run_epochs(trainer.state, epoch, average_and_measure, task.target, schedule, trainer.log)

    def _n_passes(self, task: TrainingTask) -> int:
        """Visits to every training query in an epoch."""
        return 1 if self.n_epochs else passes_for(task.n_visits)

    def _tune(self, data: TrainingData, rows: Any, task: TrainingTask) -> tuple[float, float]:
        """The best rate at the given margin, then, unless printed, the best margin at that rate, by short trainings."""
        printed, margin = self.recipe == "printed", self.margin_

        def value(rate: float, margin: float) -> float:
            self.rate_, self.margin_ = rate, margin
            self._train(data, rows, task, Schedule(rate, n_epochs, constant=printed))
            if printed and self.rate_ < rate:  # it diverged once, and the full training is longer
                return -math.inf
            return max(epoch[task.target] for epoch in self.epochs_)

        n_epochs = TUNING_EPOCHS if self.n_epochs is None else max(2, self.n_epochs // (10 if printed else 3))
        rates = [factor * self.rate for factor in (PRINTED_FACTORS if printed else TUNED_FACTORS)]
        margins = [] if printed else [factor * margin for factor in TUNED_FACTORS]
        return choose_rate_and_margin(value, rates, margins, margin)

    def _block_settings(self, task: TrainingTask, schedule: Schedule, largest: int = LARGEST_BLOCK) -> dict[str, Any]:
        """Size of a block and negative sampling, for `block_sgd.BlockSettings`."""
        uniform = self._used("negatives") == "uniform"
        return {
            "block": 1 if uniform else block_for(task.n_visits, largest),
            "n_drawn": 1 if uniform else self.n_drawn or n_drawn_for(self.items_.shape[0]),
            "n_hardest": self.n_hardest,
            "max_positives": self.max_positives,
            "weigh_ranks": self.weigh_ranks,
            "uniform": uniform,
            "margin": self.margin_,
            "dropout": self._used("dropout"),
            "average": self._used("average") if schedule.n_epochs is None else 0.0,
        }


def choose_rate_and_margin(
    value: Callable[[float, float], float], rates: Sequence[float], margins: Sequence[float], margin: float
) -> tuple[float, float]:
    """The best rate at the given margin, then the best margin at that rate; `value(rate, margin)` trains and measures.

    A setting that diverges is the worst.

    >>> choose_rate_and_margin(lambda rate, margin: -abs(rate - 2) - abs(margin - 0.3), (1, 2), (0.1, 0.3), 0.1)
    (2, 0.3)
    """

    def measured(rate: float, margin: float) -> float:
        try:
            return value(rate, margin)
        except DivergedError:
            return -math.inf

    found = {(rate, margin): measured(rate, margin) for rate in rates}
    best_rate = max(found, key=lambda setting: found[setting])[0]
    found |= {(best_rate, other): measured(best_rate, other) for other in margins if other != margin}
    return max(found, key=lambda setting: found[setting])


def block_for(n_visits: int, largest: int = LARGEST_BLOCK) -> int:
    """Return the number of queries in a block: small for few queries, because a block moves an item once."""
    return min(largest, max(4, n_visits // 32))


def passes_for(n_visits: int) -> int:
    """Visits to every training query in an epoch, where no number of epochs is given."""
    n_blocks = max(1, math.ceil(n_visits / block_for(n_visits)))
    return math.ceil(FEWEST_BLOCKS / n_blocks)


def n_drawn_for(n_items: int) -> int:
    """Return the number of items drawn for a block: a fraction of all, within bounds."""
    return min(MOST_DRAWN, max(FEWEST_DRAWN, round(DRAWN_SHARE * n_items)))
