"""A fitted ranker of feature lists as a model folder, and back; every array is checked before a loop may read it.

What is kept is what `_fitted` of the class names. A ranker that keeps more than that, such as one that trains anew
for every list, is refused: it is fitted where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import StoreError, TacitError
from tacit.rerank.base import ListRanker
from tacit.rerank.registry import LIST_SYSTEMS
from tacit.store import Stored, blame, load_model, pack_strings, save_model, take_array, unpack_strings

KIND = "ListRanker"

TEXT = "text"  # in `_fitted` in the place of axes: the attribute is a string

DTYPES = ("float64", "float32", "int64", "uint8")

Arrays = Mapping[str, np.ndarray]


def save_ranker(ranker: ListRanker, path: str | Path, method: str = "") -> None:
    """Write a fitted ranker; a folder that holds another model is replaced whole. `method` is its system's name."""
    header, arrays = ranker_state(ranker)
    save_model(path, Stored(KIND, {"method": method} | header, arrays))


def load_ranker(path: str | Path) -> tuple[ListRanker, str]:
    """The ranker that `save_ranker` wrote, and its method; anything else is refused with a reason."""
    stored = load_model(path, kinds={KIND})
    with blame(path):
        return ranker_from_state(stored.params, stored.arrays), str(stored.params["method"])


def ranker_state(ranker: ListRanker) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Parameters (fit for JSON) and arrays of a fitted ranker."""
    ranker._check_is_fitted()
    check_storable(ranker)
    numbers: dict[str, float | None] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, axes in ranker._fitted.items():
        value = getattr(ranker, name)
        if axes == TEXT:
            arrays |= pack_strings(name, [value])
        elif axes:
            arrays[name] = value
        else:
            numbers[name] = value
    params = {name: _plain(value) for name, value in ranker.get_params(deep=False).items()}
    header = {"class": type(ranker).__name__, "n_features": int(ranker.n_features_in_)}
    return header | {"params": params, "numbers": numbers}, arrays


def ranker_from_state(header: Mapping[str, Any], arrays: Arrays) -> ListRanker:
    """The ranker that `ranker_state` took apart."""
    ranker = _class_named(header["class"])(**{name: _given(value) for name, value in header["params"].items()})
    ranker.n_features_in_ = header["n_features"]
    lengths: dict[str, int] = {"features": header["n_features"]}
    for name, axes in ranker._fitted.items():
        if axes == TEXT:
            setattr(ranker, name, _text(arrays, name))
        elif axes:
            setattr(ranker, name, _take(arrays, name, axes.split(), lengths))
        else:
            setattr(ranker, name, _number(header["numbers"], name))
    ranker._check_loaded()
    return ranker


def check_storable(ranker: ListRanker) -> None:
    """Raise where attributes beside `_fitted` hold a part of the model: objects, which no folder of arrays can keep."""
    learned = {name for name in vars(ranker) if name.endswith("_") and not name.startswith("_")}
    kept = {*ranker._fitted, "n_features_in_", "feature_names_in_"}
    objects = sorted(name for name in learned - kept if not _is_record(getattr(ranker, name)))
    estimators = sorted(name for name, value in ranker.get_params(deep=False).items() if hasattr(value, "get_params"))
    if objects or estimators:
        raise TacitError(
            f"{type(ranker).__name__} is more than arrays ({', '.join(objects + estimators)}) and cannot be saved; "
            "fit it where it ranks"
        )


def _class_named(name: str) -> type[ListRanker]:
    homes = {system.home.split(":")[1]: system.home.split(":")[0] for system in LIST_SYSTEMS.values()}
    if name not in homes:
        raise StoreError(f"{name!r} is no ranker that this version knows")
    kind: type[ListRanker] = getattr(import_module(f"tacit.rerank.{homes[name]}"), name)
    return kind


def _is_record(value: Any) -> bool:
    """Whether this is a mere record of training: numbers, however they are held."""
    if isinstance(value, list | tuple):
        return all(map(_is_record, value))
    if isinstance(value, dict):
        return all(map(_is_record, value.values()))
    return value is None or isinstance(value, int | float | np.ndarray | np.generic)


def _plain(value: Any) -> Any:
    """A parameter in JSON, which knows neither tuples nor infinity."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return {"infinity": int(np.sign(value))} if isinstance(value, float) and np.isinf(value) else value


def _given(value: Any) -> Any:
    """The parameter that `_plain` wrote."""
    if isinstance(value, list):
        return [_given(part) for part in value]
    return value["infinity"] * np.inf if isinstance(value, dict) else value


def _take(arrays: Arrays, name: str, axes: list[str], lengths: dict[str, int]) -> np.ndarray:
    """One attribute; axes of a name seen before must have the same length again."""
    found = take_array(arrays, name, dtype=DTYPES, shape=tuple(lengths.get(axis) for axis in axes))
    lengths.update(zip(axes, found.shape, strict=True))
    return found


def _text(arrays: Arrays, name: str) -> str:
    texts = unpack_strings(name, arrays)
    if len(texts) != 1:
        raise StoreError(f"{name} holds {len(texts)} texts, want one")
    return texts[0]


def _number(numbers: Mapping[str, Any], name: str) -> float | None:
    value = numbers[name]
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise StoreError(f"{name} is {value!r}, want a number")
    return value
