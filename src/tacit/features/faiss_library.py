"""faiss, which the extra `ann` installs: graphs of neighbours (HNSW) for approximate search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tacit.core import MissingExtraError


def import_faiss(wanted_for: str = "an index for approximate search") -> Any:
    """Import faiss, or raise an error that says what needs it."""
    try:
        import faiss
    except ImportError as error:
        raise MissingExtraError(wanted_for, "faiss-cpu", "ann") from error
    return faiss


@contextmanager
def faiss_threads(n_threads: int) -> Iterator[None]:
    """Set the number of threads of faiss, and restore it."""
    faiss = import_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
