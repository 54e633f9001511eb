"""A plan of pairs to judge: of each query a few documents, drawn from strata of ranks with known probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.judge import JudgmentStore
from tacit.search import Searcher

# (first rank, last rank, documents drawn for training, for measuring)
STRATA = ((1, 5, 2, 2), (6, 20, 1, 2), (21, 50, 1, 2))
DEPTH = STRATA[-1][1]


class Pair(NamedTuple):
    """A document to judge for a query."""

    query: str
    text: str
    document: str
    rank: int
    probability: float


def make_plan(searcher: Searcher, store: JudgmentStore, *, judge: str, purpose: str, n: int) -> list[Pair]:
    """At most n pairs that the judge has not judged: queries with the fewest judgments first, documents shuffled.

    The draw of a query depends on its id and the purpose only, so that a plan made again asks for the same pairs.
    """
    judged = {(record.query, record.document) for record in store.current(judge)}
    queries = [(query, text) for query, text in zip(store.queries().ids, store.queries().texts, strict=True) if text]
    counts = {query: sum(1 for other, _ in judged if other == query) for query, _ in queries}
    found: list[Pair] = []
    for query, text in sorted(queries, key=lambda entry: counts[entry[0]]):
        found += [pair for pair in draw(searcher, query, text, purpose) if (query, pair.document) not in judged]
        if len(found) >= n:
            break
    order = np.random.default_rng(len(judged)).permutation(len(found))
    return [found[place] for place in order.tolist()]


def draw(searcher: Searcher, query: str, text: str, purpose: str) -> list[Pair]:
    """Documents of one query, some of each stratum."""
    hits = [hit.id for hit in searcher.search(text, DEPTH)]
    rng = np.random.default_rng(list(f"{query}/{purpose}".encode()))
    pairs: list[Pair] = []
    for first, last, for_training, for_measuring in STRATA:
        ranks = range(first, min(last, len(hits)) + 1)
        n_drawn = min(len(ranks), for_measuring if purpose == "measuring" else for_training)
        pairs += _draw_from(ranks, n_drawn, hits, query, text, rng)
    return pairs


def _draw_from(
    ranks: Sequence[int], n_drawn: int, hits: Sequence[str], query: str, text: str, rng: np.random.Generator
) -> list[Pair]:
    if not n_drawn:
        return []
    chosen = rng.choice(np.array(ranks), n_drawn, replace=False).tolist()
    return [Pair(query, text, hits[rank - 1], rank, n_drawn / len(ranks)) for rank in sorted(chosen)]
