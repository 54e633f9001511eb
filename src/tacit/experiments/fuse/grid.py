"""The usual practice today: try every variant of OpenSearch's hybrid search on the judged queries, and take the best.

Variants: min-max and L2 normalisation; arithmetic, harmonic and geometric mean; weights in steps of .1 for two legs (66
variants), of .2 for three legs (126). Means leave out scores of 0, except the arithmetic one.
"""

from __future__ import annotations

import numpy as np

from tacit.judge.fuse.learning import lattice
from tacit.judge.fuse.measured import Measured
from tacit.judge.fuse.normalizations import Family

LOWEST = 0.001  # min-max value of the lowest result, as in the engine
POINTS = {2: 11, 3: 21}


def grid_values(measured: Measured) -> np.ndarray:
    """Return values of every variant on every query, (n_variants, n_queries)."""
    found = []
    for family in (Family("minmax", floor=LOWEST), Family("l2")):
        columns = measured.normalized(family)
        for weights in lattice(columns.shape[1], POINTS[columns.shape[1]]):
            found += [measured.values_of(mean(columns, weights)) for mean in (arithmetic, harmonic, geometric)]
    return np.stack(found)


def arithmetic(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted mean, zeros included."""
    return np.asarray(columns @ weights / weights.sum())


def harmonic(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted harmonic mean of the scores above 0."""
    used = columns > 0
    below = np.where(used, 1 / np.where(used, columns, 1), 0) @ weights
    return np.divide(used @ weights, below, out=np.zeros(len(columns)), where=below > 0)


def geometric(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted geometric mean of the scores above 0.

    >>> geometric(np.array([[4.0, 1.0], [2.0, 0.0]]), np.array([0.5, 0.5])).round(6).tolist()
    [2.0, 2.0]
    """
    used = columns > 0
    logs = np.where(used, np.log(np.where(used, columns, 1)), 0) @ weights
    total = used @ weights
    mean = np.divide(logs, total, out=np.zeros(len(columns)), where=total > 0)
    return np.where(total > 0, np.exp(mean), 0)
