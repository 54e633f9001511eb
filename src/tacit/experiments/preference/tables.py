"""Tables of `preference` over all seeds: means by share of labels, and the main comparisons.

Seeds determine which labels are kept, and tests are over queries: values are averaged over seeds query by query first,
then Wilcoxon's signed-rank test is over queries. p-values are two-sided, uncorrected (as in PREF) and Holm-corrected
over the shares of one line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.experiments.report import Row, Section
from tacit.metrics import compare, holm, standard_error

SEMI = (
    "ssbt", "standing", "sslambdarank", "sslambdamart", "ssbt-printed", "sslambdarank-printed", "ssbt-printed-eq4",
    "sslambdarank-printed-eq4", "ssbt-printed-content", "sslambdarank-printed-content",
)  # fmt: skip
ABLATED = ("ssbt-beta0", "sslambdarank-beta0")  # without neighbours, but with other terms from unjudged rows
UPPER_BOUND = "upper-bound"
# Settings of rows that only `full` has; these rows are not in the main tables.
EXTRA_SETTINGS = ("n_neighbours", "beta", "without", "view", "depth")

Values = dict[tuple[str, float], np.ndarray]


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
