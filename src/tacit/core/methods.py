"""Named methods: a class, the parameters that define the method, and a one-line summary.

The two registries (`retrieve.registry`, `rerank.registry`) are tables of methods. Classes are imported when a method is
made, so listing methods is cheap. Other packages add methods through entry points of the group `tacit.methods`.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from tacit.core.errors import UsageError
from tacit.core.estimator import Estimator

GROUP = "tacit.methods"  # entry-point group


class Parameter(NamedTuple):
    """One parameter of a method: its name, its default for this method and a one-line description."""

    name: str
    default: Any
    meaning: str


@dataclass(frozen=True)
class Method:
    """A named ranking method.

    Parameters
    ----------
    name : str
        Name used by `--method` and `Searcher`.
    family : str
        Heading under which `tacit methods` lists it.
    home : str
        "module:Class".
    summary : str
        One line.
    params : mapping, default={}
        Parameters that differ from the defaults of the class.
    """

    name: str
    family: str
    home: str
    summary: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def estimator(self) -> type[Any]:
        """The class."""
        module, name = self.home.split(":")
        found: type[Estimator] = getattr(import_module(module), name)
        return found

    def make(self, **given: Any) -> Any:
        """Return an unfitted estimator. An unknown parameter is an error that lists the known ones."""
        known = self.estimator._get_param_names()
        unknown = [name for name in given if name not in known]
        if unknown:
            listed = ", ".join(f"{p.name}={p.default!r}" for p in self.parameters())
            raise UsageError(f"method {self.name!r} has no parameter {unknown[0]!r}; its parameters are {listed}")
        return self.estimator(**dict(self.params) | given)

    def offer(self, **offered: Any) -> Any:
        """Return an unfitted estimator with the offered parameters that it has.

        Parameters that are None or that define the method (`params`) are skipped.
        """
        free = set(self.estimator._get_param_names()) - set(self.params)
        return self.make(**{name: value for name, value in offered.items() if name in free and value is not None})

    def defaults(self) -> dict[str, Any]:
        """Return the default of every parameter."""
        found = {p.name: None if p.default is inspect._empty else p.default for p in self.estimator._parameters()}
        return found | dict(self.params)

    def parameters(self) -> list[Parameter]:
        """Return all parameters with this method's defaults."""
        docs = parameter_docs(self.estimator)
        return [Parameter(name, default, docs.get(name, "")) for name, default in self.defaults().items()]


class MethodTable(Mapping[str, Method]):
    """Methods by name: built-in ones, and methods of installed packages whose class derives from "module:Class".

    Entry points are loaded when a name is not built in, because their modules may import this table. Built-in names
    cannot be overridden.
    """

    def __init__(self, base: str, methods: Iterable[Method]) -> None:
        self._base = base
        self._own = {method.name: method for method in methods}

    @cached_property
    def _all(self) -> dict[str, Method]:
        found = [plugin for plugin in load_plugins() if isinstance(plugin, Method)]
        kind = Method("", "", self._base, "").estimator if found else object
        return {method.name: method for method in found if issubclass(method.estimator, kind)} | self._own

    def __getitem__(self, name: str) -> Method:
        return self._own[name] if name in self._own else self._all[name]

    def __iter__(self) -> Iterator[str]:
        own = self._own
        return iter([*own, *(name for name in self._all if name not in own)])

    def __len__(self) -> int:
        return len(self._all)


@cache
def load_plugins() -> tuple[Any, ...]:
    """Load the entry points of the group `tacit.methods`; one that fails is skipped with a warning."""
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            plugin = entry.load()
            if isinstance(plugin, Method):
                plugin.estimator._get_param_names()
            found.append(plugin)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f"entry point {entry.name} = {entry.value} of {GROUP} is not used: {reason}", stacklevel=2)
    return tuple(found)


_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : (.+)$")


def parameter_docs(described: Any) -> dict[str, str]:
    """Return the first sentence of each parameter's description, for a function or a class with its base classes.

    >>> class Ranker:
    ...     '''Ranks.
    ...
    ...     Parameters
    ...     ----------
    ...     dim : int, default=100
    ...         Width of the vectors. More follows here.
    ...     '''
    >>> parameter_docs(Ranker)
    {'dim': 'Width of the vectors.'}
    """
    found: dict[str, str] = {}
    for part in getattr(described, "__mro__", (described,)):
        text = inspect.cleandoc(part.__doc__ or "")
        for name, meaning in _parameters_of(text).items():
            found.setdefault(name, meaning)
    return found


def _parameters_of(text: str) -> dict[str, str]:
    """Return the entries of the section Parameters."""
    match = re.search(r"^Parameters\n-{3,}\n(.*?)(?=\n\n\S|\n\S+\n-{3,}|\Z)", text, re.DOTALL | re.MULTILINE)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in match[1].split("\n") if match else []:
        entry = _ENTRY.match(line)
        if entry:
            names = entry[1].split(", ")
        elif line.strip():
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return {name: re.split(r"(?<=\.)\s", meaning)[0] for name, meaning in found.items()}
