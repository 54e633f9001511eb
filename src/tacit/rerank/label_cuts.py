"""Random removal of labels, for learning curves.

Rows are kept; removed labels become unjudged. The labels kept in a list depend on the seed and the query id, not on
other lists, and a larger share keeps every label that a smaller share keeps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.core import Lists, check_number


def cut_labels(lists: Lists, share: float, seed: int, ranks: np.ndarray | None = None) -> Lists:
    """Keep max(2, round(share * n)) of the n labels of each list; the others become unjudged.

    Parameters
    ----------
    lists : Lists
        Labelled lists.
    share : float
        Share of labels to keep, above 0 and at most 1.
    seed : int
        Random seed.
    ranks : ndarray of shape (n_rows,), default=None
        Keep the labels of the rows with the highest values; None draws labels at random.

    Returns
    -------
    Lists

    Examples
    --------
    >>> lists = Lists(np.zeros((5, 1)), np.ones(5), np.array([0, 5]), ["7"], [""] * 5)
    >>> int(np.isfinite(cut_labels(lists, 0.6, seed=0).y).sum()), int(np.isfinite(cut_labels(lists, 0.01, 0).y).sum())
    (3, 2)
    """
    check_number("share", share, low=0, high=1, open_low=True)
    y = np.full(len(lists.y), np.nan)
    for number, query_id in enumerate(lists.query_ids):
        rows = np.arange(lists.starts[number], lists.starts[number + 1])
        keys = -ranks[rows] if ranks is not None else _stream(seed, query_id).random(len(rows))
        judged = np.isfinite(lists.y[rows])
        rows, keys = rows[judged], keys[judged]
        kept = rows[np.argsort(keys, kind="stable")[: max(2, round(share * len(rows)))]]
        y[kept] = lists.y[kept]
    return replace(lists, y=y)


def cut_queries(lists: Lists, share: float, seed: int) -> Lists:
    """Keep all labels of max(1, round(share * n)) lists, drawn at random.

    Parameters
    ----------
    lists : Lists
        Labelled lists.
    share : float
        Share of lists to keep labelled, above 0 and at most 1.
    seed : int
        Random seed.

    Returns
    -------
    Lists

    Examples
    --------
    >>> lists = Lists(np.zeros((4, 1)), np.ones(4), np.array([0, 1, 2, 3, 4]), list("abcd"), [""] * 4)
    >>> int(np.isfinite(cut_queries(lists, 0.5, seed=0).y).sum())
    2
    """
    check_number("share", share, low=0, high=1, open_low=True)
    keys = [float(_stream(seed, query_id).random()) for query_id in lists.query_ids]
    kept = np.argsort(keys, kind="stable")[: max(1, round(share * len(lists)))]
    labelled = np.isin(lists.qid, kept)
    return replace(lists, y=np.where(labelled, lists.y, np.nan))


def _stream(seed: int, query_id: str) -> np.random.Generator:
    return np.random.default_rng([seed, *query_id.encode(errors="surrogatepass")])
