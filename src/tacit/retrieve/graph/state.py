"""A graph embedding as a model folder, and back."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import numpy as np

from tacit.core import StoreError, UsageError, check_fitted
from tacit.retrieve.graph.embedding import GraphEmbedding
from tacit.retrieve.graph.features import LinearMap, PointMap, RbfMap
from tacit.store import Stored, blame, load_model, save_model, take_array
from tacit.store.stored import DTYPES

KIND = "GraphEmbedding"


def save_embedding(model: GraphEmbedding, path: str | PathLike[str]) -> None:
    """Write a fitted embedding; labels, where it has some, must be numbers."""
    check_fitted(model, "table_")
    arrays = {"item_vectors": model.item_vectors_, "table": model.table_}
    if model.labels_ is not None:
        if model.labels_.dtype.name not in DTYPES:
            raise UsageError(f"labels are of type {model.labels_.dtype}, want numbers where they are to be saved")
        arrays["labels"] = model.labels_
    shape = model.map_
    if isinstance(shape, RbfMap):
        arrays["centres"] = shape.centres
        numbers = {"sigma": shape.sigma, "n_kept": shape.n_kept}
    else:
        arrays["shift"] = shape.shift
        numbers = {"scale": shape.scale}
    params = {"params": model.params(), "map": numbers, "best_epoch": model.best_epoch_, "epochs": model.epochs_}
    save_model(path, Stored(KIND, params, arrays))


def load_embedding(path: str | PathLike[str]) -> GraphEmbedding:
    """Read what `save_embedding` wrote; anything else is refused with a reason."""
    stored = load_model(path, kinds={KIND})
    with blame(path):
        return _build(stored)


def _build(stored: Stored) -> GraphEmbedding:
    params, arrays = stored.params, stored.arrays
    model = GraphEmbedding(**params["params"])
    model._check_parameters()
    model.table_ = take_array(arrays, "table", dtype="float32", shape=(None, model.dim))
    model.item_vectors_ = take_array(arrays, "item_vectors", dtype="float32", shape=(None, model.dim))
    model.map_ = _map_of(params["map"], arrays, model.size)
    if model.map_.width != len(model.table_):
        raise StoreError(f"the map gives {model.map_.width} features, the table has {len(model.table_)} rows")
    n_items = len(model.item_vectors_)
    model.labels_ = take_array(arrays, "labels", dtype=DTYPES, shape=(n_items,)) if "labels" in arrays else None
    model.n_features_ = model.map_.n_features
    model.sigma_ = model.map_.sigma if isinstance(model.map_, RbfMap) else 0.0
    model.best_epoch_, model.epochs_ = params["best_epoch"], params["epochs"]
    return model


def _map_of(numbers: Mapping[str, float], arrays: Mapping[str, np.ndarray], size: str) -> PointMap:
    if "centres" not in arrays:
        return LinearMap(take_array(arrays, "shift", dtype="float32", shape=(None,)), float(numbers["scale"]))
    centres = take_array(arrays, "centres", dtype="float32", shape=(None, None))
    n_kept, sigma = numbers["n_kept"], float(numbers["sigma"])
    if not (isinstance(n_kept, int) and 1 <= n_kept <= len(centres) and sigma > 0):
        raise StoreError(f"{n_kept} of {len(centres)} centres of width {sigma} cannot be")
    return RbfMap(centres, sigma, n_kept, size)
