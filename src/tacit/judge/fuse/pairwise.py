"""Weights learned from pairs of judged documents, with the same functions as the weights of `blend`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tacit.judge.fuse.measured import Measured
from tacit.judge.fuse.normalizations import Family
from tacit.retrieve.weights import TrainingQuery, fit_weights, preferences, weight_of_unjudged

STRENGTHS = (10.0, 3.0)  # strength of the default as a prior, in queries; another prior has the first strength
N_PAIRS = 100  # pairs per query, evenly spaced among all
DEPTH = 50  # results of a leg that are candidates, as in `blend`


def training_queries(measured: Measured, family: Family) -> list[TrainingQuery]:
    """Return normalised scores and grades of the first results of every leg, one for each measured query."""
    legs = measured.legs
    columns = measured.normalized(family)
    columns = columns / max(float(columns.std()), 1e-12)  # one scale for all normalisations and priors
    near = (np.nan_to_num(legs.ranks, nan=np.inf) <= DEPTH).any(axis=1)
    found = []
    for low, high in pairwise(legs.starts.tolist()):
        first = low + np.flatnonzero(near[low:high])
        grades = measured.grades[first]
        found.append(TrainingQuery(columns[first], grades, int(np.count_nonzero(grades > 0))))
    return found


def learned_weights(queries: Sequence[TrainingQuery], priors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return weights for each prior and strength, the default's prior first; empty if no judged documents differ."""
    usable = [query for query in queries if query.is_usable]
    if not usable:
        return []
    unjudged = weight_of_unjudged(usable)
    pieces = [_fewer(*preferences(query, unjudged)) for query in usable]
    differences, importance = (np.concatenate([piece[part] for piece in pieces]) for part in (0, 1))
    choices = [(prior, strength) for prior in priors for strength in STRENGTHS[: 2 if prior is priors[0] else 1]]
    found = [fit_weights(differences, importance, prior, strength) for prior, strength in choices]
    return [weights for weights in found if weights.sum() > 0]


def _fewer(differences: np.ndarray, importance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most this many pairs of a query, with importances that sum to 1 again."""
    if len(importance) > N_PAIRS:
        kept = np.linspace(0, len(importance) - 1, N_PAIRS).round().astype(np.int64)
        differences, importance = differences[kept], importance[kept]
    return differences, importance / max(importance.sum(), 1e-300)
