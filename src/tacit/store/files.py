"""Plain files and folders beneath a model, and errors that name the path and the reason in one line."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tacit.core import StoreError, TacitError

_READ_FLAGS = (
    os.O_RDONLY
    # A link would let a folder show files that are not its own; a pipe would block us for ever.
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def refusal(path: object, reason: str) -> StoreError:
    """The error that refuses a path for a reason.

    >>> refusal("models/a", "is a file")
    StoreError('models/a: is a file')
    """
    return StoreError(f"{_one_line(path)}: {reason}")


def shown(value: object, limit: int = 60) -> str:
    """A value from a file that may be hostile, short enough and plain enough for a message.

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
    """Put the path in front of what goes wrong while a model is built from what `load_model` gave.

    Parameters that the class does not take (a KeyError or TypeError) are the folder's fault too.

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
    except (KeyError, TypeError) as error:
        raise refusal(path, f"its parameters do not fit this version of tacit: {shown(error)}") from error


@contextmanager
def os_errors(path: object, failed: str) -> Iterator[None]:
    """Turn errors of the operating system into a refusal: `failed` says what could not be done."""
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
    """All bytes of a small file; one beyond the limit is refused unread."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise refusal(path, f"has {size} bytes, want at most {limit}")
        return file.read(size)


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file and wait until the disk has it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _one_line(path: object) -> str:
    text: Any = os.fspath(path) if isinstance(path, os.PathLike) else path
    return text if isinstance(text, str) and text.isprintable() else repr(text)
