"""The embedded corpus: documentation of the installed numpy, scipy and scikit-learn.

One document for each documented public object. The id is its dotted name; the title is the name and the summary, which
is the first line of the docstring; the text is the rest of the docstring without markup. Links go from an object to
each object named in its "See Also" section. Those sections are removed from the texts, because they would reveal the
links. The corpus is built by imports alone, in seconds and without network, and then cached in the user's cache folder,
in one file that may be deleted at any time.

The file is gzipped JSON lines: a head with the `key` of the contents, then one document per line with the rows it links
to. If it is absent, truncated, damaged, or has another key or form, it is built again. If the folder is not writable,
nothing is cached.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.core import Collection, DataError, Links, TacitError, UsageError, cache_folder
from tacit.data.files import open_output, read_lines
from tacit.data.pydocs.markup import parse_docstring
from tacit.data.pydocs.objects import find_objects

# Packages by import name, with their distribution names.
_PACKAGES = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}

# Increase when the same docstrings would give other texts or links, so that old cache files are not read.
_FORMAT = 2


class PackageDocs(NamedTuple):
    """Texts by name, links between names, and (source, words) without a target."""

    texts: dict[str, str]
    links: list[tuple[str, str]]
    unresolved: list[tuple[str, str]]


def read_pydocs(*, cache: bool = True) -> tuple[Collection, Links]:
    """Read the documentation of the installed numpy, scipy and scikit-learn, and its "See Also" links.

    Parameters
    ----------
    cache : bool, default=True
        Cache the result in `$TACIT_CACHE`, `$XDG_CACHE_HOME/tacit` or `~/.cache/tacit`, and read it from there the next
        time.

    Returns
    -------
    documents : Collection
    links : Links

    Examples
    --------
    >>> documents, links = read_pydocs(cache=False)
    >>> pinv = documents.row_of["numpy.linalg.pinv"]
    >>> documents[pinv].title
    'numpy.linalg.pinv: Compute the (Moore-Penrose) pseudo-inverse of a matrix.'
    >>> sorted(documents.ids[row] for row in links.targets[links.sources == pinv])
    ['scipy.linalg.pinv', 'scipy.linalg.pinvh']
    """
    key = f"pydocs {_FORMAT}, {pydocs_versions()}, python {sys.version_info[0]}.{sys.version_info[1]}"
    folder = cache_folder() if cache else None
    if kept := read_cache(folder, key):
        return kept
    documents, links = document_packages(tuple(_PACKAGES))
    write_cache(folder, key, documents, links)
    return documents, links


def pydocs_versions() -> str:
    """Return the versions of the documented libraries, such as `numpy 2.4.6, scipy 1.17.1, scikit-learn 1.9.1`.

    >>> pydocs_versions().split()[::2]
    ['numpy', 'scipy', 'scikit-learn']
    """
    return ", ".join(f"{installed} {_version(name, installed)}" for name, installed in _PACKAGES.items())


def _version(name: str, installed: str) -> str:
    try:
        return importlib.metadata.version(installed)  # a hundred times faster than importing
    except importlib.metadata.PackageNotFoundError:
        return str(importlib.import_module(name).__version__)


def document_packages(names: Sequence[str]) -> tuple[Collection, Links]:
    """Return documented public objects of installed packages, sorted by name, and the "See Also" links among them.

    >>> documents, links = document_packages(["json"])
    >>> documents.ids[:3], len(links)
    (['json', 'json.JSONDecodeError', 'json.JSONDecoder'], 0)
    """
    docs = read_packages(names)
    ids = sorted(docs.texts)
    row_of = {name: row for row, name in enumerate(ids)}
    rows = np.array([(row_of[source], row_of[target]) for source, target in docs.links], np.int64).reshape(-1, 2)
    cut = {name: docs.texts[name].partition("\n") for name in ids}
    titles, texts = [f"{name}: {cut[name][0]}" for name in ids], [cut[name][2] for name in ids]
    documents = Collection(ids, titles, texts, name="pydocs")
    return documents, Links(rows[:, 0], rows[:, 1], len(ids), len(ids))


def read_packages(names: Sequence[str]) -> PackageDocs:
    """Return the result of `document_packages` by names, and "See Also" entries without a target."""
    if isinstance(names, str):
        raise UsageError(f"names is {names!r}, want a sequence of package names")
    if sys.flags.optimize > 1:
        raise TacitError("python runs with -OO, which drops docstrings; want a run without it")
    found = find_objects(names)
    parsed = {name: parse_docstring(doc) for name, doc in found.docs.items()}
    first_of: dict[str, str] = {}  # docstrings may become equal after removals; the better name comes first
    for name, doc in parsed.items():
        first_of.setdefault(doc.text, name)
    first_of.pop("", None)
    chosen = {public: first_of[doc.text] for name, doc in parsed.items() if doc.text for public in found.names[name]}
    mentions = [(found.names[name], label) for name, doc in parsed.items() if doc.text for label in doc.see_also]
    links, unresolved = _resolve(mentions, chosen, names)
    return PackageDocs({name: text for text, name in first_of.items()}, links, unresolved)


def _resolve(
    mentions: list[tuple[list[str], str]], chosen: Mapping[str, str], packages: Sequence[str]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Turn (public names of a source, words of its "See Also") into links, and list the unresolved words."""
    links, unresolved = set(), set()
    for publics, label in mentions:
        source = chosen[publics[0]]
        target = next((chosen[name] for name in _meanings(label, publics, packages) if name in chosen), None)
        if target is None:
            unresolved.add((source, label))
        elif target != source:
            links.add((source, target))
    return sorted(links), sorted(unresolved)


