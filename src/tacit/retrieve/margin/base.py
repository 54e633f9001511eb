"""Training parameters and the fitting procedure that all rankers trained on the margin ranking loss share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from tacit.core import DivergedError, Features, Links, check_number
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.margin.tasks import TrainingTask, make_task

LARGEST_BLOCK, LARGEST_TRIPLE_BLOCK = 64, 256  # a triple has two items, where a query has a pool of them
MOST_DRAWN, FEWEST_DRAWN, DRAWN_SHARE = 1000, 100, 0.1
FEWEST_BLOCKS = 600  # a small training set is visited more often: too few steps leave a model where it began
FEWEST_EPOCHS = 8
TUNED_FACTORS = (0.5, 1.0, 2.0)  # of rate and margin, tried by `tune`


class MarginRanker(CollectionRanker):
    """Base of rankers trained on pairs by SGD on the margin ranking loss (`block_sgd`).

    Parameters
    ----------
    rate : float, default=0.1
        First learning rate; it falls linearly to 0.
    margin : float, default=0.1
        A relevant item should score higher than others by this much.
    n_epochs : int or None, default=None
        Visits to every training query; None means 8, and more for small training sets.
    tune : bool, default=False
        Choose rate and margin on validation, from half, once and twice the given values.
    n_drawn : int or None, default=None
        Items drawn for a block of queries; None means a tenth of the items, at least 100 and at most 1,000.
    n_hardest : int, default=20
        Of the drawn items, as many of the best-scored are the negatives of a query.
    max_positives : int, default=20
        Relevant items of a query that one visit uses.
    seed : int, default=0
        Random seed.
    threads : int or None, default=None
        Number of threads; None means all cores. The result does not depend on it.
    """

    needs_pairs: ClassVar[bool] = True

    def __init__(
        self,
        *,
        rate: float = 0.1,
        margin: float = 0.1,
        n_epochs: int | None = None,
        tune: bool = False,
        n_drawn: int | None = None,
        n_hardest: int = 20,
        max_positives: int = 20,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.rate, self.margin, self.n_epochs, self.tune = rate, margin, n_epochs, tune
        self.n_drawn, self.n_hardest, self.max_positives = n_drawn, n_hardest, max_positives
        self.seed, self.threads = seed, threads

    def _training_params(self) -> dict[str, Any]:
        """The parameters above, for a model inside this one."""
        names = ("rate", "margin", "n_epochs", "tune", "n_drawn", "n_hardest", "max_positives", "seed", "threads")
        return {name: getattr(self, name) for name in names}

    def _check_params(self, queries: Features, items: Features) -> None:
        """Raise unless the parameters are possible and fit the data."""
        check_number("seed", self.seed, low=0, whole=True)
        for name in ("rate", "margin"):
            check_number(name, getattr(self, name), low=0, open_low=True)
        for name in ("n_epochs", "n_drawn"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), low=1, whole=True)
        for name in ("n_hardest", "max_positives"):
            check_number(name, getattr(self, name), low=1, whole=True)


class SgdRanker(MarginRanker):
    """A single model trained by SGD; subclasses say what it is trained on and how.

    Attributes
    ----------
    epochs_ : list of dict
        Loss and validation measures of each epoch; the model is that of the best epoch. Not stored.
    best_epoch_ : int
        Number of the best epoch, from 1.
    rate_, margin_ : float
        Rate and margin that were used.
    """

    items_: sp.csr_array
    epochs_: list[dict[str, float]]

    def _fit(
        self, queries: Features, items: Features, pairs: Links | np.ndarray | None, validation: Links | None
    ) -> None:
        self._check_params(queries, items)
        task = make_task(pairs, validation, queries, items, self._queries_are_items, self.seed)
        self.items_ = sp.csr_array(items)
        data = self._training_data(queries, items)
        self.rate_, self.margin_, self.best_epoch_ = float(self.rate), float(self.margin), 0
        n_epochs = self.n_epochs or epochs_for(task.n_visits)
        if self.tune:
            self.rate_, self.margin_ = self._tune(data, task, max(2, n_epochs // 3))
        self._train(data, task, n_epochs)

    @abstractmethod
    def _training_data(self, queries: Features, items: Features) -> Any:
        """The rows in the form that `_train` reads."""

    @abstractmethod
    def _train(self, data: Any, task: TrainingTask, n_epochs: int) -> None:
        """Train from the start with `rate_` and `margin_`, and set the fitted attributes."""

    def _tune(self, data: Any, task: TrainingTask, n_epochs: int) -> tuple[float, float]:
        """The best rate at the given margin, then the best margin at that rate: five short trainings."""

        def value(rate: float, margin: float) -> float:
            self.rate_, self.margin_ = rate, margin
            self._train(data, task, n_epochs)
            return max(epoch[task.target] for epoch in self.epochs_)

        rates, margins = ([factor * given for factor in TUNED_FACTORS] for given in (self.rate, self.margin))
        return choose_rate_and_margin(value, rates, margins, self.margin)

    def _block_settings(self, task: TrainingTask, largest: int = LARGEST_BLOCK) -> dict[str, Any]:
        """Size of a block and negative sampling, for `block_sgd.BlockSettings`."""
        return {
            "block": block_for(task.n_visits, largest),
            "n_drawn": self.n_drawn or n_drawn_for(self.items_.shape[0]),
            "n_hardest": self.n_hardest,
            "max_positives": self.max_positives,
            "margin": self.margin_,
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
    """Queries in a block: few where there are few, since a block moves an item once for all its queries."""
    return min(largest, max(4, n_visits // 32))


def epochs_for(n_visits: int) -> int:
    """Number of epochs where none is given."""
    n_blocks = max(1, math.ceil(n_visits / block_for(n_visits)))
    return max(FEWEST_EPOCHS, math.ceil(FEWEST_BLOCKS / n_blocks))


def n_drawn_for(n_items: int) -> int:
    """Items drawn for a block: a share of all, within bounds."""
    return min(MOST_DRAWN, max(FEWEST_DRAWN, round(DRAWN_SHARE * n_items)))
