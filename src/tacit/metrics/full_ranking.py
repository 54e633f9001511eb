"""Measures of whole rankings of a collection, from blocks of scores, without sorting them.

Candidates of a query are all items but the excluded ones; what is not relevant among them is non-relevant. Only the
places of the few relevant items matter, and a place is a count: the candidates that score higher, plus
those that score the same and stand in a smaller row.

    rank_loss   share of (relevant, non-relevant candidate) pairs in the wrong order, ties half;
                0.5 where every candidate is relevant
    AP, P@10, RR as in `formulas`, ties by the smaller row
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError

# From about this many relevant items on, one stable sort of 60,000 scores is cheaper than counting for each.
SORT_FROM = 200


NAMES = ("rank_loss", "AP", "P@10", "RR")


class Places(NamedTuple):
    """For each relevant item, how many candidates stand above it, score higher, score the same (itself among them)."""

    above: np.ndarray
    higher: np.ndarray
    equal: np.ndarray


def full_ranking_measures(scores: np.ndarray, relevant: Any, excluded: Any = None) -> dict[str, np.ndarray]:
    """Measures of queries that rank a whole collection.

    Parameters
    ----------
    scores : array of shape (n_queries, n_items)
        Scores, higher is better.
    relevant : CSR matrix of shape (n_queries, n_items)
        Non-zero for relevant items; each row needs one.
    excluded : CSR matrix of shape (n_queries, n_items), default=None
        Non-zero for items that are no candidates.

    Returns
    -------
    dict of str to ndarray of shape (n_queries,), float64
        Values of rank_loss, AP, P@10 and RR.

    Examples
    --------
    >>> scores = np.array([[9.0, 4.0, 3.0, 2.0]])
    >>> measures = full_ranking_measures(scores, sp.csr_array([[0, 1, 0, 1]]), sp.csr_array([[1, 0, 0, 0]]))
    >>> {name: round(float(values[0]), 3) for name, values in measures.items()}
    {'rank_loss': 0.5, 'AP': 0.833, 'P@10': 0.2, 'RR': 1.0}
    """
    scores = _check_scores(scores)
    relevant = _check_mask("relevant", relevant, scores.shape)
    excluded = None if excluded is None else _check_mask("excluded", excluded, scores.shape)
    found = np.empty((len(scores), len(NAMES)))
    for query, row in enumerate(scores):
        items, out = _entries(relevant, query), _entries(excluded, query)
        _check_row(query, row, items, out)
        if len(out):
            row = row.copy()
            row[out] = -np.inf  # all others are finite, so these are never above nor equal
        find_places = _places_by_counting if len(items) < SORT_FROM else _places_by_sorting
        found[query] = _measure_row(find_places(row, items), row[items], len(row) - len(out))
    return dict(zip(NAMES, found.T.copy(), strict=True))


def _places_by_counting(row: np.ndarray, items: np.ndarray) -> Places:
    higher = np.array([np.count_nonzero(row > row[item]) for item in items])
    equal = np.array([np.count_nonzero(row == row[item]) for item in items])
    above = higher.copy()
    for i in np.flatnonzero(equal > 1):
        above[i] += np.count_nonzero(row[: items[i]] == row[items[i]])
    return Places(above, higher, equal)


def _places_by_sorting(row: np.ndarray, items: np.ndarray) -> Places:
    order = np.argsort(-row, kind="stable")
    place_of = np.empty(len(row), np.int64)
    place_of[order] = np.arange(len(row))
    descending, wanted = -row[order], -row[items]
    higher = np.searchsorted(descending, wanted, side="left")
    return Places(place_of[items], higher, np.searchsorted(descending, wanted, side="right") - higher)


def _measure_row(places: Places, item_scores: np.ndarray, n_candidates: int) -> tuple[float, float, float, float]:
    """rank_loss, AP, P@10 and RR of one query; `item_scores` are those of the relevant items."""
    n_relevant = len(item_scores)
    among = _places_by_sorting(item_scores, np.arange(n_relevant))
    wrong = (places.higher - among.higher) + (places.equal - among.equal) / 2
    n_pairs = n_relevant * (n_candidates - n_relevant)
    rank_loss = float(wrong.sum()) / n_pairs if n_pairs else 0.5
    positions = np.sort(places.above) + 1
    average_precision = float((np.arange(1, n_relevant + 1) / positions).mean())
    return rank_loss, average_precision, np.count_nonzero(positions <= 10) / 10, 1 / float(positions[0])


def _entries(mask: sp.csr_array | None, row: int) -> np.ndarray:
    return np.empty(0, np.int64) if mask is None else mask.indices[mask.indptr[row] : mask.indptr[row + 1]]


def _check_scores(scores: Any) -> np.ndarray:
    table = np.asarray(scores)
    if table.ndim != 2:
        raise TacitError(f"scores has {table.ndim} dimensions, want 2 (queries by items)")
    return table if np.issubdtype(table.dtype, np.floating) else table.astype(np.float64)


def _check_mask(name: str, mask: Any, shape: tuple[int, ...]) -> sp.csr_array:
    """The mask with one sorted entry for each yes."""
    if mask is None:
        raise TacitError(f"{name} is None, want a CSR matrix of shape {shape}")
    table = sp.csr_array(mask, dtype=bool, copy=True)
    if table.shape != shape:
        raise TacitError(f"{name} has shape {table.shape}, scores {shape}; want the same")
    table.sum_duplicates()
    table.eliminate_zeros()
    return table


def _check_row(query: int, row: np.ndarray, items: np.ndarray, out: np.ndarray) -> None:
    if not len(items):
        raise TacitError(f"row {query} has no relevant item, want at least one: leave such queries out")
    if not np.isfinite(row).all():
        raise TacitError(f"row {query} has a score that is not finite at item {int(np.argmin(np.isfinite(row)))}")
    both = np.intersect1d(items, out) if len(out) else out
    if len(both):
        raise TacitError(f"row {query} has item {both[0]} both relevant and excluded, want one of the two")
