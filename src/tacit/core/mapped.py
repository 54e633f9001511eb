"""Large arrays in memory-mapped files.

An array of more than `MAPPED_BYTES` is a memory-mapped file without a name in the folder for temporary files
(`TMPDIR`). Where the disk has no room for a file, memory is used.
"""

from __future__ import annotations

import mmap
import os
import tempfile

import numpy as np

MAPPED_BYTES = 64 << 20  # of one array; 160,000 vectors of width 100


def allocate(shape: tuple[int, ...], dtype: np.dtype | type = np.float32) -> np.ndarray:
    """An array of zeros, in memory or, above `MAPPED_BYTES`, in a mapped file that ends with the array.

    >>> allocate((2, 3)).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    n_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    if n_bytes <= MAPPED_BYTES or not hasattr(os, "posix_fallocate"):
        return np.zeros(shape, dtype)
    try:
        with tempfile.TemporaryFile(prefix="tacit-") as file:
            os.posix_fallocate(file.fileno(), 0, n_bytes)  # a full disk is an error here, not a crash on writing
            return np.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype).reshape(shape)
    except OSError:
        return np.zeros(shape, dtype)


def release(array: np.ndarray) -> None:
    """Take the pages of a mapped array out of memory; its file keeps them. Other arrays stay as they are."""
    base: object = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)
