"""Experiment `spiral`: one preference between the ends of a spiral of unjudged points (PREF, figures 2 to 4).

Scores of the supervised ranker decrease along the straight line between the ends; with the preference regularizer they
decrease along the arm. The measure is the rank correlation of scores and positions on the arm (`spearman`), one value
for each random initialization of the network.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.experiments.report import Report, Row
from tacit.experiments.request import Request, with_params
from tacit.experiments.spiral.figures import draw_forces, draw_penalties, draw_spiral

if TYPE_CHECKING:
    from tacit.rerank import BradleyTerryRanker

N_POINTS, TURNS, SIGMA, N_NEIGHBOURS, N_HIDDEN, BETA = 200, 1.5, 0.2, 6, 8, 1000.0
SYSTEMS = ("bt", "ssbt")


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
