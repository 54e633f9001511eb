"""Large arrays in memory-mapped files.

An array larger than `MAPPED_BYTES` is a memory-mapped, unnamed file in the folder for temporary files (`TMPDIR`). If
the disk has no room, the array is kept in memory.
"""

from __future__ import annotations

import mmap
import os
import tempfile

import numpy as np

MAPPED_BYTES = 64 << 20  # per array: 160,000 vectors of width 100


def allocate(shape: tuple[int, ...], dtype: np.dtype | type = np.float32) -> np.ndarray:
    """Return an array of zeros, in memory or, above `MAPPED_BYTES`, in a mapped file that is freed with the array.

    >>> allocate((2, 3)).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    n_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if n_bytes <= MAPPED_BYTES or not hasattr(os, "posix_fallocate"):
        return np.zeros(shape, dtype)
    try:
        with tempfile.TemporaryFile(prefix="tacit-") as file:
            os.posix_fallocate(file.fileno(), 0, n_bytes)  # a full disk raises here instead of crashing on a write
            return np.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype).reshape(shape)
    except OSError:
        return np.zeros(shape, dtype)


def release(array: np.ndarray) -> None:
    """Drop the pages of a mapped array from memory; its file keeps them. Other arrays are unchanged."""
    base: object = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)
