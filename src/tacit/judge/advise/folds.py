"""Folds of queries; queries of one group stay in one fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.core import TacitError


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
