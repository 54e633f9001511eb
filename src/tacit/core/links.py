"""Weighted pairs of rows: a source (or query) row points to a target (or item) row."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from tacit.core.errors import TacitError


@dataclass(frozen=True)
class Links:
    """Pairs of row numbers with a positive weight each.

    Parameters
    ----------
    sources : ndarray of shape (n_links,), int64
        Rows of the sources (or queries).
    targets : ndarray of shape (n_links,), int64
        Rows of the targets (or items).
    n_sources : int
        Number of rows of the first collection.
    n_targets : int
        Number of rows of the second collection.
    weights : ndarray of shape (n_links,), float32, default=ones
        Positive weights.

    Examples
    --------
    >>> links = Links([0, 0, 2], [1, 2, 0], n_sources=3, n_targets=3)
    >>> len(links), links.to_csr().toarray().tolist()
    (3, [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    """

    sources: np.ndarray
    targets: np.ndarray
    n_sources: int
    n_targets: int
    weights: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))

    def __post_init__(self) -> None:
        sources, targets = (
            _rows("sources", self.sources, self.n_sources),
            _rows("targets", self.targets, self.n_targets),
        )
        if len(sources) != len(targets):
            raise TacitError(f"links have {len(sources)} sources and {len(targets)} targets; want the same number")
        weights = np.asarray(self.weights, np.float32)
        if not len(weights):
            weights = np.ones(len(sources), np.float32)
        if len(weights) != len(sources) or not (np.isfinite(weights).all() and (weights > 0).all()):
            raise TacitError("link weights must be positive finite numbers, one for each link")
        for label, column in (("sources", sources), ("targets", targets), ("weights", weights)):
            object.__setattr__(self, label, column)

    def __len__(self) -> int:
        return len(self.sources)

    def take(self, chosen: np.ndarray) -> Links:
        """The links that a mask or an array of positions chooses."""
        return Links(self.sources[chosen], self.targets[chosen], self.n_sources, self.n_targets, self.weights[chosen])

    def to_csr(self) -> sp.csr_array:
        """Sources by targets; repeated pairs add up."""
        shape = (self.n_sources, self.n_targets)
        return sp.csr_array((self.weights, (self.sources, self.targets)), shape=shape)


def _rows(name: str, values: np.ndarray, n_rows: int) -> np.ndarray:
    rows = np.asarray(values)
    if rows.size == 0:
        return np.empty(0, np.int64)
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        raise TacitError(f"{name} must be a flat array of row numbers, got {rows.dtype} of shape {rows.shape}")
    if rows.min() < 0 or rows.max() >= n_rows:
        bad = rows.min() if rows.min() < 0 else rows.max()
        raise TacitError(f"{name} holds row {bad}, want 0 to {n_rows - 1}")
    return rows.astype(np.int64)
