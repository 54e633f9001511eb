"""A cache of a collection with links, in one file of the user's cache folder, which may be deleted at any time.

The file is gzipped JSON lines: a head with the `key` of the contents, then one document per line with the rows it links
to. If it is absent, truncated, damaged, or has another key or form, it is built again. If the folder is not writable,
nothing is cached.
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
