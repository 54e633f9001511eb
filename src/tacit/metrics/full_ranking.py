"""Measures of rankings of a whole collection, computed from blocks of scores without sorting.

Candidates of a query are all items except excluded ones; candidates that are not relevant are non-relevant. Only the
positions of the few relevant items matter, and a position is a count: the candidates with a higher score, plus
those with the same score in a smaller row.

    rank_loss   share of (relevant, non-relevant candidate) pairs in the wrong order, ties half;
                0.5 if every candidate is relevant
    AP, P@10, RR as in `formulas`, ties by the smaller row
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import TacitError, check_array, shown

# From about this many relevant items on, one stable sort of 60,000 scores is cheaper than counting for each item.
SORT_FROM = 200


NAMES = ("rank_loss", "AP", "P@10", "RR")


class Places(NamedTuple):
    """For each relevant item, the number of candidates above it, with a higher score, and tied (with itself)."""

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
        Non-zero for items that are not candidates.

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
    relevant = check_mask("relevant", relevant, scores.shape)
    excluded = None if excluded is None else check_mask("excluded", excluded, scores.shape)
    found = np.empty((len(scores), len(NAMES)))
    for query, row in enumerate(scores):
        items, out = entries(relevant, query), entries(excluded, query)
        check_row(query, row, items, out)
        found[query] = _measure_row(find_places(row, out, row[items], items), row[items], len(row) - len(out))
    return dict(zip(NAMES, found.T.copy(), strict=True))


def measures_from_places(places: Places, scores: sp.csr_array, n_candidates: np.ndarray) -> dict[str, np.ndarray]:
    """Return the values of `full_ranking_measures`.

    Parameters
    ----------
    places : Places
        Positions of all relevant items, query after query.
    scores : csr_array of shape (n_queries, n_items)
        Scores of the relevant items.
    n_candidates : ndarray of shape (n_queries,)
        Number of candidates of each query.
    """
    found = np.empty((scores.shape[0], len(NAMES)))
    for query, (start, stop) in enumerate(pairwise(scores.indptr)):
        own = Places(*(part[start:stop] for part in places))
        found[query] = _measure_row(own, scores.data[start:stop], int(n_candidates[query]))
    return dict(zip(NAMES, found.T.copy(), strict=True))


def find_places(row: np.ndarray, excluded: np.ndarray, wanted: np.ndarray, items: np.ndarray) -> Places:
    """Return positions of items among the candidates of one query, or the contribution of a part of the candidates.

    Parameters
    ----------
    row : ndarray of shape (n_items,)
        Scores of the candidates.
    excluded : ndarray of int
        Items that are not candidates.
    wanted : ndarray of float
        Scores of the items.
    items : ndarray of int
        Positions of the items in `row`; outside its range for items in another part.

    Examples
    --------
    >>> find_places(np.array([2.0, 1, 2]), np.array([0]), np.array([2.0]), np.array([5]))
    Places(above=array([1]), higher=array([0]), equal=array([1]))
    """
    if len(excluded):
        row = row.copy()
        row[excluded] = -np.inf  # all others are finite, so these are never above nor tied
    return (_places_by_counting if len(items) < SORT_FROM else _places_by_sorting)(row, wanted, items)


def _places_by_counting(row: np.ndarray, wanted: np.ndarray, items: np.ndarray) -> Places:
    higher = np.array([np.count_nonzero(row > score) for score in wanted], np.int64)
    equal = np.array([np.count_nonzero(row == score) for score in wanted], np.int64)
    above = higher.copy()
    for i in np.flatnonzero(equal > ((items >= 0) & (items < len(row)))):
        above[i] += np.count_nonzero(row[: max(0, items[i])] == wanted[i])
    return Places(above, higher, equal)


def _places_by_sorting(row: np.ndarray, wanted: np.ndarray, items: np.ndarray) -> Places:
    order = np.argsort(-row, kind="stable")
    higher, end = (np.searchsorted(-row[order], -wanted, side=side) for side in ("left", "right"))
    above = [
        start + np.searchsorted(order[start:stop], item) for start, stop, item in zip(higher, end, items, strict=True)
    ]
    return Places(np.array(above, np.int64), higher, end - higher)


def _measure_row(places: Places, item_scores: np.ndarray, n_candidates: int) -> tuple[float, float, float, float]:
    """Return rank_loss, AP, P@10 and RR of one query; `item_scores` are the scores of the relevant items."""
    n_relevant = len(item_scores)
    among = _places_by_sorting(item_scores, item_scores, np.arange(n_relevant))
    wrong = (places.higher - among.higher) + (places.equal - among.equal) / 2
    n_pairs = n_relevant * (n_candidates - n_relevant)
    rank_loss = float(wrong.sum()) / n_pairs if n_pairs else 0.5
    positions = np.sort(places.above) + 1
    average_precision = float((np.arange(1, n_relevant + 1) / positions).mean())
    return rank_loss, average_precision, np.count_nonzero(positions <= 10) / 10, 1 / float(positions[0])


def entries(mask: sp.csr_array | None, row: int) -> np.ndarray:
    """Return the items of one row of a mask."""
    return np.empty(0, np.int64) if mask is None else mask.indices[mask.indptr[row] : mask.indptr[row + 1]]


def _check_scores(scores: Any) -> np.ndarray:
    is_ready = isinstance(scores, np.ndarray) and np.issubdtype(scores.dtype, np.floating)
    table: np.ndarray = scores if is_ready else check_array("scores", scores)
    if table.ndim != 2:
        raise TacitError(f"scores has {table.ndim} dimensions, want 2 (queries by items)")
    return table


def check_mask(name: str, mask: Any, shape: tuple[int, ...]) -> sp.csr_array:
    """The mask with one sorted entry for each yes."""
    try:
        table = sp.csr_array(mask, dtype=bool, copy=True)
    except (TypeError, ValueError):
        raise TacitError(f"{name} is {shown(mask)}, want a CSR matrix of shape {shape}") from None
    if table.shape != shape:
        raise TacitError(f"{name} has shape {table.shape}, scores {shape}; want the same")
    table.sum_duplicates()
    table.eliminate_zeros()
    return table


def check_row(query: int, row: np.ndarray, items: np.ndarray, out: np.ndarray) -> None:
    """Raise unless a query has relevant items, none of them excluded, and finite scores."""
    if not len(items):
        raise TacitError(f"row {query} has no relevant item, want at least one: leave such queries out")
    if not np.isfinite(row).all():
        raise TacitError(f"row {query} has a score that is not finite at item {int(np.argmin(np.isfinite(row)))}")
    both = np.intersect1d(items, out) if len(out) else out
    if len(both):
        raise TacitError(f"row {query} has item {both[0]} both relevant and excluded, want one of the two")
