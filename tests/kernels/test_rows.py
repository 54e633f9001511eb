"""Dense NumPy in float64 is the oracle; owners and ranges must not change a bit."""

import itertools

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.kernels.rows import add_outer, add_projections, add_to_rows, find_moving, split_rows, take_rows

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


def test_rows_are_taken_or_cleared():
    table, out = np.arange(6, dtype=np.float32).reshape(3, 2), np.full((4, 2), 99, np.float32)
    take_rows(table, np.array([0, 2, 1, 0]), 1, 3, out)
    assert out.tolist() == [[99, 99], [4, 5], [2, 3], [99, 99]]
    take_rows(table[:0], np.array([0, 2, 1, 0]), 2, 4, out)
    assert out.tolist() == [[99, 99], [4, 5], [0, 0], [0, 0]]


def split(matrix, borders):
    starts = np.full((len(borders), matrix.shape[0]), -7, matrix.indptr.dtype)
    split_rows(matrix.indptr, matrix.indices, np.array(borders), starts)
    return starts


@given(seed=SEEDS, borders=st.lists(st.integers(0, 9), max_size=3))
@settings(max_examples=25, deadline=None)
def test_rows_are_split_at_the_borders(seed, borders):
    matrix, borders = random_rows(np.random.default_rng(seed), 5, 9), [0, *sorted(borders), 9]
    starts = split(matrix, borders)
    for row, start in enumerate(matrix.indptr[:-1]):
        words = matrix[[row]].indices
        assert (starts[:, row] - start).tolist() == [int((words < border).sum()) for border in borders]


def moving_of(steps, n_rows):
    moving = np.full(n_rows, -7)
    return moving[: find_moving(steps, n_rows, moving)]


def test_rows_that_move_are_those_with_any_step():
    steps = np.array([[0, 0], [0, -1e-30], [0, 0], [np.nan, 0], [1, -1], [5, 5]], np.float32)
    assert moving_of(steps, 5).tolist() == [1, 3, 4]


@given(seed=SEEDS, n_rows=st.integers(1, 6), dim=DIMS, borders=st.lists(st.integers(0, 9), max_size=3))
@settings(max_examples=25, deadline=None)
def test_outer_products_of_all_owners_are_the_product_of_the_transpose(seed, n_rows, dim, borders):
    rng = np.random.default_rng(seed)
    matrix, before = random_rows(rng, n_rows, 9), random_table(rng, 9, dim)
    rows, steps = rng.integers(0, n_rows, 7), random_table(rng, 7, dim)
    steps[rng.random(7) < 0.3] = 0
    table, one_owner = before.copy(), before.copy()
    learned = rows, moving_of(steps, 5), steps, np.float32(0.3)
    for start, end in itertools.pairwise(split(matrix, [0, *sorted(borders), 9])):
        add_outer(start, end, matrix.indices, matrix.data, *learned, table)
    add_outer(*split(matrix, [0, 9]), matrix.indices, matrix.data, *learned, one_owner)
    expected = before + 0.3 * matrix.toarray()[rows[:5]].astype(np.float64).T @ steps[:5].astype(np.float64)
    np.testing.assert_allclose(table, expected, atol=1e-5)
    assert np.array_equal(table, one_owner)


def test_an_owner_writes_its_own_words_only():
    matrix, table = sp.csr_array(np.ones((2, 5), np.float32)), np.zeros((5, 2), np.float32)
    start, end = split(matrix, [1, 4])
    steps = np.array([[0, 1], [2, 0]], np.float32)
    add_outer(start, end, matrix.indices, matrix.data, np.arange(2), np.arange(2), steps, np.float32(1), table)
    assert table.tolist() == [[0, 0], [2, 1], [2, 1], [2, 1], [0, 0]]


@given(seed=SEEDS, dim=DIMS, border=st.integers(0, 8))
@settings(max_examples=15, deadline=None)
def test_rows_of_a_table_take_their_steps(seed, dim, border):
    rng = np.random.default_rng(seed)
    before, rows, steps = random_table(rng, 8, dim), rng.integers(0, 8, 6), random_table(rng, 6, dim)
    table, expected = before.copy(), before.astype(np.float64)
    for row, step in zip(rows[:5], steps[:5], strict=True):
        expected[row] += 0.7 * step.astype(np.float64)
    add_to_rows(rows, moving_of(steps, 5), steps, np.float32(0.7), table, 0, border)
    assert np.array_equal(table[border:], before[border:])
    add_to_rows(rows, moving_of(steps, 5), steps, np.float32(0.7), table, border, 8)
    np.testing.assert_allclose(table, expected, atol=1e-5)
