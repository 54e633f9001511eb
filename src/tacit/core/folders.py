"""The cache folder, and syncing files and folders to disk."""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from pathlib import Path


def cache_folder() -> Path | None:
    """Return `$TACIT_CACHE`, else `$XDG_CACHE_HOME/tacit`, else `~/.cache/tacit`; None for a user without a home."""
    if chosen := os.environ.get("TACIT_CACHE"):
        return Path(chosen)
    shared = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(shared):  # the XDG specification says to ignore relative paths
        return Path(shared, "tacit")
    try:
        return Path.home() / ".cache" / "tacit"
    except RuntimeError:
        return None


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file's bytes, or a folder's entries where the system supports it, are on disk."""
    is_folder = os.path.isdir(path)
    if os.name == "nt" and is_folder:
        return  # Windows cannot open folders and does not need to sync their entries
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError) if is_folder else nullcontext():
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
