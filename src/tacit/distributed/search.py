"""Search in items that are spread over a Ray cluster: each part returns its best, the best of these are the answer.

A score depends on its own query and item only, so the answers are those of one machine, bit by bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Ranking, TacitError, UsageError
from tacit.distributed.cluster import n_machines
from tacit.distributed.owners import MOST_LOSSES, PART_OPTIONS
from tacit.retrieve import CollectionRanker


def spread_items(ranker: CollectionRanker, n_parts: int | None = None) -> None:
    """Let `rank` ask the machines of the cluster (`ray_cluster`), each of which gets a part of the items.

    Parameters
    ----------
    ranker : CollectionRanker
        A fitted ranker whose scores do not depend on other items: not `qe` or `blend`, and without an index.
    n_parts : int or None, default=None
        Number of parts; None means one for each machine.
    """
    if type(ranker)._scores is not CollectionRanker._scores or ranker.graphs:
        what = "an index for approximate search" if ranker.graphs else "scores that depend on the best items"
        raise UsageError(f"a Ray cluster cannot search for {type(ranker).__name__}: it has {what}")
    ranker._rank_in_parts = PartedSearch(ranker, min(n_parts or n_machines(), ranker.n_items_)).rank


class PartSearcher:
    """Ranks a part of the items, numbered from `first`."""

    def __init__(self, ranker: CollectionRanker, first: int) -> None:
        self._ranker, self._first = ranker, first

    def rank(self, queries: Features, k: int, exclude: sp.csr_array) -> Ranking:
        """The best items of the part."""
        found = self._ranker.rank(queries, k, exclude=exclude, threads=1)
        return Ranking(np.where(found.items < 0, -1, found.items + self._first), found.scores)


class PartedSearch:
    """The parts of a ranker; a part whose machine is lost is sent to another one."""

    def __init__(self, ranker: CollectionRanker, n_parts: int) -> None:
        self._ranker = ranker
        self._borders = [ranker.n_items_ * part // n_parts for part in range(n_parts + 1)]
        self._actors = [self._start(part) for part in range(n_parts)]

    def rank(self, queries: Features, k: int, exclude: sp.csr_array) -> Ranking:
        """The k best items of each query; `exclude` has those that are no candidates."""
        calls = [
            (queries, k, sp.csr_array(exclude[:, start:stop]))
            for start, stop in zip(self._borders[:-1], self._borders[1:], strict=True)
        ]
        sent = [actor.rank.remote(*call) for actor, call in zip(self._actors, calls, strict=True)]
        return merge([self._answer(part, sent[part], call) for part, call in enumerate(calls)], k)

    def _start(self, part: int) -> Any:
        import ray

        start, stop = self._borders[part : part + 2]
        made = ray.remote(**PART_OPTIONS)(PartSearcher)
        return made.remote(self._ranker._only(np.arange(start, stop)), start)

    def _answer(self, part: int, ref: Any, call: tuple[Any, ...]) -> Ranking:
        import ray

        for _ in range(MOST_LOSSES):
            try:
                return ray.get(ref)
            except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError):
                self._actors[part] = self._start(part)
                ref = self._actors[part].rank.remote(*call)
        raise TacitError(f"part {part} of the items was lost {MOST_LOSSES} times; is there memory for it?")


def merge(parts: list[Ranking], k: int) -> Ranking:
    """The k best of several rankings of the same queries: higher score first, then the smaller item number.

    >>> first = Ranking(np.array([[2, 0]]), np.array([[0.5, 0.1]], np.float32))
    >>> second = Ranking(np.array([[3, -1]]), np.array([[0.5, 0.0]], np.float32))
    >>> merge([second, first], 3).items.tolist()
    [[2, 3, 0]]
    """
    items, scores = (np.concatenate([getattr(part, name) for part in parts], 1) for name in ("items", "scores"))
    order = np.lexsort((items, -scores, items < 0))[:, :k]
    return Ranking(np.take_along_axis(items, order, 1), np.take_along_axis(scores, order, 1))
