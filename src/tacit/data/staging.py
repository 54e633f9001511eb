"""Atomic outputs: a temporary file or folder next to the target, renamed when it is complete.

A temporary name is `.tacit-<digest of the target's name>-<random>.tmp`. Its process holds an operating system lock on
it, which ends with the process. So the next output to the same target can remove what a killed process left, but
nothing that is still being written. On systems without such locks these files remain.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tacit.core import check_path, checked
from tacit.core.folders import sync

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
@checked
def staged(target: str | os.PathLike[str], *, folder: bool = False) -> Iterator[str]:
    """Give the path of an empty temporary file or folder that becomes the target if the block succeeds.

    Its contents and its new name are on disk when this returns. A block that fails leaves nothing behind.

    Parameters
    ----------
    target : path
        The file to write or replace, or the folder to create, which must not exist.
    folder : bool, default=False
        Create a folder instead of a file.
    """
    place = os.path.realpath(check_path(target))  # a symbolic link stays a link
    start = _common_start(place)
    _reclaim(start)
    temporary, descriptor = _create(start, folder)
    try:
        yield temporary
        for parent, _, names in os.walk(temporary):
            for name in names:
                sync(os.path.join(parent, name))
        sync(temporary)
        os.replace(temporary, place)
        sync(os.path.dirname(place))
    except BaseException:  # including Ctrl-C
        _remove(temporary)
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _common_start(place: str) -> str:
    """Return the common prefix of all temporary names of this target."""
    parent, name = os.path.split(place)
    return os.path.join(parent, f".tacit-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}-")


def _create(start: str, folder: bool) -> tuple[str, int | None]:
    """Create a new temporary file or folder, and return the descriptor that holds its lock."""
    while True:
        temporary = f"{start}{uuid.uuid4().hex}.tmp"
        if folder:
            os.mkdir(temporary)
        else:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        if fcntl is None:
            return temporary, None
        with suppress(FileNotFoundError):  # another process may have removed it before it was locked
            descriptor = os.open(temporary, os.O_RDONLY)
            with suppress(OSError):  # some network disks have no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.exists(temporary):
                return temporary, descriptor
            os.close(descriptor)


def _reclaim(start: str) -> None:
    """Remove temporary files of the same target left by killed processes, which hold no lock."""
    if fcntl is None:
        return
    parent, prefix = os.path.split(start)
    with suppress(OSError):
        for name in os.listdir(parent):
            if name.startswith(prefix) and name.endswith(".tmp"):
                _remove_if_abandoned(os.path.join(parent, name))


def _remove_if_abandoned(temporary: str) -> None:
    with suppress(OSError):  # in use, already gone, or owned by another user
        descriptor = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(temporary)
        finally:
            os.close(descriptor)


def _remove(temporary: str) -> None:
    if os.path.isdir(temporary):
        shutil.rmtree(temporary, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(temporary)
