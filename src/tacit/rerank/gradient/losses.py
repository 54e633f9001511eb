"""Losses over pairs: each gives dLoss/ds, one number for each row, and knows nothing of how rows are scored.

    Bradley-Terry   mean over pairs of c log(1 + exp(-(s_better - s_worse)))
    swap-weighted   the same with c times |change of a measure when the two swap|: the gradients of LambdaRank

Means, not sums, so that a rate or a regularizer's beta means the same for few pairs as for many. Places, and with them
the weights of the second, are taken anew at each call and held fixed while the gradient is: the loss jumps where
places change. A swap of two judged rows changes nDCG by their gains and by the discounts of their places in the whole
list, whatever the unjudged rows are, so these places are taken. AP and RR depend on the grades of all rows between, so
they are those of the judged rows in their order. A given preference has no grades and is weighted by
|R(place) - R(place)|, R the measure's discount in the whole list.
"""

from __future__ import annotations

import numpy as np

from tacit.core import TacitError, UsageError
from tacit.kernels.lambdas import (
    add_pair_curvatures,
    add_pair_gradients,
    fill_places,
    swap_average_precision,
    swap_ndcg,
    swap_reciprocal_rank,
)
from tacit.kernels.preference import scale_by_discounts
from tacit.metrics import Measure, parse_measure
from tacit.rerank.rows import Pairs, Rows, graded_pairs

GAIN_MEASURES = ("nDCG", "nDCG-exp", "nDCG-letor")
SWAP_MEASURES = (*GAIN_MEASURES, "AP", "RR")


class PairLoss:
    """The Bradley-Terry likelihood of the known pairs."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.weight = pairs.weight / pairs.weight.sum()

    def add(self, scores: np.ndarray, gradient: np.ndarray) -> float:
        """gradient += dLoss/ds; the loss."""
        return float(add_pair_gradients(scores, self.pairs.better, self.pairs.worse, self.weight, gradient))

    def add_curvature(self, scores: np.ndarray, curvature: np.ndarray) -> None:
        """curvature += the diagonal of d2Loss/ds2."""
        add_pair_curvatures(scores, self.pairs.better, self.pairs.worse, self.weight, curvature)


class SwapLoss:
    """Pairs weighted by what their swap would change in a measure, at the places of the moment."""

    def __init__(self, rows: Rows, measure: str) -> None:
        self.measure = parse_swap_measure(measure)
        self.rows = rows
        self.graded = graded_pairs(rows.y, rows.starts)  # list by list
        self.judged = ~np.isnan(rows.y)
        grade = np.where(self.judged, rows.y, 0.0)
        self.relevant = grade >= 1
        gains = grade if self.measure.name == "nDCG" else np.exp2(grade) - 1
        if not np.isfinite(gains).all():
            raise TacitError(f"{self.measure.name} has gain 2^grade - 1: grade is {grade.max():g}, want less than 1024")
        self.discounts = discount_table(self.measure, int(np.diff(rows.starts).max()))
        list_of_pair = rows.list_of[self.graded.better]
        self.first_pair = np.searchsorted(list_of_pair, np.arange(rows.n_lists + 1))
        self.gain = (gains[self.graded.better] - gains[self.graded.worse]) / self._best_gains(gains)[list_of_pair]
        # A measure is a mean over lists; those without a pair have nothing to change.
        self.n_lists = len(np.unique(rows.list_of[rows.pairs.better]))

    def _best_gains(self, gains: np.ndarray) -> np.ndarray:
        """DCG of the best order of each list's judged rows; 1 where it is 0."""
        order = np.lexsort((-gains, self.rows.list_of))
        place = np.arange(len(gains)) - self.rows.starts[self.rows.list_of]
        best = np.bincount(self.rows.list_of, gains[order] * self.discounts[place], self.rows.n_lists)
        return np.where(best > 0, best, 1.0)

    def weights(self, scores: np.ndarray) -> np.ndarray:
        """Weight of each pair at these scores: of graded pairs, then of given ones."""
        given = np.empty(len(self.rows.given))
        if len(given):
            places = list_places(scores, self.rows.starts)
            columns = (self.rows.given.better, self.rows.given.worse, self.rows.given.weight)
            scale_by_discounts(*columns, places, self.discounts, given)
        return np.concatenate([self._changes(scores) * self.graded.weight, given]) / self.n_lists

    def _changes(self, scores: np.ndarray) -> np.ndarray:
        better, worse, change = self.graded.better, self.graded.worse, np.empty(len(self.graded))
        by_gain = self.measure.name in GAIN_MEASURES
        places = list_places(scores, self.rows.starts, None if by_gain else self.judged)
        if by_gain:
            swap_ndcg(better, worse, places, self.gain, self.discounts, change)
        else:
            swap = swap_average_precision if self.measure.name == "AP" else swap_reciprocal_rank
            swap(self.rows.starts, better, worse, places, self.relevant, self.first_pair, change)
        return change

    def add(self, scores: np.ndarray, gradient: np.ndarray) -> float:
        """gradient += dLoss/ds with places held fixed; the loss."""
        pairs = self.rows.pairs
        return float(add_pair_gradients(scores, pairs.better, pairs.worse, self.weights(scores), gradient))

    def add_curvature(self, scores: np.ndarray, curvature: np.ndarray) -> None:
        """curvature += the diagonal of d2Loss/ds2 with places held fixed."""
        pairs = self.rows.pairs
        add_pair_curvatures(scores, pairs.better, pairs.worse, self.weights(scores), curvature)


def list_places(scores: np.ndarray, starts: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
    """Place from 0 of each row among the counted rows of its list, best first; -1 if not counted itself.

    >>> list_places(np.array([0.1, 0.9, 0.5]), np.array([0, 3]), np.array([True, True, False])).tolist()
    [1, 0, -1]
    """
    places = np.empty(len(scores), np.int64)
    fill_places(scores, starts, np.ones(len(scores), bool) if counted is None else counted, places)
    return places


def parse_swap_measure(name: str) -> Measure:
    """The measure, if it is one whose swaps we know.

    >>> parse_swap_measure("MAP").name, parse_swap_measure("nDCG@5").cutoff
    ('AP', 5)
    """
    measure = parse_measure(name)
    plain = measure.rel == 1 and not measure.judged_only and (measure.cutoff is None or measure.name.startswith("nDCG"))
    if measure.name not in SWAP_MEASURES or not plain:
        raise UsageError(f"measure is {name!r}, want nDCG, nDCG-exp or nDCG-letor (with @k or without), MAP or RR")
    return measure


def discount_table(measure: Measure, n_places: int) -> np.ndarray:
    """R(place), place from 0: 0 from the cutoff on; 1 / position for MAP and RR, which have no other discount."""
    position = np.arange(1.0, n_places + 1)
    if measure.name == "nDCG-letor":
        table = 1 / np.maximum(np.log2(position), 1)
    elif measure.name in GAIN_MEASURES:
        table = 1 / np.log2(position + 1)
    else:
        table = 1 / position
    if measure.cutoff is not None:
        table[measure.cutoff :] = 0
    return table
