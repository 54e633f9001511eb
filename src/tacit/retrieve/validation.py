"""Validation on held-out pairs: candidates, measures, and the weight of a mixture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, Links, TacitError, map_blocks
from tacit.metrics import full_ranking_measures, is_loss

MAX_QUERIES = 500  # more of them hardly change which setting is chosen

ScoreRows = Callable[[Features], np.ndarray]


class HeldOut(NamedTuple):
    """Validation queries: their rows, weights of relevant items, which items are no candidates, and judged zeros."""

    queries: Features
    relevant: sp.csr_array
    excluded: sp.csr_array
    zeros: sp.csr_array

    def among(self, items: np.ndarray) -> HeldOut:
        """The same with some of the items as candidates; these come in the given order."""
        return HeldOut(self.queries, *(sp.csr_array(part[:, items]) for part in self[1:]))

    def blocks(self, size: int = 64) -> Iterator[HeldOut]:
        """The same in pieces of a few queries, so that score rows stay small."""
        for start in range(0, self.relevant.shape[0], size):
            piece = slice(start, start + size)
            yield HeldOut(*(part[piece] for part in self))


def hold_out(pairs: Links, share: float = 0.05, seed: int = 0) -> tuple[Links, Links]:
    """Split pairs into (training, validation) by queries; at least one query goes to each side."""
    sources = np.unique(pairs.sources)
    if len(sources) < 2:
        raise TacitError(f"queries with pairs: {len(sources)}, want at least 2: one to learn from, one to choose on")
    n_held = min(len(sources) - 1, max(1, round(share * len(sources))))
    held = np.random.default_rng(seed).choice(sources, n_held, replace=False)
    is_held = np.isin(pairs.sources, held)
    return pairs.take(~is_held), pairs.take(is_held)


def sampled_queries(relevant: Links, max_queries: int = MAX_QUERIES, seed: int = 0) -> np.ndarray:
    """Rows of the queries of `relevant`, rising: a seeded sample of at most `max_queries`."""
    rows = np.unique(relevant.sources)
    if len(rows) > max_queries:
        rows = np.sort(np.random.default_rng(seed).choice(rows, max_queries, replace=False))
    return rows


def held_out_queries(
    queries: Features,
    relevant: Links,
    known: Links | None,
    queries_are_items: bool,
    max_queries: int = MAX_QUERIES,
    seed: int = 0,
    zeros: Links | None = None,
) -> HeldOut:
    """Prepare the queries of `relevant` for measuring: a seeded sample of at most `max_queries`.

    Candidates are all items but the query itself (with `queries_are_items`) and its known links; `zeros` were judged
    and are not relevant.
    """
    rows = sampled_queries(relevant, max_queries, seed)
    nothing = sp.csr_array((len(rows), relevant.n_targets))
    excluded = nothing if known is None else known.take(np.isin(known.sources, rows)).to_csr()[rows]
    if queries_are_items:
        selves = sp.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=excluded.shape)
        excluded = sp.csr_array(excluded + selves)
    judged = nothing if zeros is None else zeros.to_csr()[rows]
    return HeldOut(queries[rows], relevant.to_csr()[rows], excluded > 0, judged > 0)


def measure(score_rows: ScoreRows, held: HeldOut, threads: int | None = None) -> dict[str, np.ndarray]:
    """Per query values of every full-ranking measure."""

    def one_block(block: HeldOut) -> dict[str, np.ndarray]:
        return full_ranking_measures(score_rows(block.queries), block.relevant, block.excluded)

    pieces = map_blocks(one_block, list(held.blocks()), threads)
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def best_weight(
    weights: Sequence[float], values: Callable[[float], Mapping[str, np.ndarray]], target: str, *, least: str = ""
) -> float:
    """Return the weight of a mixture that is best on validation; ties go to the first.

    Parameters
    ----------
    weights : sequence of float
        Candidates.
    values : callable
        Measures of a weight, one value for each query.
    target : str
        The measure that decides by its mean; higher is better.
    least : str, default=""
        A second measure: among all weights within one standard error of the best, the one with the lowest mean
        is chosen. Ignored if `values` does not have it.
    """
    found = {weight: values(weight) for weight in weights}
    best = max(found, key=lambda weight: found[weight][target].mean())
    if least not in found[best]:
        return best
    lost = {weight: found[best][target] - of_weight[target] for weight, of_weight in found.items()}
    good = [weight for weight, loss in lost.items() if loss.mean() <= loss.std() / np.sqrt(len(loss))]
    return min(good, key=lambda weight: found[weight][least].mean())


def choose_mixture(
    main: ScoreRows, other: ScoreRows, held: HeldOut, weights: Sequence[float], measure: str = "AP"
) -> float:
    """The weight w with the best mean of a measure of `main + w * other`: average precision, or the least rank loss.

    Both scores are computed once for all weights; ties go to the first.
    """
    totals = np.zeros(len(weights))
    for block in held.blocks():
        first, second = main(block.queries), other(block.queries)
        for place, weight in enumerate(weights):
            mixed = first + np.float32(weight) * second
            totals[place] += full_ranking_measures(mixed, block.relevant, block.excluded)[measure].sum()
    return float(weights[int(np.argmin(totals) if is_loss(measure) else np.argmax(totals))])
