"""A collection with links in one file of the user's cache folder, which may be lost at any time.

The file is gzipped JSON lines: a head that names what it holds (`key`), then one document a line with
the rows it links to. Whatever is wrong with it (absent, cut short, damaged, of another key or form)
means only that it is built again; a folder that cannot be written means that it is not kept.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Collection, DataError, Links
from tacit.data.files import open_output, read_lines


def cache_name(key: str) -> str:
    """Name of the file that keeps the collection of that key.

    >>> cache_name("pydocs 1, numpy 2.4.6, scipy 1.17.1")
    'pydocs-1-numpy-2.4.6-scipy-1.17.1.jsonl.gz'
    """
    return re.sub(r"[^A-Za-z0-9._+]+", "-", key) + ".jsonl.gz"


def read_cache(folder: Path | None, key: str) -> tuple[Collection, Links] | None:
    """The collection and links kept under that key, or None if they are not there whole."""
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
    """Keep the collection and its links, or leave the folder as it was if that cannot be done."""
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
