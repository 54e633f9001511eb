"""Features divided into bins, once for many rounds and, column by column, for many fits.

A feature's thresholds t_0 < t_1 < ... are halfway between consecutive values. The code of a value is the number of
thresholds below it, so that "value > t_k" is "code > k". A missing value (NaN) has code 0, so no stump fires. If some
values are missing, a first threshold below all others separates known values from missing ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.core import cut, map_blocks

COLUMNS_AT_ONCE = 8


@dataclass(frozen=True)
class BinnedFeatures:
    """Codes of the rows of a feature table, feature by feature.

    codes: uint8, uint16 or uint32 (n_features, n_rows), C order; thresholds[f]: float64, ascending.

    >>> known = BinnedFeatures.of(np.array([[0.0], [2.0], [2.0], [4.0]]))
    >>> known.codes.tolist(), known.thresholds[0].tolist()
    ([[0, 1, 1, 2]], [1.0, 3.0])
    >>> known.join(BinnedFeatures.of(np.array([[7.0], [np.nan], [9.0], [9.0]]))).codes[1].tolist()
    [1, 0, 2, 2]
    """

    codes: np.ndarray
    thresholds: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, X: np.ndarray, n_bins: int | None = 128, threads: int | None = 1) -> BinnedFeatures:
        """Bin the columns of X (n_rows, n_features): into n_bins of about equal size, or one per value if None."""
        blocks = cut(X.shape[1], COLUMNS_AT_ONCE)
        binned = [
            pair for block in map_blocks(lambda b: _bin_columns(X[:, b], n_bins), blocks, threads) for pair in block
        ]
        codes = np.zeros((X.shape[1], len(X)), np.result_type(np.uint8, *{column.dtype for column, _ in binned}))
        for feature, (column, _) in enumerate(binned):
            codes[feature] = column
        return cls(codes, tuple(thresholds for _, thresholds in binned))

    def join(self, other: BinnedFeatures) -> BinnedFeatures:
        """Join these features with another table's, of the same rows, without sorting again."""
        return BinnedFeatures(np.concatenate([self.codes, other.codes]), self.thresholds + other.thresholds)

    @property
    def n_cuts(self) -> np.ndarray:
        """Number of thresholds of each feature, int64."""
        return np.array([len(thresholds) for thresholds in self.thresholds], np.int64)


def _bin_columns(X: np.ndarray, n_bins: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
    return [_bin_column(X[:, feature], n_bins) for feature in range(X.shape[1])]


def _bin_column(values: np.ndarray, n_bins: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and thresholds of one feature."""
    order = np.argsort(values, kind="stable")  # NaN comes last
    n_known = len(values) - int(np.isnan(values).sum())
    ordered = values[order[:n_known]]
    ends = np.flatnonzero(ordered[1:] > ordered[:-1])  # last position of each distinct value except the largest
    if n_bins is not None and len(ends) >= n_bins:
        wanted = np.arange(1, n_bins) * n_known / n_bins  # target number of rows below the cut
        ends = np.unique(ends[np.minimum(np.searchsorted(ends + 1, wanted), len(ends) - 1)])
    low, high = ordered[ends], ordered[ends + 1]
    middle = low + (high - low) / 2
    thresholds = np.where(middle < high, middle, low)  # there is no value between neighbouring floats
    codes_by_place = np.zeros(len(values), np.int64)
    codes_by_place[ends + 1] = 1
    np.cumsum(codes_by_place, out=codes_by_place)
    if 0 < n_known < len(values):
        thresholds = np.concatenate([[np.nextafter(ordered[0], -np.inf)], thresholds])
        codes_by_place += 1
    codes_by_place[n_known:] = 0
    codes = np.empty(len(values), np.min_scalar_type(len(thresholds)))
    codes[order] = codes_by_place
    return codes, thresholds
