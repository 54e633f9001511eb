"""USPS digits in training, validation and test parts, and the systems that embed test digits among training ones.

Splits: `standard` is the split of the data (7,291 and 2,007), `random` draws the paper's 7,329 and 1,969 from all
digits. A fifth of the training digits is for validation; the chosen setting is then trained on all of them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import DataError, DivergedError, check_choice
from tacit.experiments.request import with_params
from tacit.features import knn_graph
from tacit.features.knn import nearest_of
from tacit.retrieve.graph.embedding import GraphEmbedding
from tacit.retrieve.graph.laplacian import LaplacianEigenmaps
from tacit.retrieve.graph.pairs import edge_length

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
