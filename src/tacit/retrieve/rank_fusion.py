"""Reciprocal rank fusion of several scores, the usual baseline of hybrid search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RANK_CONSTANT = 60


def reciprocal_rank_fusion(
    scores: Sequence[np.ndarray], candidates: np.ndarray | None = None, constant: float = RANK_CONSTANT
) -> np.ndarray:
    """The sum of 1 / (constant + rank) over several scores of all items, float64 (n_queries, n_items).

    Parameters
    ----------
    scores : sequence of ndarray of shape (n_queries, n_items)
        Scores; of equal ones the first item ranks first.
    candidates : ndarray of bool of the same shape or None, default=None
        Which items are ranked; the others are ranked behind them. None means all.
    constant : float, default=60
        Added to each rank, the first of which is 1.

    Examples
    --------
    >>> reciprocal_rank_fusion([np.array([[3.0, 2.0, 1.0]]), np.array([[0.1, 0.9, 0.2]])], constant=1).round(2)
    array([[0.75, 0.83, 0.58]])
    """
    total = np.zeros(scores[0].shape)
    for found in scores:
        kept = found if candidates is None else np.where(candidates, found, -np.inf)
        order = np.argsort(-kept, axis=1, kind="stable")
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(1, 1 + order.shape[1])[None], axis=1)
        total += 1 / (constant + ranks)
    return total
