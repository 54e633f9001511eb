"""Figures of `crosslang`: training and test error by epochs (figure 2 of SSI), and MAP by the share of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tacit.experiments.figures import Draw, new_figure, save
from tacit.experiments.report import Row

COLOURS = ("#4c78a8", "#e45756", "#54a24b")


def cross_figures(rows: Sequence[Row]) -> dict[str, Draw]:
    """Return curves of errors during training, and MAP against the share of the pairs, if they were measured."""
    first_seed = [row for row in rows if row.setting["seed"] == rows[0].setting["seed"]]
    links = [row for row in first_seed if row.setting["task"] == "links"]
    monitored = [row for row in links if row.epochs and "test_rank_loss" in row.epochs[0]]
    figures: dict[str, Draw] = {}
    if monitored:
        figures["crosslang-epochs"] = partial(_epochs, monitored)
    if any(row.setting["share"] < 1 for row in links):
        figures["crosslang-few-pairs"] = partial(_few_pairs, links)
    return figures


def _epochs(rows: Sequence[Row], path: Path) -> None:
    """Draw a panel for each share of the pairs; training error dashed, test error solid, a colour per dimension."""
    shares = sorted({row.setting["share"] for row in rows})
    figure, panels = new_figure(3.2 * len(shares), 3.6, n_columns=len(shares))
    for share, axes in zip(shares, panels if len(shares) > 1 else [panels], strict=True):
        some = sorted((row for row in rows if row.setting["share"] == share), key=lambda row: row.setting["dim"])
        for row, colour in zip(some, COLOURS, strict=False):
            epochs = [epoch["epoch"] for epoch in row.epochs]
            for name, style in (("train", "--"), ("test", "-")):
                errors = [100 * epoch[f"{name}_rank_loss"] for epoch in row.epochs]
                axes.plot(epochs, errors, style, color=colour, label=f"{name}, N = {row.setting['dim']}")
        axes.set(title=f"{share:.0%} of the pairs", xlabel="epoch", ylabel="rank loss %")
    (panels[0] if len(shares) > 1 else panels).legend(fontsize="small")
    save(figure, path)


def _few_pairs(rows: Sequence[Row], path: Path) -> None:
    figure, axes = new_figure(6, 4.5)
    few = dict.fromkeys(row.system for row in rows if row.setting["share"] < 1)
    for system in few:
        mine = [row for row in rows if row.system == system]
        of_one_dim = [row for row in mine if row.setting.get("dim") == mine[0].setting.get("dim")]
        points = sorted(of_one_dim, key=lambda row: row.setting["share"])
        shares, means = [100 * row.setting["share"] for row in points], [row.metrics["MAP"] for row in points]
        errors = [1.96 * row.standard_errors["MAP"] for row in points]
        axes.errorbar(shares, means, yerr=errors, marker="o", capsize=3, label=system)
    axes.set(xscale="log", xlabel="Japanese-English pairs, % of all", ylabel="MAP with 95% interval")
    axes.legend()
    save(figure, path)
