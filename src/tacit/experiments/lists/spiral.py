"""Experiment `spiral`: one preference between the ends of a spiral of unjudged points (PREF, figures 2 to 4).

Scores of the supervised ranker decrease along the straight line between the ends; with the preference regularizer they
decrease along the arm. The measure is the rank correlation of scores and positions on the arm (`spearman`), one value
for each random initialization of the network.

Three figures: level curves on the spiral, the penalty, gradients on a list.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.experiments.figures import new_figure, save
from tacit.experiments.report import Report, Row
from tacit.experiments.request import Request, with_params

if TYPE_CHECKING:
    from tacit.rerank import BradleyTerryRanker
    from tacit.rerank.base import ListRanker

N_POINTS, TURNS, SIGMA, N_NEIGHBOURS, N_HIDDEN, BETA = 200, 1.5, 0.2, 6, 8, 1000.0
SYSTEMS = ("bt", "ssbt")
BLUE, RED, GREY = "#4c78a8", "#e45756", "#999999"


def make_spiral(n_points: int = N_POINTS, seed: int = 0, noise: float = 0.01) -> np.ndarray:
    """Return points of [-1, 1]^2 from the inner end of a spiral of 1.5 turns to the outer one, evenly along the arm.

    >>> points = make_spiral(50)
    >>> points.shape, bool(np.abs(points).max() < 1)
    ((50, 2), True)
    """
    turn = np.linspace(0, 1, 4000)
    arm = _arm(turn)
    length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(arm, axis=0), axis=1))])
    places = np.interp((np.arange(n_points) + 0.5) / n_points, length / length[-1], turn)
    return _arm(places) + np.random.default_rng(seed).normal(0, noise, (n_points, 2))


def _arm(turn: np.ndarray) -> np.ndarray:
    radius, angle = 0.15 + 0.8 * turn, 2 * np.pi * TURNS * turn
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def make_ranker(beta: float, seed: int) -> BradleyTerryRanker:
    """Return an unfitted network."""
    from tacit.rerank import BradleyTerryRanker

    return BradleyTerryRanker(
        n_hidden=N_HIDDEN, beta=beta, l2=1e-6, rate=0.03, n_epochs=4000, n_neighbours=N_NEIGHBOURS,
        weighting="there-and-back", sigma=SIGMA, seed=seed,
    )  # fmt: skip


def fit_spiral(points: np.ndarray, ranker: BradleyTerryRanker) -> BradleyTerryRanker:
    """Train on the single pair: the inner end is preferred to the outer end."""
    grades = np.full(len(points), np.nan)
    grades[0], grades[-1] = 1, 0
    return ranker.fit(points, grades, content=points)  # sigma is a distance in the plane, not of scaled features


def correlation(scores: np.ndarray) -> float:
    """Return the rank correlation of the scores with the position on the arm, from the outer end to the inner one."""
    from scipy.stats import spearmanr

    return float(spearmanr(scores, -np.arange(len(scores))).statistic)


def run(request: Request) -> Report:
    """Train both systems from several random initializations: 5, or 3 if `quick`."""
    betas = {system: BETA if system == "ssbt" else 0.0 for system in request.systems_of(SYSTEMS, SYSTEMS)}
    request.check_params({system: make_ranker(beta, 0) for system, beta in betas.items()})
    points = make_spiral(seed=request.seed)
    starts = range(request.seed, request.seed + (3 if request.quick else 5))
    rows, rankers = [], {}
    for system, beta in betas.items():
        begin = time.perf_counter()
        fitted = [fit_spiral(points, with_params(make_ranker(beta, seed), request.params)) for seed in starts]
        values = np.array([correlation(ranker.predict(points)) for ranker in fitted])
        rows.append(Row(system, {"spearman": values}, time.perf_counter() - begin))
        rankers[system] = fitted[0]
    figures: dict[str, Any] = {"figure-3-spiral": partial(draw_spiral, points, rankers)}
    figures |= {"figure-2-penalties": draw_penalties, "figure-4-forces": draw_forces}
    return Report("spiral", "generated", request.seed, rows, _notes(len(starts)), figures=figures)


def _notes(n_starts: int) -> list[str]:
    return [
        f"{N_POINTS} points, {TURNS} turns, one preference pair between the ends; {n_starts} random initializations",
        f"one hidden layer of {N_HIDDEN}, K = {N_NEIGHBOURS}, sigma = {SIGMA} there and back; ssbt has beta = {BETA:g} "
        "(the loss is a mean over pairs, so beta grows with the number of neighbours per pair), bt has beta = 0",
        "spearman: rank correlation of scores with positions along the arm, one value for each initialization",
    ]


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
    from tacit.rerank.gradient.losses import NeighbourRegularizer
    from tacit.rerank.gradient.neighbours import NeighbourPairs

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
    from tacit.rerank.gradient.losses import NeighbourRegularizer, SwapLoss
    from tacit.rerank.gradient.neighbours import find_neighbours
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
