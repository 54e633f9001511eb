"""Figures of the experiment `transduction`: systems (figure 4), and measures by training queries (figure 5)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from tacit.experiments.figures import Draw, new_figure, save, shown_systems
from tacit.experiments.report import Report

SHOWN = ("MAP", "nDCG-letor@10")


def result_figures(report: Report) -> dict[str, Draw]:
    """Draw bars of the best systems; lines over the share of training queries if several were measured."""
    figures: dict[str, Draw] = {"systems": partial(_draw_systems, report)}
    if len({row.setting.get("share", 1.0) for row in report.rows}) > 1:  # a full run
        figures["training-queries"] = partial(_draw_shares, report)
    return figures


def _draw_systems(report: Report, path: Path) -> None:
    rows = [row for row in report.rows if row.setting.get("share", 1.0) == 1.0 and row.setting["scale"] == "none"]
    shown = shown_systems(rows, "MAP", keep=("rankboost", "lightgbm"))
    rows = [row for row in rows if row.system in shown]
    metrics = list(rows[0].values)
    figure, axis = new_figure(10, 4)
    width = 0.8 / len(rows)
    for number, row in enumerate(rows):
        places = np.arange(len(metrics)) + (number - len(rows) / 2) * width
        axis.bar(places, [row.metrics[metric] for metric in metrics], width, label=row.system)
    axis.set_xticks(np.arange(len(metrics)), metrics)
    axis.set_ylim(0.8 * min(min(row.metrics.values()) for row in rows))
    axis.set_title(f"{report.experiment} on {report.corpus}")
    axis.legend(ncols=5, fontsize="x-small")
    save(figure, path)


def _draw_shares(report: Report, path: Path) -> None:
    figure, axes = new_figure(9, 4, n_columns=len(SHOWN))
    several = {row.system for row in report.rows if row.setting["share"] < 1}
    for axis, metric in zip(axes, SHOWN, strict=True):
        for system in sorted(several):
            points = sorted(
                (row.setting["share"], row.metrics[metric])
                for row in report.rows
                if row.system == system and row.setting["scale"] == "none"
            )
            axis.plot(*zip(*points, strict=True), marker="o", label=system)
        axis.set(xlabel="share of training queries", ylabel=metric)
    axes[0].legend()
    save(figure, path)
