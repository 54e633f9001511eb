"""Hook of MkDocs.

- A line `:::: tacit.rerank` in a page becomes the reference of every name that the package exports.
- Search ranks guides above the reference, and both above tables of results.
"""

import importlib
import inspect
import re
from typing import Any

import tacit

# Factors of the score of a page in the search of the site, by the beginning of its address; others have 1.
BOOSTS = {"index.": 4, "tutorial.": 4, "guides/": 8, "results/": 0.1, "api/": 0.3, "command-line.": 0.3, "papers.": 0.3}


def on_page_markdown(markdown: str, page: Any, **others: Any) -> str:
    """The page with its factor in searches, and with references instead of the names of packages."""
    boost = next((factor for start, factor in BOOSTS.items() if page.file.src_uri.startswith(start)), 1)
    page.meta.setdefault("search", {})["boost"] = boost
    return re.sub(r"^:::: (\S+)$", lambda found: _names(found[1]), markdown, flags=re.MULTILINE)


def _names(package: str) -> str:
    """A section for every class and function that the package exports, headed by its public name."""
    module = importlib.import_module(package)
    items = {name: getattr(module, name) for name in module.__all__}
    exported = list(items.values())
    return "\n\n".join(
        _section(f"tacit.{name}" if name in tacit.__all__ else f"{package}.{name}", item, inherited)
        for name, item in items.items()
        if inspect.isclass(item) or inspect.isfunction(item)
        for inherited in [_inherited(item, exported, package)]
    )


def _section(name: str, item: Any, inherited: list[str]) -> str:
    options = ["show_root_heading: false", "show_root_toc_entry: false", "heading_level: 3"]
    options += [f"inherited_members: [{', '.join(inherited)}]"] if inherited else []
    lines = [f"## {name}", "", f"::: {item.__module__}.{item.__qualname__}", "    options:"]
    return "\n".join([*lines, *(f"      {option}" for option in options)])


def _inherited(item: Any, exported: list[Any], package: str) -> list[str]:
    """Public methods of base classes that belong to the package and are not exported."""
    names: list[str] = []
    for base in item.__mro__[1:] if inspect.isclass(item) else ():
        if base in exported or not base.__module__.startswith(f"{package}."):
            break
        names += [name for name in vars(base) if not name.startswith("_")]
    return names
