"""Hook of MkDocs.

- A line `:::: tacit.rerank` in a page becomes the reference of every name that the package exports.
- On the page of `tacit` itself, each name links to its reference.
- Search ranks guides above the reference, and both above tables of results.
- Pictures with a light and a dark version follow the theme of the site, not only the setting of the system.
- The icon of the web app is the icon of the site.
"""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

import tacit

ICON = Path(tacit.__file__).parent / "app" / "web" / "page" / "icon.svg"
# Factors of the score of a page in the search of the site, by the beginning of its address; others have 1.
BOOSTS = {
    "guides/": 8,
    "index.": 4,
    "tutorial.": 4,
    **dict.fromkeys(("api/", "command-line.", "papers."), 0.3),
    "results/": 0.01,
}


def on_page_markdown(markdown: str, page: Any, **others: Any) -> str:
    """The page with its factor in searches, and with references instead of the names of packages."""
    boost = next((factor for start, factor in BOOSTS.items() if page.file.src_uri.startswith(start)), 1)
    page.meta.setdefault("search", {})["boost"] = boost
    if page.file.src_uri == "api/tacit.md":
        markdown = re.sub(r"`(\w+)`", lambda name: _link(name[1]) if name[1] in tacit.__all__ else name[0], markdown)
    return re.sub(r"^:::: (\S+)$", lambda found: _names(found[1]), markdown, flags=re.MULTILINE)


def on_page_content(html: str, **others: Any) -> str:
    """The page with a light and a dark image in place of each `<picture>`; the theme shows one of them."""

    def images(found: re.Match[str]) -> str:
        dark, image, light, rest = found.groups()
        return f'{image}"{light}#only-light"{rest}\n{image}"{dark}#only-dark"{rest}'

    picture = r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*(<img src=)"([^"]+)"([^>]*>)\s*</picture>'
    return re.sub(picture, images, html)


def on_files(files: Any, config: Any) -> None:
    """Add the icon, which `theme` in mkdocs.yml names."""
    files.append(File.generated(config, "pictures/icon.svg", abs_src_path=str(ICON)))


def _link(name: str) -> str:
    """The public name as a link to its section on the page of its package."""
    package = getattr(tacit, name).__module__.split(".")[1]
    return f"[`{name}`]({package}.md#tacit{name.lower()})"


def _names(package: str) -> str:
    """A section for every class and function that the package exports, headed by its public name.

    Names of the package that `import tacit` offers come first.
    """
    module = importlib.import_module(package)
    offered = [name for name in tacit.__all__ if getattr(tacit, name).__module__.startswith(f"{package}.")]
    items = {name: getattr(tacit, name) for name in offered} | {
        name: getattr(module, name) for name in module.__all__ if name not in offered
    }
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
