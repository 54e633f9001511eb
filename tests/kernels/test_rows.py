"""Dense NumPy in float64 is the oracle; owners and ranges must not change a bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.rows import add_outer, add_projections, add_to_rows

SEEDS = st.integers(0, 2**32 - 1)
DIMS = st.sampled_from([0, 1, 3, 9])


def random_rows(rng, n_rows, n_words, share=0.4):
    return sp.csr_array(rng.normal(size=(n_rows, n_words)).astype(np.float32) * (rng.random((n_rows, n_words)) < share))


def random_table(rng, n_rows, dim):
    return rng.normal(size=(n_rows, dim)).astype(np.float32)


def csr(matrix):
    return matrix.indptr, matrix.indices, matrix.data


@given(seed=SEEDS, n_rows=st.integers(1, 6), n_words=st.integers(1, 9), dim=DIMS)
@settings(max_examples=25, deadline=None)
def test_projections_are_the_product_added_to_what_is_there(seed, n_rows, n_words, dim):
    rng = np.random.default_rng(seed)
    matrix, table = random_rows(rng, n_rows, n_words), random_table(rng, n_words, dim)
    rows = rng.integers(0, n_rows, 5)
    before = random_table(rng, 5, dim)
    out = before.copy()
    add_projections(*csr(matrix), rows, 1, 4, table, out)
    expected = before.astype(np.float64)
    expected[1:4] += (matrix.toarray().astype(np.float64) @ table)[rows[1:4]]
    np.testing.assert_allclose(out, expected, atol=1e-5)
    assert np.array_equal(out[[0, 4]], before[[0, 4]])


def test_projections_have_the_same_bits_in_any_company():
    rng = np.random.default_rng(0)
    matrix, table = random_rows(rng, 6, 20), random_table(rng, 20, 13)
    rows, together = np.arange(6), np.zeros((6, 13), np.float32)
    add_projections(*csr(matrix), rows, 0, 6, table, together)
    for row in rows:
        alone = np.zeros((1, 13), np.float32)
        add_projections(*csr(matrix), np.array([row]), 0, 1, table, alone)
        assert np.array_equal(alone[0], together[row])


@given(seed=SEEDS, n_rows=st.integers(1, 6), n_words=st.integers(1, 9), dim=DIMS, n_owners=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_outer_products_of_all_owners_are_the_product_of_the_transpose(seed, n_rows, n_words, dim, n_owners):
    rng = np.random.default_rng(seed)
    matrix, before = random_rows(rng, n_rows, n_words), random_table(rng, n_words, dim)
    rows, steps = rng.integers(0, n_rows, 7), random_table(rng, 7, dim)
    steps[rng.random(7) < 0.3] = 0  # such rows are passed over
    table, one_owner = before.copy(), before.copy()
    for owner in range(n_owners):
        add_outer(*csr(matrix), rows, 5, steps, np.float32(0.3), table, owner, n_owners)
    add_outer(*csr(matrix), rows, 5, steps, np.float32(0.3), one_owner, 0, 1)
    expected = before + 0.3 * matrix.toarray()[rows[:5]].astype(np.float64).T @ steps[:5].astype(np.float64)
    np.testing.assert_allclose(table, expected, atol=1e-5)
    assert np.array_equal(table, one_owner)


@pytest.mark.parametrize("n_owners", [1, 2, 3])
def test_an_owner_writes_its_own_words_only(n_owners):
    matrix = sp.csr_array(np.ones((2, 5), np.float32))
    for owner in range(n_owners):
        table = np.zeros((5, 2), np.float32)
        add_outer(*csr(matrix), np.arange(2), 2, np.ones((2, 2), np.float32), np.float32(1), table, owner, n_owners)
        assert np.flatnonzero(table.any(axis=1)).tolist() == list(range(owner, 5, n_owners))


@given(seed=SEEDS, dim=DIMS, n_owners=st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_rows_of_a_table_take_their_steps(seed, dim, n_owners):
    rng = np.random.default_rng(seed)
    before, rows, steps = random_table(rng, 8, dim), rng.integers(0, 8, 6), random_table(rng, 6, dim)
    table, expected = before.copy(), before.astype(np.float64)
    for owner in range(n_owners):
        add_to_rows(rows, 5, steps, np.float32(0.7), table, owner, n_owners)
    for row, step in zip(rows[:5], steps[:5], strict=True):
        expected[row] += 0.7 * step.astype(np.float64)
    np.testing.assert_allclose(table, expected, atol=1e-5)
