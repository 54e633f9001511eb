"""Curves of measures against the number of labelled pairs, and the effects of K and beta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tacit.experiments.figures import Draw, draw_means, new_figure, save, shown_systems
from tacit.experiments.lists.preference_tables import EXTRA_SETTINGS, SEMI, Gain
from tacit.experiments.report import Report, Row

EFFECTS = {"n_neighbours": "number of neighbours K", "beta": "beta"}


def preference_figures(report: Report, n_pairs: Mapping[float, float]) -> dict[str, Draw]:
    """Draw curves of each measure; ablations of a full run have separate figures."""
    plain = [row for row in report.rows if not set(row.setting) & set(EXTRA_SETTINGS)]
    figures: dict[str, Draw] = {}
    for metric in plain[0].values if len(n_pairs) > 1 else ():
        figures[f"curve-{metric.replace('@', '-')}"] = partial(_curves, plain, n_pairs, metric)
    for parameter in EFFECTS:
        rows = [row for row in report.rows if parameter in row.setting]
        rows = [row for row in rows if row.system == rows[0].system]  # neighbours by features
        if len(rows) > 1:
            figures[f"effect-{parameter.replace('_', '-')}"] = partial(_effect, rows, parameter)
    return figures


def _curves(rows: Sequence[Row], n_pairs: Mapping[float, float], metric: str, path: Path) -> None:
    """Draw the mean over queries and seeds with a 95% interval over queries; semi-supervised rankers are solid."""
    figure, axes = new_figure(9, 5)
    shift = 1.0
    for number, system in enumerate(shown_systems(rows, metric, keep=("linear", "upper-bound"))):
        points = {value: _mean_rows(rows, system, value, metric) for value in n_pairs}
        x = shift * np.array([n_pairs[value] for value in points])
        means, errors = np.array(list(points.values())).T
        style = "-" if system in SEMI else ":" if system == "upper-bound" else "--"
        color = f"C{number}"
        axes.plot(x, means, linestyle=style, marker="o", markersize=3, color=color, label=system)
        axes.vlines(x, means - 1.96 * errors, means + 1.96 * errors, color=color, linewidth=0.8, alpha=0.4)
        shift *= 1.015  # so that intervals do not overlap
    axes.set(xscale="log", xlabel="labelled pairs in a fold's training lists", ylabel=metric)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))  # next to the curves
    save(figure, path)


def _mean_rows(rows: Sequence[Row], system: str, value: float, metric: str) -> tuple[float, float]:
    """Return mean and standard error of a system at one share: seeds are averaged query by query first."""
    chosen = [r for r in rows if r.system == system and r.setting.get("share", r.setting.get("k")) == value]
    per_query = np.mean([row.values[metric] for row in chosen], axis=0)
    return float(per_query.mean()), float(per_query.std(ddof=1) / np.sqrt(len(per_query)))


def gain_figure(gains: Sequence[Gain], corpus: str, metric: str) -> dict[str, Draw]:
    """The regularizer's gain against the agreement of neighbours, where there are gains."""
    return {f"preference-{corpus}-gain-by-agreement": partial(_gains, gains, corpus, metric)} if gains else {}


def _gains(gains: Sequence[Gain], corpus: str, metric: str, path: Path) -> None:
    """One point for each kind and number of neighbours, with the 95% interval of its gain."""
    figure, axes = new_figure(6, 3.6)
    for number, by in enumerate(dict.fromkeys(gain.by for gain in gains)):
        mine = [gain for gain in gains if gain.by == by]
        x = np.array([100 * gain.fewer for gain in mine])
        y = np.array([gain.mean for gain in mine])
        low, high = np.array([gain.interval for gain in mine]).T
        axes.errorbar(x, y, yerr=(y - low, high - y), fmt="o", capsize=3, color=f"C{number}", label=f"by {by}")
        for gain, place in zip(mine, zip(x, y, strict=True), strict=True):
            axes.annotate(f" K = {gain.k}", place, fontsize=8)
    axes.axhline(0, color="gray", linewidth=0.8)
    axes.set(xlabel="fewer different grades among neighbours, %", ylabel=f"gain in {metric}", title=corpus)
    axes.legend(fontsize=8)
    save(figure, path)


def _effect(rows: Sequence[Row], parameter: str, path: Path) -> None:
    figure, axes = new_figure(5, 3.6)
    labels = [f"{row.setting[parameter]:g}" for row in rows]
    for metric in rows[0].values:
        draw_means(axes, labels, rows, metric, metric, capsize=3)
    setting = rows[0].setting
    labelled = f"{setting['share']:.0%} of the labels" if "share" in setting else f"k = {setting['k']}"
    axes.set(xlabel=EFFECTS[parameter], title=f"{rows[0].system}, {labelled}")
    axes.legend()
    save(figure, path)
