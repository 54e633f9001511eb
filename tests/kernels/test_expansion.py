"""Dense NumPy is the oracle of sums over rows and of the words that are kept."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.expansion import keep_largest, square_rows, sum_rows


@given(seed=st.integers(0, 2**32 - 1), n_words=st.integers(1, 40), n_kept=st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_largest_sums_over_rows_are_found(seed, n_words, n_kept):
    rng = np.random.default_rng(seed)
    dense = (rng.integers(-3, 4, (6, n_words)) * (rng.random((6, n_words)) < 0.5)).astype(np.float32)  # ties are common
    matrix, rows, shares = sp.csr_array(dense), np.array([4, 1, 1, 0]), np.array([0.5, 2.0, 1.0, 0.25])
    size = int(np.diff(matrix.indptr)[rows].sum())
    words, sums, squares = np.empty(size, np.int64), np.empty(size), np.empty(size, np.float32)
    n_found = sum_rows(matrix.indptr, matrix.indices, matrix.data, rows, shares, words, sums)
    expected = shares @ dense[rows].astype(np.float64)
    assert sorted(words[:n_found]) == np.flatnonzero(dense[rows].any(axis=0)).tolist()
    assert np.array_equal(sums[:n_found], expected[words[:n_found]])
    size = keep_largest(words[:n_found], sums[:n_found], n_kept)
    best = [word for word in np.lexsort((np.arange(n_words), -expected)) if expected[word] > 0][:n_kept]
    assert sorted(words[:size]) == sorted(best)
    assert np.array_equal(sums[:size], expected[words[:size]])
    square_rows(matrix.indptr, matrix.data, rows, squares)
    assert squares.sum() == (dense[rows] ** 2).sum()
