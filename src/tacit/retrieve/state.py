"""A fitted ranker as parameters and plain arrays, and back; every array is checked before a loop may read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import StoreError
from tacit.retrieve.base import CollectionRanker
from tacit.retrieve.registry import RANKER_CLASSES
from tacit.store import pack_csr, take_array, unpack_csr

Arrays = Mapping[str, np.ndarray]


def ranker_state(ranker: CollectionRanker) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Parameters (fit for JSON) and arrays of a fitted ranker."""
    numbers: dict[str, float] = {}
    arrays: dict[str, np.ndarray] = {}
    for name in ranker._fitted:
        value = getattr(ranker, name)
        if sp.issparse(value):
            arrays |= pack_csr(name, value)
        elif isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            numbers[name] = value
    header = {"class": type(ranker).__name__, "n_features": ranker.n_features_}
    return header | {"params": ranker.params(), "numbers": numbers}, arrays


def ranker_from_state(header: Mapping[str, Any], arrays: Arrays) -> CollectionRanker:
    """The ranker that `ranker_state` took apart."""
    name = header["class"]
    if name not in RANKER_CLASSES:
        raise StoreError(f"{name!r} is no ranker that this version knows")
    ranker = RANKER_CLASSES[name](**header["params"])
    ranker.n_features_ = header["n_features"]
    lengths = {"features": header["n_features"]}
    for attribute, axes in ranker._fitted.items():
        if axes:
            setattr(ranker, attribute, _take(arrays, attribute, axes.split(), lengths))
        else:
            setattr(ranker, attribute, _number(header["numbers"], attribute))
    ranker._check_fitted()
    return ranker


def _take(arrays: Arrays, name: str, axes: list[str], lengths: dict[str, int]) -> np.ndarray | sp.csr_array:
    """One attribute; axes of a name seen before must have the same length again."""
    wanted = tuple(lengths.get(axis) for axis in axes)
    found: np.ndarray | sp.csr_array
    if f"{name}/indptr" in arrays and len(axes) == 2:
        found = unpack_csr(name, arrays, shape=(wanted[0], wanted[1]))
    else:
        found = take_array(arrays, name, dtype="float32", shape=wanted)
    lengths.update(zip(axes, found.shape, strict=True))
    return found


def _number(numbers: Mapping[str, Any], name: str) -> float:
    value = numbers[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise StoreError(f"{name} is {value!r}, want a number")
    return value
