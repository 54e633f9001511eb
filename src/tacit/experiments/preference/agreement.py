"""Do neighbours have the same grade? Otherwise a preference regularizer cannot help.

The regularizer reduces score differences of neighbours, so it can help only if neighbours differ in grade less often
than random pairs of rows of a list. This table uses all grades, including test lists, and is not used for any choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Lists
from tacit.experiments.report import Section
from tacit.rerank.gradient.neighbours import find_neighbours
from tacit.rerank.gradient.ranker import center_and_spread

NUMBERS = (2, 5, 10, 20)


class Agreement(NamedTuple):
    """Shares of pairs of judged rows of one list: connected as neighbours, and with different grades."""

    joined: float
    neighbours_differ: float
    any_differ: float


def grade_agreement(lists: Lists, n_neighbours: int, similarities: sp.csr_array | None = None) -> Agreement:
    """Return how often neighbours and any two rows differ in grade; neighbours by features or given similarities.

    >>> X, grades = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0.0, 0, 1, 2])
    >>> lists = Lists(X, grades, np.array([0, 4]), ["q"], [""] * 4)
    >>> grade_agreement(lists, 1)
    Agreement(joined=0.3333333333333333, neighbours_differ=0.5, any_differ=0.8333333333333334)
    """
    center, spread = center_and_spread(lists.X)
    given = {"vectors": (lists.X - center) / spread} if similarities is None else {"similarities": similarities}
    found = find_neighbours(lists.starts, n_neighbours, **given)
    judged = ~np.isnan(lists.y)
    known = judged[found.left] & judged[found.right]
    differ = lists.y[found.left[known]] != lists.y[found.right[known]]
    n_pairs = n_differ = 0
    for start, stop in zip(lists.starts[:-1].tolist(), lists.starts[1:].tolist(), strict=True):
        _, counts = np.unique(lists.y[start:stop][judged[start:stop]], return_counts=True)
        n = int(counts.sum())
        n_pairs += n * (n - 1) // 2
        n_differ += (n * n - int((counts**2).sum())) // 2
    return Agreement(
        len(differ) / max(1, n_pairs), float(differ.mean()) if len(differ) else 0.0, n_differ / max(1, n_pairs)
    )


def agreement_table(lists: Lists, similarities: sp.csr_array | None = None) -> Section:
    """Return the shares for several numbers of neighbours, by features and, if there are texts, by content."""
    rows = [["features", str(k), *_shown(grade_agreement(lists, k))] for k in NUMBERS]
    if similarities is not None:
        rows += [["content", str(k), *_shown(grade_agreement(lists, k, similarities))] for k in NUMBERS]
    header = [
        "neighbours by",
        "K",
        "pairs joined",
        "neighbours of different grades",
        "any two rows of different grades",
    ]
    return Section("Do neighbours have the same grade? (pairs of judged rows of one list, all labels)", header, rows)


def _shown(shares: Sequence[float]) -> list[str]:
    return [f"{share:.1%}" for share in shares]
