"""Figures of the preference regularizer: level curves on the spiral, the penalty, gradients on a list."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.experiments.figures import new_figure, save

if TYPE_CHECKING:
    from tacit.rerank.base import ListRanker

BLUE, RED, GREY = "#4c78a8", "#e45756", "#999999"


def draw_spiral(points: np.ndarray, rankers: Mapping[str, ListRanker], path: Path) -> None:
    """Draw figure 3: level curves of each ranker with the points and the two judged ends."""
    figure, axes = new_figure(5 * len(rankers), 4.8, n_columns=len(rankers))
    side = np.linspace(-1.05, 1.05, 150)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    for axis, (system, ranker) in zip(np.atleast_1d(axes), rankers.items(), strict=True):
        levels = ranker.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        # Levels at quantiles of the points' scores, because scores far from the arm may be much higher.
        marks = np.unique(np.quantile(ranker.predict(points), np.linspace(0, 1, 15)))
        axis.contourf(side, side, levels, levels=marks, cmap="viridis", extend="both", alpha=0.55)
        axis.contour(side, side, levels, levels=marks, colors="#333333", linewidths=0.5)
        axis.scatter(*points.T, s=7, color="white", edgecolor="black", linewidth=0.4)
        axis.scatter(*points[0], marker="D", s=70, color=RED, edgecolor="black", label="preferred", zorder=3)
        axis.scatter(*points[-1], marker="s", s=70, color=BLUE, edgecolor="black", label="to this", zorder=3)
        axis.set(title=system, aspect="equal")
        axis.legend(loc="lower left")
    save(figure, path)


def draw_penalties(path: Path) -> None:
    """Draw figure 2: the penalty on the score difference of two neighbours, in both forms."""
    from tacit.rerank.gradient.neighbours import NeighbourPairs
    from tacit.rerank.gradient.regularizer import NeighbourRegularizer

    pair = NeighbourPairs(np.array([0]), np.array([1]), np.ones(1))
    gaps = np.linspace(-6, 6, 121)
    figure, axes = new_figure(5, 3.6)
    for penalty, color in (("preference", BLUE), ("quadratic", RED)):
        source = NeighbourRegularizer(pair, np.array([0, 2]), 1.0, penalty=penalty)
        axes.plot(gaps, [source.add(np.array([gap, 0.0]), np.zeros(2)) for gap in gaps], color=color, label=penalty)
    axes.set(xlabel="score of i less score of j", ylabel="penalty (beta = q = 1)")
    axes.legend()
    save(figure, path)


def example_forces() -> dict[str, np.ndarray]:
    """Compute figure 4: a list of six, best first; 0, 2, 4 are alike, and 1, 3, 5; row 1 is judged 0, row 4 judged 1.

    Forces point up if the score should grow: minus the gradient of the objective.

    >>> forces = example_forces()
    >>> forces["labelled"].round(2).tolist()[1], forces["labelled"].round(2).tolist()[4] > 0
    (-0.62, True)
    """
    from tacit.rerank.gradient.losses import SwapLoss
    from tacit.rerank.gradient.neighbours import find_neighbours
    from tacit.rerank.gradient.regularizer import NeighbourRegularizer
    from tacit.rerank.rows import Rows

    scores = np.array([1.2, 0.8, 0.4, 0.0, -0.4, -0.8])
    kind = np.array([[0.0], [9], [0], [9], [0], [9]])
    rows = Rows(kind, np.array([np.nan, 0, np.nan, np.nan, 1, np.nan]), np.array([0, 6]), np.arange(6))
    loss = SwapLoss(rows, "nDCG")
    near = find_neighbours(rows.starts, 2, vectors=kind)
    forces = {}
    for name, source in (
        ("labelled", loss),
        ("unlabelled", NeighbourRegularizer(near, rows.starts, 5.0, discounts=loss.discounts)),
    ):
        gradient = np.zeros(6)
        source.add(scores, gradient)
        forces[name] = -gradient
    # Both are drawn on one scale; only directions and ratios within each are meaningful.
    forces = {name: force / np.abs(force).max() * 0.62 for name, force in forces.items()}
    return forces | {"both": forces["labelled"] + forces["unlabelled"]}


def draw_forces(path: Path) -> None:
    """Draw figure 4 as arrows, one column for each term of the gradient."""
    figure, axes = new_figure(6.5, 4)
    label = {1: "−", 4: "+"}
    for row in range(6):
        axes.scatter(0, -row, marker="s" if row % 2 == 0 else "*", s=130, color=GREY)
        axes.text(0.5, -row, label.get(row, ""), ha="center", va="center", fontsize=16)
    for column, (name, force) in enumerate(example_forces().items(), start=1):
        for row, size in enumerate(force):
            _arrow(axes, column, -row, 0.7 * size)
        axes.text(column, 0.9, name, ha="center")
    axes.text(0, 0.9, "item", ha="center")
    axes.text(0.5, 0.9, "label", ha="center")
    axes.set(xlim=(-0.4, 3.6), ylim=(-5.9, 1.3), yticks=[-r for r in range(6)], yticklabels=range(1, 7), xticks=[])
    axes.set_ylabel("place in the list")
    save(figure, path)


def _arrow(axes: Any, x: float, y: float, size: float) -> None:
    if abs(size) > 0.01:
        axes.annotate("", (x, y + size), (x, y), arrowprops={"arrowstyle": "-|>", "color": RED if size < 0 else BLUE})
