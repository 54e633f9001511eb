"""Do neighbours have the same grade? Otherwise a preference regularizer cannot help.

The regularizer pulls the scores of neighbours together, so it can help only where two neighbours differ in grade less
often than any two rows of a list. The tables here use all grades, test lists included, and nothing is chosen by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Lists
from tacit.experiments.report import Row, Section
from tacit.metrics import compare, t_interval
from tacit.rerank.gradient.neighbours import find_neighbours
from tacit.rerank.gradient.ranker import center_and_spread

NUMBERS = (2, 5, 10, 20)

Agreements = dict[tuple[str, int], "Agreement"]  # by "features" or "content", and number of neighbours


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


def all_agreements(lists: Lists, similarities: sp.csr_array | None = None) -> Agreements:
    """The shares for several numbers of neighbours, by features and, where texts are there, by content."""
    found = {("features", k): grade_agreement(lists, k) for k in NUMBERS}
    if similarities is not None:
        found |= {("content", k): grade_agreement(lists, k, similarities) for k in NUMBERS}
    return found


def agreement_table(found: Agreements) -> Section:
    """A line for each kind and number of neighbours."""
    rows = [[by, str(k), *(f"{share:.1%}" for share in shares)] for (by, k), shares in found.items()]
    header = [
        "neighbours by",
        "K",
        "pairs joined",
        "neighbours of different grades",
        "any two rows of different grades",
    ]
    return Section("Do neighbours have the same grade? (pairs of judged rows of one list, all labels)", header, rows)


class Gain(NamedTuple):
    """Gain of the regularizer with one kind and number of neighbours, against itself with beta = 0."""

    by: str
    k: int
    fewer: float  # 1 - different grades among neighbours / among any two rows
    mean: float
    interval: tuple[float, float]
    p: float


def gains_by_agreement(rows: Sequence[Row], found: Agreements, metric: str) -> list[Gain]:
    """Gains of the rows that have a number of neighbours over the one with beta = 0, in the order of agreement."""
    without = [row.values[metric] for row in rows if row.setting.get("beta") == 0]
    if not without:
        return []
    gains = []
    for row in (row for row in rows if "n_neighbours" in row.setting):
        by, k = "content" if row.system.endswith("-content") else "features", row.setting["n_neighbours"]
        _, near, any_two = found[by, k]
        test = compare(without[0], row.values[metric])
        interval = t_interval(row.values[metric] - without[0])
        gains.append(Gain(by, k, 1 - near / max(any_two, 1e-12), test.difference, interval, test.wilcoxon))
    return sorted(gains, key=lambda gain: gain.fewer)


def gain_table(gains: Sequence[Gain], metric: str) -> list[Section]:
    """A line for each gain, in the order of agreement."""
    if not gains:
        return []
    lines = [[gain.by, str(gain.k), f"{gain.fewer:.1%}", f"{gain.mean:+.3f}", f"{gain.p:.2g}"] for gain in gains]
    header = ["neighbours by", "K", "fewer different grades", f"gain in {metric}", "p"]
    title = "Gain of the regularizer (over beta = 0) by agreement of neighbours (Wilcoxon, p uncorrected)"
    return [Section(title, header, lines)]
