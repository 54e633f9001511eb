"""Fitted estimators as JSON headers and named arrays, and back; every value is checked before loops read it.

The header of an estimator:

    {"class": name, "n_features": number, "params": {...}, "numbers": {...}, "texts": {...}, "estimators": {...}}

`numbers` and `texts` contain attributes of these kinds (`core.estimator`), `estimators` the headers of nested ones,
whose arrays are below the attribute's name ("vectors_/items_", "rankers_/0/weights_"). Parameters are JSON; a tuple is
written as a list, infinity as {"infinity": 1}, a nested estimator as {"estimator": {"class": ..., "params": ...}}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from tacit.core import StoreError, TacitError, check_sizes
from tacit.core.estimator import Estimator
from tacit.store.columns import (
    pack_csr,
    pack_strings,
    take_array,
    unpack_csr,
    unpack_strings,
    with_prefix,
    without_prefix,
)
from tacit.store.files import shown

Arrays = Mapping[str, np.ndarray]
FindClass = Callable[[str], type[Estimator]]

_MAX_DEPTH = 10  # of nested estimators
_MAX_NUMBER = 1e30  # of a fitted number: products of larger ones exceed float32
_MAX_FEATURES = 2**31 - 1
_INT64 = 2**63
_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "bool": (bool,),
    "None": (type(None),),
}


def pack_estimator(estimator: Estimator) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header (as JSON values) and arrays of a fitted estimator."""
    estimator._check_fitted()
    check_storable(estimator)
    header: dict[str, Any] = {"class": type(estimator).__name__}
    if estimator._n_features_attribute is not None:
        header["n_features"] = int(getattr(estimator, estimator._n_features_attribute))
    header |= {"params": _plain_params(estimator), "numbers": {}, "texts": {}, "estimators": {}}
    arrays: dict[str, np.ndarray] = {}
    for name, spec in estimator._fitted.items():
        value = getattr(estimator, name, None)
        if value is not None or not spec.startswith("?"):
            _pack_value(name, spec.lstrip("?+"), value, header, arrays)
    return header, arrays


