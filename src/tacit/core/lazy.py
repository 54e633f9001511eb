"""Lazy imports for packages, so that importing a package costs next to nothing.

Names and sub-packages are imported on first use. The stub `__init__.pyi` of a package lists its names, one per line,
for type checkers, editors and this module:

    from tacit.core.checks import check_number as check_number

The library lazy_loader is more limited: stubs must be files on disk with relative imports, sub-packages must be listed,
and `dir` shows only the names in the stub.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package, read from its stub.

    Parameters
    ----------
    package : dict
        The `globals()` of the package.
    """
    stub = os.path.splitext(package["__file__"])[0] + ".pyi"
    lines = package["__loader__"].get_data(stub).decode().splitlines()
    homes = {words[3]: words[1] for words in map(str.split, lines) if words[:1] == ["from"]}

    def find(name: str) -> Any:
        if name in homes:
            package[name] = getattr(import_module(homes[name]), name)  # found without this function from now on
        elif name.startswith("_") or name not in sub_packages():
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        else:
            package[name] = import_module(f"{package['__name__']}.{name}")
        return package[name]

    def sub_packages() -> list[str]:
        from pkgutil import iter_modules  # imported here because it is slow to import

        return [module.name for module in iter_modules(package["__path__"]) if module.ispkg]

    names = sorted(homes)
    return find, lambda: sorted({*package, *names, *sub_packages()}), names
