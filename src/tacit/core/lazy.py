"""Packages whose names are imported on first use, so that importing the package costs next to nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: dict[str, Any], homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    Parameters
    ----------
    package : dict
        The `globals()` of the package.
    homes : mapping of str to str
        Module of each name, below the package ("margin.embedding") or, with a leading dot, below `tacit` (".core").
    """
    name_of_package = package["__name__"]

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {name_of_package!r} has no attribute {name!r}")
        home = homes[name]
        module = f"tacit{home}" if home.startswith(".") else f"{name_of_package}.{home}"
        value = getattr(import_module(module), name)
        package[name] = value  # so that this function is asked once for each name
        return value

    names = sorted(homes)
    return find, lambda: sorted({*package, *names}), names
