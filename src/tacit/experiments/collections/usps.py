"""Experiment `usps`: embed unseen digits among the training digits (HTR, table 1 and figure 2).

The measure is the error of the nearest training digit's label; embeddings use no labels. Settings are chosen by that
error on a part of the training digits, with the budget of `GRIDS`. Rows `-printed` (`--as-printed`) are HTR's printed
form: every A_ii counts as often as every edge, and RBF rows are not normalised.

Splits: `standard` is the split of the data (7,291 and 2,007), `random` draws the paper's 7,329 and 1,969 from all
digits. A fifth of the training digits is for validation; the chosen setting is then trained on all of them.
"""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import DataError, DivergedError, Estimator, check_choice, track
from tacit.experiments.cells import CellCache
from tacit.experiments.figures import new_figure, save
from tacit.experiments.report import Report, Row, Section
from tacit.experiments.request import Request, with_params
from tacit.features import knn_graph
from tacit.features.knn import nearest_of
from tacit.metrics import compare_systems
from tacit.retrieve import GraphEmbedding, LaplacianEigenmaps
from tacit.retrieve.graph.pairs import edge_length

DIM, FULL_DIMS, QUICK_DIM = 100, (100, 50, 10), 50
PLANE = {"k": 10, "sigma": 0.4, "rate": 0.1, "own_share": 0.5, "n_epochs": 40, "size": "sum"}
SHOWN = {"training": 10, "test": 5}  # one digit in this many is drawn

Cell = dict[str, Any]
SPLITS = ("standard", "random")
SYSTEMS = ("raw", "le-all", "le-ose", "htr-linear", "htr-rbf")
PRINTED = ("htr-linear-printed", "htr-rbf-printed")
AS_PRINTED: dict[str, Any] = {"own_share": None, "size": "none"}
N_TRAIN = 7329  # of the paper's split
N_QUICK = 1500, 500
VALIDATION_SHARE = 0.2
N_CENTRES = 50

Setting = dict[str, Any]
# The search starts at the first value of each; sigma is in units of the median edge length.
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "raw": {},
    "le-all": {"k": (5, 3, 10)},
    "le-ose": {"k": (5, 3, 10)},
    "htr-linear": {"rate": (0.2, 0.1, 0.4), "own_share": (0.5, 0.3, 0.7), "k": (5, 3, 10)},
    "htr-rbf": {"sigma": (0.2, 0.15, 0.25), "k": (5, 3, 10), "rate": (0.1, 0.05, 0.2), "own_share": (0.7, 0.5)},
    "htr-linear-printed": {"rate": (0.2, 0.1, 0.4), "k": (5, 3, 10)},
    "htr-rbf-printed": {"sigma": (0.5, 0.3, 1.0), "k": (5, 3, 10), "rate": (0.1, 0.05, 0.2)},
}


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


@dataclass(frozen=True)
class DigitTask:
    """Training digits and the digits to embed among them; graphs are built once."""

    train: np.ndarray
    train_labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray
    threads: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    _graphs: dict[tuple[int, bool], sp.csr_array] = field(default_factory=dict, repr=False)

    def graph(self, k: int, *, with_test: bool = False) -> sp.csr_array:
        """Return the union graph of the k nearest neighbours of training, or of training and test."""
        if (k, with_test) not in self._graphs:
            points = np.concatenate([self.train, self.test]) if with_test else self.train
            self._graphs[k, with_test] = knn_graph(points, k, threads=self.threads)
        return self._graphs[k, with_test]

    @cached_property
    def raw_nearest(self) -> np.ndarray:
        """Return the nearest training digit of every test digit by raw pixels."""
        return nearest_of(self.test, self.train, threads=self.threads)

    def errors(self, nearest: np.ndarray) -> np.ndarray:
        """Return 1 for every test digit whose nearest training digit has another label."""
        return (self.train_labels[nearest] != self.test_labels).astype(np.float64)

    def validation(self, seed: int) -> DigitTask:
        """Return the same task within the training digits."""
        order = np.random.default_rng([seed, 1]).permutation(len(self.train))
        held, kept = np.split(order, [round(VALIDATION_SHARE * len(order))])
        return _task(self.train, self.train_labels, kept, held, self.threads, self.params)

    def nearest(self, system: str, setting: Setting, dim: int, seed: int) -> np.ndarray:
        """Return the nearest training digit of every test digit in the embedding of the system."""
        if system == "raw":
            return self.raw_nearest
        if system in ("le-all", "le-ose"):
            return self._by_eigenmaps(system == "le-all", setting["k"], dim, seed)
        return fit_embedding(self, system, setting, dim, seed).nearest(self.test)

    def _by_eigenmaps(self, with_test: bool, k: int, dim: int, seed: int) -> np.ndarray:
        points = np.concatenate([self.train, self.test]) if with_test else self.train
        model = with_params(LaplacianEigenmaps(dim, k=k, seed=seed, threads=self.threads), self.params)
        model.fit(points, self.graph(k, with_test=with_test))
        images = model.item_vectors_[len(self.train) :] if with_test else model.embed(self.test)
        return nearest_of(images, model.item_vectors_[: len(self.train)], threads=self.threads)


