"""Choose a writable cache folder for compiled functions.

numba caches compiled code next to its source, else in the user's cache folder, and raises an error if it can write to
neither. In that case tacit uses a private folder in the system's temporary directory, which later processes of the same
user reuse.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from pathlib import Path


def ensure_cache(source: str) -> None:
    """Make sure that numba can cache the functions of a source file. Call this before they are decorated."""
    local = Path(source).parent / "__pycache__"
    if os.environ.get("NUMBA_CACHE_DIR") or can_write(local):
        return
    import numba
    from numba.misc.appdirs import AppDirs

    of_user = Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)
    if can_write(of_user):
        return
    folder = private_folder()
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = folder  # the variable is for child processes
    logging.getLogger("tacit").warning(
        "compiled code is cached in %s, because neither %s nor %s is writable", folder, local, of_user
    )


def can_write(folder: Path) -> bool:
    """Return whether files can be created in the folder, or the folder itself if it does not exist."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def private_folder() -> str:
    """Return a temporary folder that only this user can write to. Code compiled by others must never be loaded."""
    if not hasattr(os, "getuid"):  # on Windows, temporary files belong to the user
        return tempfile.mkdtemp(prefix="tacit-numba-")
    folder = os.path.join(tempfile.gettempdir(), f"tacit-numba-{os.getuid()}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            return tempfile.mkdtemp(prefix="tacit-numba-")
    return folder
