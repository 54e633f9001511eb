"""Folders and files of the operating system: the cache folder, and waiting until the disk has what was written."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from pathlib import Path


def cache_folder() -> Path | None:
    """`$TACIT_CACHE`, else `$XDG_CACHE_HOME/tacit`, else `~/.cache/tacit`; None for a user without a home."""
    if chosen := os.environ.get("TACIT_CACHE"):
        return Path(chosen)
    shared = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(shared):  # the standard says to ignore relative paths
        return Path(shared, "tacit")
    try:
        return Path.home() / ".cache" / "tacit"
    except RuntimeError:
        return None


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until the disk has a file's bytes, or a folder's names where the system can wait for those."""
    is_folder = os.path.isdir(path)
    if os.name == "nt" and is_folder:
        return  # Windows opens no folders and needs no syncing of names
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError) if is_folder else nullcontext():
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
