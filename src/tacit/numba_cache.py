"""A place for compiled loops where neither the installed package nor the user's home can be written.

numba keeps compiled code beside its source, else in the user's cache folder, and refuses to cache where it can write
neither. Then a private folder among the temporary files is used, which later processes of the same user find again.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from pathlib import Path


def ensure_cache(source: str) -> None:
    """Make sure that numba can cache the functions of a source file; call this before they are decorated."""
    beside = Path(source).parent / "__pycache__"
    if os.environ.get("NUMBA_CACHE_DIR") or can_write(beside):
        return
    import numba
    from numba.misc.appdirs import AppDirs

    of_user = Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)
    if can_write(of_user):
        return
    folder = private_folder()
    os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = folder  # the first for processes that this one starts
    logging.getLogger("tacit").warning(
        "compiled code is kept in %s, because neither %s nor %s can be written", folder, beside, of_user
    )


def can_write(folder: Path) -> bool:
    """Whether files can be made in the folder, or the folder itself where it does not exist."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def private_folder() -> str:
    """A temporary folder that only this user can write: compiled code of others must never be loaded."""
    if not hasattr(os, "getuid"):  # Windows: temporary files are the user's own
        return tempfile.mkdtemp(prefix="tacit-numba-")
    folder = os.path.join(tempfile.gettempdir(), f"tacit-numba-{os.getuid()}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            return tempfile.mkdtemp(prefix="tacit-numba-")
    return folder
