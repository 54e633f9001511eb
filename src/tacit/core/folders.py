"""Where things are kept that may be lost at any time."""

from __future__ import annotations

import os
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
