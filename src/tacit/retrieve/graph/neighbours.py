"""The nearest row of a table, by sums of absolute or squared differences."""

from __future__ import annotations

import numpy as np

from tacit.core import cut, map_blocks
from tacit.kernels.graph import nearest_by_sum

ROWS_AT_ONCE = 64


def nearest_rows(
    points: np.ndarray, table: np.ndarray, *, squared: bool = True, threads: int | None = None
) -> np.ndarray:
    """For every point the row of the table at the least distance, int64; ties go to the smaller row.

    >>> nearest_rows(np.array([[0.0], [2.0]]), np.array([[3.0], [1.0]])).tolist()  # 2.0 is as near to both
    [1, 0]
    """
    found, distances = np.full(len(points), -1, np.int64), np.full(len(points), np.inf)

    def search(block: slice) -> None:
        nearest_by_sum(points, table, block.start, block.stop, squared, found, distances)

    map_blocks(search, cut(len(points), ROWS_AT_ONCE), threads)
    return found
