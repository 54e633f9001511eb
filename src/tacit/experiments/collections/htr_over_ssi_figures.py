"""Figures of `htr-over-ssi`: measures against the number of known links, for the item and for the collection.
Also ranks of single links, grouped by the number of training links to the same item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tacit.core import Features, cut
from tacit.experiments.figures import Draw, draw_means, new_figure, save
from tacit.experiments.report import Row
from tacit.metrics import standard_error

LEAST_LEAD = 0.005
BORDERS = (0, 1, 2, 4, 8, 16, 32)  # least number of in-links of each bin


def core_figure(rows: Sequence[Row], pairs: Sequence[tuple[str, str, str]]) -> Draw:
    """Draw the difference in MAP of two systems among items with at least a number of training links, by that number.

    `pairs` has what is compared and the two systems; rows with items "all" are at 0. Seeds are combined.
    """
    return partial(_draw_core, rows, pairs)


def _draw_core(rows: Sequence[Row], pairs: Sequence[tuple[str, str, str]], path: Path) -> None:
    figure, axes = new_figure(6.5, 4.5)
    places = sorted({row.setting.get("least_links", 0) for row in rows})
    for shift, (what, one, other) in enumerate(pairs):
        means, errors = [], []
        for least in places:
            gains = _gains(rows, least, one, other)
            means.append(gains.mean() if len(gains) else np.nan)
            errors.append(1.96 * standard_error(gains) if len(gains) > 1 else np.nan)
        x = np.arange(len(places)) + 0.08 * shift
        axes.errorbar(x, means, errors, marker="o", label=f"{what}: {one} - {other}")
    axes.axhline(0, color="#999999", linewidth=0.8)
    axes.set_xticks(range(len(places)), [str(least) if least else "all" for least in places])
    axes.set(xlabel="items ranked: those with at least so many training links", ylabel="MAP, with 95% interval")
    axes.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    save(figure, path)


def _gains(rows: Sequence[Row], least: int, one: str, other: str) -> np.ndarray:
    """Return the difference in values of two systems for every query of every seed."""
    here = [row for row in rows if row.setting.get("least_links", 0) == least and row.setting["share"] == 1]
    first: dict[tuple[str, int], Row] = {}
    for row in here:
        first.setdefault((row.name, row.setting["seed"]), row)
    seeds = [seed for name, seed in first if name == one and (other, seed) in first]
    parts = [first[one, seed].values["MAP"] - first[other, seed].values["MAP"] for seed in seeds]
    return np.concatenate(parts) if parts else np.zeros(0)


def in_links_figure(by_in_links: Mapping[str, Sequence[float]]) -> Draw:
    """Draw the reciprocal rank of a test link by training links to its target, a line for each system."""
    return partial(_draw_in_links, by_in_links)


def _draw_in_links(by_in_links: Mapping[str, Sequence[float]], path: Path) -> None:
    figure, axes = new_figure(6.5, 4.5)
    for name, means in by_in_links.items():
        axes.plot(range(len(means)), means, "--" if "printed" in name else "-", marker="o", label=name)
    axes.set_xticks(range(len(bin_names())), bin_names(), fontsize="small")
    axes.set(xlabel="training links to the item", ylabel="mean reciprocal rank of a test link")
    axes.legend(fontsize="small")
    save(figure, path)


def corpus_figure(rows: Sequence[Row]) -> Draw:
    """Draw MAP by known links, and MAP on validation links over the epochs."""
    return partial(_draw_corpus, rows)


def _draw_corpus(rows: Sequence[Row], path: Path) -> None:
    figure, (left, right) = new_figure(11, 4.5, n_columns=2)
    rows = [row for row in rows if row.setting["seed"] == rows[0].setting["seed"]]
    usual = [row for row in rows if row.setting.get("gamma") is None and row.setting.get("recipe") != "printed"]
    first_dim = next((row.setting["dim"] for row in usual if "dim" in row.setting), None)
    usual = [row for row in usual if row.setting.get("dim") in (None, first_dim)]
    for system in dict.fromkeys(row.name for row in usual):
        mine = sorted((row for row in usual if row.name == system), key=lambda row: row.setting["known"])
        draw_means(left, [row.setting["known"] for row in mine], mine, "MAP", system)
    left.set(xscale="log", xlabel="known links for each document", ylabel="MAP with 95% interval")
    for row in (row for row in rows if row.setting["share"] == 1 and row.epochs and row.setting.get("gamma") is None):
        if row.setting.get("dim") == first_dim:
            right.plot([e["epoch"] for e in row.epochs], [e["MAP"] for e in row.epochs], label=row.name)
    right.set(xlabel="epoch", ylabel="MAP on validation links")
    for axes in (left, right):
        axes.legend(fontsize="small")
    save(figure, path)


def world_figure(rows: Sequence[Row]) -> Draw:
    """Draw MAP by known links of an item, one panel for each share of items with hidden groups."""
    return partial(_draw_world, rows)


def _draw_world(rows: Sequence[Row], path: Path) -> None:
    shares = list(dict.fromkeys(row.setting["hidden"] for row in rows))
    figure, panels = new_figure(5.5 * len(shares), 4.5, n_columns=len(shares))
    for hidden, axes in zip(shares, panels if len(shares) > 1 else [panels], strict=True):
        some = [row for row in rows if row.setting["hidden"] == hidden]
        for name in dict.fromkeys(row.name for row in some):
            mine = [row for row in some if row.name == name]
            known, means = [row.setting["known"] for row in mine], [row.metrics["MAP"] for row in mine]
            axes.plot(known, means, "--" if "printed" in name else "-", marker="o", label=name)
        title = f"{1 - hidden:.0%} of the items have words of their group"
        axes.set(xscale="log", xlabel="known links for each item", ylabel="MAP", ylim=(0, 1), title=title)
        places = sorted({row.setting["known"] for row in some})
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.minorticks_off()
        axes.legend(fontsize="small")
    save(figure, path)


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
