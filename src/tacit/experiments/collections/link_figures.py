"""Figures of experiments on linked corpora: means, values per query, training histories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tacit.experiments.figures import Draw, draw_means, new_figure, save, shown_systems
from tacit.experiments.report import Report, Row, protocol

BASELINES = ("tfidf", "lsi+tfidf")


def link_figures(report: Report) -> dict[str, Draw]:
    """Draw bars of MAP, average precision per query against the baselines, and training histories."""
    table = [row for group in report.comparable().values() for row in group if "share" not in row.setting]
    figures: dict[str, Draw] = {"map": partial(_bars, report, table)}
    for group in report.comparable().values():
        best = max(group, key=lambda row: row.metrics["MAP"])
        for base in (row for row in group if row.system in BASELINES and row is not best):
            name = "-".join(str(value) for value in protocol(best).values())
            figures[f"ap-{best.name.replace(' ', '-')}-{base.system}-{name}"] = partial(_scatter, base, best)
    trained = [row for row in table if row.epochs and "MAP" in row.epochs[0]]
    if trained:
        figures["learning-curves"] = partial(_learning_curves, trained)
    if any("share" in row.setting for row in report.rows):
        figures["few-links"] = partial(_few_links, report)
    return figures


def _learning_curves(rows: Sequence[Row], path: Path) -> None:
    figure, (left, right) = new_figure(11, 4.5, n_columns=2)
    rows = [row for row in rows if protocol(row) == protocol(rows[0])]
    shown = shown_systems(rows, "MAP")
    for row in (row for row in rows if row.system in shown):
        epochs = [epoch["epoch"] for epoch in row.epochs]
        left.plot(epochs, [epoch["loss"] / row.epochs[0]["loss"] for epoch in row.epochs], label=row.name)
        right.plot(epochs, [epoch["MAP"] for epoch in row.epochs], label=row.name)
    left.set(xlabel="epoch", ylabel="training loss, first epoch = 1")
    right.set(xlabel="epoch", ylabel="MAP on validation links")
    right.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path)


def _few_links(report: Report, path: Path) -> None:
    """Draw MAP against the share of the training links; baselines without training are horizontal lines."""
    figure, axes = new_figure(6, 4.5)
    shared = [row for row in report.rows if "share" in row.setting]
    place = {name: value for name, value in protocol(shared[0]).items() if name != "share"}
    usual = {row.system: row for row in reversed(report.rows) if protocol(row) == place}  # the first of each is kept
    for system in dict.fromkeys(row.system for row in shared):
        rows = [row for row in shared if row.system == system] + [usual[system]] * (system in usual)
        draw_means(axes, [row.setting.get("share", 1.0) for row in rows], rows, "MAP", system, capsize=3)
    for base in (usual[name] for name in BASELINES if name in usual):
        axes.axhline(base.metrics["MAP"], color="#999999", linewidth=1)
        axes.annotate(base.system, (min(row.setting["share"] for row in shared), base.metrics["MAP"]), va="bottom")
    axes.set(xscale="log", xlabel="share of the training links", ylabel="MAP with 95% interval")
    axes.legend()
    save(figure, path)


def _bars(report: Report, rows: Sequence[Row], path: Path) -> None:
    figure, axes = new_figure(7, 0.45 * len(rows) + 1.2)
    labels = [" ".join([row.system, *_varying(row, rows)]) for row in rows]
    means = [row.metrics["MAP"] for row in rows]
    errors = [1.96 * row.standard_errors["MAP"] for row in rows]
    axes.barh(labels, means, xerr=errors, color="#4c78a8", ecolor="#222222", capsize=3)
    axes.invert_yaxis()
    axes.set_xlabel("MAP with 95% interval")
    axes.set_title(f"{report.experiment} on {report.corpus}")
    save(figure, path)


def _scatter(base: Row, other: Row, path: Path) -> None:
    figure, axes = new_figure(5, 5)
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1)
    axes.scatter(base.values["MAP"], other.values["MAP"], s=8, alpha=0.5, color="#4c78a8")
    above = float(np.mean(other.values["MAP"] > base.values["MAP"]))
    axes.set(xlabel=f"average precision of {base.system}", ylabel=f"average precision of {other.name}")
    axes.set_title(f"{other.name} is better on {above:.0%} of the queries")
    save(figure, path)


def _varying(row: Row, rows: Sequence[Row]) -> list[str]:
    """Return the settings in which this row differs from others of its system."""
    return [
        f"{name} {value}"
        for name, value in row.setting.items()
        if len({str(other.setting.get(name)) for other in rows if other.system == row.system}) > 1
    ]
