"""The estimator base class: parameters by name, fitted attributes by specification.

`__init__` only stores its parameters. `fit` sets the attributes listed in `_fitted`. These attributes are the complete
model, in memory and on disk (`store.estimators`). Each has a specification:

    ""                 a number or a bool
    "numbers"          numbers by name, a dict
    "text"             a string
    "strings"          a list of strings
    "estimator"        a nested estimator
    "estimators"       a list of nested estimators
    anything else      an array, dense or sparse; the words name its axes, and axes with the same name have equal length

A leading "?" ("?items") allows None or a missing attribute. A leading "+" ("+features") requires numbers above 0.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self, TypeVar

from tacit.core.errors import NotFittedError, UsageError

AnyEstimator = TypeVar("AnyEstimator", bound="Estimator")


class Estimator:
    """Base class of everything that can be configured, fitted, copied, saved and loaded.

    A subclass may accept `**params` and pass them to its base class; they count as its own parameters.

    >>> class Scaler(Estimator):
    ...     _fitted = {"factor_": ""}
    ...     def __init__(self, by: float = 2.0) -> None:
    ...         self.by = by
    >>> Scaler().set_params(by=3.0)
    Scaler(by=3.0)
    """

    _fitted: ClassVar[Mapping[str, str]] = {}
    # The attribute with the number of input features, the length of the axis "features".
    _n_features_attribute: ClassVar[str | None] = None
    # Dtypes allowed in arrays; compiled loops rely on them.
    _array_dtypes: ClassVar[tuple[str, ...]] = ("float32",)
    # Parameters and attributes renamed since older model folders: old name -> new name.
    _renamed: ClassVar[Mapping[str, str]] = {}
    # Whether the estimator was loaded, so that an invalid value is reported as an error of the file.
    _loaded: bool = False

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Names of all parameters, sorted."""
        return sorted(parameter.name for parameter in cls._parameters())

    @classmethod
    def _parameters(cls) -> Iterator[inspect.Parameter]:
        """Yield the constructor's parameters, then the base class parameters it accepts through `**params`."""
        seen: set[str] = set()
        for kind in cls.__mro__:
            if "__init__" not in vars(kind) or kind is object:
                continue
            parameters = list(inspect.signature(vars(kind)["__init__"]).parameters.values())[1:]
            for parameter in parameters:
                named = parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
                if named and parameter.name not in seen:
                    seen.add(parameter.name)
                    yield parameter
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
                return

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name; with `deep`, also parameters of nested estimators as `name__parameter`."""
        params = {name: getattr(self, name) for name in self._get_param_names()}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params |= {f"{name}__{inner}": found for inner, found in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `name__parameter` sets a parameter of a nested estimator."""
        known = self._get_param_names()
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in known:
                raise UsageError(f"{type(self).__name__} has no parameter {outer!r}, want one of {', '.join(known)}")
            if inner:
                nested.setdefault(outer, {})[inner] = value
            else:
                setattr(self, outer, value)
        for name, values in nested.items():
            inner = getattr(self, name)
            if not hasattr(inner, "set_params"):
                raise UsageError(f"{name} is {inner!r}, which has no parameters; want {name}=…, not {name}__…")
            inner.set_params(**values)
        return self

    def clone(self) -> Self:
        """Return an unfitted estimator with the same parameters; nested estimators are cloned too."""
        params = self.get_params(deep=False)
        return type(self)(**{name: _clone_value(value) for name, value in params.items()})

    def chosen(self) -> dict[str, float]:
        """Return the numbers chosen by `fit`, such as the weights of a mixture."""
        numbers = {name: getattr(self, name, None) for name in self._fitted}
        return {
            name.rstrip("_"): value
            for name, value in numbers.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def _check_fitted(self) -> None:
        """Raise unless `fit` has set every attribute."""
        if not all(hasattr(self, name) for name, spec in self._fitted.items() if not spec.startswith("?")):
            raise NotFittedError(f"{type(self).__name__} is not fitted yet: call fit first")

    def _stored_params(self) -> dict[str, Any]:
        """Return the parameters as stored in a model folder."""
        return self.get_params(deep=False)

    def _check_loaded(self) -> None:
        """Raise StoreError if loaded attributes are inconsistent in ways that their axes do not show."""

    def __repr__(self) -> str:
        defaults = {parameter.name: parameter.default for parameter in self._parameters()}
        given = [
            f"{name}={value!r}"
            for name, default in defaults.items()
            if not _same_value(value := getattr(self, name), default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"


def copy_estimator(estimator: AnyEstimator) -> AnyEstimator:
    """Return a copy that can change independently. Arrays are shared, because they are never changed in place."""
    made = copy.copy(estimator)
    for name, value in list(vars(made).items()):
        if isinstance(value, Estimator):
            setattr(made, name, copy_estimator(value))
        elif isinstance(value, list):
            setattr(made, name, [copy_estimator(inner) if isinstance(inner, Estimator) else inner for inner in value])
    return made


def _clone_value(value: Any) -> Any:
    if hasattr(value, "clone"):
        return value.clone()
    if hasattr(value, "get_params") and not isinstance(value, type):
        return type(value)(**{name: _clone_value(inner) for name, inner in value.get_params(deep=False).items()})
    return value


def _same_value(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))