def fit_embedding(task: DigitTask, system: str, setting: Setting, dim: int, seed: int) -> GraphEmbedding:
    """Fit the half-transductive embedding of the training digits under a setting."""
    graph = task.graph(setting["k"])
    kind: dict[str, Any] = {"features": "linear"}
    if system.startswith("htr-rbf"):
        sigma = setting["sigma"] * edge_length(task.train, graph)
        kind = {"features": "rbf", "sigma": sigma, "n_centres": N_CENTRES}
    others = {name: value for name, value in setting.items() if name != "sigma"}
    others |= AS_PRINTED if system in PRINTED else {}
    model = GraphEmbedding(dim, **kind, **others, seed=seed, threads=task.threads)
    params = {name: value for name, value in task.params.items() if name not in setting}
    return with_params(model, params).fit(task.train, graph)


def choose_setting(task: DigitTask, system: str, dim: int, seed: int) -> Setting:
    """Return the setting with the smallest validation error, one parameter at a time."""
    held = task.validation(seed)

    def error(setting: Setting) -> float:
        try:
            return float(held.errors(held.nearest(system, setting, dim, seed)).mean())
        except DivergedError:
            return 1.0

    return choose_by_turns(error, grid(system, task.params))


def choose_by_turns(error: Callable[[Setting], float], grid: Mapping[str, Sequence[float]]) -> Setting:
    """Coordinate search: start at the first value of each parameter, try the others one at a time, keep the best.

    >>> choose_by_turns(lambda s: abs(s["a"] - 3) + abs(s["b"] - 1), {"a": (1, 2, 3), "b": (1, 5)})
    {'a': 3, 'b': 1}
    """
    best = {name: values[0] for name, values in grid.items()}
    least = error(best) if sum(map(len, grid.values())) > len(grid) else 0.0
    for name, values in grid.items():
        for value in values[1:]:
            found = error(best | {name: value})
            if found < least:
                best, least = best | {name: value}, found
    return best


def grid(system: str, params: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return the candidate values; a parameter set by the user has one."""
    return {name: (params[name],) if name in params else values for name, values in GRIDS[system].items()}


def first_setting(system: str, params: Mapping[str, Any] | None = None) -> Setting:
    """Return the starting point of the search."""
    return {name: values[0] for name, values in grid(system, params or {}).items()}


def read_task(
    folder: Path,
    split: str,
    seed: int,
    *,
    quick: bool = False,
    threads: int | None = None,
    params: Mapping[str, Any] | None = None,
) -> DigitTask:
    """Read training and test of one split; `quick` keeps a part of both."""
    check_choice("split", split, SPLITS)
    points, labels, n_train = _read(folder / "text" / "usps" / "usps.npz")
    rows = np.arange(len(points))
    if split == "random":
        n_train, rows = N_TRAIN, np.random.default_rng(seed).permutation(rows)
    train, test = rows[:n_train], rows[n_train:]
    if quick:
        train, test = train[: N_QUICK[0]], test[: N_QUICK[1]]
    return _task(points, labels, train, test, threads, params or {})


def _task(
    points: np.ndarray,
    labels: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    threads: int | None,
    params: Mapping[str, Any],
) -> DigitTask:
    return DigitTask(points[train], labels[train], points[test], labels[test], threads, params)


def _read(path: Path) -> tuple[np.ndarray, np.ndarray, int]:
    """Return all digits, training first, and the number of training digits."""
    try:
        with np.load(path) as file:
            x_train, y_train, x_test, y_test = (file[name] for name in ("x_train", "y_train", "x_test", "y_test"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path) from None
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"is not the digits wanted: {error}", path=path) from None
    points = np.concatenate([x_train, x_test]).astype(np.float32)
    return points, np.concatenate([y_train, y_test]).astype(np.int64), len(x_train)
