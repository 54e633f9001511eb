"""Training data of margin rankers: pairs with sampled negatives, or given triples.

A task runs an epoch on its training part and measures a ranker on its validation part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, TacitError, cut
from tacit.retrieve.margin.block_sgd import BlockTrainer
from tacit.retrieve.training_data import TrainingData
from tacit.retrieve.validation import HeldOut, held_out_queries, hold_out, measure

if TYPE_CHECKING:
    from tacit.retrieve.base import CollectionRanker

MOST_ITEMS, SAMPLED_ITEMS = 200_000, 100_000  # above this number of items, validation ranks a sample


class TrainingTask(Protocol):
    """Training and validation data of one form; `target` is the validation measure that decides, higher is better."""

    target: ClassVar[str]

    @property
    def candidates(self) -> np.ndarray | None:
        """Rows of the items that validation ranks; None for all."""
        ...

    @property
    def n_visits(self) -> int:
        """Number of queries or triples that an epoch visits."""
        ...

    def epoch(self, trainer: BlockTrainer, rng: np.random.Generator, rates: tuple[float, float]) -> float:
        """Train once over everything; return the mean loss."""
        ...

    def values(self, ranker: CollectionRanker) -> dict[str, np.ndarray]:
        """Measures on the validation part, one value for each of its queries or triples."""
        ...


@dataclass(frozen=True)
class PairTask:
    """Pairs of a query and a relevant item; all other items may be drawn as negatives."""

    pairs: sp.csr_array
    held: HeldOut
    candidates: np.ndarray | None = None
    target: ClassVar[str] = "MAP"

    @property
    def n_visits(self) -> int:
        """Queries with at least one pair."""
        return int(np.count_nonzero(np.diff(self.pairs.indptr)))

    def epoch(self, trainer: BlockTrainer, rng: np.random.Generator, rates: tuple[float, float]) -> float:
        """Visit every query once."""
        return trainer.epoch_on_pairs(self.pairs, rng, rates)

    def values(self, ranker: CollectionRanker) -> dict[str, np.ndarray]:
        """Average precision and rank loss of each validation query, all candidates ranked."""
        return self.named(measure(ranker.score_rows, self.held))

    def named(self, found: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the measures used for decisions, by their names in training."""
        return {"MAP": found["AP"], "rank_loss": found["rank_loss"]}


@dataclass(frozen=True)
class TripleTask:
    """(query, better, worse) rows; no other items are drawn."""

    triples: np.ndarray
    held: np.ndarray
    queries: Features
    target: ClassVar[str] = "accuracy"
    candidates: ClassVar[None] = None

    @property
    def n_visits(self) -> int:
        """Training triples."""
        return len(self.triples)

    def epoch(self, trainer: BlockTrainer, rng: np.random.Generator, rates: tuple[float, float]) -> float:
        """Visit every triple once."""
        return trainer.epoch_on_triples(self.triples, np.ones(len(self.triples), np.float32), rng, rates)

    def values(self, ranker: CollectionRanker) -> dict[str, np.ndarray]:
        """1 for each validation triple in the right order, 0 for the others; a tie counts half."""
        return self.accuracy(lambda part: (ranker, part[:, 1:]))

    def accuracy(self, ranker_of: Callable[[np.ndarray], tuple[CollectionRanker, np.ndarray]]) -> dict[str, np.ndarray]:
        """The same by rankers of some triples, which are given with the numbers of the items that they have there."""
        right = []
        for block in cut(len(self.held), 64):
            part = self.held[block]
            ranker, items = ranker_of(part)
            better, worse = np.take_along_axis(ranker.score_rows(self.queries[part[:, 0]]), items, 1).T
            right.append((better > worse) + 0.5 * (better == worse))
        return {"accuracy": np.concatenate(right)}


def make_task(data: TrainingData, seed: int) -> TrainingTask:
    """Return the task for pairs or triples; hold out a part for validation if none is given."""
    queries, items, pairs, validation = data.queries, data.items, data.pairs, data.validation
    queries_are_items = data.queries_are_items
    if isinstance(pairs, np.ndarray):
        if validation is not None:
            raise TacitError("triples set a part of themselves aside for validation; give no validation pairs")
        return _triple_task(pairs, queries, items, seed)
    train = _checked_pairs("pairs", pairs, queries, items, queries_are_items)
    if validation is None:
        train, held = hold_out(train, seed=seed)
    else:
        held = _checked_pairs("validation", validation, queries, items, queries_are_items)
    asked = held_out_queries(queries, held, train, queries_are_items)
    if items.shape[0] <= MOST_ITEMS:
        return PairTask(train.to_csr(), asked)
    sample = np.random.default_rng([seed, 3]).choice(items.shape[0], SAMPLED_ITEMS, replace=False)
    candidates = np.union1d(sample, asked.relevant.indices)
    return PairTask(train.to_csr(), asked.among(candidates), candidates)


def _checked_pairs(name: str, pairs: object, queries: Features, items: Features, queries_are_items: bool) -> Links:
    """Return pairs with the correct numbers of rows, without pairs of a document with itself."""
    if pairs is not None and not isinstance(pairs, Links):
        raise TacitError(f"{name} is a {type(pairs).__name__}, want Links or an array of triples")
    if pairs is not None and (pairs.n_sources, pairs.n_targets) != (queries.shape[0], items.shape[0]):
        raise TacitError(
            f"{name} join {pairs.n_sources} queries to {pairs.n_targets} items, "
            f"the features have {queries.shape[0]} and {items.shape[0]} rows; want the same numbers"
        )
    if pairs is not None and queries_are_items:
        pairs = pairs.take(pairs.sources != pairs.targets)
    if pairs is None or not len(pairs):
        raise TacitError(f"there is no positive pair in {name}, want links, judged queries, pairs or clicks")
    return pairs


def _triple_task(triples: np.ndarray, queries: Features, items: Features, seed: int) -> TripleTask:
    if triples.ndim != 2 or triples.shape[1] != 3 or not np.issubdtype(triples.dtype, np.integer) or len(triples) < 2:
        raise TacitError(
            f"triples are {triples.dtype} of shape {triples.shape}, want 2 or more rows (query, better, worse)"
        )
    for name, column, n_rows in (
        ("queries", triples[:, :1], queries.shape[0]),
        ("items", triples[:, 1:], items.shape[0]),
    ):
        if column.min() < 0 or column.max() >= n_rows:
            bad = column.min() if column.min() < 0 else column.max()
            raise TacitError(f"triples name row {bad} of {name}, want 0 to {n_rows - 1}")
    if (triples[:, 1] == triples[:, 2]).any():
        raise TacitError("a triple has the same item as better and worse")
    rng = np.random.default_rng([seed, 2])
    order = rng.permutation(len(triples))
    n_held = max(1, round(0.05 * len(triples)))
    whole = triples.astype(np.int64)
    return TripleTask(whole[order[n_held:]], whole[order[:n_held]], queries)
