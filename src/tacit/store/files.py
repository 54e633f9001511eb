"""Files and folders of a model: one-line errors with path and reason, and locking between saves.

The lock is an operating system lock on the folder itself. It leaves no file behind and ends with its process, even a
killed one. Readers take no lock. On systems without such locks (Windows, some network disks), only one process may save
to a folder at a time. A kill is harmless everywhere. `changing_model` locks a folder from load to save, so that no
change of another process is lost in between.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from tacit.core import StoreError, TacitError, check_path, checked

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

WAIT_SECONDS = 120.0
NOTICE_SECONDS = 1.0  # longer waits are reported with the reason
_PAUSE = 0.01
_OWN = threading.local()  # `folders`: folders locked by this thread
_NO_LOCKS_HERE = {errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.ENOLCK, errno.EBADF}
_READ_FLAGS = (
    os.O_RDONLY
    # A symbolic link could expose files of other folders, and a pipe could block forever.
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def refusal(path: object, reason: str) -> StoreError:
    """Return the error that refuses a path for a reason.

    >>> refusal("models/a", "is a file")
    StoreError('models/a: is a file')
    """
    return StoreError(f"{_one_line(path)}: {reason}")


def shown(value: object, limit: int = 60) -> str:
    """Return a value from a possibly hostile file, shortened and escaped for a message.

    >>> shown("a\\nb"), shown("x" * 100, limit=6)
    ("'a\\\\nb'", "'xxxxx...")
    """
    try:
        text = repr(value)
    except RecursionError:
        text = f"a deeply nested {type(value).__name__}"
    return text if len(text) <= limit else text[:limit] + "..."


@contextmanager
def blame(path: object) -> Iterator[None]:
    """Prefix errors with the path while a model is built from the result of `load_model`.

    Errors from values that the class cannot accept (a KeyError, a TypeError) are attributed to the folder too.

    >>> with blame("models/a"):
    ...     raise StoreError("array 'items' is missing")
    Traceback (most recent call last):
    tacit.core.errors.StoreError: models/a: array 'items' is missing
    """
    try:
        yield
    except TacitError as error:
        if str(error).startswith(_one_line(path)):
            raise
        raise refusal(path, str(error)) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise refusal(path, f"its parameters do not fit this version of tacit: {shown(error)}") from error


@contextmanager
def os_errors(path: object, failed: str) -> Iterator[None]:
    """Turn operating system errors into a refusal; `failed` names the failed operation."""
    try:
        yield
    except OSError as error:
        raise refusal(path, f"{failed}: {' '.join((error.strerror or str(error)).split())}") from error


def open_plain(path: Path) -> IO[bytes]:
    """Open a regular file for reading; refuse links, pipes, devices and folders."""
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except FileNotFoundError as error:
        raise refusal(path, "is missing") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise refusal(path, "is a symbolic link, want a plain file") from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise refusal(path, "is not a plain file")
    return os.fdopen(descriptor, "rb")


def read_bounded(path: Path, limit: int) -> bytes:
    """Read all bytes of a small file; refuse a larger one unread."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise refusal(path, f"has {size} bytes, want at most {limit}")
        return file.read(size)


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file and wait until it is on disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
@checked
def changing_model(path: str | os.PathLike[str], *, new: bool = False, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Lock the folder of a model from load to save; other processes that want to change it wait.

    Parameters
    ----------
    path : path
        Folder of the model.
    new : bool, default=False
        Whether to create a missing folder; if not, nothing is locked.
    wait : float, default=120
        Seconds to wait for another process.
    """
    folder, own = Path(check_path(path)), _OWN.__dict__.setdefault("folders", set())
    place = os.path.realpath(folder)
    if place in own or not (new or folder.is_dir()):
        yield
        return
    with locked(folder, wait):
        own.add(place)
        try:
            yield
        finally:
            own.remove(place)


@contextmanager
def locked(folder: Path, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Create the folder if needed and lock it; `wait` is the number of seconds to wait for another process."""
    if fcntl is None:
        folder.mkdir(parents=True, exist_ok=True)
        yield
        return
    descriptor = _wait_for_lock(folder, wait)
    try:
        yield
    finally:
        with suppress(OSError):
            # Closing alone would not release the lock while a forked child has the folder open too.
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
        if wait and waited >= min(NOTICE_SECONDS, wait / 2) and not told:
            told = True
            warnings.warn(f"{folder}: is being changed by another process; waiting for it", stacklevel=2)
        time.sleep(_PAUSE)


def _lock_now(folder: Path) -> int | None:
    """Return an open and locked folder, or None if another process has locked or removed it."""
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


def _one_line(path: object) -> str:
    text: Any = os.fspath(path) if isinstance(path, os.PathLike) else path
    return text if isinstance(text, str) and text.isprintable() else repr(text)
