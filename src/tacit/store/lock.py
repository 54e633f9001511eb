"""One saver at a time in a folder: a lock of the operating system on the folder itself.

It leaves no file behind and ends with the process that holds it, even a killed one. Readers take no lock.
Where the system has no such lock (Windows, some network disks), savers are not kept apart: there a folder
must have one saver at a time. A kill is harmless everywhere. `changing_model` holds a folder from load to
save, so that no change of another process is lost between the two.
"""

from __future__ import annotations

import errno
import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tacit.store.files import refusal

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

WAIT_SECONDS = 120.0
NOTICE_SECONDS = 1.0  # who waits longer is told why
_PAUSE = 0.01
_OWN = threading.local()  # `folders`: those that this thread holds
_NO_LOCKS_HERE = {errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.ENOLCK, errno.EBADF}


@contextmanager
def changing_model(path: str | os.PathLike[str], *, new: bool = False) -> Iterator[None]:
    """Hold the folder of a model from load to save; another process that wants to change it waits meanwhile.

    Parameters
    ----------
    path : path
        Folder of the model.
    new : bool, default=False
        Whether to make a folder that does not exist; if not, nothing is held.
    """
    folder, own = Path(path), _OWN.__dict__.setdefault("folders", set())
    place = os.path.realpath(folder)
    if place in own or not (new or folder.is_dir()):
        yield
        return
    with locked(folder):
        own.add(place)
        try:
            yield
        finally:
            own.remove(place)


@contextmanager
def locked(folder: Path, wait: float | None = None) -> Iterator[None]:
    """Make the folder if need be and hold it alone; `wait` is for another process, None for `WAIT_SECONDS`."""
    if fcntl is None:
        folder.mkdir(parents=True, exist_ok=True)
        yield
        return
    descriptor = _wait_for_lock(folder, WAIT_SECONDS if wait is None else wait)
    try:
        yield
    finally:
        with suppress(OSError):
            # Closing alone would not free it while a forked child has the folder open too.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _wait_for_lock(folder: Path, wait: float) -> int:
    begin, told = time.monotonic(), False
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _lock_now(folder)
        if descriptor is not None:
            return descriptor
        waited = time.monotonic() - begin
        if waited > wait:
            held = f"been changing this model for {wait:g} seconds" if wait else "this folder in use"
            raise refusal(folder, f"another process has {held}; try again later")
        if waited >= NOTICE_SECONDS and not told:
            told = True
            warnings.warn(f"{folder}: is being changed by another process; waiting for it", stacklevel=2)
        time.sleep(_PAUSE)


def _lock_now(folder: Path) -> int | None:
    """An open and locked folder, or None if somebody else has it or has removed it meanwhile."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        if _try_flock(descriptor) and os.path.samestat(os.fstat(descriptor), folder.stat()):
            return descriptor
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _try_flock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS_HERE:
            raise
    return True
