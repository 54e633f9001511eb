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
    entries = [(name, getattr(module, name)) for name in module.__all__]
    documented = [
        f"::: {item.__module__}.{item.__qualname__}"
        for _, item in entries
        if inspect.isclass(item) or inspect.isfunction(item)
    ]
    return "\n\n".join(documented)
