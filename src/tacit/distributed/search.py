"""Search in items spread over a cluster: each part returns its best items, and these are merged.

A score depends only on its own query and item, so the results are bit-identical to one machine.
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Ranking, UsageError
from tacit.core.threads import cluster
from tacit.distributed.backend import Backend, Owner, Parts
from tacit.retrieve import CollectionRanker


def spread_items(ranker: CollectionRanker, n_parts: int | None = None) -> None:
    """Let `rank` use the machines of the current cluster (`ray_cluster`), each of which gets a part of the items.

    Parameters
    ----------
    ranker : CollectionRanker
        A fitted ranker whose scores do not depend on other items: not `qe` or `blend`, and without an index.
    n_parts : int or None, default=None
        Number of parts; None means one for each machine.
    """
    backend = cast(Backend | None, cluster.get())
    if backend is None:
        raise UsageError("spread_items has no cluster, want it within ray_cluster() or Backend.used()")
    if type(ranker).score_rows is not CollectionRanker.score_rows or ranker.graphs:
        what = "an index for approximate search" if ranker.graphs else "scores that depend on the best items"
        raise UsageError(f"a cluster cannot search for {type(ranker).__name__}: it has {what}")
    ranker.rank_in_parts = PartedSearch(backend, ranker, n_parts or backend.n_machines).rank


class PartSearcher:
    """Ranks a part of the items, numbered from `first`."""

    def __init__(self, ranker: CollectionRanker, first: int) -> None:
        self._ranker, self._first = ranker, first

    def rank(self, queries: Features, k: int, exclude: sp.csr_array) -> Ranking:
        """Return the best items of the part."""
        found = self._ranker.rank(queries, k, exclude=exclude, threads=1)
        return Ranking(np.where(found.items < 0, -1, found.items + self._first), found.scores)


class PartedSearch(Parts):
    """The parts of a ranker."""

    def __init__(self, backend: Backend, ranker: CollectionRanker, n_parts: int) -> None:
        self._ranker = ranker
        super().__init__(backend, ranker.n_items_, n_parts)

    def rank(self, queries: Features, k: int, exclude: sp.csr_array) -> Ranking:
        """Return the k best items of each query; `exclude` has items that are not candidates."""
        excluded = [sp.csr_array(exclude[:, start:stop]) for start, stop in pairwise(self.borders)]
        return merge(self._ask("rank", {part: (queries, k, some) for part, some in enumerate(excluded)})(), k)

    def _start(self, part: int) -> Owner:
        start, stop = self.borders[part : part + 2]
        return self._backend.own(PartSearcher, self._ranker.with_items(np.arange(start, stop)), start)


def merge(parts: list[Ranking], k: int) -> Ranking:
    """Return the k best of several rankings of the same queries: higher score first, then the smaller item number.

    >>> first = Ranking(np.array([[2, 0]]), np.array([[0.5, 0.1]], np.float32))
    >>> second = Ranking(np.array([[3, -1]]), np.array([[0.5, 0.0]], np.float32))
    >>> merge([second, first], 3).items.tolist()
    [[2, 3, 0]]
    """
    items, scores = (np.concatenate([getattr(part, name) for part in parts], 1) for name in ("items", "scores"))
    order = np.lexsort((items, -scores, items < 0))[:, :k]
    return Ranking(np.take_along_axis(items, order, 1), np.take_along_axis(scores, order, 1))
