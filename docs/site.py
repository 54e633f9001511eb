"""Hook of MkDocs: a line `:::: tacit.rerank` in a page becomes the reference of every name that the package exports."""

import importlib
import inspect
import re
from typing import Any


def on_page_markdown(markdown: str, **page: Any) -> str:
    """The page with the names of packages in place of their lines."""
    return re.sub(r"^:::: (\S+)$", lambda found: _names(found[1]), markdown, flags=re.MULTILINE)


def _names(package: str) -> str:
    module = importlib.import_module(package)
    items = [getattr(module, name) for name in module.__all__]
    documented = []
    for item in items:
        if inspect.isclass(item) or inspect.isfunction(item):
            documented.append(f"::: {item.__module__}.{item.__qualname__}")
        if names := _inherited(item, items, package):
            documented[-1] += f"\n    options:\n      inherited_members: [{', '.join(names)}]"
    return "\n\n".join(documented)


def _inherited(item: Any, exported: list[Any], package: str) -> list[str]:
    """Public methods of base classes that stand in the package and have no reference of their own."""
    names: list[str] = []
    for base in item.__mro__[1:] if inspect.isclass(item) else ():
        if base in exported or not base.__module__.startswith(f"{package}."):
            break
        names += [name for name in vars(base) if not name.startswith("_")]
    return names
