"""Parameters of a class or function as its docstring describes them (numpydoc form)."""

from __future__ import annotations

import inspect
import re
from typing import Any

_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : (.+)$")


def parameter_docs(described: Any) -> dict[str, str]:
    """First sentence of each parameter's description, of a function or of a class with its base classes.

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
    """The entries of the section Parameters."""
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
