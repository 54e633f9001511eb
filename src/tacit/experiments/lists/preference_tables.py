"""Tables of `preference` over all seeds: means by share of labels, and the main comparisons.

Seeds determine which labels are kept, and tests are over queries: values are averaged over seeds query by query first,
then Wilcoxon's signed-rank test is over queries. p-values are two-sided, uncorrected (as in PREF) and Holm-corrected
over the shares of one line.

**Agreement.** Do neighbours have the same grade? The regularizer pulls the scores of neighbours together, so it can
help only where two neighbours differ in grade less often than any two rows of a list. The tables here use all grades,
test lists included, and nothing is chosen by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Lists
from tacit.experiments.report import Row, Section
from tacit.metrics import compare, holm, standard_error, t_interval
from tacit.rerank.gradient.neighbours import find_neighbours
from tacit.rerank.gradient.ranker import center_and_spread

SEMI = (
    "ssbt", "standing", "sslambdarank", "sslambdamart", "ssbt-printed", "sslambdarank-printed", "ssbt-printed-eq4",
    "sslambdarank-printed-eq4", "ssbt-printed-content", "sslambdarank-printed-content",
)  # fmt: skip
ABLATED = ("ssbt-beta0", "sslambdarank-beta0")  # without neighbours, but with other terms from unjudged rows
UPPER_BOUND = "upper-bound"
# Settings of rows that only `full` has; these rows are not in the main tables.
EXTRA_SETTINGS = ("n_neighbours", "beta", "without", "view", "depth")

Values = dict[tuple[str, float], np.ndarray]
NUMBERS = (2, 5, 10, 20)

Agreements = dict[tuple[str, int], "Agreement"]  # by "features" or "content", and number of neighbours


def preference_tables(rows: Sequence[Row]) -> list[Section]:
    """Return, for each measure, means of the systems, and tests between them."""
    sections = []
    for metric in rows[0].values if rows else ():
        values = mean_values(rows, metric)
        shares = sorted({share for _, share in values})
        header = ["", *(f"{share:.0%}" if share <= 1 else f"k = {share:g}" for share in shares)]
        sections.append(Section(f"{metric}, mean over seeds", ["system", *header[1:]], _means(values, shares)))
        found = _comparisons(values, shares)
        if found:
            sections.append(Section(f"{metric}: what the unjudged rows add", ["comparison", *header[1:]], found))
    return sections


def depth_table(rows: Sequence[Row], metric: str) -> list[Section]:
    """Compare few queries with many labels and many queries with few, at the same total: means over seeds, and p."""
    found: dict[tuple[str, int], list[np.ndarray]] = {}
    for row in rows:
        if "depth" in row.setting:
            found.setdefault((row.system, row.setting["depth"]), []).append(row.values[metric])
    values = {key: np.mean(parts, axis=0) for key, parts in found.items()}
    depths = sorted({depth for _, depth in values})
    lines = []
    for system in dict.fromkeys(system for system, _ in values):
        first, *others = (values[system, depth] for depth in depths)
        tested = (f"{v.mean():.3f} (p {compare(first, v).wilcoxon:.2g})" for v in others)
        lines.append([system, f"{first.mean():.3f}", *tested])
    title = f"{metric}: as many labels in all, by labels for each judged query"
    return [Section(title, ["system", *map(str, depths)], lines)] if lines else []


def mean_values(rows: Sequence[Row], metric: str) -> Values:
    """Return per-query values of each system at each share (or k), averaged over seeds."""
    found: dict[tuple[str, float], list[np.ndarray]] = {}
    for row in rows:
        found.setdefault((row.system, row.setting.get("share", row.setting.get("k"))), []).append(row.values[metric])
    return {key: np.mean(values, axis=0) for key, values in found.items()}


def _means(values: Values, shares: Sequence[float]) -> list[list[str]]:
    systems = dict.fromkeys(system for system, _ in values)
    return [[system, *(_mean(values.get((system, share))) for share in shares)] for system in systems]


def _mean(values: np.ndarray | None) -> str:
    return "" if values is None else f"{values.mean():.3f} ± {standard_error(values):.3f}"


def _comparisons(values: Values, shares: Sequence[float]) -> list[list[str]]:
    """Compare the best supervised row with semi-supervised ones and all labels; each ranker with its reduced forms."""
    systems = set(dict.fromkeys(system for system, _ in values))
    semi = systems & set(SEMI)
    supervised = systems - {*SEMI, *ABLATED, UPPER_BOUND}
    lines = []
    if semi and supervised:
        best = [tuple(_best(values, names, share) for names in (semi, supervised)) for share in shares]
        lines.append(["best semi-supervised, best supervised", *_line(values, shares, best)])
        for name in sorted(semi):
            pairs = [(name, above) for _, above in best]
            lines.append([f"{name}, best supervised", *_line(values, shares, pairs)])
        if UPPER_BOUND in systems:  # the gain if all labels of the unjudged rows were known
            pairs = [(UPPER_BOUND, above) for _, above in best]
            lines.append([f"{UPPER_BOUND}, best supervised", *_line(values, shares, pairs)])
    known = [(name, other) for name in sorted(semi) for other in _without_terms(name) if other in systems]
    return lines + [
        [f"{name}, {other}", *_line(values, shares, [(name, other)] * len(shares))] for name, other in known
    ]


def _without_terms(name: str) -> list[str]:
    """Return the rows to compare a semi-supervised one with: without neighbours, without unjudged rows; linear."""
    plain = name.removesuffix("-content").removesuffix("-eq4")
    return [f"{plain}-beta0", "lightgbm" if name == "sslambdamart" else f"{plain}-judged", "linear"]


def _best(values: Values, systems: set[str], share: float) -> str:
    return max(sorted(systems), key=lambda system: values[system, share].mean())


def _line(values: Values, shares: Sequence[float], pairs: Sequence[tuple[str, ...]]) -> list[str]:
    tests = [compare(values[b, share], values[a, share]) for share, (a, b) in zip(shares, pairs, strict=True)]
    corrected = holm(test.wilcoxon for test in tests)
    named = len(set(pairs)) > 1
    return [
        (f"{a} − {b} " if named else "") + f"{test.difference:+.3f}, p {test.wilcoxon:.2g} / {p:.2g}"
        for (a, b), test, p in zip(pairs, tests, corrected.tolist(), strict=True)
    ]


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
