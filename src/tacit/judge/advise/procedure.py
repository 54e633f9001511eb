"""Cross-validation of systems, and of the choice among them.

The whole procedure is tested: choose a system by the judged queries of the training part, fit it there, and rank the
test queries, whose judgments were not used. Therefore more candidates do not make a claim easier.

A candidate may have a time limit. Each of its fits may take at most twice an equal share of the time left, so a
candidate that is too slow is found after a tenth of that time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from tacit.core import TacitError, TimeIsOver, time_limit

T = TypeVar("T")


class Candidate(Protocol):
    """A system that can be chosen.

    `learns` is True if it learns from judged queries. `values` fits it on the judgments of some queries and measures it
    on others: one array for each measure.
    """

    name: str
    learns: bool

    def values(self, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        """Return values by measure, one for each test query."""
        ...


def make_folds(n_queries: int, n_folds: int, seed: int, groups: Sequence[object] | None = None) -> np.ndarray:
    """Return the fold of each query, from 0; fold sizes differ as little as the groups allow.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_folds : int
        Number of folds; at most the number of groups.
    seed : int
        Random seed.
    groups : sequence or None, default=None
        Group of each query; None: each query is its own group.

    Examples
    --------
    >>> sorted(make_folds(4, 2, seed=0).tolist())
    [0, 0, 1, 1]
    """
    names = list(range(n_queries)) if groups is None else list(groups)
    if len(names) != n_queries:
        raise TacitError(f"{len(names)} groups are given for {n_queries} queries, want one for each")
    members: dict[object, list[int]] = {}
    for query, name in enumerate(names):
        members.setdefault(name, []).append(query)
    if len(members) < n_folds:
        raise TacitError(f"{n_queries} queries in {len(members)} groups cannot be split into {n_folds} folds")
    rng = np.random.default_rng(seed)
    shuffled = [members[name] for name in rng.permutation(np.array(list(members), dtype=object)).tolist()]
    sizes, fold_of = np.zeros(n_folds, np.int64), np.empty(n_queries, np.int64)
    for queries in sorted(shuffled, key=len, reverse=True):  # large groups first, each into the smallest fold
        smallest = int(np.argmin(sizes))
        fold_of[queries] = smallest
        sizes[smallest] += len(queries)
    return fold_of


@dataclass
class CrossValidation:
    """Values of candidates on queries that they were not trained on.

    Parameters
    ----------
    candidates : sequence of Candidate
        Systems; the first is the baseline.
    n_queries : int
        Number of judged queries.
    measure : str
        Measure for the choice of systems.
    n_folds, n_inner : int
        Folds of the test, and inner folds of a training part for the choice of a system.
    seed : int
        Random seed of the folds.
    groups : sequence or None
        Group of each query; see `make_folds`.
    progress : callable
        Called with the number of fits done and planned.
    seconds_left : callable
        Time left for candidates with a time limit.
    """

    candidates: Sequence[Candidate]
    n_queries: int
    measure: str
    n_folds: int = 5
    n_inner: int = 3
    seed: int = 0
    groups: Sequence[object] | None = None
    progress: Callable[[str], None] = field(default=lambda message: None)
    seconds_left: Callable[[], float] = field(default=lambda: math.inf)

    def __post_init__(self) -> None:
        self.fold_of = make_folds(self.n_queries, self.n_folds, self.seed, self.groups)
        self._found: dict[str, dict[str, np.ndarray]] = {}
        self._inner: dict[tuple[str, int], np.ndarray] = {}
        self._n_limited = 0  # remaining fits that share the time left

    def all_values(self, candidate: Candidate) -> dict[str, np.ndarray]:
        """Return the values of one candidate after all its fits, including the inner fits for the choice."""
        found = self.values(candidate)
        for fold in range(self.n_folds):
            self._inner_values(candidate, self._split(fold)[0], fold)
        return found

    def n_fits(self, candidate: Candidate) -> int:
        """Return number of fits of one candidate."""
        return self.n_folds * (1 + self.n_inner) if candidate.learns else 1

    def in_time(self, work: Callable[[], T], n_fits: int) -> T | None:
        """Return the result of work with this number of fits; None if it takes longer than the time left."""
        self._n_limited = n_fits
        try:
            return work()
        except TimeIsOver:
            return None
        finally:
            self._n_limited = 0

    def values(self, candidate: Candidate) -> dict[str, np.ndarray]:
        """Return values of one candidate on all queries, each fitted without the query's fold; computed once."""
        if candidate.name not in self._found:
            if candidate.learns:
                self._found[candidate.name] = self.values_of_fewer(candidate, self.n_queries)
            else:
                self._found[candidate.name] = self._fit(candidate, np.empty(0, np.int64), np.arange(self.n_queries))
                self.progress(candidate.name)
        return self._found[candidate.name]

    def values_of_fewer(self, candidate: Candidate, n_judged: int) -> dict[str, np.ndarray]:
        """Return the same for a candidate that learns, with at most this many judged queries per training part."""
        parts = []
        for fold in range(self.n_folds):
            train, test = self._split(fold)
            if n_judged < len(train):
                train = np.sort(np.random.default_rng([self.seed, fold]).permutation(train)[:n_judged])
            parts.append((test, self._fit(candidate, train, test)))
            self.progress(f"{candidate.name}: fold {fold + 1} of {self.n_folds}")
        return _join(parts, self.n_queries)

    def chosen(self) -> tuple[dict[str, np.ndarray], list[str]]:
        """Return values of the procedure on all queries, and the candidate chosen in each fold."""
        parts, names = [], []
        for fold in range(self.n_folds):
            train, test = self._split(fold)
            best = self._choose(train, fold)
            names.append(best.name)
            parts.append((test, {measure: found[test] for measure, found in self.values(best).items()}))
        return _join(parts, self.n_queries), names

    def best(self) -> Candidate:
        """Return the candidate with the best mean over all queries; ties go to the first."""
        return max(self.candidates, key=lambda candidate: float(self.values(candidate)[self.measure].mean()))

    def _choose(self, train: np.ndarray, fold: int) -> Candidate:
        """Return the candidate with the best mean over some queries, fitted without it; ties go to the first."""
        means = [float(self._inner_values(candidate, train, fold).mean()) for candidate in self.candidates]
        return self.candidates[int(np.argmax(means))]

    def _inner_values(self, candidate: Candidate, train: np.ndarray, salt: int) -> np.ndarray:
        if not candidate.learns:
            return self.values(candidate)[self.measure][train]
        if (candidate.name, salt) in self._inner:
            return self._inner[candidate.name, salt]
        groups = None if self.groups is None else [self.groups[query] for query in train]
        n_groups = len(train) if groups is None else len(set(groups))
        inner = make_folds(len(train), min(self.n_inner, n_groups), self.seed + 1 + salt, groups)
        found = np.empty(len(train))
        for fold in range(int(inner.max()) + 1):
            held = inner == fold
            found[held] = self._fit(candidate, train[~held], train[held])[self.measure]
        self.progress(f"{candidate.name}: choice for fold {salt + 1} of {self.n_folds}")
        self._inner[candidate.name, salt] = found
        return found

    def _fit(self, candidate: Candidate, train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
        if not self._n_limited:
            return candidate.values(train, test)
        with time_limit(self.seconds_left() * min(1.0, 2 / self._n_limited)):
            found = candidate.values(train, test)
        self._n_limited -= 1
        return found

    def _split(self, fold: int) -> tuple[np.ndarray, np.ndarray]:
        return np.flatnonzero(self.fold_of != fold), np.flatnonzero(self.fold_of == fold)


def _join(parts: Sequence[tuple[np.ndarray, dict[str, np.ndarray]]], n_queries: int) -> dict[str, np.ndarray]:
    """Return values of the folds in the order of queries."""
    joined = {measure: np.empty(n_queries) for measure in parts[0][1]}
    for test, values in parts:
        for measure, found in values.items():
            joined[measure][test] = found
    return joined
