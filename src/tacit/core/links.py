"""Weighted pairs of rows: a source (or query) row points to a target (or item) row.

Links from clicks also record which items were shown. Links from a program's grades also record trust in each grade.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from tacit.core.checks import check_number, shown
from tacit.core.errors import TacitError, UsageError


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
        try:
            weights = np.asarray(self.weights, np.float32)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"weights is {shown(self.weights)}, want one positive number for each link") from None
        if not weights.size:
            weights = np.ones(len(sources), np.float32)
        if weights.shape != sources.shape or not (np.isfinite(weights).all() and (weights > 0).all()):
            raise TacitError("link weights must be positive finite numbers, one for each link")
        for label, column in (("sources", sources), ("targets", targets), ("weights", weights)):
            object.__setattr__(self, label, column)

    def __len__(self) -> int:
        return len(self.sources)

    def take(self, chosen: np.ndarray) -> Links:
        """Return the links selected by a mask or an array of positions."""
        return Links(self.sources[chosen], self.targets[chosen], self.n_sources, self.n_targets, self.weights[chosen])

    def to_csr(self) -> sp.csr_array:
        """Return a matrix of sources by targets; weights of repeated pairs are added."""
        shape = (self.n_sources, self.n_targets)
        return sp.csr_array((self.weights, (self.sources, self.targets)), shape=shape)


@dataclass(frozen=True)
class Shown:
    """Items shown for queries, and how often each was clicked.

    Parameters
    ----------
    queries, items : ndarray of shape (n_shown,), int64
        Rows of query and item; each pair occurs once.
    clicks : ndarray of shape (n_shown,), float64
        Number of clicks.
    expected : ndarray of shape (n_shown,), float64
        Expected clicks of a typical item at the same positions.
    log_prior : ndarray of shape (n_shown,), float64
        Logarithm of the relevance before any click, from the shown rank.
    slope : float
        Exponent s of the prior: the relevance of items is expected to fall with their rank r as r^(-s/2).
    strength : float
        Number of expected clicks at which clicks and prior have equal weight.
    ordered : bool, default=True
        Whether positions and unclicked items are known; False for plain click counts.
    """

    queries: np.ndarray
    items: np.ndarray
    clicks: np.ndarray
    expected: np.ndarray
    log_prior: np.ndarray
    slope: float
    strength: float
    ordered: bool = True

    def __len__(self) -> int:
        return len(self.queries)

    def excess(self) -> np.ndarray:
        """Return clicks beyond the expectation for items at the same rank, (n_shown,), relative to expected clicks.

        This is the posterior mean of C / E minus its mean over items of about the same rank. It is 0 for random clicks.

        >>> clicks, expected, prior = np.array([4.0, 4, 4, 0]), np.array([4.0, 2, 4, 2]), np.log([1, 0.5, 1, 0.5])
        >>> Shown([0, 0, 1, 1], [5, 6, 5, 7], clicks, expected, prior, slope=2.0, strength=2.0).excess().tolist()
        [0.0, 0.5, 0.0, -0.5]
        """
        ratio = (self.clicks - self.expected) / (self.expected + self.strength)
        _, rank = np.unique(np.exp(-2 * self.log_prior / self.slope).round(), return_inverse=True)
        found: np.ndarray = ratio - (np.bincount(rank, ratio) / np.bincount(rank))[rank]
        return found

    def of_queries(self, rows: np.ndarray) -> Shown:
        """Return the items shown for some queries."""
        kept = np.isin(self.queries, rows)
        names = ("queries", "items", "clicks", "expected", "log_prior")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})


@dataclass(frozen=True)
class ClickedLinks(Links):
    """Pairs of a query and a clicked item, weighted by relevance.

    Parameters
    ----------
    shown : Shown
        All items shown for these queries, clicked or not.
    """

    shown: Shown = field(kw_only=True)

    def others_shown(self) -> Links:
        """Return items that were shown for the queries but are not among the links."""
        linked = self.sources * self.n_targets + self.targets
        others = ~np.isin(self.shown.queries * self.n_targets + self.shown.items, linked)
        return Links(self.shown.queries[others], self.shown.items[others], self.n_sources, self.n_targets)

    def take(self, chosen: np.ndarray) -> ClickedLinks:
        """Return the links selected by a mask or an array of positions, and the items shown for their queries."""
        links = super().take(chosen)
        return ClickedLinks(**vars(links), shown=self.shown.of_queries(links.sources))


@dataclass(frozen=True)
class ProgramLinks(Links):
    """Pairs of a query and an item graded only by a program, weighted by the grade that people would give.

    Parameters
    ----------
    trust : ndarray of shape (n_links,), float32
        How well the program's grade predicts a person's grade, from 0 to 1. 1 counts as a person's grade.
    """

    trust: np.ndarray = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        trust = np.asarray(self.trust, np.float32)
        if trust.shape != self.sources.shape or not ((trust >= 0) & (trust <= 1)).all():
            raise TacitError("trust must be numbers from 0 to 1, one for each link")
        object.__setattr__(self, "trust", trust)

    def take(self, chosen: np.ndarray) -> ProgramLinks:
        """Return the links selected by a mask or an array of positions."""
        return ProgramLinks(**vars(super().take(chosen)), trust=self.trust[chosen])

    def relevant(self) -> Links:
        """Return the links that people would more likely grade 1 than 0, weighted by that grade and by trust."""
        kept = (self.weights >= 0.5) & (self.trust > 0)
        weights = (self.weights * self.trust)[kept]
        return Links(self.sources[kept], self.targets[kept], self.n_sources, self.n_targets, weights)


def join_links(first: Links, second: Links) -> Links:
    """Concatenate two sets of links between the same collections."""
    sources, targets, weights = (
        np.concatenate([getattr(first, name), getattr(second, name)]) for name in ("sources", "targets", "weights")
    )
    return Links(sources, targets, first.n_sources, first.n_targets, weights)


def _rows(name: str, values: np.ndarray, n_rows: int) -> np.ndarray:
    check_number(f"n_{name}", n_rows, low=0, whole=True)
    try:
        rows = np.asarray(values)
    except ValueError:
        raise TacitError(f"{name} must be a flat array of row numbers, got lists of several lengths") from None
    if rows.size == 0:
        return np.empty(0, np.int64)
    if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
        raise TacitError(f"{name} must be a flat array of row numbers, got {rows.dtype} of shape {rows.shape}")
    if rows.min() < 0 or rows.max() >= n_rows:
        bad = rows.min() if rows.min() < 0 else rows.max()
        raise TacitError(f"{name} contains row {bad}, want 0 to {n_rows - 1}")
    return rows.astype(np.int64)
