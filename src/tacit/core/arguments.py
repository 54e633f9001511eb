"""Check the arguments of public functions by their annotations: a value of a wrong type is an error of one line.

    @checked
    def covered(judgments: Judgments, run: Run, k: int) -> ...

Numbers may be NumPy's, and any sequence or array of one dimension is a `Sequence`. Values annotated as `Any` or as
arrays are left to the function (`check_array`).
"""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp

from tacit.core.checks import check_size, check_sizes, shown
from tacit.core.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")

_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    type(None): "None",
    Path: "a path",
    sp.csr_array: "a sparse matrix",
}
_PLURALS = {str: "texts", int: "whole numbers", float: "numbers", Path: "paths", sp.csr_array: "sparse matrices"}
_KINDS: dict[Any, Any] = {
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
    bool: (bool, np.bool_),
    Path: os.PathLike,
    sp.csr_array: (sp.sparray, sp.spmatrix),
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with its arguments checked by their annotations at each call.

    >>> @checked
    ... def first(words: Sequence[str], n: int = 1) -> list[str]:
    ...     return list(words[:n])
    >>> first(["cat", "dog"], n="one")
    Traceback (most recent call last):
    tacit.core.errors.UsageError: n is 'one', want a whole number
    >>> first("cat")
    Traceback (most recent call last):
    tacit.core.errors.UsageError: words is 'cat', want a list of texts
    """
    signature = inspect.signature(function)
    hints: dict[str, Any] = {}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not hints:  # at the first call, when all modules are imported
            hints.update(get_type_hints(function))
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # Python names the missing or unknown argument
        for name, value in given.items():
            hint = hints.get(name, Any)
            if not _fits(value, hint):
                raise UsageError(f"{name} is {shown(value)}, want {_described(hint)}")
            check_size(name, value)
        return function(*args, **kwargs)

    return call


def check_params(estimator: Any) -> None:
    """Raise UsageError if a parameter of an estimator that is a number, text or truth value has another type.

    Other parameters, such as nested estimators, are left to the estimator's own checks.
    """
    check_sizes(estimator)
    for name, hint in _simple_params(estimator.__class__).items():
        value = getattr(estimator, name)
        if not _fits(value, hint):
            raise UsageError(f"{name} is {shown(value)}, want {_described(hint)}")


@functools.cache
def _simple_params(kind: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for parent in kind.__mro__:
        if "__init__" in vars(parent) and parent is not object:
            found = get_type_hints(vars(parent)["__init__"]) | found
    known = [parameter.name for parameter in kind._parameters()]
    return {name: found[name] for name in known if name in found and _is_simple(found[name])}


def _is_simple(hint: Any) -> bool:
    if get_origin(hint) in (Union, types.UnionType):
        return all(map(_is_simple, get_args(hint)))
    return hint in (str, int, float, bool, type(None))


def _fits(value: Any, hint: Any) -> bool:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, types.UnionType):
        return any(_fits(value, choice) for choice in inner)
    if kind is Any or kind is np.ndarray or not isinstance(kind, type):
        return True
    if isinstance(value, str | bytes) and issubclass(kind, Iterable) and kind is not str:
        return False
    if issubclass(kind, Mapping) and inner:
        return isinstance(value, kind) and all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    if isinstance(value, np.ndarray) and issubclass(kind, Collection) and not (value.ndim == 1 and kind is Sequence):
        return False  # `x in value` compares x with all numbers
    if issubclass(kind, Sequence | Set) and len(inner) == 1:
        is_row = isinstance(value, np.ndarray)
        return (is_row or isinstance(value, kind)) and all(_fits(item, inner[0]) for item in value)
    if isinstance(value, bool) and kind in (int, float):
        return False
    return isinstance(value, _KINDS.get(kind, kind))


def _described(hint: Any) -> str:
    """Return a type in words.

    >>> _described(Mapping[str, int] | None)
    'a mapping of a text to a whole number, or None'
    """
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, types.UnionType):
        *most, last = [_described(choice) for choice in inner]
        return f"{', '.join(most)}, or {last}"
    if inner and isinstance(kind, type) and issubclass(kind, Mapping):
        return f"a mapping of {_described(inner[0])} to {_described(inner[1])}"
    if inner and isinstance(kind, type) and issubclass(kind, Iterable):
        return f"a list of {_several(inner[0])}"
    name = getattr(kind, "__name__", str(kind))
    return _NAMES.get(kind) or f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _several(hint: Any) -> str:
    """Return the items of a list in words.

    >>> _several(str | None)
    'texts or None'
    """
    choices = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else [hint]
    return " or ".join(_PLURALS.get(choice) or _described(choice) for choice in choices)
