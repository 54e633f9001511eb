"""A stable sort of the whole row is the oracle; scores from few values make ties common."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.topk import top_k_rows


def best_by_sorting(scores, skipped, k):
    candidates = [item for item in range(len(scores)) if item not in skipped]
    return sorted(candidates, key=lambda item: (-scores[item], item))[:k]


@given(seed=st.integers(0, 2**32 - 1), n_items=st.integers(1, 300), k=st.integers(1, 45), n_values=st.integers(1, 99))
@settings(max_examples=60, deadline=None)
def test_finds_what_a_stable_sort_finds(seed, n_items, k, n_values):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-n_values, n_values, (3, n_items)).astype(np.float32)
    skip = sp.csr_array(rng.random((3, n_items)) < 0.3)
    items, values = np.empty((3, k), np.int64), np.empty((3, k), np.float32)
    top_k_rows(scores, skip.indptr, skip.indices, items, values)
    for row in range(3):
        expected = best_by_sorting(scores[row], set(skip[[row]].indices.tolist()), k)
        assert items[row].tolist() == expected + [-1] * (k - len(expected))
        assert values[row].tolist() == [*scores[row, expected], *[0] * (k - len(expected))]