def _meanings(label: str, publics: Sequence[str], packages: Sequence[str]) -> Iterator[str]:
    """Return full names that a label may mean: in the source's class, module and packages, then anywhere."""
    for scope in publics:
        while scope:
            yield f"{scope}.{label}"
            scope = scope.rpartition(".")[0]
    yield label
    yield from (f"{package}.{label}" for package in packages)


def cache_name(key: str) -> str:
    """Return the name of the cache file for a key.

    >>> cache_name("pydocs 1, numpy 2.4.6, scipy 1.17.1")
    'pydocs-1-numpy-2.4.6-scipy-1.17.1.jsonl.gz'
    """
    return re.sub(r"[^A-Za-z0-9._+]+", "-", key) + ".jsonl.gz"


def read_cache(folder: Path | None, key: str) -> tuple[Collection, Links] | None:
    """Return the collection and links cached under a key, or None if they are missing or incomplete."""
    if folder is None:
        return None
    try:
        head, *rows = (json.loads(line) for _, line in read_lines(folder / cache_name(key)))
        if head != _head(key, head["name"], len(rows)):
            return None
        ids, titles, texts, targets = ([row[field] for row in rows] for field in ("id", "title", "text", "links"))
        if not all(type(value) is str for value in (head["name"], *ids, *titles, *texts)):
            return None
        sources = np.repeat(np.arange(len(rows)), [len(row) for row in targets])
        flat = np.array([target for row in targets for target in row])
        return Collection(ids, titles, texts, name=head["name"]), Links(sources, flat, len(rows), len(rows))
    except (ValueError, LookupError, TypeError, RecursionError):  # our own errors are ValueErrors too
        return None


def write_cache(folder: Path | None, key: str, collection: Collection, links: Links) -> None:
    """Cache the collection and its links; leave the folder unchanged if that fails."""
    if folder is None:
        return
    order = np.argsort(links.sources, kind="stable")
    ends = np.searchsorted(links.sources[order], np.arange(len(collection) + 1))
    targets = links.targets[order].tolist()
    with suppress(OSError, DataError):
        folder.mkdir(parents=True, exist_ok=True)
        with open_output(folder / cache_name(key)) as out:
            out.write(json.dumps(_head(key, collection.name, len(collection))) + "\n")
            for row, document in enumerate(collection):
                fields = document._asdict() | {"links": targets[ends[row] : ends[row + 1]]}
                out.write(json.dumps(fields) + "\n")


def _head(key: str, name: Any, n_documents: int) -> dict[str, Any]:
    return {"kind": "tacit collection with links", "key": key, "name": name, "documents": n_documents}