def _pack_value(name: str, spec: str, value: Any, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    if spec in ("", "numbers"):
        header["numbers"][name] = value
    elif spec == "text":
        header["texts"][name] = value
    elif spec == "strings":
        arrays |= pack_strings(name, list(value))
    elif spec == "estimator":
        header["estimators"][name] = None if value is None else _pack_nested(name, value, arrays)
    elif spec == "estimators":
        header["estimators"][name] = [
            _pack_nested(f"{name}/{place}", inner, arrays) for place, inner in enumerate(value)
        ]
    elif sp.issparse(value):
        arrays |= pack_csr(name, value)
    else:
        arrays[name] = value


def _pack_nested(name: str, estimator: Estimator, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    header, inner = pack_estimator(estimator)
    arrays |= with_prefix(name, inner)
    return header


def unpack_estimator(header: Any, arrays: Arrays, find_class: FindClass, depth: int = 0) -> Any:
    """Return the estimator packed by `pack_estimator`; `find_class` returns permitted classes."""
    if not isinstance(header, dict) or not isinstance(header.get("class"), str) or depth > _MAX_DEPTH:
        raise StoreError("the header of an estimator is not what tacit writes")
    kind = find_class(header["class"])
    estimator = _construct(kind, header, find_class)
    stored = _Attributes(header, arrays, find_class, depth, kind._array_dtypes)
    if kind._n_features_attribute is not None:
        stored.lengths["features"] = _whole(header, "n_features")
        setattr(estimator, kind._n_features_attribute, stored.lengths["features"])
    old_names = {new: old for old, new in kind._renamed.items()}
    for name, spec in estimator._fitted.items():
        stored_name = name if stored.has(name) else old_names.get(name, name)
        if spec.startswith("?") and not stored.has(stored_name):
            setattr(estimator, name, None)
            continue
        value = stored.take(stored_name, spec.lstrip("?+"))
        if "+" in spec and not np.all(np.asarray(value) > 0):
            raise StoreError(f"{header['class']}: {stored_name} contains a number that is not above 0")
        setattr(estimator, name, value)
    estimator._loaded = True
    try:
        estimator._check_loaded()
    except StoreError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StoreError(f"{header['class']}: {' '.join(str(error).split())}") from error
    return estimator


@dataclass(frozen=True)
class _Attributes:
    """The stored attributes of one estimator; `lengths` are the lengths of the axes of the arrays taken so far."""

    header: dict[str, Any]
    arrays: Arrays
    find_class: FindClass
    depth: int
    dtypes: tuple[str, ...]
    lengths: dict[str, int] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return whether an attribute is stored and not None."""
        tables = (self.header.get(key) for key in ("numbers", "texts", "estimators"))
        if any(isinstance(table, dict) and table.get(name) is not None for table in tables):
            return True
        return name in self.arrays or any(key.startswith(f"{name}/") for key in self.arrays)

    def take(self, name: str, spec: str) -> Any:
        """Return the value of an attribute, checked against its specification."""
        if spec == "":
            return _number(_table(self.header, "numbers"), name)
        if spec == "numbers":
            named = _table(_table(self.header, "numbers"), name)
            return {key: _number(named, key) for key in named}
        if spec == "text":
            return _text(_table(self.header, "texts"), name)
        if spec == "strings":
            return list(unpack_strings(name, self.arrays))
        if spec not in ("estimator", "estimators"):
            return self._array(name, spec.split())
        nested = _table(self.header, "estimators").get(name)
        if spec == "estimator":
            return self._nested(name, nested)
        if not isinstance(nested, list):
            raise StoreError(f"{name} is {shown(nested)}, want a list of estimators")
        return [self._nested(f"{name}/{place}", inner) for place, inner in enumerate(nested)]

    def _nested(self, name: str, header: Any) -> Any:
        return unpack_estimator(header, without_prefix(name, self.arrays), self.find_class, self.depth + 1)

    def _array(self, name: str, axes: list[str]) -> np.ndarray | sp.csr_array:
        """Return one array; axes with the same name must have the same length."""
        wanted = tuple(self.lengths.get(axis) for axis in axes)
        found: np.ndarray | sp.csr_array
        if f"{name}/indptr" in self.arrays and len(axes) == 2:
            found = unpack_csr(name, self.arrays, shape=(wanted[0], wanted[1]), dtype=self.dtypes)
        else:
            found = take_array(self.arrays, name, dtype=self.dtypes, shape=wanted)
        self.lengths.update(zip(axes, found.shape, strict=True))
        return found


def check_storable(estimator: Any) -> None:
    """Raise unless the parameters can be written; call it before a long training."""
    _plain_params(estimator)


def _construct(kind: type[Estimator], header: dict[str, Any], find_class: FindClass) -> Estimator:
    given = {kind._renamed.get(name, name): value for name, value in _table(header, "params").items()}
    params = {name: _given_value(value, find_class) for name, value in given.items()}
    unknown = sorted(set(params) - set(kind._get_param_names()))
    if unknown:
        raise StoreError(f"parameters do not fit {kind.__name__}: it has no {unknown[0]!r}")
    for parameter in kind._parameters():
        if not _fits_annotation(params.get(parameter.name, parameter.default), parameter.annotation):
            found = shown(params[parameter.name])
            raise StoreError(f"{kind.__name__}: {parameter.name} is {found}, want {parameter.annotation}")
    estimator = kind(**params)
    check_sizes(estimator)
    return estimator


def _fits_annotation(value: Any, annotation: Any) -> bool:
    """Return whether a value has a type in the annotation; types other than JSON types are not checked."""
    names = str(annotation).split(" | ")
    if any(name not in _JSON_TYPES for name in names):
        return True
    kinds = {kind for name in names for kind in _JSON_TYPES[name]}
    return type(value) in kinds


def _plain_params(estimator: Any) -> dict[str, Any]:
    owner = type(estimator).__name__
    params = estimator._stored_params()
    return {name: _plain_value(f"parameter {name} of {owner}", value) for name, value in params.items()}


def _plain_value(where: str, value: Any) -> Any:
    """Return a parameter as JSON, which has no tuples, infinity or estimators."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [_plain_value(where, inner) for inner in value]
    if isinstance(value, float) and math.isinf(value):
        return {"infinity": 1 if value > 0 else -1}
    if isinstance(value, Estimator):
        return {"estimator": {"class": type(value).__name__, "params": _plain_params(value)}}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TacitError(
        f"{where} is of type {type(value).__name__}, which cannot be saved; want a number, a text or a tacit estimator"
    )


def _given_value(value: Any, find_class: FindClass, depth: int = 0) -> Any:
    """Return the parameter written by `_plain_value`."""
    if depth > _MAX_DEPTH:
        raise StoreError(f"parameters are nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, list):
        return [_given_value(inner, find_class, depth + 1) for inner in value]
    if isinstance(value, dict):
        if set(value) == {"infinity"} and value["infinity"] in (1, -1):
            return math.inf * value["infinity"]
        if set(value) == {"estimator"} and isinstance(value["estimator"], dict):
            inner = value["estimator"]
            return _construct(find_class(inner.get("class", "")), inner, find_class)
        raise StoreError(f"a parameter is {str(value)[:80]}, want a number, a text or an estimator")
    if isinstance(value, int) and not -_INT64 <= value < _INT64:  # compiled loops accept no others
        raise StoreError(f"a parameter is {value}, want a whole number of at most 64 bits")
    return value


def _table(header: dict[str, Any], key: str) -> dict[str, Any]:
    table = header.get(key)
    if not isinstance(table, dict):
        raise StoreError(f"{key} is {str(table)[:80]}, want a table")
    return table


def _number(numbers: dict[str, Any], name: str) -> float:
    value = numbers.get(name)
    if name.startswith("n_") and not (type(value) is int and 0 <= value < _INT64):
        raise StoreError(f"{name} is {shown(value)}, want a whole number of at least 0")
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        value = float(value)
    if not isinstance(value, int | float) or abs(value) > _MAX_NUMBER:
        raise StoreError(f"{name} is {shown(value)}, want a number of at most {_MAX_NUMBER:g}")
    return value


def _text(texts: dict[str, Any], name: str) -> str:
    value = texts.get(name)
    if not isinstance(value, str):
        raise StoreError(f"{name} is {shown(value)}, want one text")
    return value


def _whole(header: dict[str, Any], key: str) -> int:
    value = header.get(key)
    if type(value) is not int or not 0 <= value <= _MAX_FEATURES:
        raise StoreError(f"{key} is {shown(value)}, want a whole number from 0 to {_MAX_FEATURES}")
    return value
