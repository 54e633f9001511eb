"""Ranks of single links, grouped by the number of training links to the same item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, cut

LEAST_LEAD = 0.005
BORDERS = (0, 1, 2, 4, 8, 16, 32)  # least number of in-links of each bin


class LinkRanks(NamedTuple):
    """In-links in training and reciprocal rank of every test link; a rank counts non-relevant candidates only."""

    in_links: np.ndarray
    reciprocal: np.ndarray

    def means(self) -> list[float]:
        """Return the mean reciprocal rank of each bin; NaN for a bin without links."""
        bins = np.searchsorted(BORDERS, self.in_links, side="right") - 1
        values = [self.reciprocal[bins == number] for number in range(len(BORDERS))]
        return [float(found.mean()) if len(found) else float("nan") for found in values]

    def counts(self) -> list[int]:
        """Return the number of test links in each bin."""
        return np.bincount(np.searchsorted(BORDERS, self.in_links, side="right") - 1, minlength=len(BORDERS)).tolist()


def bin_names() -> list[str]:
    """Return the names of the bins.

    >>> bin_names()
    ['0', '1', '2-3', '4-7', '8-15', '16-31', '32 or more']
    """
    names = [str(low) if low == high - 1 else f"{low}-{high - 1}" for low, high in pairwise(BORDERS)]
    return [*names, f"{BORDERS[-1]} or more"]


def link_ranks(
    scores_of: Callable[[Features], np.ndarray],
    queries: Features,
    relevant: sp.csr_array,
    excluded: sp.csr_array,
    in_links: np.ndarray,
) -> LinkRanks:
    """Return ranks of all relevant items of the queries; `scores_of` scores all items for some query rows."""
    found: list[np.ndarray] = []
    degrees: list[np.ndarray] = []
    for block in cut(queries.shape[0], 50):
        scores = scores_of(queries[block])
        wanted, barred = relevant[block].toarray() > 0, excluded[block].toarray() > 0
        for row, mine, out in zip(scores, wanted, barred, strict=True):
            others = np.sort(row[~mine & ~out])
            items = np.flatnonzero(mine & ~out)
            above = len(others) - np.searchsorted(others, row[items], side="right")
            level = len(others) - np.searchsorted(others, row[items], side="left") - above
            found.append(1 / (1 + above + level / 2))
            degrees.append(in_links[items])
    return LinkRanks(np.concatenate(degrees), np.concatenate(found))


def crossing(places: Sequence[float], first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return where the second curve passes the first for good, on a logarithmic axis; None if nowhere.

    A lead of less than 0.005 is ignored.

    >>> round(crossing([1, 2, 4, 8], [0.5, 0.5, 0.5, 0.5], [0.1, 0.3, 0.6, 0.9]), 2)
    3.21
    """
    ahead = np.asarray(second) - np.asarray(first) - LEAST_LEAD
    behind = np.flatnonzero(ahead <= 0)
    if not len(behind):
        return float(places[0])
    last = int(behind[-1])
    if last == len(ahead) - 1:
        return None
    share = ahead[last] / (ahead[last] - ahead[last + 1])
    return float(np.exp(np.log(places[last]) + share * (np.log(places[last + 1]) - np.log(places[last]))))
