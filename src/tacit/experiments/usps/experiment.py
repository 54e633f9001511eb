"""Experiment `usps`: embed unseen digits among the training digits (HTR, table 1 and figure 2).

The measure is the error of the nearest training digit's label; embeddings use no labels. Settings are chosen by that
error on a part of the training digits, with the budget of `task.GRIDS`. Rows `-printed` (`--as-printed`) are HTR's
printed form: every A_ii counts as often as every edge, and RBF rows are not normalised.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Estimator, track
from tacit.experiments.cells import CellCache
from tacit.experiments.figures import new_figure, save
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request
from tacit.experiments.usps.task import (
    GRIDS,
    N_CENTRES,
    PRINTED,
    SPLITS,
    SYSTEMS,
    VALIDATION_SHARE,
    DigitTask,
    choose_setting,
    first_setting,
    fit_embedding,
    read_task,
)
from tacit.metrics import compare_systems
from tacit.retrieve import GraphEmbedding, LaplacianEigenmaps

DIM, FULL_DIMS, QUICK_DIM = 100, (100, 50, 10), 50
PLANE = {"k": 10, "sigma": 0.4, "rate": 0.1, "own_share": 0.5, "n_epochs": 40, "size": "sum"}
SHOWN = {"training": 10, "test": 5}  # one digit in this many is drawn

Cell = dict[str, Any]


def run(request: Request) -> Report:
    """Measure the systems; `full` adds three seeds and the dimensions, `quick` takes few digits and tunes nothing."""
    models: dict[str, Estimator] = {
        "le-all": LaplacianEigenmaps(), "le-ose": LaplacianEigenmaps(),
        "htr-linear": GraphEmbedding(), "htr-rbf": GraphEmbedding(),
    }  # fmt: skip
    models |= {name: GraphEmbedding() for name in PRINTED}
    systems = request.systems_of(SYSTEMS, (*SYSTEMS, *PRINTED), PRINTED)
    request.check_params({system: models.get(system) for system in systems})
    folder = request.data_folder

    @lru_cache(maxsize=1)  # cells of one split are consecutive
    def task(split: str, seed: int) -> DigitTask:
        return read_task(folder, split, seed, quick=request.quick, threads=request.threads, params=request.params)

    cache = CellCache(request)
    cells = list(_cells(request, systems))
    measured = [cache.row(cell, partial(_measure, cell, task, request)) for cell in track(cells, "usps", len(cells))]
    rows = [replace(row, values={"error": row.values["error"]}) for row in measured]
    figures: dict[str, Callable[[Path], None]] = {"usps-plane": partial(_draw, request)}
    sections = [*tables_over_seeds(rows, DIM), _like_raw(measured)]
    return Report("usps", "usps", request.seed, rows, _notes(request), sections, figures)


def _like_raw(rows: Sequence[Row]) -> Section:
    """Return how often a system finds the same digit as raw pixels: an embedding without effect has 100%."""
    named = ("split", "seed", "dim")
    lines = [
        [row.system, *(str(row.setting.get(name, "")) for name in named), f"{row.metrics['same_as_raw']:.1%}"]
        for row in rows
        if row.system != "raw"
    ]
    title = "Test digits whose nearest training digit is the nearest one by raw pixels"
    return Section(title, ["system", *named, "share"], lines)


def _cells(request: Request, systems: Sequence[str]) -> Iterator[Cell]:
    splits = (request.split,) if request.split else SPLITS[:1] if request.quick else SPLITS
    for split in splits:
        for seed in request.seeds:
            for system in systems:
                dims = (None,) if system == "raw" else FULL_DIMS if request.full else (DIM,)
                for dim in (QUICK_DIM,) if request.quick and system != "raw" else dims:
                    yield {
                        "experiment": "usps",
                        "split": split,
                        "seed": seed,
                        "system": system,
                        "dim": dim,
                        "quick": request.quick,
                        "grid": GRIDS[system],
                        "like": "raw",
                    }


def _measure(cell: Cell, task_of: Callable[[str, int], DigitTask], request: Request) -> Row:
    """Choose, fit and measure one system under one setting."""
    task, start = task_of(cell["split"], cell["seed"]), time.perf_counter()
    system, dim, seed = cell["system"], cell["dim"] or 0, cell["seed"]
    chosen = first_setting(system, task.params) if cell["quick"] else choose_setting(task, system, dim, seed)
    found = task.nearest(system, chosen, dim, seed)
    values = {"error": task.errors(found), "same_as_raw": (found == task.raw_nearest).astype(np.float64)}
    setting = {name: cell[name] for name in ("split", "seed", "dim") if cell[name] is not None}
    return Row(system, values, time.perf_counter() - start, request.shown(setting), chosen)


def _notes(request: Request) -> list[str]:
    tries = "; ".join(
        f"{system}: " + ", ".join(f"{name} of {', '.join(f'{v:g}' for v in values)}" for name, values in grid.items())
        for system, grid in GRIDS.items()
        if grid
    )
    chosen = (
        "a quick run chooses nothing: it takes the first value of each parameter"
        if request.quick
        else f"chosen on {VALIDATION_SHARE:.0%} of training, one parameter after the other ({tries})"
    )
    return [
        "16 x 16 digits; error of the nearest training digit's label; embeddings use no labels",
        "split standard: the one of the data; random: 7,329 and 1,969 of all digits, as in the paper",
        chosen,
        f"htr-rbf: the {N_CENTRES} nearest centres, rows of length 1; sigma in units of the median edge length",
        "rate in units of margin / dim, also the initial size of vectors; the margin is only a unit of scale",
        "seconds: choosing, fitting and embedding all test digits",
    ]


def _draw(request: Request, path: Path) -> None:
    """Draw figure 2: vectors of training digits and of embedded test digits in the plane, in two panels."""
    task = read_task(request.data_folder, "standard", request.seed, quick=request.quick, threads=request.threads)
    model = fit_embedding(task, "htr-rbf", PLANE, 2, request.seed)
    parts = {"training": (model.item_vectors_, task.train_labels), "test": (model.embed(task.test), task.test_labels)}
    figure, axes = new_figure(11, 5.2, n_columns=2)
    axes[1].sharex(axes[0])
    axes[1].sharey(axes[0])
    rng = np.random.default_rng(request.seed)
    for place, (name, (vectors, labels)) in zip(axes, parts.items(), strict=True):
        shown = rng.permutation(len(vectors))[: max(1, len(vectors) // SHOWN[name])]
        dots = place.scatter(*vectors[shown].T, c=labels[shown], cmap="tab10", vmin=-0.5, vmax=9.5, s=10)
        place.set_title(f"{name}: {len(shown)} of {len(vectors)} digits")
    figure.colorbar(dots, ax=axes, ticks=range(10), label="digit")
    save(figure, path)


def tables_over_seeds(rows: Sequence[Row], dim: int) -> list[Section]:
    """Return tables for several seeds, none for one; tests are at the given dimension."""
    if len({row.setting["seed"] for row in rows}) < 2:
        return []
    sections = []
    for split in dict.fromkeys(row.setting["split"] for row in rows):
        some = [row for row in rows if row.setting["split"] == split]
        dims = sorted({row.setting["dim"] for row in some if "dim" in row.setting}, reverse=True)
        lines = [
            [system, *(_mean(_joined(some, system, d, split)) for d in dims)]
            for system in dict.fromkeys(row.system for row in some)
        ]
        sections.append(Section(f"error %, {split} split, all seeds", ["system", *map(str, dims)], lines))
        values = {system: _joined(some, system, dim, split) for system in dict.fromkeys(row.system for row in some)}
        tests = compare_systems(values, "error")
        found = [[t.better, t.worse, f"{100 * abs(t.difference):.2f}", f"{t.p:.2g}"] for t in tests]
        title = f"tests, {split} split, {dim} numbers, all seeds, Holm-corrected"
        sections.append(Section(title, ["better", "worse", "by %", "p"], found))
    return sections


def _joined(rows: Sequence[Row], system: str, dim: int, split: str) -> np.ndarray:
    """Return errors of a system in all seeds; a system without a dimension is equal for all dimensions."""
    errors = [row.values["error"] for row in rows if row.system == system and row.setting.get("dim", dim) == dim]
    return np.mean(errors, axis=0) if split == "standard" else np.concatenate(errors)


def _mean(errors: np.ndarray) -> str:
    return f"{100 * errors.mean():.2f}"
